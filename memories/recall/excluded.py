"""What would have been served, were it live, in time and heard here: the other half of «why did the bot say that?»

A second, small search over the newest entries that may not be served. Nobody is answered with what it finds: it goes
into the trace, and what a bot is told of it has no words.
"""

from collections.abc import Sequence
from datetime import datetime

from django.db import connection

from memories import entries
from memories.conf import conf
from memories.models import Entry
from memories.models.policy import Policies
from memories.models.state import State, state_of
from memories.recall.filters import Condition, all_of, audience_filter, eligible_filter, request_filter, scope_filter
from memories.recall.modes import ParsedQuery
from memories.recall.query import Query
from memories.recall.quotas import Ranked
from memories.recall.ranking import search
from memories.recall.scoring import weigh

MOST = 5
_CLOSE = 20  # candidates of which the best are told
#: Reads entries alone, by the index of their scope; mostly it finds none, and nothing is searched.
_CLOSED = """
SELECT e.id FROM unnest(%(scopes)s::bigint[]) AS i (scope_id) CROSS JOIN LATERAL (
    SELECT * FROM memories_entry n WHERE n.scope_id = i.scope_id AND n.workspace_id = %(workspace)s
    ORDER BY n.created_at DESC, n.id DESC LIMIT %(newest)s
) e WHERE NOT ({eligible})
"""


def excluded_candidates(
    query: Query, parsed: ParsedQuery, policies: Policies, served: Sequence[Ranked], now: datetime
) -> list[Ranked]:
    """At most five entries that would have been among the served, each with the reason why it may not be."""
    closed = _closed(query, parsed, policies, now)
    if not closed:
        return []
    where: Condition = (["i.entry_id = ANY(%(closed)s::bigint[])"], {"closed": closed})
    near = search(query, parsed, policies, all_of(where, request_filter(query)), limit=_CLOSE)
    last = min((item.score for item in served), default=0.0) if len(served) >= query.limit else 0.0
    missed = [
        item for item in weigh(near, query, parsed, policies, now) if item.reason != "floor" and item.score >= last
    ][:MOST]
    unheard = _unheard(query, missed)
    for item in missed:
        item.ranks = {}  # among others than what was looked at
        item.reason = "other_scope" if item.entry.pk in unheard else _reason(item.entry, policies, now)
    return missed


def _closed(query: Query, parsed: ParsedQuery, policies: Policies, now: datetime) -> list[int]:
    """The entries that may not be served now: all, when an explanation is asked for; else of the newest."""
    conditions, parameters = eligible_filter(query, parsed, policies, now)
    parameters |= scope_filter(query)[1] | {"newest": None if query.explain else conf.TRACE_EXCLUDED}
    with connection.cursor() as cursor:
        cursor.execute(_CLOSED.replace("{eligible}", " AND ".join(conditions)), parameters)
        return [entry for (entry,) in cursor.fetchall()]


def _reason(entry: Entry, policies: Policies, now: datetime) -> str:
    state = state_of(entry, policies.end_of(entry), now)
    if state != State.LIVE:
        return State.EXPIRED.value if state == State.DUE else state.value
    return "superseded" if entry.slots.filter(name=entries.CONTRADICTED_BY).exists() else "other_project"


def _unheard(query: Query, items: Sequence[Ranked]) -> set[int]:
    """Those of a person's own memories that the group where it is asked may not hear."""
    conditions, parameters = audience_filter(query)
    if not (conditions and items):
        return set()
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT i.entry_id FROM memories_entryindex i JOIN memories_entry e ON e.id = i.entry_id"  # noqa: S608 (conditions of ours)
            f" WHERE i.entry_id = ANY(%(missed)s::bigint[]) AND NOT ({' AND '.join(conditions)})",
            parameters | {"missed": [item.entry.pk for item in items]},
        )
        return {entry for (entry,) in cursor.fetchall()}
