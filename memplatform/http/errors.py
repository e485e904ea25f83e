"""Errors of a database whose tables are not, or not yet, those of this version of the code: 503, not 500.

So it is while a migration runs beside calls, and while an older version still answers after it. Pages answer what calls
answer: what passes by itself is a page to come back to, and no fault.
"""

import sys
from typing import cast

import structlog
from django.db import Error, connection
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.utils.translation import gettext_lazy as _
from drf_standardized_errors.types import ExceptionHandlerContext
from rest_framework import status
from rest_framework.exceptions import APIException

from memories.api.errors import ExceptionHandler, answer_outside
from memories.api.errors import server_error as fault
from memories.api.requests import Unavailable
from memplatform.database import state

log = structlog.get_logger(__name__)
#: SQLSTATEs of a statement that goes with other tables: a column, table, function or parameter that is not there, a
#: plan whose result has changed, a column nobody fills.
_OF_OTHER_TABLES = {"42703", "42P01", "42883", "42P02", "0A000", "23502"}
_PLAN_CHANGED, _DENIED = "0A000", "42501"


class TablesDiffer(Unavailable):
    default_detail = _("The database is being upgraded; try again shortly.")
    default_code = "database_upgrading"


class Handler(ExceptionHandler):
    """The errors of the API, and those of tables of another version."""

    def convert_known_exceptions(self, exc: Exception) -> Exception:
        if isinstance(exc, Error) and _is_of_other_tables(exc):
            log.warning("database.other_tables", problem=type(exc.__cause__).__name__)
            return TablesDiffer()
        return super().convert_known_exceptions(exc)


def server_error(request: HttpRequest) -> HttpResponse:
    """What a request is answered that ended in the error being handled, outside a call of the API."""
    error, context = sys.exc_info()[1], cast(ExceptionHandlerContext, {"request": request})
    passing = Handler(error, context).convert_known_exceptions(error) if isinstance(error, Exception) else None
    if not isinstance(passing, APIException) or passing.status_code != status.HTTP_503_SERVICE_UNAVAILABLE:
        return fault(request)
    code, detail = passing.status_code, passing.detail
    answer = answer_outside(request, code, passing.default_code, detail)
    if answer is None:
        # A page without the request's own context, which asks the database who is logged in
        again = request.get_full_path() if request.method == "GET" else ""
        answer = HttpResponse(render_to_string("503.html", {"detail": detail, "again": again}), status=code)
    answer["Retry-After"] = str(getattr(passing, "wait", TablesDiffer.wait))
    return answer


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
