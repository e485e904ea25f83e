"""The last questions asked again under other policies: which answers would change (F5).

Nothing is kept and nothing counted: the database refuses to write meanwhile, and no trace is left.
"""

import json
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, tzinfo

from django.db import connection
from django.db.models import Q

from memories import postgresql, recall
from memories.choices import Act, ScopeKind
from memories.models import Entry, RecallTrace
from memories.models.policy import Policies
from memories.recall import traces
from memories.recall.query import Opening, Query, read_opening, rows_of

#: How far back answers are looked through for what would be taken out of them.
LAST_DAYS = timedelta(days=7)
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
    groups = grouped(last.defer("candidates")[:MOST])
    result.found = sum(map(len, groups))
    with _read_only():
        for group in groups:
            if time.monotonic() - begun > seconds:
                break
            query, opening = question_of(group[0], now=now)
            was, would = (
                answer(query, replace(opening, policies=policies), before, now=now, zone=zone)
                for policies in (before, after)
            )
            if was.degraded != would.degraded:  # an embedder that came or went in between is no policy's doing
                continue
            result.asked += len(group)
            served_pks, would_be = ([item.entry.pk for item in other.served] for other in (was, would))
            if served_pks != would_be:
                result.others.append(OtherAnswer(group[0], served_pks, would_be, len(group)))
    result.seconds = time.monotonic() - begun
    return result


def grouped(last: Iterable[RecallTrace]) -> list[list[RecallTrace]]:
    """Recalls by their question: what was asked several times in the same places stands together."""
    groups: dict[tuple[str, str, tuple[int, ...]], list[RecallTrace]] = {}
    for trace in last:
        key = trace.message, json.dumps(trace.query, sort_keys=True), tuple(trace.scopes)
        groups.setdefault(key, []).append(trace)
    return list(groups.values())


def question_of(trace: RecallTrace, *, now: datetime) -> tuple[Query, Opening]:
    """What a recall asked, to be asked as of now; the messages of then, which stand beside the memories, left out."""
    query = traces.query_of(trace)
    query = replace(query, explain=False, include_session_events=False, always_events=False)
    keys = [scope.key for scope in query.scopes]
    opening = read_opening(trace.workspace_id, keys, message=query.message, now=now)
    return query, replace(opening, may_be_pending=False)


@dataclass(frozen=True)
class TakenOut:
    """What the answers of the last days would lose, and how much is there that would not be served."""

    there: int  # memories in use, of persons or of groups, that would be served there no more
    answers: int  # with a memory in them
    touched: int  # of these, those that served what may be served there no more
    emptied: int  # of these, those that served nothing else
    memories: dict[int, int]  # entries, each with how many of the answers served it, the most first


_TAKEN_OUT = """
WITH answer AS (
    SELECT t.id, t.served, EXISTS (SELECT 1 FROM memories_scope s WHERE s.id = ANY (t.scopes) AND s.kind = 'chat')
        AS is_group
    FROM memories_recalltrace t
    WHERE t.workspace_id = %(workspace)s AND t.created_at > %(since)s AND t.served <> '{}'
), lost AS (
    SELECT a.id, e.id AS entry, cardinality(a.served) AS served
    FROM answer a CROSS JOIN LATERAL unnest(a.served) AS named (entry)
    JOIN memories_entry e ON e.id = named.entry AND e.workspace_id = %(workspace)s
    WHERE e.trust = ANY (CASE WHEN a.is_group THEN %(group)s ELSE %(direct)s END::text[])
)
SELECT count(*) AS answers, NULL::bigint AS entry, NULL::bigint[] AS ids, NULL::int[] AS served FROM answer
UNION ALL SELECT 0, entry, array_agg(id), array_agg(served) FROM lost GROUP BY entry
ORDER BY answers DESC, entry
"""


def taken_out(workspace_id: int, before: Policies, after: Policies, *, now: datetime) -> TakenOut | None:
    """What the answers of the last days served that other policies of trust would not serve there.

    None: no source loses a place where it is served. Read from what was served then, not asked again.
    """
    sources = {act: sorted(set(after.denied(act)) - set(before.denied(act))) for act in (Act.DIRECT, Act.GROUP)}
    if not any(sources.values()):
        return None
    since = now - LAST_DAYS
    of_persons = Q(scope__kind=ScopeKind.USER, trust__in=sources[Act.DIRECT])
    of_groups = Q(scope__kind=ScopeKind.CHAT, trust__in=sources[Act.GROUP])
    there = Entry.objects.live().filter(of_persons | of_groups, workspace_id=workspace_id).count()
    parameters = {"workspace": workspace_id, "since": since}
    rows = rows_of(_TAKEN_OUT, parameters | {"direct": sources[Act.DIRECT], "group": sources[Act.GROUP]})
    losses: Counter[int] = Counter()
    served_counts: dict[int, int] = {}
    memories: dict[int, int] = {}
    for _answers, entry, traces_of_entry, counts in rows:
        if entry is not None:
            memories[entry] = len(traces_of_entry)
            losses.update(traces_of_entry)
            served_counts.update(zip(traces_of_entry, counts, strict=True))
    emptied = sum(losses[trace] == count for trace, count in served_counts.items())
    most_first = dict(sorted(memories.items(), key=lambda pair: (-pair[1], pair[0])))
    return TakenOut(there, max(row[0] for row in rows), len(served_counts), emptied, most_first)


def answer(query: Query, opening: Opening, present: Policies, *, now: datetime, zone: tzinfo) -> recall.Recall:
    """The answer with what is read for it; who asked for as many as the policy says gets as many as it says."""
    is_default = query.limit == int(present.weight("MAX_RECALLS"))
    adjusted_query = replace(query, opening=opening, limit=opening.most_recalls if is_default else query.limit)
    return recall.recall(adjusted_query, now=now, zone=zone, embed_seconds=EMBED_SECONDS, recorded=False)


@contextmanager
def _read_only() -> Iterator[None]:
    """Each statement is a read-only transaction of its own: none is open while an embedder is asked."""
    if postgresql.is_pooled():
        with postgresql.putting_settings({"transaction_read_only": "on"}):
            yield
        return
    with connection.cursor() as cursor:
        cursor.execute("SET default_transaction_read_only = on")
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute("SET default_transaction_read_only = off")
