"""Conversations no model has read are put into the buffer again, once there is a model or a larger budget (D5, D7).

What is buffered is what stands in the memory of its scopes today: a turn that was taken out of use, or whose messages
are gone, is not read. Read twice nothing is: a turn that waits in the buffer is left alone, and a day that tells of a
message already is not told anew.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet

from memories.choices import EntryType, ScopeKind
from memories.conf import conf
from memories.consolidation import buffer
from memories.models import BufferedTurn, Entry, ExtractionBatch, Workspace
from memories.models.change import acting
from sessions_app.models import EventKind, Session, SessionEvent, event_ids

#: How far back one looks, unless told otherwise, and turns of one transaction.
DAYS, CHUNK = 30, 200
_ROLES = {EventKind.USER: buffer.USER, EventKind.ASSISTANT: buffer.ASSISTANT}


@dataclass(frozen=True)
class _UnreadTurn:
    """A turn by the messages it rests on, with its copies in the memories of the speaker and the chat."""

    session_uid: UUID
    conversation: int
    origins: tuple[str, ...]
    own: Entry | None
    chat: Entry | None


def unread_turns(workspace: Workspace, *, now: datetime, days: int = DAYS) -> QuerySet[Entry]:
    """Turns in use of the last days that no model has drawn facts from; a group's has a copy in two memories."""
    return Entry.objects.live().filter(
        workspace=workspace,
        type=EntryType.CHAT_TURN,
        read_at=None,
        scope__frozen=False,
        stated_at__gt=now - timedelta(days=days),
        stated_at__lte=now - conf.QUIET_GAP,
        origins__0__startswith="session_events/",
    )


def count(workspace: Workspace, *, now: datetime) -> int:
    """Turns that would be read, those in the buffer included."""
    return unread_turns(workspace, now=now).values("origins").distinct().count()


def buffer_unread(workspace: Workspace, *, now: datetime, actor: str, days: int = DAYS) -> int:
    """Put unread turns into the buffer, oldest first, to be read at once; how many.

    Where it is killed, the next call goes on with the rest.
    """
    rows = unread_turns(workspace, now=now, days=days).select_related("scope").order_by("stated_at", "pk")
    by_origins: defaultdict[tuple[str, ...], list[Entry]] = defaultdict(list)
    for entry in rows.prefetch_related("slots"):
        by_origins[tuple(entry.origins)].append(entry)
    turns = []
    for origins, copies in by_origins.items():
        _events, session, conversation, *_event = origins[0].split("/")
        by_kind = {entry.scope.kind: entry for entry in reversed(copies)}
        own, chat = by_kind.get(ScopeKind.USER), by_kind.get(ScopeKind.CHAT)
        turns.append(_UnreadTurn(UUID(session), int(conversation), origins, own, chat))
    total = 0
    for begin in range(0, len(turns), CHUNK):
        some = turns[begin : begin + CHUNK]
        here = {turn.session_uid for turn in some}
        with transaction.atomic(), acting(actor, savepoint=False):
            # Their messages as they stand today, and those of these conversations that wait in the buffer
            ids = {pk for turn in some for pk in event_ids(turn.origins)}
            events = SessionEvent.objects.filter(session__uid__in=here).filter(pk__in=ids, kind__in=_ROLES)
            events_by_pk = {event.pk: event for event in events}
            waiting = BufferedTurn.objects.filter(batch__session_uid__in=here).values_list("messages", flat=True)
            buffered_ids = {str(message["id"]) for waiting_messages in waiting for message in waiting_messages}
            for turn in some:
                messages = [events_by_pk[pk] for pk in event_ids(turn.origins) if pk in events_by_pk]
                if messages and buffered_ids.isdisjoint(turn.origins):
                    total += _buffer(turn, messages, now)
    if total:
        session_uids = {turn.session_uid for turn in turns}
        buffer.seal(ExtractionBatch.objects.filter(workspace=workspace, session_uid__in=session_uids), now=now)
    return total


def _buffer(turn: _UnreadTurn, events: Sequence[SessionEvent], now: datetime) -> bool:
    """Put a turn into the buffer, for the memories that hold it today."""
    own, chat = turn.own, turn.chat
    by_id = {pk: origin for origin in turn.origins for pk in event_ids([origin])}
    copy = own or chat
    if copy is None:
        return False
    session = Session.objects.only("is_group").get(workspace=copy.workspace_id, uid=turn.session_uid)
    messages = [
        buffer.Message(
            id=by_id[event.pk],
            role=_ROLES[EventKind(event.kind)],
            sender=event.sender_id,
            content=event.content,
            at=event.at,
            used_tools=bool(event.data.get("tool_calls")),
        )
        for event in events
    ]
    # Where and by whom it was said, as a turn has it
    columns = {name: getattr(copy, name) for name in ("channel", "chat_id", "session_id", "sender_id", "thread_id")}
    speaker = {"speaker": copy.speaker} if copy.speaker else {}
    return buffer.add(
        messages,
        session_uid=turn.session_uid,
        conversation=turn.conversation,
        user_scope=own.scope if own else None,
        chat_scope=chat.scope if chat else None,
        chat=own.chats[0] if own and own.chats else chat.scope.key if chat else "",
        is_group=session.is_group,
        slots={**{slot.name: slot.value for slot in copy.slots.all()}, **columns, **speaker},
        now=now,
    )
