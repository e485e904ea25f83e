"""Recall traces: the record of one recall, which answers «why did the bot say that?» (F5)."""

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from memories.models.ids import uuid7
from memories.models.table import Chapter, Fate, Table
from memories.models.tenancy import Bot, Workspace
from memories.models.walls import InsideWorkspace, WorkspacePolicy

#: Recalls that were asked to be answered, and not to look back: those that count in figures.
NOT_LOOKING_BACK = ~Q(query__has_key="as_of")


class RecallTrace(models.Model):
    """One recall: what was asked, what was served, the candidates with their scores, the milliseconds of each step.

    It is found by `terms`, the hashed words of its question, by `asker` and by its session.

    - `trace_without_words_has_no_terms`: what was purged is not found by its words either.
    """

    table = Table(chapter=Chapter.RECORDS, fate=Fate.REMOVED, is_searched=True)

    uid = models.UUIDField(_("id"), default=uuid7, unique=True, editable=False)
    workspace = models.ForeignKey(Workspace, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+")
    bot = models.ForeignKey(Bot, models.DO_NOTHING, db_constraint=False, db_index=False, null=True, related_name="+")
    scopes = ArrayField(models.BigIntegerField(), verbose_name=_("scopes"))
    #: Keys of all scopes of the query, also of those without an entry yet; empty in old traces.
    scope_keys = ArrayField(models.CharField(max_length=255), default=list, editable=False, verbose_name=_("scopes"))
    session_key = models.CharField(_("session"), max_length=200, blank=True, default="")
    message = models.TextField(_("message"))
    terms = ArrayField(
        models.IntegerField(), default=list, editable=False, help_text=_("Words of the message, hashed.")
    )
    asker = models.CharField(
        _("by whom"), max_length=200, blank=True, default="", help_text=_("The platform's id of who asked, if known.")
    )
    query = models.JSONField(_("query"), default=dict, help_text=_("What was asked for besides the message."))
    rule = models.CharField(_("need"), max_length=40, blank=True, default="")
    served = ArrayField(models.BigIntegerField(), verbose_name=_("served"), help_text=_("Entries, best first."))
    versions = ArrayField(
        models.PositiveIntegerField(),
        default=list,
        editable=False,
        verbose_name=_("versions"),
        help_text=_("Of the served entries, in their order; empty where it was not kept."),
    )
    evidence = models.JSONField(
        _("evidence"), default=dict, help_text=_("Whether it is enough to answer with, and what that was drawn from.")
    )
    candidates = models.JSONField(
        _("candidates"), null=True, help_text=_("Rows of entry, scores and what became of it.")
    )
    degraded = ArrayField(models.CharField(max_length=20), default=list, verbose_name=_("degraded"))
    timings = models.JSONField(_("timings"), default=dict, help_text=_("Milliseconds by step."))
    used = ArrayField(
        models.BigIntegerField(),
        null=True,
        verbose_name=_("used"),
        help_text=_("Entries the answer rested on; empty until told."),
    )
    overlap = ArrayField(
        models.BigIntegerField(),
        null=True,
        verbose_name=_("overlap"),
        help_text=_("Entries the words of the answer point to; empty until it is known."),
    )
    note = models.TextField(_("note"), blank=True, default="", help_text=_("What the bot said about this recall."))
    tokens = models.PositiveIntegerField(_("tokens"), default=0)
    created_at = models.DateTimeField(_("at"))

    class Meta:
        verbose_name = _("recall trace")
        verbose_name_plural = _("recall traces")
        constraints = [
            models.CheckConstraint(condition=~Q(message="") | Q(terms=[]), name="trace_without_words_has_no_terms"),
            InsideWorkspace("bot", name="trace_bot_in_its_workspace"),
            WorkspacePolicy(name="trace_of_the_workspaces"),
        ]
        indexes = [
            models.Index(fields=["workspace", "-created_at", "-id"], name="trace_by_time"),
            models.Index(fields=["created_at"], name="trace_by_age"),
            models.Index(fields=["workspace", "session_key", "-created_at", "-id"], name="trace_of_session"),
            models.Index(fields=["workspace", "asker", "-created_at", "-id"], name="trace_of_asker"),
            models.Index(
                fields=["workspace", "-created_at", "-id"],
                condition=Q(evidence__verdict="none"),
                name="trace_unanswered",
            ),
            models.Index(
                fields=["workspace", "-created_at", "-id"], condition=Q(evidence__verdict="weak"), name="trace_weak"
            ),
            models.Index(
                fields=["workspace", "-created_at", "-id"],
                condition=Q(evidence__verdict__isnull=True),
                name="trace_unneeded",
            ),
            models.Index(fields=["workspace", "-created_at", "-id"], condition=~Q(degraded=[]), name="trace_degraded"),
            GinIndex(fields=["terms"], name="trace_terms", fastupdate=False),
        ]

    def __str__(self) -> str:
        return self.message[:80]

    @property
    def is_purged(self) -> bool:
        """Whether its words were removed with a purged entry it served; every other query has a `limit`."""
        return not self.query

    @property
    def verdict(self) -> str:
        """Whether it was enough to answer with, as in choices.Verdict; empty when no memory was needed."""
        return str(self.evidence.get("verdict", ""))
