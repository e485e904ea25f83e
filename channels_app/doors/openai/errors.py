"""What the proxy itself refuses, in OpenAI's form; what the upstream refuses is passed on as it came."""

from django.utils.translation import gettext_lazy as _
from drf_standardized_errors.handler import exception_handler
from drf_standardized_errors.types import ExceptionHandlerContext
from rest_framework import status
from rest_framework.exceptions import APIException
from rest_framework.response import Response

from memories.api.requests import Unavailable


class ProxyOff(APIException):
    status_code = status.HTTP_404_NOT_FOUND
    default_detail = _("The proxy is off: its owner has named no upstream.")
    default_code = "proxy_off"


class ModelNotAllowed(APIException):
    status_code = status.HTTP_404_NOT_FOUND
    default_detail = _("This model is not among those the proxy may ask.")
    default_code = "model_not_found"


class NotPassedOn(APIException):
    status_code = status.HTTP_404_NOT_FOUND
    default_detail = _("The proxy does not pass this call on.")
    default_code = "not_passed_on"


class ProxyFull(Unavailable):
    default_detail = _("Too many chats go on at once; try again shortly.")
    default_code = "proxy_full"
    wait = 1


class TooManyChats(APIException):
    status_code = status.HTTP_429_TOO_MANY_REQUESTS
    default_detail = _("As many chats of yours go on as may at once; try again when one of them has ended.")
    default_code = "too_many_chats"
    wait = 1


class UpstreamUnreachable(APIException):
    status_code = status.HTTP_502_BAD_GATEWAY
    default_detail = _("The upstream of the proxy cannot be reached.")
    default_code = "upstream_unreachable"


class UpstreamTooSlow(APIException):
    status_code = status.HTTP_504_GATEWAY_TIMEOUT
    default_detail = _("The upstream of the proxy did not answer in time.")
    default_code = "upstream_timeout"


class UpstreamBroken(APIException):
    status_code = status.HTTP_502_BAD_GATEWAY
    default_detail = _("The upstream of the proxy broke off its answer.")
    default_code = "upstream_broken"


def answer_error(error: Exception, context: ExceptionHandlerContext) -> Response | None:
    """An error as OpenAI's clients read it."""
    response = exception_handler(error, context)
    if response is not None:
        first = response.data["errors"][0]
        kind = response.data["type"]
        response.data = {
            "error": {"message": first["detail"], "type": kind, "param": first["attr"], "code": first["code"]}
        }
    return response
