"""The database goes away, for a test: nothing reaches it, as if its server had ended."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, NoReturn
from unittest.mock import patch

import psycopg
from django.db import OperationalError, connection
from psycopg.errors import AdminShutdown

from memories.offline import database


def lost() -> OperationalError:
    """What Django raises when the server ends a connection."""
    error = OperationalError("terminating connection due to administrator command")
    error.__cause__ = AdminShutdown("terminating connection due to administrator command")
    return error


def _refuse(*_args: Any, **_more: Any) -> NoReturn:
    raise lost()


@contextmanager
def database_away(*, noticed: bool = True) -> Iterator[None]:
    """Every statement fails, and no new connection can be made; `noticed`: the platform knows already."""
    with ExitStack() as stack:
        stack.enter_context(patch.object(connection, "cursor", _refuse))
        stack.enter_context(patch.object(psycopg, "connect", side_effect=psycopg.OperationalError("refused")))
        if noticed:
            database.suspect()
        try:
            yield
        finally:
            forget()


@contextmanager
def connection_lost_at(part: str) -> Iterator[list[str]]:
    """The connection is lost at the first statement that holds these words; the statements before it."""
    before: list[str] = []

    def run(execute: Callable[..., Any], sql: Any, params: Any, many: bool, context: Any) -> Any:
        if part in str(sql) and not database.is_away():
            raise lost()
        before.append(str(sql))
        return execute(sql, params, many, context)

    refused = patch.object(psycopg, "connect", side_effect=psycopg.OperationalError("refused"))
    with refused, connection.execute_wrapper(run):
        try:
            yield before
        finally:
            forget()


def forget() -> None:
    """The platform takes the database for present, and asks at once when it is not."""
    database._away.clear()
    database._next_probe = 0.0
