"""What an entry was: its columns and slots in an earlier version, read back from the history."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection
from django.db.models import Q, QuerySet

from memories.choices import Operation
from memories.exceptions import VersionNotFound
from memories.models import Change, DailyEvent, Entry, Slot

#: The first change of the content after a version holds what it was; without one it is what it was.
_CONTENT = """
SELECT v.version, (
    SELECT c.old ->> 'content' FROM memories_change c
    WHERE c.table_name = %(table)s AND c.row_id = a.row_id AND c.workspace_id = %(workspace)s
      AND c.version > v.version AND c.old ? 'content'
    ORDER BY c.version, c.id LIMIT 1
)
FROM unnest(%(rows)s::bigint[], %(versions)s::int[], %(times)s::timestamptz[])
    WITH ORDINALITY AS a (row_id, version, at, n)
CROSS JOIN LATERAL (
    SELECT coalesce(a.version, (
        SELECT max(c.version) FROM memories_change c
        WHERE c.table_name = %(table)s AND c.row_id = a.row_id AND c.workspace_id = %(workspace)s AND c.at <= a.at
    ), 1) AS version
) v
ORDER BY a.n
"""


@dataclass(frozen=True)
class Moment:
    """A row at a version; where that is not known, at a time."""

    row_id: int
    version: int | None
    at: datetime


def contents_at(
    model: type[Entry] | type[DailyEvent], workspace_id: int, moments: Sequence[Moment]
) -> list[tuple[int, str | None]]:
    """Of each moment the version and the content then, in one query; None: it is what the row says now."""
    if not moments:
        return []
    asked: dict[str, Any] = {
        "table": model._meta.db_table,
        "workspace": workspace_id,
        "rows": [moment.row_id for moment in moments],
        "versions": [moment.version for moment in moments],
        "times": [moment.at for moment in moments],
    }
    with connection.cursor() as cursor:
        cursor.execute(_CONTENT, asked)
        return [(version, content) for version, content in cursor.fetchall()]


def as_of_version(entry: Entry, version: int) -> dict[str, Any]:
    """The columns of an entry that differ from today's, as they were in a version. Raises VersionNotFound."""
    if not 1 <= version <= entry.version:
        raise VersionNotFound
    was: dict[str, Any] = {}
    for change in changes_of(entry).filter(version__gt=version).order_by("-version", "-id"):
        was.update(change.old)
    return was


def slots_as_of_version(entry: Entry, version: int) -> dict[str, str]:
    """The slots of an entry that are rows of their own, as they were until the next version began."""
    slots = {slot.pk: {"name": slot.name, "value": slot.value} for slot in _slots(entry)}
    following = changes_of(entry).filter(version__gt=version).order_by("version", "id").first()
    if following is not None:
        for change in slot_changes_of(entry).filter(at__gte=following.at).order_by("-id"):
            undo(change, slots)
    return {slot["name"]: slot["value"] for slot in slots.values()}


def undo(change: Change, slots: dict[int, dict[str, str]]) -> None:
    """Take one change of a slot back, in the slots as they were after it."""
    if change.op == Operation.INSERT:
        slots.pop(change.row_id, None)
    elif change.op == Operation.DELETE:
        slots[change.row_id] = {name: change.old[name] for name in ("name", "value")}
    elif change.row_id in slots:
        slots[change.row_id].update(change.old)


def changes_of(entry: Entry) -> QuerySet[Change]:
    """The changes of an entry's own row."""
    return Change.objects.filter(workspace_id=entry.workspace_id, table_name=Entry._meta.db_table, row_id=entry.pk)


def slot_changes_of(entry: Entry) -> QuerySet[Change]:
    """The changes of an entry's slots, of those also that are gone: they left their whole row behind."""
    table = Slot._meta.db_table
    gone = Change.objects.filter(
        workspace_id=entry.workspace_id, table_name=table, op=Operation.DELETE, old__entry_id=entry.pk
    )
    rows = {*gone.values_list("row_id", flat=True), *_slots(entry).values_list("pk", flat=True)}
    return Change.objects.filter(Q(table_name=table, row_id__in=rows), workspace_id=entry.workspace_id)


def _slots(entry: Entry) -> QuerySet[Slot]:
    return Slot.objects.filter(workspace_id=entry.workspace_id, entry=entry)
