"""What a recall has to know before it searches, read in one statement.

The scopes, the numbers of the workspace, the model its rows are of, how rare the words of the message are, and whether
what was said just now still waits for its vectors.
"""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection
from django.db.models import JSONField

from memories.language import text
from memories.models import EmbeddingModel, Policy, Scope
from memories.models.policy import Policies
from memories.recall.question import frequencies
from memories.recall.question.query import Query, searched_part
from memories.recall.question.similarity import RECENTLY

_COLUMNS = [field.attname for field in Scope._meta.concrete_fields]
_JSON = {field.attname for field in Scope._meta.concrete_fields if isinstance(field, JSONField)}
_MODEL = [field.attname for field in EmbeddingModel._meta.concrete_fields]
_POLICY = ("kind", "entry_type", "scope_kind", "name", "value", "version")
#: A row a scope, and one where there is none yet. What waits is found by the index of entries by their time: a
#: handful of rows.
_OPENING = f"""
SELECT
    (SELECT jsonb_agg(jsonb_build_array({", ".join(f"p.{column}" for column in _POLICY)}))
        FROM memories_policy p WHERE p.workspace_id = w.id),
    (SELECT jsonb_object_agg(t.term, t.entries) FROM memories_scopeterm t
        WHERE t.scope_id = s.id AND t.term = ANY(%(terms)s::int[])),
    EXISTS (
        SELECT 1 FROM memories_entry e JOIN memories_entryindex i ON i.entry_id = e.id
        WHERE e.scope_id = s.id AND e.created_at > %(since)s AND e.created_at <= %(now)s
            AND (i.model_id IS NULL OR i.model_id <> w.index_model_id)),
    {", ".join(f"m.{column}" for column in _MODEL)}, {", ".join(f"s.{column}" for column in _COLUMNS)}
FROM memories_workspace w
LEFT JOIN memories_embeddingmodel m ON m.id = w.index_model_id
LEFT JOIN memories_scope s ON s.workspace_id = w.id AND s.key = ANY(%(keys)s::varchar[])
WHERE w.id = %(workspace)s
"""  # noqa: S608 (names of ours)


@dataclass(frozen=True)
class Opening:
    """The scopes a recall looks in, by key, as far as they exist, and what it goes by there."""

    scopes: dict[str, Scope]
    policies: Policies
    model: EmbeddingModel | None  # all rows of the workspace are embedded by, as far as they are
    may_be_pending: bool  # what was said just now may have no vector of that model yet

    @property
    def most_recalls(self) -> int:
        """How many memories a recall serves that does not say how many."""
        return int(self.policies.weight("MAX_RECALLS"))


def opening_of(query: Query, *, now: datetime) -> Opening:
    """What was read for a query already, or is read now."""
    keys = [scope.key for scope in query.scopes]
    return query.opening or read_opening(query.workspace_id, keys, message=query.message, now=now)


def read_opening(workspace_id: int, keys: Collection[str], *, message: str, now: datetime) -> Opening:
    """What a recall of these scopes goes by at this moment."""
    terms = list(text.terms(searched_part(message)))
    parameters: dict[str, Any] = {
        "workspace": workspace_id,
        "keys": list(keys),
        "terms": terms,
        "since": now - RECENTLY,
        "now": now,
    }
    with connection.cursor() as cursor:
        cursor.execute(_OPENING, parameters)
        rows = cursor.fetchall()
    scopes = {}
    for _policies, found, _pending, *columns in rows:
        scope = _scope(columns[len(_MODEL) :])
        if scope is not None:
            scopes[scope.key] = scope
            frequencies.learn(scope, terms, {int(term): count for term, count in json.loads(found or "{}").items()})
    policies, _found, _pending, *columns = rows[0]
    model = _model(columns[: len(_MODEL)])
    return Opening(scopes, _policies_of(policies), model, model is None or any(pending for _, _, pending, *_ in rows))


def _policies_of(rows: str | None) -> Policies:
    return Policies([Policy(**dict(zip(_POLICY, row, strict=True))) for row in json.loads(rows or "[]")])


def _model(columns: Sequence[Any]) -> EmbeddingModel | None:
    return None if columns[0] is None else EmbeddingModel.from_db(connection.alias, _MODEL, columns)


def _scope(columns: Sequence[Any]) -> Scope | None:
    if columns[0] is None:
        return None
    values = [json.loads(value) if name in _JSON else value for name, value in zip(_COLUMNS, columns, strict=True)]
    return Scope.from_db(connection.alias, _COLUMNS, values)
