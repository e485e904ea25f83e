"""Every error of the platform as an answer: one shape, and no error without a status."""

from typing import Any

from drf_standardized_errors.handler import ExceptionHandler as StandardHandler
from rest_framework import exceptions as drf
from rest_framework import status

from memories.exceptions import (
    EmbedderFailed,
    EntryNotFound,
    InvalidAddress,
    InvalidDraft,
    PlatformError,
    ScopeFrozen,
    ScopeNotFound,
    VersionConflict,
    VersionNotFound,
)

STATUSES: dict[type[PlatformError], int] = {
    InvalidDraft: status.HTTP_400_BAD_REQUEST,
    InvalidAddress: status.HTTP_400_BAD_REQUEST,
    ScopeNotFound: status.HTTP_404_NOT_FOUND,
    ScopeFrozen: status.HTTP_409_CONFLICT,
    EntryNotFound: status.HTTP_404_NOT_FOUND,
    VersionConflict: status.HTTP_412_PRECONDITION_FAILED,
    VersionNotFound: status.HTTP_400_BAD_REQUEST,
    EmbedderFailed: status.HTTP_503_SERVICE_UNAVAILABLE,
}


class ExceptionHandler(StandardHandler):
    """Turns errors of the platform into those the standard shape knows."""

    def convert_known_exceptions(self, exc: Exception) -> Exception:
        if isinstance(exc, PlatformError):
            return _as_response(exc)
        return super().convert_known_exceptions(exc)


def _as_response(error: PlatformError) -> drf.APIException:
    code = STATUSES[type(error)]
    if code == status.HTTP_400_BAD_REQUEST:
        return drf.ValidationError(_named(error.field, drf.ErrorDetail(str(error), code=error.code)))
    answer = drf.APIException(str(error), code=error.code)
    answer.status_code = code
    return answer


def _named(field: str | None, detail: drf.ErrorDetail) -> Any:
    """The detail under the name of its field; a dotted name is a field inside a field."""
    if field is None:
        return [detail]
    *outer, last = field.split(".", 1)
    named: Any = {last: [detail]}
    return {outer[0]: named} if outer else named
