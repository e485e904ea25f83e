"""Locks on scopes: one writer at a time."""

from collections.abc import Iterable, Sequence
from typing import Any

from memories import prepared
from memories.exceptions import ScopeFrozen
from memories.models import Scope

#: The highest byte of an advisory lock is its kind.
SCOPE_LOCK = 1 << 56
#: The function locks first and reads then: one statement sees what was committed before it waited, and no more.
_LOCK = f"""
    SELECT locked.somebody_erased, {prepared.columns(Scope, "(locked.scope)")}
    FROM memplatform_lock_scopes(%s::bigint, %s::bigint[]) locked ORDER BY (locked.scope).id
"""  # noqa: S608 (names of ours)


def lock_scopes(scopes: Iterable[Scope], *, frozen_too: bool = False) -> dict[int, Scope]:
    """These scopes as they are now, by id, locked until the transaction ends. Raises ScopeFrozen.

    `frozen_too`: an erasure takes from a frozen scope, too.

    They are locked in ascending order, so that no two writers wait for each other, and read after that.
    """
    wanted = sorted({scope.pk for scope in scopes})
    rows = prepared.rows(_LOCK, [SCOPE_LOCK, wanted])
    return checked_scopes(((somebody_erased, columns) for somebody_erased, *columns in rows), frozen_too=frozen_too)


def checked_scopes(rows: Iterable[tuple[bool, Sequence[Any]]], *, frozen_too: bool = False) -> dict[int, Scope]:
    """Scopes that were locked, by id: of each whether somebody was erased, and its columns. Raises ScopeFrozen."""
    locked: dict[int, Scope] = {}
    for somebody_erased, columns in rows:
        scope = prepared.instance(Scope, columns)
        scope.has_tombstones = somebody_erased
        locked[scope.pk] = scope
    if not frozen_too and any(scope.frozen for scope in locked.values()):
        raise ScopeFrozen
    return locked
