"""The door of the extraction buffer: turns come in with their capture and leave with what was made of them (D5).

An extraction batch is worked on by one worker at a time, under a claim that ends by itself. Whoever has the claim
stores results and takes the extraction batch out in one transaction (`completing`); whoever has lost it stores nothing.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import (
    Count,
    Exists,
    F,
    OuterRef,
    Prefetch,
    Q,
    QuerySet,
    Subquery,
    Value,
    prefetch_related_objects,
)
from django.db.models.lookups import GreaterThanOrEqual
from django.utils.translation import gettext as _

from memories import llm, postgresql
from memories.choices import BufferState
from memories.conf import conf
from memories.language.text import count_tokens
from memories.models import BufferedTurn, ExtractionBatch, Scope
from memories.models.ids import uuid7
from memories.models.lease import LeaseQuerySet, backoff

USER, ASSISTANT = "user", "assistant"
ERROR_CHARS = 2_000
LONGEST_REST = timedelta(hours=1)


class ClaimLost(Exception):
    """Somebody else has this extraction batch now, or it was taken out of the buffer."""


@dataclass(frozen=True, kw_only=True)
class Message:
    """One message, in full; its id is what an entry names as its origin."""

    id: str
    role: str
    content: str
    at: datetime
    sender: str = ""
    used_tools: bool = False  # an answer that rests on what tools of the bot gave


def add(
    messages: Sequence[Message],
    *,
    session_uid: UUID,
    conversation: int,
    now: datetime,
    user_scope: Scope | None = None,
    chat_scope: Scope | None = None,
    chat: str = "",
    is_group: bool = False,
    slots: Mapping[str, str] = MappingProxyType({}),
) -> bool:
    """Buffer the messages of a turn for the memory of the speaker, the chat, or both; whether it was.

    Inside the transaction that captures the turn. It joins the extraction batch its conversation is gathering, unless
    that would become larger than the cap.
    """
    scope = user_scope or chat_scope
    if scope is None or not messages or not conf.AUTO_EXTRACT:
        return False
    tokens = sum(count_tokens(message.content) for message in messages)
    is_full = tokens >= conf.TOKEN_CAP
    rows = [{**asdict(message), "at": message.at.isoformat()} for message in messages]
    values: dict[str, Any] = {
        "batch": uuid7(),
        "uid": uuid7(),
        "workspace": scope.workspace_id,
        "session": session_uid,
        "conversation": conversation,
        "full": is_full,
        "tokens": tokens,
        "now": now,
        "due": now if is_full else now + conf.QUIET_GAP,
        "user_scope": user_scope and user_scope.pk,
        "chat_scope": chat_scope and chat_scope.pk,
        "chat": chat,
        "is_group": is_group,
        "place": json.dumps(dict(slots), ensure_ascii=False),
        "messages": json.dumps(rows, ensure_ascii=False),
        "said_at": messages[0].at,
        "most": conf.TOKEN_CAP - tokens,
    }
    if is_full or not _insert(values):  # with what is gathered it would be too large
        gathering = ExtractionBatch.objects.filter(state=BufferState.WAITING, sealed=False)
        gathering.filter(session_uid=session_uid, conversation=conversation).update(sealed=True, due_at=now)
        _insert(values)
    return True


def _insert(values: Mapping[str, Any]) -> bool:
    """Buffer a turn; False where the batch of its conversation has no room for it."""
    with postgresql.cursor() as cursor:
        cursor.execute(_ADD, values)
        return bool(cursor.rowcount)


_ADD = """
    WITH gathering AS (
        INSERT INTO memories_extractionbatch AS p (
            uid, workspace_id, session_uid, conversation, state, sealed, turn_count, tokens, began_at, last_at, due_at,
            attempts, error
        ) VALUES (
            %(batch)s, %(workspace)s, %(session)s, %(conversation)s, 'waiting', %(full)s, 1, %(tokens)s, %(now)s,
            %(now)s, %(due)s, 0, ''
        ) ON CONFLICT (session_uid, conversation) WHERE state = 'waiting' AND NOT sealed DO UPDATE SET
            turn_count = p.turn_count + 1, tokens = p.tokens + excluded.tokens, last_at = excluded.last_at,
            due_at = excluded.due_at
        WHERE p.tokens <= %(most)s
        RETURNING id
    )
    INSERT INTO memories_bufferedturn (
        uid, workspace_id, batch_id, user_scope_id, chat_scope_id, chat, is_group, place, messages, tokens, said_at
    ) SELECT %(uid)s, %(workspace)s, id, %(user_scope)s, %(chat_scope)s, %(chat)s, %(is_group)s, %(place)s,
        %(messages)s, %(tokens)s, %(said_at)s FROM gathering
"""


def claim_next(
    *, now: datetime, workspace_id: int | None = None, most_tokens: int | None = None
) -> ExtractionBatch | None:
    """Claim the extraction batch that has been due longest, its turns fetched in order; None when nothing is due.

    `most_tokens` is how large it may be. One whose workers ended without a word, as often as an extraction batch is
    tried, is parked on the way. What the last of them left word of, which is that the model gave no answer, is tried
    more often.
    """
    lease = {"state": BufferState.CLAIMED, "sealed": True, "claim": uuid7(), "due_at": _lease_end(now)}
    waiting = due(now=now, workspace_id=workspace_id)
    if most_tokens is not None:
        waiting = waiting.filter(tokens__lte=most_tokens)
    while claimed := waiting.claim(1, counting="attempts", **lease):
        (batch,) = claimed
        if batch.attempts <= (conf.MODEL_ATTEMPTS if batch.error else conf.EXTRACTION_ATTEMPTS):
            turns = BufferedTurn.objects.filter(workspace_id=batch.workspace_id)
            turns = turns.select_related("user_scope", "chat_scope").order_by("said_at", "id")
            prefetch_related_objects([batch], Prefetch("turns", turns))
            return batch
        message = _("%(count)d workers ended while they worked on it.") % {"count": batch.attempts - 1}
        _of(batch.pk, batch.claim).update(
            state=BufferState.PARKED,
            attempts=F("attempts") - 1,
            error="\n".join(filter(None, [message, batch.error]))[:ERROR_CHARS],
        )
    return None


def renew(batches: Sequence[ExtractionBatch], *, now: datetime) -> None:
    """Keep extraction batches that are worked on while the model is asked about others of their group."""
    claims = [batch.claim for batch in batches]
    ExtractionBatch.objects.filter(claim__in=claims, state=BufferState.CLAIMED).update(due_at=_lease_end(now))


def _lease_end(now: datetime) -> datetime:
    """When a claim ends: a model may take its time, and what it answers shall not be in vain."""
    thinking = 2 * timedelta(seconds=conf.LLM_TOTAL_SECONDS) if llm.is_on() else timedelta(0)
    return now + conf.EXTRACTION_LEASE + thinking


def due(*, now: datetime, workspace_id: int | None = None) -> LeaseQuerySet[ExtractionBatch]:
    """What may be taken, longest due first.

    Where a model reads conversations together, one that is due waits up to MEMORY_READ_WAIT while others of its
    workspace are about to be, until MEMORY_READ_TOGETHER of them are. Where nobody else talks nothing waits.
    """
    batches = ExtractionBatch.objects.filter(workspace_id=workspace_id) if workspace_id else ExtractionBatch.objects
    batches = batches.exclude(state=BufferState.PARKED).filter(due_at__lte=now)
    if llm.is_on() and conf.VERIFY and conf.READ_TOGETHER > 1 and conf.READ_WAIT:
        same = ExtractionBatch.objects.filter(workspace=OuterRef("workspace")).order_by()
        coming = same.filter(
            state=BufferState.WAITING, sealed=False, due_at__gt=now, due_at__lte=OuterRef("due_at") + conf.READ_WAIT
        )
        together = same.exclude(state=BufferState.PARKED).filter(due_at__lte=now).values("workspace")
        count = together.annotate(count=Count("*")).values("count")
        are_enough = GreaterThanOrEqual(Subquery(count), conf.READ_TOGETHER)
        batches = batches.filter(Q(due_at__lte=now - conf.READ_WAIT) | ~Exists(coming) | Q(are_enough))
    return batches.order_by("due_at", "pk")


def messages_of(turn: BufferedTurn) -> list[Message]:
    """The messages of a turn, in order."""
    return [Message(**{**row, "at": datetime.fromisoformat(row["at"])}) for row in turn.messages]


def _of(pk: int, claim: UUID | None) -> QuerySet[ExtractionBatch]:
    """The extraction batch, as long as this claim holds."""
    return ExtractionBatch.objects.filter(pk=pk, claim=claim, state=BufferState.CLAIMED)


@contextmanager
def completing(batch: ExtractionBatch) -> Iterator[None]:
    """The transaction in which results are stored and the extraction batch leaves the buffer.

    Raises ClaimLost before anything is stored. A claim whose lease is over holds until somebody takes the extraction
    batch.
    """
    with transaction.atomic():
        if _of(batch.pk, batch.claim).select_for_update().first() is None:
            raise ClaimLost
        yield
        ExtractionBatch.objects.filter(pk=batch.pk).delete()  # its turns go with it


def fail(batch: ExtractionBatch, error: str, *, now: datetime, attempts: int | None = None) -> bool:
    """Say what went wrong: it is tried again, ever later, or parked when it was tried so often; whether parked."""
    if batch.attempts >= (attempts or conf.EXTRACTION_ATTEMPTS):
        return park(batch, error)
    rest = backoff(conf.EXTRACTION_REST, F("attempts") - 1, longest=LONGEST_REST)
    mine = _of(batch.pk, batch.claim)
    mine.update(state=BufferState.WAITING, due_at=Value(now) + rest, error=error[:ERROR_CHARS], claim=None)
    return False


def park(batch: ExtractionBatch, error: str) -> bool:
    """Leave it to the operator, with what went wrong; whether it was still this claim's."""
    parked = _of(batch.pk, batch.claim)
    return bool(parked.update(state=BufferState.PARKED, error=error[:ERROR_CHARS], claim=None))


def postpone(batch: ExtractionBatch, error: str, *, until: datetime) -> None:
    """Have it wait for what is no fault of its own; that is no attempt."""
    waiting = {"state": BufferState.WAITING, "due_at": until, "error": error[:ERROR_CHARS], "claim": None}
    _of(batch.pk, batch.claim).update(**waiting, attempts=F("attempts") - 1)


def retry(batches: QuerySet[ExtractionBatch], *, now: datetime) -> int:
    """Try parked ones again, from the first attempt on; how many."""
    parked = batches.filter(state=BufferState.PARKED)
    return parked.update(state=BufferState.WAITING, due_at=now, attempts=0, error="", claim=None)


def seal(batches: QuerySet[ExtractionBatch], *, now: datetime) -> int:
    """Have waiting ones extracted at once, however little they hold and whoever else talks; how many."""
    open_yet = Q(sealed=False) | Q(due_at__gt=now)
    return batches.filter(open_yet, state=BufferState.WAITING).update(sealed=True, due_at=now - conf.READ_WAIT)


def drop(batches: QuerySet[ExtractionBatch]) -> int:
    """Take extraction batches out of the buffer without extracting them, whoever works on them; how many."""
    return batches.delete()[1].get(ExtractionBatch._meta.label, 0)


def drop_conversation(session_uid: UUID, conversation: int) -> int:
    """What a conversation left in the buffer is not extracted (B6); how many extraction batches that were."""
    return drop(ExtractionBatch.objects.filter(session_uid=session_uid, conversation=conversation))
