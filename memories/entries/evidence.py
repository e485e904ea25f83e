"""The words a model's facts rest on: stored with the fact, and forgotten with the message (D5, A15)."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection
from django.db.models import Exists, Func, OuterRef, Q, Value

from memories.choices import Verification
from memories.entries.draft import Draft, QuotedWords
from memories.index import scope_statistics
from memories.models import DailyEvent, Entry, Evidence, Scope, Suppression
from memories.models.change import acting
from memories.models.tenancy import lock_scopes

#: Where words of a day's note stand: this, and the id of the note.
_DAY = "daily/"


def of_day(event: DailyEvent) -> str:
    """The origin of words that stand in the note of a day."""
    return f"{_DAY}{event.uid}"


def store(pairs: Iterable[tuple[Entry, Draft]]) -> None:
    """Store the quotes of drafts beside the entries they came to; one that is there stays as it is."""
    add((entry, words) for entry, draft in pairs for words in draft.evidence)


def add(quoted: Iterable[tuple[Entry, QuotedWords]]) -> None:
    """Store quotes beside entries; one that is there stays as it is."""
    rows = [Evidence(workspace_id=entry.workspace_id, entry=entry, **vars(words)) for entry, words in quoted]
    if rows:
        Evidence.objects.bulk_create(rows, ignore_conflicts=True)


def inherit(keeper: Entry, merged: Sequence[Entry]) -> None:
    """Let the quotes of entries count for the one they became part of."""
    rows = list(Evidence.objects.filter(entry__in=[entry.pk for entry in merged]))
    for row in rows:
        row.pk, row.entry = None, keeper
    Evidence.objects.bulk_create(rows, ignore_conflicts=True)


def evidence_of(entries: Collection[int], workspace_id: int) -> dict[int, list[Evidence]]:
    """The quotes of entries in the order of their messages; none of a redacted message, or of a day's note gone since.

    One statement, none of nothing, another where days are quoted.
    """
    if not entries:
        return {}
    conversation = Func(OuterRef("origin"), Value("/[^/]*$"), Value(""), function="regexp_replace")
    redacted = Suppression.objects.filter(  # something rests on its message that people suppressed
        Q(conversation=conversation) | Q(conversation="*"),
        workspace_id=OuterRef("workspace_id"),
        origins__contains=[OuterRef("origin")],
    )
    rows = list(Evidence.objects.filter(~Exists(redacted), workspace_id=workspace_id, entry__in=list(entries)))
    stale_origins: set[str] = set()  # notes of days that are out of use, or say no more what is quoted
    if of_days := [row for row in rows if row.origin.startswith(_DAY)]:
        uids = {row.origin.removeprefix(_DAY) for row in of_days}
        events = DailyEvent.objects.in_use().filter(workspace_id=workspace_id, uid__in=uids)
        content = {of_day(event): event.content for event in events}
        stale_origins = {row.origin for row in of_days if row.quote not in content.get(row.origin, "")}
    quotes: dict[int, list[Evidence]] = {}
    for row in (row for row in rows if row.origin not in stale_origins):
        quotes.setdefault(row.entry_id, []).append(row)
    return quotes


def verify(scope: Scope, versions: Mapping[int, int], *, now: datetime, actor: str) -> int:
    """Mark quoted facts of a scope as verified, those that stand in these versions; how many. Raises ScopeFrozen."""
    with acting(actor):
        locked = lock_scopes([scope])[scope.pk]
        rows = Entry.objects.in_scope(scope).live().filter(pk__in=versions, verification=Verification.QUOTED)
        same = [pk for pk, version in rows.values_list("pk", "version") if versions[pk] == version]
        Entry.objects.filter(pk__in=same).update(verification=Verification.VERIFIED, updated_at=now)
        scope_statistics.raise_version(locked)
    return len(same)


#: Of what was made of a plan, and of what is still planned.
_FORGET_PLANS = """
UPDATE memories_batchchange SET draft = draft - 'evidence'
WHERE workspace_id = %(workspace)s AND (entry_id = ANY(%(entries)s) OR state = 'planned') AND draft ? 'evidence'
    AND EXISTS (
        SELECT 1 FROM jsonb_array_elements(draft -> 'evidence') v WHERE v ->> 'origin' = ANY(%(origins)s)
    )
"""
#: By a set, for a list would be read through for every message of every row.
_FORGET_REFUSED = """
DELETE FROM memories_refusedfact WHERE workspace_id = %s AND id IN (
    SELECT r.id FROM memories_refusedfact r CROSS JOIN LATERAL unnest(r.origins) named (origin)
    WHERE named.origin IN (SELECT unnest(%s::text[]))
)
"""


def forget(workspace_id: int, origins: Collection[str]) -> int:
    """Forget the words of messages that are removed; how many quotes these were."""
    days = DailyEvent.objects.filter(workspace_id=workspace_id, origins__overlap=list(origins))
    all_origins = [*origins, *(of_day(event) for event in days.only("uid"))]
    quotes = Evidence.objects.filter(workspace_id=workspace_id, origin__in=all_origins)
    entries = sorted(set(quotes.values_list("entry_id", flat=True)))
    with connection.cursor() as cursor:
        cursor.execute(_FORGET_PLANS, {"workspace": workspace_id, "entries": entries, "origins": all_origins})
        cursor.execute(_FORGET_REFUSED, [workspace_id, all_origins])
    return quotes.delete()[0]


def quoting_days(workspace_id: int, days: Collection[int]) -> set[int]:
    """The entries that quote these days."""
    day_origins = [of_day(event) for event in DailyEvent.objects.filter(workspace_id=workspace_id, pk__in=days)]
    quotes = Evidence.objects.filter(workspace_id=workspace_id, origin__in=day_origins)
    return set(quotes.values_list("entry_id", flat=True))


def days_quoted_by(workspace_id: int, entries: Collection[int]) -> set[int]:
    """The days that these entries quote."""
    quotes = Evidence.objects.filter(workspace_id=workspace_id, entry__in=entries, origin__startswith=_DAY)
    uids = {origin.removeprefix(_DAY) for origin in quotes.values_list("origin", flat=True)}
    return set(DailyEvent.objects.filter(workspace_id=workspace_id, uid__in=uids).values_list("pk", flat=True))


#: By sets, for lists would be read through for every message of every row.
_OF_MESSAGES = """
    SELECT DISTINCT r.id FROM {table} r CROSS JOIN LATERAL unnest(r.origins) named (origin)
    WHERE r.workspace_id = %(workspace)s AND named.origin IN (SELECT unnest(%(origins)s::text[]))
"""
_ENTRIES = f"""
    {_OF_MESSAGES.format(table="memories_entry")}
    UNION
    SELECT v.entry_id FROM memories_evidence v WHERE v.workspace_id = %(workspace)s
        AND v.origin IN (SELECT unnest(%(origins)s::text[]) UNION ALL
                         SELECT 'daily/' || d.uid FROM memories_dailyevent d WHERE d.id = ANY(%(days)s))
    UNION
    SELECT l.to_entry_id FROM memories_link l WHERE l.workspace_id = %(workspace)s AND l.kind = 'source_of'
        AND l.from_entry_id IN (SELECT unnest(%(entries)s::bigint[]))
    UNION
    SELECT l.from_entry_id FROM memories_link l WHERE l.workspace_id = %(workspace)s AND l.kind = 'merged_from'
        AND l.to_entry_id IN (SELECT unnest(%(entries)s::bigint[]))
"""  # noqa: S608 (names of ours)
_DAYS = _OF_MESSAGES.format(table="memories_dailyevent")


@dataclass(frozen=True)
class Lineage:
    """What rests on some messages and entries, with these."""

    entries: frozenset[int]
    days: frozenset[int]
    origins: frozenset[str]


def lineage_of(workspace_id: int, *, entries: Iterable[int] = (), origins: Iterable[str] = ()) -> Lineage:
    """Entries and days that rest on these messages, or were made of these entries, at whatever remove.

    Only the given messages count: what was found may rest on others too, which are nobody's fault.
    """
    lineage, messages = set(entries), sorted(set(origins))
    days = _ids(_DAYS, workspace=workspace_id, origins=messages)
    new: Collection[int] = lineage | {0}  # messages alone lead to entries as well
    while new:
        rows = _ids(_ENTRIES, workspace=workspace_id, origins=messages, days=sorted(days), entries=sorted(lineage))
        new = rows - lineage
        lineage |= new
    return Lineage(frozenset(lineage), frozenset(days), frozenset(messages))


def _ids(statement: str, **values: Any) -> set[int]:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return {row[0] for row in cursor.fetchall()}
