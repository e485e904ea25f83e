"""What is stored that bears on some drafts, read in one statement."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memories import prepared
from memories.entries.duplicates import PendingWrite
from memories.models import Policy, Scope
from memories.models.policy import Policies

_KNOWN = """
    SELECT (SELECT coalesce(jsonb_agg(jsonb_build_array(t.scope_id, t.term, t.entries)), '[]')
            FROM memories_scopeterm t WHERE t.scope_id = ANY(%(scopes)s) AND t.term = ANY(%(terms)s)),
        (SELECT coalesce(jsonb_agg(to_jsonb(p) - 'id' - 'updated_at'), '[]')
            FROM memories_policy p WHERE p.workspace_id = %(workspace)s),
        EXISTS (SELECT FROM memories_suppression s WHERE s.scope_id = ANY(%(scopes)s) AND (
            s.fingerprint = ANY(%(words)s::varchar[]) OR s.wordings && %(words)s::varchar[]
            OR s.origins && %(origins)s::varchar[]))
"""


@dataclass(frozen=True)
class Known:
    """How many entries of a scope hold a term, the policies of the workspace, and whether people took words out."""

    frequency: dict[tuple[int, int], int]
    policies: Policies
    has_suppressions: bool


def read(scopes: Mapping[int, Scope], writes: Sequence[PendingWrite]) -> Known:
    """What is known of drafts of one workspace in their scopes, by id."""
    workspace = writes[0].draft.scope.workspace_id
    parameters: dict[str, Any] = {
        "scopes": list(scopes),
        "workspace": workspace,
        "terms": _distinct(write.counts for write in writes),
        "words": _distinct([write.fingerprint] for write in writes),
        "origins": _distinct(write.draft.origins for write in writes),
    }
    with prepared.cursor() as cursor:
        cursor.execute(_KNOWN, parameters)
        terms, policies, has_suppressions = cursor.fetchone()
    frequency = {(scope, term): entries for scope, term, entries in json.loads(terms)}
    return Known(frequency, Policies([Policy(**row) for row in json.loads(policies)]), has_suppressions)


def _distinct(values: Iterable[Iterable[Any]]) -> list[Any]:
    return sorted({one for several in values for one in several})
