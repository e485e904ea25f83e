"""What the API answers holds memories: no browser and no proxy may keep it."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse


class NotKept:
    """`Cache-Control: no-store` on every answer of the API, errors as well."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self._get_response(request)
        if request.path.startswith("/api/"):
            response["Cache-Control"] = "no-store"
        return response
