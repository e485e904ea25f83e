"""Taking many entries of a scope out of use at once, as machines do."""

from datetime import datetime

from django.db.models import Q

from memories import indexing
from memories.models import Entry, Scope
from memories.store import statistics
from memories.store.locks import lock_scopes


def expire_many(scope: Scope, which: Q, *, now: datetime, limit: int) -> list[tuple[int, int]]:
    """Take up to `limit` unpinned live entries of a scope out of use; their ids, with the version each had before.

    Inside the caller's transaction. What another writer holds is left for the next call. A machine's expiry suppresses
    nothing: said again, it is remembered again. Raises ScopeFrozen.
    """
    held = lock_scopes([scope])[scope.pk]
    versions = list(
        Entry.objects.in_scope(held)
        .live()
        .filter(which, pinned=False)
        .select_for_update(of=("self",), skip_locked=True)
        .order_by("pk")
        .values_list("pk", "version")[:limit]
    )
    if versions:
        entries = [pk for pk, _version in versions]
        Entry.objects.filter(pk__in=entries, workspace_id=held.workspace_id).update(expired_at=now, updated_at=now)
        indexing.mark_stale(entries)
        statistics.touch(held)
    return versions
