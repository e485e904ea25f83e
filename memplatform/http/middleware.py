"""Middleware every request passes: forwarded headers, its log line, its limit, its wall, who is who, what is masked."""

import ipaddress
import re
import time
import uuid
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

import structlog
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import AnonymousUser
from django.db import connection
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.functional import SimpleLazyObject
from django.utils.translation import gettext
from prometheus_client import Histogram
from rest_framework.permissions import SAFE_METHODS

from memories import telemetry
from memories.admin.masking import holds_mask, mask
from memories.admin.pages import chosen_zone, zone_named
from memories.api.errors import ComputedTooLong
from memories.models import Workspace
from memories.offline import replicas
from memories.staff.models import Factor
from memories.staff.rights import PASSED, is_staff
from memories.telemetry import SECONDS
from memories.tenancy import row_level_security

log = structlog.get_logger(__name__)
HEADER = "X-Request-ID"
_ACCEPTABLE = re.compile(r"[A-Za-z0-9._:/+=-]{1,128}")
#: Asked every few seconds by machines: not worth a line each.
_QUIET = ("livez", "readyz", "metrics")
#: Statements a call whose time is up may still run.
_CLEANING_UP = ("ROLLBACK", "RELEASE", "SAVEPOINT")

REQUESTS = Histogram(
    "memplatform_request_seconds",
    "Time of requests by route, method and status.",
    ["route", "method", "status"],
    buckets=SECONDS,
)


class Middleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response


class RequestLog(Middleware):
    """Everything inside is logged with the id the caller gave, or a new one; the answer carries it."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        request_id = request.headers.get(HEADER, "")
        request_id = request_id if _ACCEPTABLE.fullmatch(request_id) else uuid.uuid4().hex
        with ExitStack() as stack:
            stack.enter_context(structlog.contextvars.bound_contextvars(request_id=request_id))
            span = None
            if request.path.strip("/") not in _QUIET:
                # The span of the call with its statements, in the trace of a caller that names one
                parent = request.headers.get("traceparent", "")
                span = stack.enter_context(telemetry.span("request", parent=parent, kind="SERVER"))
                stack.enter_context(telemetry.statements())
            begun = time.perf_counter()
            response = self._get_response(request)
            # One line and one measurement, by route and never by path: paths name people
            seconds = time.perf_counter() - begun
            match = request.resolver_match
            route = match.route if match else "unknown"
            REQUESTS.labels(route, request.method or "", str(response.status_code)).observe(seconds)
            write = log.debug if route in _QUIET else log.info
            milliseconds = round(seconds * 1000, 1)
            write("request", method=request.method, route=route, status=response.status_code, duration_ms=milliseconds)
            if span:
                span.update_name(f"{request.method} {route}")
                span.set_attributes({"http.route": route, "http.response.status_code": response.status_code})
                span.set_attributes({"http.request.method": request.method or "", "request_id": request_id})
        if HEADER not in response:  # an answer the proxy passes on has that of its upstream
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

    A bot's key opens its own workspace when it is valid. Closed after every request.
    """

    def __call__(self, request: HttpRequest) -> HttpResponse:
        is_page = request.path.startswith(reverse("admin:index"))
        try:
            if is_page:
                user = request.user
                if user.is_authenticated and user.is_active and user.is_staff:
                    row_level_security.enter_as_operator(user.pk)
                else:
                    row_level_security.enter([])
            response = self._get_response(request)
            if is_page and request.method not in SAFE_METHODS:
                replicas.note_write(None)  # whatever it was
            return response
        finally:
            row_level_security.leave()


class OperatorTimeZone(Middleware):
    """Pages of the admin show times by the clock the reader chose.

    Where none was chosen: by that of their workspaces where these share one, else by the server's setting.
    """

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not (request.path.startswith(reverse("admin:index")) and request.user.is_authenticated):
            return self._get_response(request)
        zone = chosen_zone(request)
        if zone is None:  # that of their workspaces, where they are in one
            workspaces = Workspace.objects.all()
            if not request.user.is_superuser:
                workspaces = workspaces.filter(members__user=request.user.pk)
            zones = list(workspaces.order_by().values_list("time_zone", flat=True).distinct()[:2])
            # None, too, of a name set before names were checked
            zone = (zone_named(zones[0]) if len(zones) == 1 else None) or ZoneInfo(settings.TIME_ZONE)
        with timezone.override(zone):
            return self._get_response(request)


#: Headers of a proxy about the call it hands on.
HEADERS = (
    "HTTP_X_FORWARDED_FOR",
    "HTTP_X_FORWARDED_PROTO",
    "HTTP_X_FORWARDED_HOST",
    "HTTP_X_REAL_IP",
    "HTTP_FORWARDED",
)


class TrustedProxies(Middleware):
    """The first middleware: takes forwarded headers from a trusted proxy and drops them from anybody else.

    With a public address, what comes from a proxy was called by it, also if the proxy does not say so.
    """

    def __call__(self, request: HttpRequest) -> HttpResponse:
        meta = request.META
        proxy_headers = {name: meta.pop(name) for name in HEADERS if name in meta}
        if is_trusted(meta.get("REMOTE_ADDR", "")):
            public = urlsplit(settings.PUBLIC_URL)
            # The last address in the chain that is no proxy of ours: what stands before it anybody may have written
            chain = proxy_headers.get("HTTP_X_FORWARDED_FOR") or proxy_headers.get("HTTP_X_REAL_IP") or ""
            for part in reversed(chain.split(",")):
                ip = _ip_address(part.strip())
                if ip is None:
                    break
                if not is_trusted(str(ip)):
                    meta["REMOTE_ADDR"] = str(ip)
                    break
            meta["HTTP_X_FORWARDED_PROTO"] = proxy_headers.get("HTTP_X_FORWARDED_PROTO", public.scheme).strip().lower()
            if public.netloc:
                meta["HTTP_HOST"] = public.netloc
        return self._get_response(request)


def is_trusted(address: str) -> bool:
    """Whether an address is that of a proxy among the owner's TRUSTED_PROXIES: addresses and networks."""
    ip = _ip_address(address)
    networks = (text.strip() for text in settings.TRUSTED_PROXIES if text.strip())
    return ip is not None and any(ip in ipaddress.ip_network(network, strict=False) for network in networks)


def _ip_address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        ip = ipaddress.ip_address(text)
    except ValueError:
        return None
    return getattr(ip, "ipv4_mapped", None) or ip


class SecondFactor(Middleware):
    """An account that has not given its code is nobody; one that needs a factor is led to where it is set up."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        account = request.user
        request.account = account  # type: ignore[attr-defined]
        request.user = SimpleLazyObject(lambda: account if _is_let_in(request) else AnonymousUser())  # type: ignore[assignment]
        if request.path.startswith(reverse("admin:index")) and _lacks_factor(request) and not _is_setting_up(request):
            return HttpResponseRedirect(reverse("admin:second_factor"))
        return self._get_response(request)


def _is_let_in(request: HttpRequest) -> bool:
    factor = Factor.of(request.account)  # type: ignore[attr-defined]
    if factor is None:
        return not _lacks_factor(request) or _is_setting_up(request)
    return bool(request.session.get(PASSED) == factor.pk)


def _lacks_factor(request: HttpRequest) -> bool:
    account = request.account  # type: ignore[attr-defined]
    return bool(settings.REQUIRE_SECOND_FACTOR and account.is_staff and Factor.of(account) is None)


def _is_setting_up(request: HttpRequest) -> bool:
    open_pages = ("admin:second_factor", "admin:logout", "admin:jsi18n", "set_language")
    return request.path in map(reverse, open_pages)


class MaskedCredentials(Middleware):
    """Masks what the admin answers, and takes no form back in which something is masked."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not (request.path.startswith(reverse("admin:index")) and is_staff(request)):
            return self._get_response(request)
        if holds_mask(request):
            messages.error(request, gettext("What is masked was not saved. Reveal it first, and type it anew."))
            return HttpResponseRedirect(request.get_full_path())
        response = self._get_response(request)
        mask(request, response)
        return response
