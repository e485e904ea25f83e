"""A call that computes too long is given up: at its next statement it ends with 503, and what it began is rolled back.

The clock is the processor's, of this thread alone: waiting for the database or behind other calls costs nothing.
"""

import time
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.db import connection
from django.http import HttpRequest, HttpResponse

from memories.api.errors import ComputedTooLong

_CLEANING_UP = ("ROLLBACK", "RELEASE", "SAVEPOINT")


class RequestBudget:
    """Middleware: calls of the API have REQUEST_SECONDS of the processor."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not request.path.startswith("/api/v1/"):
            return self._get_response(request)
        with connection.execute_wrapper(_Budget(settings.REQUEST_SECONDS)):
            return self._get_response(request)


class _Budget:
    """Raises once: what tidies up after that is let through."""

    def __init__(self, seconds: float) -> None:
        self._end = time.thread_time() + seconds
        self._is_spent = False

    def __call__(self, execute: Any, sql: Any, params: Any, many: bool, context: Any) -> Any:
        if not self._is_spent and time.thread_time() > self._end and not str(sql).startswith(_CLEANING_UP):
            self._is_spent = True
            raise ComputedTooLong
        return execute(sql, params, many, context)
