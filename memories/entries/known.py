"""Locking scopes and reading what is stored there that bears on some drafts, in one statement."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from memories import prepared
from memories.entries.duplicates import PendingWrite
from memories.entries.locks import SCOPE_LOCK, checked_scopes
from memories.models import Policy, Scope
from memories.models.policy import Policies

_BEGIN = f"""
    SELECT somebody_erased, terms, policies, has_suppressions, {prepared.columns(Scope, "(scope)")}
    FROM memplatform_begin_write(%(kind)s::bigint, %(scopes)s::bigint[], %(workspace)s::bigint, %(terms)s::int[],
        %(words)s::varchar[], %(origins)s::varchar[])
"""  # noqa: S608 (names of ours)


_NOTHING: tuple[Any, ...] = (False, "[]", "[]", False)


@dataclass(frozen=True)
class Known:
    """How many entries of a scope hold a term, the policies of the workspace, and whether people took words out.

    `scopes` are locked and as they are now, by id.
    """

    frequency: dict[tuple[int, int], int]
    policies: Policies
    has_suppressions: bool
    scopes: dict[int, Scope]


def begin(writes: Sequence[PendingWrite]) -> Known:
    """Lock the scopes of drafts of one workspace and read what is known of them. Raises ScopeFrozen."""
    workspace = writes[0].draft.scope.workspace_id
    parameters: dict[str, Any] = {
        "kind": SCOPE_LOCK,
        "scopes": _distinct([write.draft.scope.pk] for write in writes),
        "workspace": workspace,
        "terms": _distinct(write.counts for write in writes),
        "words": _distinct([write.fingerprint] for write in writes),
        "origins": _distinct(write.draft.origins for write in writes),
    }
    rows = prepared.rows(_BEGIN, parameters)
    scopes = checked_scopes((somebody_erased, columns) for somebody_erased, _, _, _, *columns in rows)
    _, terms, policies, has_suppressions, *_columns = rows[0] if rows else _NOTHING  # the scope was erased
    frequency = {(scope, term): entries for scope, term, entries in json.loads(terms)}
    return Known(frequency, Policies([Policy(**row) for row in json.loads(policies)]), has_suppressions, scopes)


def _distinct(values: Iterable[Iterable[Any]]) -> list[Any]:
    return sorted({one for several in values for one in several})
