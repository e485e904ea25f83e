"""Logins as the audit log has them: who came in, who did not, and which account was locked."""

from collections.abc import Mapping
from http import HTTPStatus

from django.contrib.auth import get_user_model
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from memories.audit.models import AuditEvent, AuditRecord


def note_login(request: HttpRequest, response: HttpResponse) -> None:
    """Note the outcome of a form of login. A name nobody has is not kept: it may be a password in the wrong field."""
    name = request.POST.get("username", "")
    user = get_user_model().objects.filter(username=name[:150].replace("\0", "")).first()
    note_account(request, _outcome(request, response), user)


def note_account(
    request: HttpRequest, event: AuditEvent, user: object, *, details: Mapping[str, str] | None = None
) -> None:
    """Note what somebody did with their own account, or with that of somebody whose name they gave."""
    known = str(user) if user else ""
    AuditRecord.note(
        event,
        actor=f"user:{known}" if known else "unknown",
        at=timezone.now(),
        user_id=getattr(user, "pk", None),
        about=known,
        details=details,
        ip=request.META.get("REMOTE_ADDR") or None,
    )


def _outcome(request: HttpRequest, response: HttpResponse) -> AuditEvent:
    if getattr(request, "axes_locked_out", False):
        return AuditEvent.LOGIN_LOCKED
    is_in = response.status_code == HTTPStatus.FOUND and request.user.is_authenticated
    return AuditEvent.LOGIN if is_in else AuditEvent.LOGIN_FAILED
