"""Statements that a connection plans once: those of every turn, whose plan does not depend on how large a scope is.

Planning them takes PostgreSQL longer than running them. Recalls stay out of this: each is planned for its own scope.
"""

from typing import Any

from django.db import connection
from django.db.backends.utils import CursorWrapper
from psycopg import Cursor


class _PreparedCursor(Cursor[Any]):
    """Sends the values beside the statement, which the server keeps; Django's own writes them into it."""

    def execute(self, query: Any, params: Any = None, **options: Any) -> "_PreparedCursor":
        return super().execute(query, params, **{**options, "prepare": True})


def cursor() -> CursorWrapper:
    """A cursor like `connection.cursor()` whose statements are planned once a connection."""
    connection.ensure_connection()
    raw = _PreparedCursor(connection.connection)
    return connection.make_debug_cursor(raw) if connection.queries_logged else connection.make_cursor(raw)
