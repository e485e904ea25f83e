"""Every error of the platform as an answer: one shape, and no error without a status."""

from contextlib import suppress
from typing import Any

from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views import defaults
from drf_standardized_errors.handler import ExceptionHandler as StandardHandler
from psycopg.errors import QueryCanceled
from psycopg_pool import PoolTimeout
from rest_framework import exceptions as drf
from rest_framework import status
from rest_framework.response import Response

from memories import exceptions as own
from memories.api.access import admit
from memories.api.requests import BodyTooLarge, DatabaseAway, DiskIsFull, LengthRequired, Unavailable, check_length
from memories.exceptions import HistoryDiffers, PathNotAllowed, PlatformError
from memories.offline import database

STATUSES: dict[type[PlatformError], int] = {
    error: code
    for code, errors in {
        status.HTTP_400_BAD_REQUEST: (
            *(own.InvalidDraft, own.InvalidAddress, own.VersionNotFound, own.InvalidMoment, own.NotServed),
            *(own.SessionAmbiguous, own.EventsDoNotFit, own.ConnectionNotFound),
        ),
        status.HTTP_403_FORBIDDEN: (PathNotAllowed,),
        status.HTTP_404_NOT_FOUND: (
            *(own.ChannelNotFound, own.MessageNotFound, own.ScopeNotFound, own.EntryNotFound, own.BatchNotFound),
            own.SessionNotFound,
            *(own.WebhookNotFound, own.DeliveryNotFound),
        ),
        status.HTTP_409_CONFLICT: (
            *(own.ScopeFrozen, own.BatchSettled, own.NothingToUndo, own.BatchBusy, own.SessionBusy, HistoryDiffers),
            *(own.ModelOff, own.FileUnreadable, own.FileBusy, own.LineChanged, own.ContentErased),
            *(own.WebhookOff, own.TooManyWebhooks, own.HistoryArchived, own.ConversationEnded),
        ),
        status.HTTP_412_PRECONDITION_FAILED: (own.VersionConflict,),
        status.HTTP_502_BAD_GATEWAY: (own.AnswerInvalid,),
        status.HTTP_503_SERVICE_UNAVAILABLE: (own.EmbedderFailed, own.ModelFailed, own.BudgetSpent, own.FileUnwritable),
    }.items()
    for error in errors
}


class DatabaseTooSlow(Unavailable):
    default_detail = _("This took the database too long and was given up; ask for less.")
    default_code = "too_slow"


class ComputedTooLong(Unavailable):
    default_detail = _("This took too long to compute and was given up; send less at once.")
    default_code = "too_slow"


class ExceptionHandler(StandardHandler):
    """Turns errors of the platform into those the standard shape knows."""

    def convert_known_exceptions(self, exc: Exception) -> Exception:
        if isinstance(exc, PlatformError):
            code = STATUSES[type(exc)]
            if code == status.HTTP_400_BAD_REQUEST:
                detail: Any = [drf.ErrorDetail(str(exc), code=exc.code)]
                # under the name of its field; a dotted name is a field inside a field
                for name in reversed(exc.field.split(".", 1)) if exc.field is not None else ():
                    detail = {name: detail}
                return drf.ValidationError(detail)
            answer = drf.APIException(str(exc), code=exc.code)
            answer.status_code = code
            if isinstance(exc, HistoryDiffers | PathNotAllowed):  # the client is to know where
                answer.detail = {str(exc.field): [drf.ErrorDetail(str(exc), code=exc.code)]}
            if exc.retry_after is not None:
                answer.wait = exc.retry_after  # type: ignore[attr-defined]
            return answer
        if isinstance(exc.__cause__, QueryCanceled):
            return DatabaseTooSlow()
        is_lost = database.is_lost(exc)
        if is_lost or isinstance(exc, OperationalError | InterfaceError | PoolTimeout):
            if database.is_disk_full(exc):
                return DiskIsFull()
            if is_lost:
                database.suspect()
            return DatabaseAway()
        return super().convert_known_exceptions(exc)

    def report_exception(self, exc: drf.APIException, response: Response) -> None:
        """What fails here is reported; a call nobody promised to answer is no failure."""
        if exc.status_code != status.HTTP_501_NOT_IMPLEMENTED:
            super().report_exception(exc, response)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    return answer_outside(request, 400, "parse_error", gettext("This request cannot be read.")) or defaults.bad_request(
        request, exception
    )


def page_not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """There is no such call; whoever has a key and sends it too large a body is told that, and keeps the connection."""
    try:
        check_length(request)
    except (BodyTooLarge, LengthRequired) as error:
        scheme, _space, token = request.headers.get("Authorization", "").partition(" ")
        has_key = False
        if scheme.lower() in ("bearer", "token") and token.isascii():
            with suppress(DatabaseAway):
                has_key = admit(token.strip(), timezone.now()) is not None
        if has_key and (answer := answer_outside(request, error.status_code, error.default_code, error.detail)):
            return answer
    return answer_outside(request, 404, "not_found", gettext("There is no such call.")) or defaults.page_not_found(
        request, exception
    )


def server_error(request: HttpRequest) -> HttpResponse:
    return answer_outside(request, 500, "error", gettext("Something went wrong here.")) or defaults.server_error(
        request
    )


def answer_held_back(request: HttpRequest) -> HttpResponse:
    """In place of an answer that held what is not the caller's to see."""
    detail = gettext("This answer was held back: it held what is not yours to see. Whoever runs the platform knows.")
    return answer_outside(request, 500, "answer_held_back", detail) or defaults.server_error(request)


def answer_outside(request: HttpRequest, code: int, word: str, detail: Any) -> HttpResponse | None:
    """An error that no call answers, in the shape of its door's others; None outside the API."""
    kind = "server_error" if code >= status.HTTP_500_INTERNAL_SERVER_ERROR else "client_error"
    if request.path.startswith("/v1/"):  # OpenAI's
        return JsonResponse({"error": {"message": str(detail), "type": kind, "param": None, "code": word}}, status=code)
    if not request.path.startswith("/api/"):
        return None
    return JsonResponse({"type": kind, "errors": [{"code": word, "detail": str(detail), "attr": None}]}, status=code)
