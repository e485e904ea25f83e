"""Opens the second wall as far as the person at the admin may see, and closes it after every request."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from memories.tenancy import row_level_security


class WorkspaceWall:
    """Staff see the workspaces they are members of, owners all; a bot's key opens its own when it is known."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        try:
            if request.path.startswith(reverse("admin:index")):
                _open_for(request)
            return self._get_response(request)
        finally:
            row_level_security.leave()


def _open_for(request: HttpRequest) -> None:
    user = request.user
    if user.is_authenticated and user.is_active and user.is_staff:
        row_level_security.enter_as_operator(user.pk)
    else:
        row_level_security.enter([])
