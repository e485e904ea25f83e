"""Locks on scopes: one writer at a time."""

from collections.abc import Iterable

from memories.exceptions import ScopeFrozen
from memories.models import Scope

#: The highest byte of an advisory lock is its kind.
SCOPE_LOCK = 1 << 56
#: The function locks first and reads then: one statement sees what was committed before it waited, and no more.
_LOCK = """
    SELECT (locked.scope).*, locked.somebody_erased
    FROM memplatform_lock_scopes(%s, %s::bigint[]) locked ORDER BY (locked.scope).id
"""


def lock_scopes(scopes: Iterable[Scope], *, frozen_too: bool = False) -> dict[int, Scope]:
    """These scopes as they are now, by id, locked until the transaction ends. Raises ScopeFrozen.

    `frozen_too`: an erasure takes from a frozen scope, too.

    They are locked in ascending order, so that no two writers wait for each other, and read after that.
    """
    wanted = sorted({scope.pk for scope in scopes})
    locked: dict[int, Scope] = {}
    for scope in Scope.objects.raw(_LOCK, [SCOPE_LOCK, wanted]):
        scope.has_tombstones = bool(vars(scope).pop("somebody_erased"))
        locked[scope.pk] = scope
    if not frozen_too and any(scope.frozen for scope in locked.values()):
        raise ScopeFrozen
    return locked
