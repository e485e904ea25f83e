"""The extraction buffer, and daily events, tier 3 (D1, D5)."""

from typing import Self

from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models import Exists, OuterRef, Q
from django.utils.translation import gettext_lazy as _

from memories.choices import BufferState, Source
from memories.language import text
from memories.models.change import record_changes
from memories.models.entry import Sourced
from memories.models.ids import uuid7
from memories.models.lease import LeaseQuerySet
from memories.models.suppression import Suppression
from memories.models.table import Chapter, Export, Fate, Table
from memories.models.tenancy import Scope, Workspace
from memories.models.walls import InsideWorkspace, WorkspacePolicy


class ExtractionBatch(models.Model):
    """Turns of one conversation that are extracted together.

    The row is the claim: it says who works on them, until when, how often it was tried and what went wrong. It
    collects turns until it is sealed: full, requested, or claimed. It may be claimed from `due_at` on: after a quiet
    time while it collects, at once when it is sealed, after the lease when it is claimed.

    - `extraction_in_workspace`: the pair its turns point to.
    - `extraction_gathers_once`: a conversation has at most one extraction batch that takes more turns.
    - `extraction_sealed_when_taken`: what is worked on, or parked, takes no more turns.
    """

    table = Table(chapter=Chapter.REMEMBERED, fate=Fate.REMOVED)

    uid = models.UUIDField(_("id"), default=uuid7, unique=True, editable=False)
    workspace = models.ForeignKey(Workspace, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+")
    session_uid = models.UUIDField(_("session"), help_text=_("Turns of one session are extracted together."))
    conversation = models.PositiveIntegerField(_("conversation"), default=1)
    state = models.CharField(_("state"), max_length=10, choices=BufferState, default=BufferState.WAITING)
    sealed = models.BooleanField(_("sealed"), default=False, help_text=_("It takes no more turns."))
    turn_count = models.PositiveIntegerField(_("turns"), default=0)
    tokens = models.PositiveIntegerField(_("tokens"), default=0)
    began_at = models.DateTimeField(_("oldest turn"))
    last_at = models.DateTimeField(_("newest turn"))
    due_at = models.DateTimeField(_("due"), help_text=_("From when on it may be taken."))
    claim = models.UUIDField(_("claim"), null=True, blank=True)
    attempts = models.PositiveSmallIntegerField(_("attempts"), default=0)
    error = models.TextField(_("error"), blank=True, default="")

    objects = LeaseQuerySet["ExtractionBatch"].as_manager()

    class Meta:
        verbose_name = _("extraction batch")
        verbose_name_plural = _("buffer")
        constraints = [
            models.UniqueConstraint(fields=["id", "workspace"], name="extraction_in_workspace"),
            models.UniqueConstraint(
                fields=["session_uid", "conversation"],
                condition=Q(state=BufferState.WAITING, sealed=False),
                name="extraction_gathers_once",
            ),
            models.CheckConstraint(condition=Q(state__in=BufferState.values), name="extraction_state_known"),
            models.CheckConstraint(
                condition=~Q(state=BufferState.CLAIMED) | Q(claim__isnull=False),
                name="extraction_claimed_by_somebody",
            ),
            models.CheckConstraint(
                condition=Q(state=BufferState.WAITING) | Q(sealed=True), name="extraction_sealed_when_taken"
            ),
            WorkspacePolicy(name="extraction_of_the_workspaces"),
        ]
        indexes = [
            models.Index(fields=["due_at", "id"], condition=~Q(state=BufferState.PARKED), name="extraction_by_due"),
            models.Index(fields=["session_uid", "conversation"], name="extraction_of_conversation"),
            models.Index(fields=["workspace", "-last_at", "-id"], name="extraction_by_time"),
            # how far behind it is, and what waits for an operator
            models.Index(fields=["state", "began_at"], name="extraction_by_state"),
        ]

    def __str__(self) -> str:
        return f"{self.session_uid} · {self.conversation}"


class BufferedTurn(models.Model):
    """One turn on its way to extraction.

    It leaves, with its extraction batch, in the transaction that stores what was made of it.

    - `bufferedturn_extraction_in_its_workspace`: and goes when its extraction batch goes.
    """

    table = Table(chapter=Chapter.REMEMBERED, fate=Fate.REMOVED)

    uid = models.UUIDField(_("id"), default=uuid7, unique=True, editable=False)
    workspace = models.ForeignKey(Workspace, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+")
    batch = models.ForeignKey(
        ExtractionBatch, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="turns"
    )
    user_scope = models.ForeignKey(
        Scope, models.DO_NOTHING, db_constraint=False, db_index=False, null=True, related_name="+"
    )
    chat_scope = models.ForeignKey(
        Scope, models.DO_NOTHING, db_constraint=False, db_index=False, null=True, related_name="+"
    )
    chat = models.CharField(_("chat"), max_length=200, blank=True, default="", help_text=_("Where it was said."))
    is_group = models.BooleanField(_("group"), default=False)
    place = models.JSONField(
        _("place"),
        default=dict,
        help_text=_("The slots of where it was said: channel, chat_id, sender_id …"),
    )
    messages = models.JSONField(_("messages"), default=list, help_text=_("Each with id, role, sender, content, at."))
    tokens = models.PositiveIntegerField(_("tokens"), default=0)
    said_at = models.DateTimeField(_("said"))

    class Meta:
        verbose_name = _("buffered turn")
        verbose_name_plural = _("buffered turns")
        constraints = [
            models.CheckConstraint(
                condition=Q(user_scope__isnull=False) | Q(chat_scope__isnull=False), name="bufferedturn_has_a_scope"
            ),
            InsideWorkspace("batch", name="bufferedturn_extraction_in_its_workspace", cascade=True),
            InsideWorkspace("user_scope", name="bufferedturn_user_scope_in_its_workspace"),
            InsideWorkspace("chat_scope", name="bufferedturn_chat_scope_in_its_workspace"),
            WorkspacePolicy(name="bufferedturn_of_the_workspaces"),
        ]
        indexes = [models.Index(fields=["batch", "said_at", "id"], name="bufferedturn_of_batch")]

    def __str__(self) -> str:
        return " · ".join(str(message["content"])[:60] for message in self.messages)


class DailyEventQuerySet(models.QuerySet["DailyEvent"]):
    def in_use(self) -> Self:
        """Events neither expired nor resting on a message of a memory suppressed in their scope (A15)."""
        suppressed = Suppression.objects.filter(scope_id=OuterRef("scope_id"), origins__overlap=OuterRef("origins"))
        return self.filter(~Exists(suppressed), expired_at__isnull=True)

    def containing(self, words: str) -> Self:
        """Events with each of these words: as it is written, or by its stem and the Chinese words in it."""
        events = self
        for word in words.split():
            terms = sorted(text.terms(word))
            literal_match = Q(content__icontains=word)
            events = events.filter(literal_match | Q(terms__contains=terms) if terms else literal_match)
        return events


class DailyEvent(Sourced):
    """Tier 3: what happened on one local day of a scope.

    Written through `memories.entries.daily_events` only.

    - `dailyevent_in_workspace`: the pair others point to.
    """

    table = Table(
        chapter=Chapter.REMEMBERED,
        fate=Fate.REMOVED,
        export=Export("day", leaves_out=("terms",), refers={"scope": "scope"}),
    )

    scope = models.ForeignKey(Scope, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+")
    local_date = models.DateField(_("local date"))
    compressed_at = models.DateTimeField(_("made into facts"), null=True, blank=True)

    objects = DailyEventQuerySet.as_manager()

    class Meta:
        verbose_name = _("daily event")
        verbose_name_plural = _("daily events")
        triggers = record_changes(along=("updated_at",))
        constraints = [
            models.UniqueConstraint(fields=["id", "workspace"], name="dailyevent_in_workspace"),
            models.CheckConstraint(condition=Q(source__in=Source.values), name="dailyevent_source_known"),
            models.CheckConstraint(condition=~Q(content=""), name="dailyevent_content_not_empty"),
            InsideWorkspace("scope", name="dailyevent_scope_in_its_workspace"),
            WorkspacePolicy(name="dailyevent_of_the_workspaces"),
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
