"""What an entry was: its columns and slots in an earlier version, read back from the history."""

from typing import Any

from django.db.models import Q, QuerySet

from memories.choices import Operation
from memories.exceptions import VersionNotFound
from memories.models import Change, Entry, Slot


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
