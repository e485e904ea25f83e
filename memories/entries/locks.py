"""Locks on scopes: one writer at a time."""

from collections.abc import Iterable

from django.db import connection

from memories.exceptions import ScopeFrozen
from memories.models import Scope

#: The highest byte of an advisory lock is its kind.
SCOPE_LOCK = 1 << 56


def lock_scopes(scopes: Iterable[Scope]) -> dict[int, Scope]:
    """These scopes as they are now, by id, locked until the transaction ends. Raises ScopeFrozen.

    They are locked in ascending order, so that no two writers wait for each other.
    """
    wanted = sorted({scope.pk for scope in scopes})
    with connection.cursor() as cursor:
        for scope_id in wanted:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [SCOPE_LOCK + scope_id])
    locked = Scope.objects.in_bulk(wanted)
    if any(scope.frozen for scope in locked.values()):
        raise ScopeFrozen
    return locked
