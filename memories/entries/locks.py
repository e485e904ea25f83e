"""Locks on scopes: one writer at a time."""

from collections.abc import Iterable

from django.db import connection
from django.db.models import Exists, OuterRef

from memories.exceptions import ScopeFrozen
from memories.models import Scope, Tombstone

#: The highest byte of an advisory lock is its kind.
SCOPE_LOCK = 1 << 56


def lock_scopes(scopes: Iterable[Scope], *, frozen_too: bool = False) -> dict[int, Scope]:
    """These scopes as they are now, by id, locked until the transaction ends. Raises ScopeFrozen.

    `frozen_too`: an erasure takes from a frozen scope, too.

    They are locked in ascending order, so that no two writers wait for each other.
    """
    wanted = sorted({scope.pk for scope in scopes})
    with connection.cursor() as cursor:
        for scope_id in wanted:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [SCOPE_LOCK + scope_id])
    erased = Exists(Tombstone.objects.filter(workspace_id=OuterRef("workspace_id")))
    locked: dict[int, Scope] = {}
    for scope in Scope.objects.annotate(somebody_erased=erased).filter(pk__in=wanted).order_by("pk"):
        scope.has_tombstones = bool(vars(scope).pop("somebody_erased"))
        locked[scope.pk] = scope
    if not frozen_too and any(scope.frozen for scope in locked.values()):
        raise ScopeFrozen
    return locked
