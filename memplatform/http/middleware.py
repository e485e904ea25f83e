"""Middleware every request passes: its log line, its limit, its wall, and the clock of whoever reads pages."""

import re
import time
import uuid
from collections.abc import Callable
from typing import Any
from zoneinfo import ZoneInfo

import structlog
from django.conf import settings
from django.db import connection
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone

from memories.admin.clock import chosen_zone, zone_named
from memories.api.errors import ComputedTooLong
from memories.models import Workspace
from memories.tenancy import row_level_security
from memplatform import metrics

log = structlog.get_logger(__name__)
HEADER = "X-Request-ID"
_ACCEPTABLE = re.compile(r"[A-Za-z0-9._:/+=-]{1,128}")
#: Asked every few seconds by machines: not worth a line each.
_QUIET = ("livez", "readyz", "metrics")
#: Statements a call whose time is up may still run.
_CLEANING_UP = ("ROLLBACK", "RELEASE", "SAVEPOINT")


class Middleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response


class RequestLog(Middleware):
    """Everything inside is logged with the id the caller gave, or a new one; the answer carries it."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        given = request.headers.get(HEADER, "")
        request_id = given if _ACCEPTABLE.fullmatch(given) else uuid.uuid4().hex
        with structlog.contextvars.bound_contextvars(request_id=request_id):
            begun = time.perf_counter()
            response = self._get_response(request)
            # One line and one measurement, by route and never by path: paths name people
            seconds = time.perf_counter() - begun
            match = request.resolver_match
            route = match.route if match else "unknown"
            metrics.REQUESTS.labels(route, request.method or "", str(response.status_code)).observe(seconds)
            write = log.debug if route in _QUIET else log.info
            milliseconds = round(seconds * 1000, 1)
            write("request", method=request.method, route=route, status=response.status_code, duration_ms=milliseconds)
        response[HEADER] = request_id
        return response


class NoStore(Middleware):
    """`Cache-Control: no-store` on every answer of the API, errors as well: they hold memories."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self._get_response(request)
        if request.path.startswith(("/api/", "/v1/")):
            response["Cache-Control"] = "no-store"
        return response


class RequestBudget(Middleware):
    """A call of the API has REQUEST_SECONDS of the processor; then it ends with 503 at its next statement.

    What it began is rolled back. The clock is that of this thread alone: waiting for the database or behind other calls
    costs nothing.
    """

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not request.path.startswith(("/api/v1/", "/api/mem0/", "/v1/")):
            return self._get_response(request)
        with connection.execute_wrapper(_Budget(settings.REQUEST_SECONDS)):
            return self._get_response(request)


class _Budget:
    """Raises ComputedTooLong once: what tidies up after that is let through."""

    def __init__(self, seconds: float) -> None:
        self._end = time.thread_time() + seconds
        self._is_spent = False

    def __call__(self, execute: Any, sql: Any, params: Any, many: bool, context: Any) -> Any:
        if not self._is_spent and time.thread_time() > self._end and not str(sql).startswith(_CLEANING_UP):
            self._is_spent = True
            raise ComputedTooLong
        return execute(sql, params, many, context)


class WorkspaceWall(Middleware):
    """Row-level security for pages of the admin: staff see the workspaces they are members of, superusers all.

    A bot's key opens its own workspace when it is known. Closed after every request.
    """

    def __call__(self, request: HttpRequest) -> HttpResponse:
        try:
            if request.path.startswith(reverse("admin:index")):
                user = request.user
                if user.is_authenticated and user.is_active and user.is_staff:
                    row_level_security.enter_as_operator(user.pk)
                else:
                    row_level_security.enter([])
            return self._get_response(request)
        finally:
            row_level_security.leave()


class OperatorTimeZone(Middleware):
    """Pages of the admin show times by the clock the reader chose.

    Where none was chosen: by that of their workspaces where these share one, else by the server's setting.
    """

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not (request.path.startswith(reverse("admin:index")) and request.user.is_authenticated):
            return self._get_response(request)
        with timezone.override(chosen_zone(request) or _zone_of(request)):
            return self._get_response(request)


def _zone_of(request: HttpRequest) -> ZoneInfo:
    workspaces = Workspace.objects.all()
    if not request.user.is_superuser:
        workspaces = workspaces.filter(members__user=request.user.pk)
    zones = list(workspaces.order_by().values_list("time_zone", flat=True).distinct()[:2])
    found = zone_named(zones[0]) if len(zones) == 1 else None  # None, too, of a name set before names were checked
    return found or ZoneInfo(settings.TIME_ZONE)
