"""Conversations as they were said."""

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from memories.models import Recorded, Scope, Workspace, record_changes
from memories.models.ids import uuid7
from sessions_app.choices import EventKind


class Session(Recorded):
    """One chat's running conversation, under a key that stays the same for the same chat (B1).

    A session lives through numbered conversations: each close ends one, the next message begins another.
    """

    uid = models.UUIDField(_("id"), default=uuid7, unique=True, editable=False)
    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="sessions")
    key = models.CharField(_("key"), max_length=100)
    platform = models.CharField(_("platform"), max_length=40, blank=True, default="")
    account = models.CharField(_("account"), max_length=200, blank=True, default="")
    chat_id = models.CharField(_("chat"), max_length=200, blank=True, default="")
    is_group = models.BooleanField(_("group"), default=False)
    conversation = models.PositiveIntegerField(_("conversation"), default=1)
    rules = models.JSONField(_("rules"), default=dict, help_text=_("The channel's rules when it was last used."))
    user_scope = models.ForeignKey(
        Scope, models.DO_NOTHING, db_constraint=False, db_index=False, null=True, blank=True, related_name="+"
    )
    chat_scope = models.ForeignKey(
        Scope, models.DO_NOTHING, db_constraint=False, db_index=False, null=True, blank=True, related_name="+"
    )
    metadata = models.JSONField(_("metadata"), default=dict, blank=True)
    tokens = models.PositiveIntegerField(_("tokens"), default=0, help_text=_("Of the conversation that is open."))
    next_position = models.PositiveIntegerField(default=1, editable=False)
    started_at = models.DateTimeField(_("started"))
    last_at = models.DateTimeField(_("last message"))

    class Meta:
        verbose_name = _("session")
        verbose_name_plural = _("sessions")
        triggers = record_changes(ignored=("tokens", "next_position", "last_at"))
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "platform", "account", "key"], name="session_key_once_in_channel"
            ),
            models.UniqueConstraint(fields=["id", "workspace"], name="session_in_workspace"),
            models.CheckConstraint(condition=~Q(key=""), name="session_has_a_key"),
            models.CheckConstraint(condition=Q(conversation__gte=1), name="session_conversations_count_from_one"),
        ]
        indexes = [models.Index(fields=["workspace", "-last_at", "-id"], name="session_by_time")]

    def __str__(self) -> str:
        return self.key


class SessionEvent(models.Model):
    """One message of a conversation; appended, never changed."""

    workspace = models.ForeignKey(Workspace, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+")
    session = models.ForeignKey(Session, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="events")
    conversation = models.PositiveIntegerField(_("conversation"))
    position = models.PositiveIntegerField(_("position"))
    kind = models.CharField(_("kind"), max_length=10, choices=EventKind)
    sender_id = models.CharField(_("sender"), max_length=200, blank=True, default="")
    content = models.TextField(_("content"))
    data = models.JSONField(_("data"), default=dict, blank=True, help_text=_("Tool calls and what else came along."))
    tokens = models.PositiveIntegerField(_("tokens"), default=0)
    at = models.DateTimeField(_("at"))

    class Meta:
        verbose_name = _("session event")
        verbose_name_plural = _("session events")
        constraints = [
            models.UniqueConstraint(fields=["session", "conversation", "position"], name="sessionevent_position_once"),
            models.CheckConstraint(condition=Q(kind__in=EventKind.values), name="sessionevent_kind_known"),
        ]
        indexes = [models.Index(fields=["at"], name="sessionevent_by_age")]

    def __str__(self) -> str:
        return f"{self.kind}: {self.content[:60]}"
