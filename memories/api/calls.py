"""What all calls have in common: who may make them, what their query string may hold, and how often."""

from typing import Any, ClassVar

from django.utils.translation import gettext_lazy as _
from rest_framework import status
from rest_framework.exceptions import APIException, ErrorDetail, ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from memories.api import fields
from memories.choices import Permission


class LengthRequired(APIException):
    status_code = status.HTTP_411_LENGTH_REQUIRED
    default_detail = _("A body needs its Content-Length; in chunks it is not read.")
    default_code = "length_required"


class Call(APIView):
    """A call of the API.

    `required` names the permission each method needs, `queried` what its query string may hold: nothing, unless named.
    """

    required: ClassVar[dict[str, Permission]] = {}
    queried: ClassVar[dict[str, type[fields.StrictSerializer]]] = {}
    #: The query string of this request, as read.
    asked: dict[str, Any]

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        if "Transfer-Encoding" in request.headers:  # such a body would be taken for an empty one
            raise LengthRequired
        query = self.queried.get(method_of(request), fields.StrictSerializer)(data=_told_once(request))
        query.is_valid(raise_exception=True)
        self.asked = query.validated_data

    def options(self, request: Request, *args: Any, **kwargs: Any) -> Response:  # type: ignore[override]
        return Response(status=204)  # the Allow header says it all


def method_of(request: Request) -> str:
    """The method a request stands for: HEAD asks for what GET would answer."""
    return "GET" if request.method == "HEAD" else str(request.method)


def _told_once(request: Request) -> dict[str, str]:
    """The query string, in which nothing may be said twice."""
    told = dict(request.query_params.lists())
    twice = [name for name, values in told.items() if len(values) > 1]
    if twice:
        detail = ErrorDetail(str(_("This is given twice.")), code="twice")
        raise ValidationError({name: [detail] for name in twice})
    return {name: values[0] for name, values in told.items()}
