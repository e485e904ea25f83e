"""Where platforms call: each connection has an address of its own. What a call holds is stored, and worked on after.

The calls of accounts that send nothing by themselves wait for what comes of it.
"""

import time
from uuid import UUID

import structlog
from django.core.exceptions import RequestDataTooBig
from django.db import Error, connections
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import path
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from channels_app.platforms import call_answers, intake, platform_named
from channels_app.platforms.wire import CALL_MAX, Call, NotGenuine, NotReadable
from memories.secrets import SecretUnreadable
from memories.tenancy import row_level_security

log = structlog.get_logger(__name__)
RETRY_SECONDS = 5


def _refused(status: int, words: str, **headers: str) -> HttpResponse:
    return HttpResponse(words, status=status, content_type="text/plain; charset=utf-8", headers=headers)


@csrf_exempt
@require_http_methods(["GET", "POST"])
def called(request: HttpRequest, platform: str, uid: UUID) -> HttpResponse:
    """A call by a platform: 401 unless it is genuine, 400 when it cannot be read, 413 when it is too long."""
    length = request.headers.get("Content-Length", "")
    if length.isdecimal() and int(length) > CALL_MAX:
        return _refused(413, "Too long.")
    try:
        body = request.read(CALL_MAX + 1)
    except RequestDataTooBig:
        return _refused(413, "Too long.")
    if len(body) > CALL_MAX:
        return _refused(413, "Too long.")
    try:
        row_level_security.enter_by_connection(str(uid))
        connection = intake.cached_connection(uid)
        if connection is None or connection.channel.platform != platform:
            return _refused(404, "There is no such connection.")
        call = Call(
            method=request.method or "",
            query=request.GET.dict(),
            headers={name.lower(): value for name, value in request.headers.items()},
            body=body,
            now=timezone.now(),
        )
        received = intake.receive(connection, call)
        vendor, account = platform_named(platform), intake.cached_account(connection)
        if received.messages and vendor.is_answered_in_call(account):
            text = call_answers.answer_to(connection, received, clock=timezone.now, sleep=time.sleep)
            received = vendor.reply(text, call, account) if text else received
    except NotGenuine:
        log.warning("channel.not_genuine", platform=platform)
        return _refused(401, "This is not proven to be the platform's.")
    except NotReadable:
        return _refused(400, "Not readable.")
    except SecretUnreadable:
        return _refused(503, "Its secret cannot be read.", **{"Retry-After": str(RETRY_SECONDS)})
    except Error:  # the platform sends it again
        connections["default"].close()
        return _refused(503, "The database is away.", **{"Retry-After": str(RETRY_SECONDS)})
    if isinstance(received.answer, dict):
        return JsonResponse(received.answer)
    return HttpResponse(received.answer, content_type=received.content_type)


called.methods = ("GET", "POST")  # type: ignore[attr-defined]
urlpatterns = [path("channels/<str:platform>/<uuid:uid>", called, name="platform_call")]
