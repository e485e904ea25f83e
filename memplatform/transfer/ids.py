"""What the ids of an export mean here: kept where they are free, else made from them, the same way every time.

So nothing is written down of an import, and one that is repeated, or was killed, finds again what it brought.
"""

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID, uuid5

from django.db.models import Model, QuerySet


@dataclass(frozen=True)
class Ids:
    """The ids of one export in the workspace or scope it is brought into."""

    place: UUID
    #: What stood here before and is the same as something of the export, by its id there.
    same: dict[UUID, UUID] = field(default_factory=dict)

    def derived(self, uid: UUID) -> UUID:
        """The id of what had this one there, where it is taken here."""
        return uuid5(self.place, str(uid))

    def beside(self, uid: UUID) -> UUID:
        """The id of what stands beside the session that is here for this one."""
        return uuid5(self.place, f"{uid}/beside")

    def here(self, rows: "QuerySet[Any]", uids: Collection[UUID]) -> dict[UUID, Any]:
        """The rows among these that were brought in for these ids, are the very same, or say the same."""
        names = {uid: [self.derived(uid), uid, *([self.same[uid]] if uid in self.same else [])] for uid in uids}
        found = {row.uid: row for row in rows.filter(uid__in=[name for some in names.values() for name in some])}
        pairs = ((uid, next((found[name] for name in some if name in found), None)) for uid, some in names.items())
        return {uid: row for uid, row in pairs if row is not None}

    def new(self, model: type[Model], uids: Collection[UUID]) -> dict[UUID, UUID]:
        """The ids under which to store what is not here."""
        taken = set(model._default_manager.filter(uid__in=uids).values_list("uid", flat=True))
        return {uid: self.derived(uid) if uid in taken else uid for uid in uids}
