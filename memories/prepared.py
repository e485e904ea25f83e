"""Statements that a connection plans once: those of every turn, whose plan does not depend on how large a scope is.

Planning them takes PostgreSQL longer than running them, and Django longer than that to write them down. Recalls stay
out of this: each is planned for its own scope.
"""

import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, TypeVar

from django.db import DEFAULT_DB_ALIAS, connection, models
from django.db.backends.utils import CursorWrapper
from psycopg import Cursor

from memories import pooled

M = TypeVar("M", bound=models.Model)


class _PreparedCursor(Cursor[Any]):
    """Sends the values beside the statement, which the server keeps; Django's own writes them into it."""

    def execute(self, query: Any, params: Any = None, **options: Any) -> "_PreparedCursor":
        return super().execute(query, params, **{**options, "prepare": True})


def cursor() -> CursorWrapper:
    """A cursor like `connection.cursor()` whose statements are planned once a connection.

    Where statements are logged it is just that: the log shows them with their values. Behind a pooler it is, too: what
    is planned on one connection is not there on the next.
    """
    if connection.queries_logged or pooled.is_on():
        return connection.cursor()
    connection.ensure_connection()
    raw: Any = _PreparedCursor(connection.connection)
    return connection.make_cursor(raw)


def rows(statement: str, values: Sequence[Any] | Mapping[str, Any]) -> list[Any]:
    """The rows of a statement that is planned once a connection."""
    with cursor() as used:
        used.execute(statement, values)
        rows: list[Any] = used.fetchall()
    return rows


@cache
def columns(model: type[models.Model], alias: str, *only: str) -> str:
    """The columns of a model as a statement selects them for `instance`: all, or those of these fields."""
    return ", ".join(f'{alias}."{field.column}"' for field in _fields(model, only))


def instance(model: type[M], row: Sequence[Any], *only: str) -> M:
    """A stored row as an instance, of the values that `columns` selects."""
    fields = _fields(model, only)
    values = [
        (json.loads(value) if isinstance(field, models.JSONField) and value is not None else value)
        for field, value in zip(fields, row, strict=True)
    ]
    return model.from_db(DEFAULT_DB_ALIAS, [field.attname for field in fields], values)


@cache
def _fields(model: type[models.Model], only: tuple[str, ...]) -> tuple[models.Field[Any, Any], ...]:
    fields = model._meta.concrete_fields
    return tuple(field for field in fields if not only or field.name in only)
