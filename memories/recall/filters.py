"""Which entries may be served at all: seen by the caller, live, in time, heard here, and asked for (A2, A3, A9)."""

from datetime import datetime
from typing import Any

from memories import entries
from memories.choices import EntryType, ScopeKind
from memories.entries.draft import COLUMN_SLOTS
from memories.kinds import SECRET
from memories.models.entry import LIVE_SQL
from memories.models.policy import Policies
from memories.recall.credentials import is_group
from memories.recall.modes import ParsedQuery
from memories.recall.projects import project_filter
from memories.recall.query import Query

#: Conditions on an entry `e` and its search row `i`, in SQL, with their parameters.
Condition = tuple[list[str], dict[str, Any]]


def all_of(*parts: Condition) -> Condition:
    """Conditions that all have to hold, with their parameters."""
    conditions = [condition for part in parts for condition in part[0]]
    return conditions, {name: value for part in parts for name, value in part[1].items()}


def scope_filter(query: Query) -> Condition:
    """Nothing is looked at outside of the query's workspace and scopes; of entries one index is read, if it can be."""
    return [
        "i.workspace_id = %(workspace)s",
        "i.scope_id = ANY(%(scopes)s::bigint[])",
        "e.scope_id = ANY(%(scopes)s::bigint[])",
    ], {
        "workspace": query.workspace_id,
        "scopes": [scope.pk for scope in query.scopes],
        "user_scopes": [place.scope.pk for place in query.places if place.scope.kind == ScopeKind.USER],
    }


def eligible_filter(query: Query, parsed: ParsedQuery, policies: Policies, now: datetime) -> Condition:
    """What may be served, and of facts those of the project that is named (D1)."""
    here = servable_filter(query, policies, now)
    return all_of(here, project_filter(query, parsed, all_of(scope_filter(query), here, request_filter(query))))


_SECRET = ", ".join(f"'{category}'" for category in SECRET)
#: Asked once for all entries of these scopes, so that each is read of a narrow index alone.
_NO_CREDENTIAL = f"""NOT (e.id = ANY (ARRAY(
    SELECT c.id FROM memories_entry c WHERE c.workspace_id = %(workspace)s AND c.category IN ({_SECRET})
        AND c.scope_id = ANY(%(scopes)s::bigint[])
)))"""  # noqa: S608 (a name of ours)


def servable_filter(query: Query, policies: Policies, now: datetime) -> Condition:
    """What may be served: live, in time, no line that something newer makes untrue, and heard where it is asked for."""
    return all_of(
        ([LIVE_SQL, f"NOT {entries.CONTRADICTED_SQL}"], {}), _in_time(query, policies, now), audience_filter(query)
    )


def _in_time(query: Query, policies: Policies, now: datetime) -> Condition:
    """Past its time to live nothing is served, even before any job ran (A9)."""
    of_users, of_chats = _cutoff(ScopeKind.USER, policies, now), _cutoff(ScopeKind.CHAT, policies, now)
    cutoff = f"CASE WHEN i.scope_id = ANY(%(user_scopes)s::bigint[]) THEN {of_users[0]} ELSE {of_chats[0]} END"
    if len(kinds := {place.scope.kind for place in query.places}) == 1:
        cutoff = (of_users if ScopeKind.USER in kinds else of_chats)[0]
    return [
        "CASE WHEN e.expires_at IS NOT NULL THEN e.expires_at > %(now)s WHEN e.pinned THEN true"
        f" ELSE coalesce(e.stated_at > {cutoff}, true) END"
    ], {"now": now} | of_users[1] | of_chats[1]


def _cutoff(kind: ScopeKind, policies: Policies, now: datetime) -> tuple[str, dict[str, Any]]:
    """SQL of the moment since which an entry must have been stated, by its type; NULL: whenever."""
    ttls = {entry_type: policies.ttl(entry_type, kind) for entry_type in EntryType}
    cuts = {f"{kind}_{entry_type}": now - ttl for entry_type, ttl in ttls.items() if ttl is not None}
    cases = [f"WHEN '{entry_type}' THEN %({kind}_{entry_type})s" for entry_type, ttl in ttls.items() if ttl is not None]
    return f"CASE e.type {' '.join(cases)} END" if cases else "NULL::timestamptz", cuts


def audience_filter(query: Query) -> Condition:
    """In a group no credential is served, and a person's own memories as far as the group may hear them (A3)."""
    conditions: list[str] = []
    parameters: dict[str, Any] = {}
    if any(is_group(place) for place in query.places):
        conditions.append(_NO_CREDENTIAL)
        parameters |= scope_filter(query)[1]
    for n, place in enumerate(query.places):
        if not (place.ref.in_group and place.ref.kind == ScopeKind.USER and place.ref.only_chat is not None):
            continue
        heard = f"e.chats <> '{{}}' AND e.chats <@ ARRAY[%(only{n})s::varchar] AND e.tier IS DISTINCT FROM 1"
        conditions.append(f"(i.scope_id <> %(guarded{n})s OR ({heard}))")
        parameters |= {f"guarded{n}": place.scope.pk, f"only{n}": place.ref.only_chat}
    return conditions, parameters


def request_filter(query: Query) -> Condition:
    """The request's own filters, applied before anything is ranked (A2)."""
    conditions: list[str] = []
    parameters: dict[str, Any] = {}
    if query.types is not None:
        conditions.append("e.type = ANY(%(types)s::text[])")
        parameters["types"] = list(query.types)
    for column, operator, value in (
        ("e.project", "=", query.project),
        ("e.topic", "=", query.topic),
        ("e.created_at", ">=", query.since),
        ("e.created_at", "<", query.until),
        ("e.id", "<", query.before_entry),
    ):
        if value is not None:
            name = f"f{len(parameters)}"
            conditions.append(f"{column} {operator} %({name})s")
            parameters[name] = value
    for n, (slot, value) in enumerate(query.filters.items()):
        conditions.append(_slot_filter(slot, n))
        parameters |= {f"slot{n}": slot, f"value{n}": value}
    return conditions, parameters


def _slot_filter(slot: str, n: int) -> str:
    if slot in COLUMN_SLOTS or slot in ("type", "source"):
        return f"e.{slot} = %(value{n})s"
    if slot == "scope":
        return f"(%(value{n})s = 'user') = (i.scope_id = ANY(%(user_scopes)s::bigint[]))"
    return (
        "EXISTS (SELECT 1 FROM memories_slot s WHERE s.entry_id = e.id"  # noqa: S608 (n is a number of ours)
        f" AND s.name = %(slot{n})s AND s.value = %(value{n})s)"
    )
