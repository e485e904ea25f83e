"""The audit log: who came in, who looked at a secret, who changed what. Rows are added and never changed."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import pgtrigger
from django.conf import settings
from django.db import connection, models
from django.db.models import Q, TextChoices
from django.utils.translation import gettext_lazy as _

from memories.models.ids import uuid7
from memories.models.table import Chapter, Fate, Table
from memories.models.tenancy import Workspace
from memories.models.walls import WorkspacePolicy

#: Younger rows are removed by nobody, whatever is asked.
KEPT_AT_LEAST_DAYS = 30
_YOUNG = f"""
    IF OLD.at > now() - interval '{KEPT_AT_LEAST_DAYS} days' THEN
        RAISE EXCEPTION 'the audit log is kept for {KEPT_AT_LEAST_DAYS} days at least';
    END IF;
    RETURN OLD;
"""
ABOUT_CHARS = 300


class AuditEvent(TextChoices):
    """What is written down."""

    LOGIN = "login", _("Logged in")
    LOGOUT = "logout", _("Logged out")
    LOGIN_FAILED = "login_failed", _("Login failed")
    LOGIN_LOCKED = "login_locked", _("Login locked")
    PASSWORD = "password", _("Password changed")  # noqa: S105 (no password)
    FACTOR_ON = "factor_on", _("Second factor set up")
    FACTOR_OFF = "factor_off", _("Second factor removed")
    CODE_FAILED = "code_failed", _("Wrong code")
    INVITED = "invited", _("Invited somebody")
    JOINED = "joined", _("Joined by an invitation")
    WITHDRAWN = "withdrawn", _("Withdrew an invitation")
    ROLE = "role", _("Changed a role")
    DISMISSED = "dismissed", _("Dismissed somebody")
    ACCOUNT = "account", _("Changed an account")
    REVEALED = "revealed", _("Looked at a secret")
    KEY_ISSUED = "key_issued", _("Issued a key")
    KEY_REVOKED = "key_revoked", _("Revoked a key")
    SECRET_MADE = "secret_made", _("Made a new secret")  # noqa: S105 (no password)
    SETTING = "setting", _("Changed a setting")
    APPROVED = "approved", _("Approved a batch")
    REFUSED = "refused", _("Refused a batch")
    UNDONE = "undone", _("Undid a batch")
    QUARANTINED = "quarantined", _("Put into quarantine")
    RELEASED = "released", _("Let back from quarantine")
    LEAKED = "leaked", _("An answer was held back")
    DRILLED = "drilled", _("A leak drill was run")
    JOB = "job", _("Ran a job")
    ERASED = "erased", _("Erased")
    EXPORTED = "exported", _("Exported")
    OWN_MEMORY = "own_memory", _("Changed their own memory in a chat")


class AuditRecord(models.Model):
    """A line of the [audit log](../howto/people-who-work-here.md#the-audit-log).

    No process may change or remove one: the web, worker and embedder may add and read, a trigger refuses every update,
    and the function `memplatform_forget_audit` removes what is older than asked, never the last thirty days.
    `workspace` is empty for logins and what concerns the platform. No foreign keys: it outlives what it is about. The
    id is made here, not by the database: who writes a row need not be able to read it.
    """

    table = Table(chapter=Chapter.TENANTS, fate=Fate.KEPT)

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    at = models.DateTimeField(_("at"))
    workspace = models.ForeignKey(
        Workspace, models.DO_NOTHING, null=True, db_constraint=False, db_index=False, related_name="+",
        verbose_name=_("workspace"),
    )  # fmt: skip
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.DO_NOTHING, null=True, db_constraint=False, db_index=False, related_name="+",
        verbose_name=_("person"),
    )  # fmt: skip
    actor = models.CharField(_("by"), max_length=200)
    event = models.CharField(_("event"), max_length=20, choices=AuditEvent)
    about = models.CharField(_("about"), max_length=ABOUT_CHARS, blank=True, default="")
    address = models.CharField(
        _("page"), max_length=300, blank=True, default="", help_text=_("Where its own history stands.")
    )
    details = models.JSONField(_("details"), default=dict)
    ip = models.GenericIPAddressField(_("from"), null=True)

    class Meta:
        verbose_name = _("record of the audit log")
        verbose_name_plural = _("audit log")
        constraints = [
            models.CheckConstraint(condition=Q(event__in=AuditEvent.values), name="auditrecord_event_known"),
            WorkspacePolicy(name="auditrecord_of_the_workspaces", of_all=True, command="SELECT"),
            WorkspacePolicy(name="auditrecord_written", of_all=True, command="INSERT"),
        ]
        indexes = [
            models.Index(fields=["workspace", "-at"], name="auditrecord_by_time"),
            models.Index(fields=["user", "-at"], name="auditrecord_by_person"),
            models.Index(fields=["at"], name="auditrecord_by_age"),
        ]
        triggers = [
            pgtrigger.Protect(name="never_changed", operation=pgtrigger.Update),
            pgtrigger.Trigger(name="kept", when=pgtrigger.Before, operation=pgtrigger.Delete, func=_YOUNG),
        ]

    def __str__(self) -> str:
        return f"{AuditEvent(self.event).label}: {self.about or self.actor}"

    @classmethod
    def note(
        cls,
        event: AuditEvent,
        *,
        actor: str,
        at: datetime,
        workspace_id: int | None = None,
        user_id: int | None = None,
        about: str = "",
        address: str = "",
        details: Mapping[str, Any] | None = None,
        ip: str | None = None,
    ) -> None:
        """Write down what somebody did. `about` names the thing and never says a secret; `address` is its page."""
        cls.objects.create(
            event=event,
            actor=actor[:200],
            at=at,
            workspace_id=workspace_id,
            user_id=user_id,
            about=about[:ABOUT_CHARS],
            address=address[:300],
            details=dict(details or {}),
            ip=ip,
        )

    @classmethod
    def forget(cls, *, before: datetime) -> int:
        """Remove what is older; the database keeps the last days whatever is asked. The number of rows."""
        with connection.cursor() as cursor:
            cursor.execute("SELECT memplatform_forget_audit(%s)", [before])
            return int(cursor.fetchone()[0])
