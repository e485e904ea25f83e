"""Core facts that a newer statement contradicts: marked when it is written, and no longer served (D1).

The mark is a slot with the id of the newer statement, recorded like any change. Removing the slot states that the fact
is still true. The mark counts only as long as the newer statement is in use.
"""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from memories.choices import EntryType, Source
from memories.entries.edits import Edit, update
from memories.language.contradiction import outdates
from memories.models import Entry, Slot
from memories.models.state import live_sql

CONTRADICTED_BY = "contradicted_by"
_STATEMENTS = frozenset({EntryType.FACT, EntryType.USER_EXPLICIT})
_MOST = 200  # core facts of one scope that are compared
#: In SQL, of an entry `e`; looked up once for all entries of these scopes, so that each is read from a narrow index.
CONTRADICTED_SQL = f"""(e.id = ANY (ARRAY(
    SELECT s.entry_id FROM memories_slot s
    JOIN memories_entry l ON l.id = s.entry_id AND l.tier = 1 AND l.scope_id = ANY(%(scopes)s::bigint[])
    JOIN memories_entry n ON n.workspace_id = s.workspace_id AND n.uid =
        CASE WHEN s.value ~ '^[0-9a-f]{{8}}(-[0-9a-f]{{4}}){{3}}-[0-9a-f]{{12}}$' THEN s.value::uuid END
    WHERE s.workspace_id = %(workspace)s AND s.name = '{CONTRADICTED_BY}' AND {live_sql("n")}
)))"""  # noqa: S608 (a name of ours)


def contradiction_of(line: Entry) -> Entry | None:
    """The statement in use that contradicts a core fact; None where there is none."""
    mark = line.slots.filter(name=CONTRADICTED_BY).values_list("value", flat=True).first() if line.tier == 1 else None
    try:
        return Entry.objects.live().filter(workspace=line.workspace_id, uid=UUID(mark)).first() if mark else None
    except ValueError:  # somebody wrote something else into the slot
        return None


def mark_contradicted(newer: Sequence[Entry], *, now: datetime, actor: str) -> None:
    """Mark the core facts these statements contradict, in the change that wrote the statements."""
    for line, entry in _contradicted(newer):
        update(line, Edit(slots={CONTRADICTED_BY: str(entry.uid)}), now=now, actor=actor)


def _contradicted(newer: Sequence[Entry]) -> list[tuple[Entry, Entry]]:
    """Core facts these statements contradict, each with the statement; not what is pinned or was verified since."""
    # a compression run supersedes the core facts it replaces by itself
    statements = [e for e in newer if e.type in _STATEMENTS and (e.tier, e.source) != (1, Source.COMPRESSION)]
    if not statements:
        return []
    scopes = {entry.scope_id for entry in statements}
    lines = Entry.objects.live().filter(scope__in=scopes, tier=1, pinned=False)
    found: dict[int, tuple[Entry, Entry]] = {}
    for line in lines.select_related("scope").order_by("-importance", "-stated_at", "-id")[:_MOST]:
        for entry in statements:
            if entry.scope_id == line.scope_id and _is_newer(entry, line) and outdates(entry.content, line.content):
                found[line.pk] = (line, entry)
    marked = dict(Slot.objects.filter(entry__in=list(found), name=CONTRADICTED_BY).values_list("entry_id", "value"))
    return [pair for pk, pair in found.items() if marked.get(pk) != str(pair[1].uid)]


def _is_newer(entry: Entry, line: Entry) -> bool:
    if line.verified_at is not None and line.verified_at >= entry.stated_at:
        return False
    return (entry.stated_at, entry.pk) > (line.stated_at, line.pk)
