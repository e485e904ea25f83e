"""Errors of a database whose tables are not, or not yet, those of this version of the code: 503, not 500.

So it is while a migration runs beside calls, and while an older version still answers after it.
"""

import structlog
from django.db import Error, connection
from django.utils.translation import gettext_lazy as _
from rest_framework import status
from rest_framework.exceptions import APIException

from memories.api.errors import ExceptionHandler
from memplatform.database import state

log = structlog.get_logger(__name__)
#: SQLSTATEs of a statement that goes with other tables: a column, table, function or parameter that is not there, a
#: plan whose result has changed, a column nobody fills.
_OF_OTHER_TABLES = {"42703", "42P01", "42883", "42P02", "0A000", "23502"}
_PLAN_CHANGED, _DENIED = "0A000", "42501"


class TablesDiffer(APIException):
    status_code = status.HTTP_503_SERVICE_UNAVAILABLE
    default_detail = _("The database is being upgraded; try again shortly.")
    default_code = "database_upgrading"
    wait = 5


class Handler(ExceptionHandler):
    """The errors of the API, and those of tables of another version."""

    def convert_known_exceptions(self, exc: Exception) -> Exception:
        if isinstance(exc, Error) and _is_of_other_tables(exc):
            log.warning("database.other_tables", problem=type(exc.__cause__).__name__)
            return TablesDiffer()
        return super().convert_known_exceptions(exc)


def _is_of_other_tables(error: Error) -> bool:
    code = getattr(error.__cause__, "sqlstate", None)
    if code == _DENIED:  # tables are made before the rights to them; what the wall refuses has other words
        return str(error).startswith("permission denied for")
    if code not in _OF_OTHER_TABLES:
        return False
    if code == _PLAN_CHANGED:  # the connection keeps the plan, and the pool would keep the connection
        is_plan = "cached plan" in str(error)
        if is_plan and connection.connection is not None:
            connection.connection.close()
            connection.close()
        return is_plan
    try:
        return bool(state.unknown_migrations()) or state.has_pending_migrations()
    except Error:
        return False
