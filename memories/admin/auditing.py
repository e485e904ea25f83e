"""What people do in the admin, noted in the audit log in the transaction that does it."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from django.db.models import Model
from django.http import HttpRequest
from django.urls import NoReverseMatch
from django.utils import timezone

from memories.admin.pages import admin_url
from memories.audit.models import AuditEvent, AuditRecord
from memories.models import Workspace

#: Kinds of rows whose names staff gave. All others are named by their ids: the log outlives what is erased.
_NAMED_BY_STAFF = frozenset(
    {
        *("auth.user", "auth.group", "channels_app.channel", "django_q.schedule", "memories.batch", "memories.bot"),
        *("memories.botkey", "memories.invitation", "memories.jobrun", "memories.member", "memories.policy"),
        *("memories.webhook", "memories.workspace"),
    }
)


def note(
    request: HttpRequest,
    event: AuditEvent,
    row: Model | None = None,
    *,
    about: str = "",
    workspace_id: int | None = None,
    details: Mapping[str, Any] | None = None,
) -> None:
    """Note what the person of a request did: to this row, or to what `about` names. Never with a secret.

    With the page of the row: its own history says the values, which stand here no second time.
    """
    address = ""
    if row is not None and row.pk is not None:
        with suppress(NoReverseMatch):
            address = admin_url(row, "change", row.pk)
    if row is not None and not about:
        is_named = row._meta.label_lower in _NAMED_BY_STAFF
        about = str(row) if is_named else f"{row._meta.verbose_name} {row.pk}"
    if not workspace_id:
        workspace_id = row.pk if isinstance(row, Workspace) else getattr(row, "workspace_id", None)
    AuditRecord.note(
        event,
        actor=f"user:{request.user.get_username()}",
        at=timezone.now(),
        workspace_id=workspace_id,
        user_id=request.user.pk,
        about=about,
        address=address,
        details={**({"kind": row._meta.label_lower} if row is not None else {}), **(details or {})},
        ip=request.META.get("REMOTE_ADDR") or None,
    )


class Audited:
    """For every page of the admin: what is added, changed and removed by its forms is noted."""

    #: As what; None: the rows have a history of their own, where it stands already.
    audit_event: AuditEvent | None = AuditEvent.SETTING

    def log_addition(self, request: HttpRequest, obj: Any, message: Any) -> Any:
        self._note(request, obj, "added", message)
        return super().log_addition(request, obj, message)  # type: ignore[misc]

    def log_change(self, request: HttpRequest, obj: Any, message: Any) -> Any:
        self._note(request, obj, "changed", message)
        return super().log_change(request, obj, message)  # type: ignore[misc]

    def log_deletions(self, request: HttpRequest, queryset: Iterable[Any]) -> Any:
        for row in queryset:
            self._note(request, row, "removed", "")
        return super().log_deletions(request, queryset)  # type: ignore[misc]

    def log_as(self, request: HttpRequest, event: AuditEvent, obj: Any, message: str) -> None:
        """Note an event of its own beside the line in the history of a row."""
        note(request, event, obj, details={"text": message})
        super().log_change(request, obj, message)  # type: ignore[misc]

    def _note(self, request: HttpRequest, row: Any, what: str, message: Any) -> None:
        if self.audit_event is None:
            return
        details = {"text": message} if isinstance(message, str) else {"changes": message}
        note(request, self.audit_event, row, details={"what": what, **(details if message else {})})
