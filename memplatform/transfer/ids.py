"""What the ids of an export mean here: kept where they are free, else made from them, the same way every time.

So nothing is written down of an import, and one that is repeated, or was killed, finds again what it brought.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid5

from django.db.models import Model, QuerySet


@dataclass(frozen=True)
class Ids:
    """The ids of one export in the workspace or scope it is brought into."""

    place: UUID

    def derived(self, uid: UUID) -> UUID:
        """The id of what had this one there, where it is taken here."""
        return uuid5(self.place, str(uid))

    def here(self, rows: "QuerySet[Any]", uids: Collection[UUID]) -> dict[UUID, Any]:
        """The rows among these that were brought in for these ids, or are the very same."""
        found = {row.uid: row for row in rows.filter(uid__in=[*uids, *map(self.derived, uids)])}
        pairs = ((uid, found.get(self.derived(uid)) or found.get(uid)) for uid in uids)
        return {uid: row for uid, row in pairs if row is not None}

    def new(self, model: type[Model], uids: Collection[UUID]) -> dict[UUID, UUID]:
        """The ids under which to store what is not here."""
        taken = set(model._default_manager.filter(uid__in=uids).values_list("uid", flat=True))
        return {uid: self.derived(uid) if uid in taken else uid for uid in uids}
