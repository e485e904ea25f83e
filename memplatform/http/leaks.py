"""The last look at what leaves: an answer that holds a canary its caller may not see is held back, and reported.

It asks nothing of the database unless a token is found. It stands inside the wall, so that what it notes is written.
"""

from collections.abc import Iterable, Iterator

import structlog
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from memories.api.access import WORKSPACE
from memories.api.errors import answer_held_back
from memories.audit.models import AuditEvent, AuditRecord
from memories.staff.rights import workspaces_of
from memories.tenancy import access, row_level_security
from memories.tenancy.access import Caller
from memories.webhooks import announce_leak
from memplatform.http.middleware import Middleware

log = structlog.get_logger(__name__)


class LeakHeldBack(Exception):
    """A stream held a canary: it ends here, and is not whole."""


class LeakGuard(Middleware):
    """Answers of every door pass it: calls of the API, mem0's, the proxy, MCP, which asks these, and the admin."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self._get_response(request)
        if response.streaming:
            stream: Iterable[bytes] = response.streaming_content  # type: ignore[attr-defined]
            response.streaming_content = _checked_pieces(request, stream)  # type: ignore[attr-defined]
            return response
        if workspaces := _leaks(request, response.content):
            _tell(request, workspaces)
            return answer_held_back(request)
        return response


def _checked_pieces(request: HttpRequest, stream: Iterable[bytes]) -> Iterator[bytes]:
    """The pieces of a stream up to the one in which a canary ends."""
    before = b""
    for piece in stream:
        window = before + piece
        if workspaces := _leaks(request, window):
            _tell(request, workspaces)
            raise LeakHeldBack
        yield piece
        before = window[-access.LONGEST :]


def _leaks(request: HttpRequest, body: bytes) -> set[int]:
    """The workspaces whose canaries are in a body and may not be."""
    workspaces = set(access.planted_in(body))
    if not workspaces:
        return workspaces
    # But for those whose scope of canaries who asked reaches
    user = getattr(request, "user", None)
    if isinstance(user, Caller):
        return workspaces - {user.workspace_id} if user.may_reach(access.SCOPE_KEY) else workspaces
    if user is None or not user.is_authenticated:
        return workspaces
    workspace_ids = workspaces_of(request)
    return set() if workspace_ids is None else workspaces - workspace_ids


def _tell(request: HttpRequest, workspaces: set[int]) -> None:
    """Note the incident for each workspace a canary is of, and tell its webhooks; neither learns who else it is."""
    route = request.resolver_match.route if request.resolver_match else ""
    now = timezone.now()
    log.error("leak.held_back", route=route, workspaces=sorted(workspaces), caller=request.META.get(WORKSPACE))
    inside = row_level_security.is_inside()
    row_level_security.enter(workspaces)
    try:
        with transaction.atomic():
            for workspace in sorted(workspaces):
                AuditRecord.note(
                    AuditEvent.LEAKED, actor="platform", at=now, workspace_id=workspace, about=route,
                    details={"same_workspace": request.META.get(WORKSPACE) == workspace},
                )  # fmt: skip
                announce_leak(workspace, now=now)
    finally:
        if not inside:
            row_level_security.leave()
