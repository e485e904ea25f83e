"""The people who work here: their roles, how they are invited, and the second factor they log in with."""

import secrets
from datetime import datetime, timedelta
from typing import Any

import pgtrigger
from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from memories.models.change import Recorded, record_changes
from memories.models.table import Chapter, Fate, Table
from memories.models.tenancy import BotKey, Workspace
from memories.models.walls import WorkspacePolicy
from memories.staff.roles import Right, Role, rights_of
from memories.tenancy import row_level_security

#: Checked at the end of the transaction: a workspace that goes takes its members with it.
_OWNER_STAYS = """
    IF OLD.role <> 'owner' OR (TG_OP = 'UPDATE' AND NEW.role = 'owner' AND NEW.workspace_id = OLD.workspace_id) THEN
        RETURN NULL;
    END IF;
    PERFORM 1 FROM memories_workspace WHERE id = OLD.workspace_id FOR UPDATE;  -- two owners at once wait here
    IF FOUND AND NOT EXISTS (
        SELECT 1 FROM memories_member WHERE workspace_id = OLD.workspace_id AND role = 'owner'
    ) THEN
        RAISE EXCEPTION USING ERRCODE = 'check_violation', CONSTRAINT = 'member_owner_stays',
            MESSAGE = 'the last owner of a workspace stays';
    END IF;
    RETURN NULL;
"""


class Member(Recorded):
    """A person of the staff in a workspace, with a role that says [what they may do
    there](../howto/people-who-work-here.md#roles). A trigger that waits for the end of the transaction refuses to lose
    the last owner.
    """

    table = Table(chapter=Chapter.TENANTS, fate=Fate.NOTHING)

    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="members", verbose_name=_("workspace"))
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="memberships", verbose_name=_("person")
    )
    role = models.CharField(_("role"), max_length=10, choices=Role, default=Role.VIEWER)
    created_at = models.DateTimeField(_("since"), auto_now_add=True)

    class Meta:
        verbose_name = _("member")
        verbose_name_plural = _("members")
        constraints = [
            models.UniqueConstraint(fields=["workspace", "user"], name="member_once_in_workspace"),
            models.CheckConstraint(condition=Q(role__in=Role.values), name="member_role_known"),
            WorkspacePolicy(name="member_of_the_workspaces"),
        ]
        triggers = [
            *record_changes(),
            pgtrigger.Trigger(
                name="owner_stays",
                when=pgtrigger.After,
                operation=pgtrigger.Update | pgtrigger.Delete,
                timing=pgtrigger.Deferred,
                func=_OWNER_STAYS,
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user} · {self.workspace}"


class Invitation(models.Model):
    """A link by which one person joins a workspace with a role, once; only the hash of its code is stored.

    - `invitation_accepted_or_withdrawn`: not both.
    """

    table = Table(chapter=Chapter.TENANTS, fate=Fate.NOTHING)

    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="invitations", verbose_name=_("workspace"))
    role = models.CharField(_("role"), max_length=10, choices=Role)
    label = models.CharField(_("for whom"), max_length=100, blank=True, default="")
    digest = models.CharField(max_length=64, unique=True, editable=False)
    invited_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="+", verbose_name=_("invited by")
    )
    created_at = models.DateTimeField(_("created"))
    expires_at = models.DateTimeField(_("expires"))
    accepted_at = models.DateTimeField(_("accepted"), null=True, blank=True)
    withdrawn_at = models.DateTimeField(_("withdrawn"), null=True, blank=True)

    class Meta:
        verbose_name = _("invitation")
        verbose_name_plural = _("invitations")
        constraints = [
            models.CheckConstraint(condition=Q(role__in=Role.values), name="invitation_role_known"),
            models.CheckConstraint(
                condition=Q(accepted_at=None) | Q(withdrawn_at=None), name="invitation_accepted_or_withdrawn"
            ),
            WorkspacePolicy(name="invitation_of_the_workspaces"),
        ]

    def __str__(self) -> str:
        return self.label or str(Role(self.role).label)

    @classmethod
    def make(
        cls, workspace: Workspace, role: str, *, invited_by: Any, label: str, days: int, now: datetime
    ) -> tuple["Invitation", str]:
        """A new invitation and its code, which is not kept and cannot be shown again."""
        code = secrets.token_urlsafe(32)
        row = cls.objects.create(
            workspace=workspace,
            role=role,
            label=label,
            digest=BotKey.digest_of(code),
            invited_by=invited_by,
            created_at=now,
            expires_at=now + timedelta(days=days),
        )
        return row, code

    @classmethod
    def of_code(cls, code: str, *, now: datetime) -> "Invitation | None":
        """The invitation with this code that can still be accepted, locked, inside the wall of its workspace."""
        row_level_security.enter_by_invitation(BotKey.digest_of(code))
        rows = cls.objects.select_for_update().filter(digest=BotKey.digest_of(code), expires_at__gt=now)
        return rows.filter(accepted_at=None, withdrawn_at=None).first()

    def is_backed(self) -> bool:
        """Whether whoever invited may still give this role: one who was dismissed admits nobody any more."""
        person = self.invited_by
        if not (person.is_active and person.is_staff):
            return False
        if person.is_superuser:
            return True
        member = Member.objects.filter(workspace_id=self.workspace_id, user=person).first()
        rights = rights_of(member.role) if member else frozenset()
        return Right.MEMBERS in rights and rights_of(self.role) <= rights


class OwnView(models.Model):
    """A view of a list of the admin that a person saved for themselves: how it is narrowed, under a name of theirs.

    Nobody else sees it. The words it searches for may be somebody's.
    - `own_view_narrows`: a name, and something it narrows the list by.
    """

    table = Table(chapter=Chapter.TENANTS, fate=Fate.SEARCHED)
    NAME_CHARS, QUERY_CHARS = 60, 2_000

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, db_index=False, related_name="+")
    place = models.CharField(max_length=100)
    name = models.CharField(max_length=NAME_CHARS)
    query = models.CharField(max_length=QUERY_CHARS)

    #: Of the list that shows it.
    address = ""
    is_shown = False

    class Meta:
        verbose_name = _("own view")
        verbose_name_plural = _("own views")
        constraints = [
            models.UniqueConstraint(fields=["user", "place", "name"], name="own_view_once_a_name"),
            models.CheckConstraint(condition=~Q(name="") & ~Q(query=""), name="own_view_narrows"),
        ]

    def __str__(self) -> str:
        return self.name


class Factor(models.Model):
    """The second factor of an account: its secret, encrypted, and hashes of its recovery codes.

    An account has one.
    """

    table = Table(chapter=Chapter.TENANTS, fate=Fate.NOTHING)

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="factor", verbose_name=_("person")
    )
    sealed = models.TextField(editable=False)
    step = models.BigIntegerField(editable=False, help_text="Of the last code; it and older ones are not taken again.")
    recovery = ArrayField(models.CharField(max_length=64), default=list, editable=False)
    wrong = models.PositiveSmallIntegerField(default=0, editable=False)
    wrong_at = models.DateTimeField(null=True, editable=False)
    created_at = models.DateTimeField(_("since"))

    class Meta:
        verbose_name = _("second factor")
        verbose_name_plural = _("second factors")
        constraints = [models.CheckConstraint(condition=~Q(sealed=""), name="factor_has_a_secret")]

    def __str__(self) -> str:
        return str(self.user)

    def is_locked(self, now: datetime) -> bool:
        """Whether as many wrong codes were given as a login allows, and none is taken until some time has gone by."""
        return self.wrong >= settings.AXES_FAILURE_LIMIT and not self._is_past(now)

    def count_wrong(self, now: datetime) -> None:
        """Write down a wrong code; after a pause the count begins again."""
        self.wrong = 1 if self._is_past(now) else self.wrong + 1
        self.wrong_at = now
        self.save(update_fields=["wrong", "wrong_at"])

    def _is_past(self, now: datetime) -> bool:
        pause: timedelta = settings.AXES_COOLOFF_TIME
        return self.wrong_at is None or self.wrong_at + pause <= now

    @classmethod
    def of(cls, user: Any) -> "Factor | None":
        """The factor of somebody, read once for the object; None where they have none, or nobody is logged in."""
        try:
            factor: Factor | None = getattr(user, "factor", None)
        except cls.DoesNotExist:
            return None
        return factor
