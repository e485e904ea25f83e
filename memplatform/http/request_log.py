"""Following a request: its id in every log line and in the answer, one line about it, and how long it took."""

import re
import time
import uuid
from collections.abc import Callable

import structlog
from django.http import HttpRequest, HttpResponse

from memplatform import metrics

log = structlog.get_logger(__name__)
HEADER = "X-Request-ID"
_ACCEPTABLE = re.compile(r"[A-Za-z0-9._:/+=-]{1,128}")
#: Asked every few seconds by machines: not worth a line each.
_QUIET = ("livez", "readyz", "metrics")


class RequestTrace:
    """The first middleware: what happens inside carries the id the caller gave, or a new one."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        request_id = _id_of(request)
        with structlog.contextvars.bound_contextvars(request_id=request_id):
            begun = time.perf_counter()
            response = self._get_response(request)
            _tell(request, response, time.perf_counter() - begun)
        response[HEADER] = request_id
        return response


def _id_of(request: HttpRequest) -> str:
    given = request.headers.get(HEADER, "")
    return given if _ACCEPTABLE.fullmatch(given) else uuid.uuid4().hex


def _tell(request: HttpRequest, response: HttpResponse, seconds: float) -> None:
    """By route, never by path: paths name people."""
    match = request.resolver_match
    route = match.route if match else "unknown"
    metrics.REQUESTS.labels(route, request.method or "", str(response.status_code)).observe(seconds)
    tell = log.debug if route in _QUIET else log.info
    tell(
        "request",
        method=request.method,
        route=route,
        status=response.status_code,
        duration_ms=round(seconds * 1000, 1),
    )
