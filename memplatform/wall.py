"""Opens the second wall as far as the person at the admin may see, and closes it after every request."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from memories import walls
from memories.models import Member, Workspace


class WorkspaceWall:
    """Staff see the workspaces they are members of, owners all; a bot's key opens its own when it is known."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        try:
            if request.path.startswith(reverse("admin:index")):
                walls.enter(_seen_by(request))
            return self._get_response(request)
        finally:
            walls.leave()


def _seen_by(request: HttpRequest) -> list[int]:
    user = request.user
    if not (user.is_authenticated and user.is_active and user.is_staff):
        return []
    if user.is_superuser:
        return list(Workspace.objects.values_list("pk", flat=True))
    return list(Member.objects.filter(user=user).values_list("workspace_id", flat=True))
