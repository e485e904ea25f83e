"""The last questions asked again under other policies: which answers would change (F5).

Nothing is kept and nothing counted: the database refuses to write meanwhile, and no trace is left.
"""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, tzinfo

from django.db import connection

from memories import recall
from memories.models import RecallTrace
from memories.models.policy import Policies
from memories.recall import traces
from memories.recall.query import Opening, Query, read_opening

#: Questions that are asked again, the last first, and seconds all of them may take together.
MOST, SECONDS = 200, 4.0
EMBED_SECONDS = 1.0  # a person waits, and not a bot


@dataclass(frozen=True)
class OtherAnswer:
    """A question whose answer would be another one: the entries served under either policies, best first."""

    trace: RecallTrace
    before: list[int]
    after: list[int]
    times: int  # it was asked

    @property
    def came(self) -> list[int]:
        return [entry for entry in self.after if entry not in self.before]

    @property
    def went(self) -> list[int]:
        return [entry for entry in self.before if entry not in self.after]

    @property
    def is_lost(self) -> bool:
        """Whether nothing would be served any more."""
        return bool(self.before) and not self.after


@dataclass
class AskedAgain:
    """What came of asking again."""

    found: int = 0  # recalls there were to ask again
    asked: int = 0  # of these, those the time was enough for
    seconds: float = 0.0
    others: list[OtherAnswer] = field(default_factory=list)

    @property
    def changed(self) -> int:
        """Recalls with another answer."""
        return sum(other.times for other in self.others)

    @property
    def reordered(self) -> int:
        """Recalls with the same memories in another order."""
        return sum(other.times for other in self.others if not (other.came or other.went))

    @property
    def lost(self) -> int:
        """Recalls that would be answered with no memory."""
        return sum(other.times for other in self.others if other.is_lost)


def ask_again(
    workspace_id: int, before: Policies, after: Policies, *, now: datetime, zone: tzinfo, seconds: float = SECONDS
) -> AskedAgain:
    """The last MOST recalls asked under both policies as of now, the newest first, as far as the seconds go.

    A question that was asked several times in the same places is asked once, and counts as often as it was asked.
    """
    begun, result = time.monotonic(), AskedAgain()
    last = RecallTrace.objects.filter(workspace_id=workspace_id).exclude(query={}).order_by("-created_at", "-id")
    groups: dict[tuple[str, str, tuple[int, ...]], list[RecallTrace]] = {}
    for trace in last.defer("candidates")[:MOST]:
        key = trace.message, json.dumps(trace.query, sort_keys=True), tuple(trace.scopes)
        groups.setdefault(key, []).append(trace)
    result.found = sum(map(len, groups.values()))
    with _read_only():
        for group in groups.values():
            if time.monotonic() - begun > seconds:
                break
            # the messages of then, which stand beside the memories, change none of them
            query = traces.query_of(group[0])
            query = replace(query, explain=False, include_session_events=False, always_events=False)
            opening = read_opening(workspace_id, [scope.key for scope in query.scopes], message=query.message, now=now)
            was, would = (
                _answer(query, replace(opening, policies=policies, may_be_pending=False), before, now, zone)
                for policies in (before, after)
            )
            if was.degraded != would.degraded:  # an embedder that came or went in between is no policy's doing
                continue
            result.asked += len(group)
            served, would_be = _ids(was), _ids(would)
            if served != would_be:
                result.others.append(OtherAnswer(group[0], served, would_be, len(group)))
    result.seconds = time.monotonic() - begun
    return result


def _answer(query: Query, opening: Opening, present: Policies, now: datetime, zone: tzinfo) -> recall.Recall:
    """The answer with what is read for it; who asked for as many as the policy says gets as many as it says."""
    is_default = query.limit == int(present.weight("MAX_RECALLS"))
    asked = replace(query, opening=opening, limit=opening.most_recalls if is_default else query.limit)
    return recall.recall(asked, now=now, zone=zone, embed_seconds=EMBED_SECONDS, recorded=False)


def _ids(answer: recall.Recall) -> list[int]:
    return [item.entry.pk for item in answer.served]


@contextmanager
def _read_only() -> Iterator[None]:
    """Each statement is a read-only transaction of its own: none is open while an embedder is asked."""
    with connection.cursor() as cursor:
        cursor.execute("SET default_transaction_read_only = on")
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute("SET default_transaction_read_only = off")
