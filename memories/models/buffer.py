"""What waits to be extracted, and the days it becomes: the extraction buffer and tier 3 (D1, D5)."""

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from memories.choices import BufferState, Source
from memories.models.change import Recorded, record_changes
from memories.models.ids import uuid7
from memories.models.scope import Scope
from memories.models.tenancy import Workspace


class BufferedTurn(models.Model):
    """One turn on its way to extraction; it leaves in the transaction that stores what was made of it (D5).

    Turns of one session are taken together, as a *parcel*: claimed under its id, with a lease, parked when what came
    back could not be used.
    """

    uid = models.UUIDField(_("id"), default=uuid7, unique=True, editable=False)
    workspace = models.ForeignKey(Workspace, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+")
    session_uid = models.UUIDField(_("session"), help_text=_("Turns of one session are extracted together."))
    conversation = models.PositiveIntegerField(_("conversation"), default=1)
    user_scope = models.ForeignKey(
        Scope, models.DO_NOTHING, db_constraint=False, db_index=False, null=True, related_name="+"
    )
    chat_scope = models.ForeignKey(
        Scope, models.DO_NOTHING, db_constraint=False, db_index=False, null=True, related_name="+"
    )
    chat = models.CharField(_("chat"), max_length=200, blank=True, default="", help_text=_("Where it was said (A3)."))
    place = models.JSONField(
        _("place"),
        default=dict,
        help_text=_("The slots of where it was said: channel, chat_id, sender_id …"),
    )
    messages = models.JSONField(_("messages"), default=list, help_text=_("Each with id, role, sender, content, at."))
    tokens = models.PositiveIntegerField(_("tokens"), default=0)
    said_at = models.DateTimeField(_("said"))
    state = models.CharField(_("state"), max_length=10, choices=BufferState, default=BufferState.WAITING)
    parcel = models.UUIDField(_("parcel"), null=True, blank=True)
    claimed_until = models.DateTimeField(_("claimed until"), null=True, blank=True)
    attempts = models.PositiveSmallIntegerField(_("attempts"), default=0)
    error = models.TextField(_("error"), blank=True, default="")

    class Meta:
        verbose_name = _("buffered turn")
        verbose_name_plural = _("buffer")
        constraints = [
            models.CheckConstraint(condition=Q(state__in=BufferState.values), name="bufferedturn_state_known"),
            models.CheckConstraint(
                condition=Q(user_scope__isnull=False) | Q(chat_scope__isnull=False), name="bufferedturn_has_a_scope"
            ),
            models.CheckConstraint(
                condition=Q(state=BufferState.WAITING) | Q(parcel__isnull=False), name="bufferedturn_taken_in_a_parcel"
            ),
        ]
        indexes = [
            models.Index(fields=["session_uid", "said_at", "id"], name="bufferedturn_of_session"),
            models.Index(fields=["workspace", "state", "said_at"], name="bufferedturn_by_state"),
            models.Index(fields=["parcel"], condition=Q(parcel__isnull=False), name="bufferedturn_of_parcel"),
        ]

    def __str__(self) -> str:
        return f"{self.session_uid} {self.said_at:%Y-%m-%d %H:%M}"


class DailyEvent(Recorded):
    """Tier 3: what happened on one local day of a scope, found by date and by word (D1)."""

    uid = models.UUIDField(_("id"), default=uuid7, unique=True, editable=False)
    workspace = models.ForeignKey(Workspace, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+")
    scope = models.ForeignKey(Scope, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+")
    local_date = models.DateField(_("local date"))
    content = models.TextField(_("content"))
    terms = ArrayField(models.IntegerField(), default=list, editable=False, help_text=_("Own words, hashed."))
    source = models.CharField(_("source"), max_length=30, choices=Source)
    chats = ArrayField(
        models.CharField(max_length=200),
        default=list,
        blank=True,
        verbose_name=_("chats"),
        help_text=_("Every chat any part of it came from (A3)."),
    )
    origins = ArrayField(
        models.CharField(max_length=300),
        default=list,
        blank=True,
        verbose_name=_("sources of origin"),
        help_text=_("The messages it rests on."),
    )
    created_at = models.DateTimeField(_("created"))
    updated_at = models.DateTimeField(_("updated"))
    expired_at = models.DateTimeField(_("expired"), null=True, blank=True)
    compressed_at = models.DateTimeField(_("made into facts"), null=True, blank=True)

    class Meta:
        verbose_name = _("daily event")
        verbose_name_plural = _("daily events")
        triggers = record_changes(along=("updated_at",))
        constraints = [
            models.UniqueConstraint(fields=["id", "workspace"], name="dailyevent_in_workspace"),
            models.CheckConstraint(condition=Q(source__in=Source.values), name="dailyevent_source_known"),
            models.CheckConstraint(condition=~Q(content=""), name="dailyevent_content_not_empty"),
        ]
        indexes = [
            models.Index(fields=["scope", "-local_date", "-id"], name="dailyevent_of_scope_by_date"),
            models.Index(fields=["workspace", "-local_date", "-id"], name="dailyevent_by_date"),
            models.Index(
                fields=["workspace", "local_date"],
                condition=Q(compressed_at__isnull=True, expired_at__isnull=True),
                name="dailyevent_to_compress",
            ),
            GinIndex(fields=["terms"], name="dailyevent_terms", fastupdate=False),
        ]

    def __str__(self) -> str:
        return self.content[:80]
