"""The words a model's facts rest on, and the facts that were refused (D5)."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from memories.choices import Refusal
from memories.models.entry import Entry
from memories.models.table import Chapter, Export, Fate, Table
from memories.models.tenancy import Scope, Workspace
from memories.models.walls import InsideWorkspace, WorkspacePolicy


class Evidence(models.Model):
    """Words of a message a model's fact rests on: `origin` is the message, `start` and `end` are positions of
    characters in it, `read_at` is when the nightly job had a fact read that had not been. Removed with the entry and
    with the message; not shown while the message is redacted. Not recorded in the history.
    """

    table = Table(chapter=Chapter.REMEMBERED, fate=Fate.ALONG, export=Export("evidence"))

    workspace = models.ForeignKey(Workspace, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+")
    entry = models.ForeignKey(Entry, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="evidence")
    origin = models.CharField(_("message"), max_length=300)
    start = models.PositiveIntegerField(help_text=_("The first character of the message that belongs to it."))
    end = models.PositiveIntegerField(help_text=_("The first character behind it."))
    quote = models.TextField(_("quote"))
    speaker = models.CharField(_("speaker"), max_length=200, blank=True, default="")
    at = models.DateTimeField(_("at"))
    read_at = models.DateTimeField(
        _("read"), null=True, editable=False, help_text=_("When a second reading was made of a fact that had none.")
    )

    class Meta:
        verbose_name = _("evidence")
        verbose_name_plural = _("evidence")
        ordering = ("at", "start", "id")
        constraints = [
            models.UniqueConstraint(fields=["entry", "origin", "start", "end"], name="evidence_once_an_entry"),
            models.CheckConstraint(condition=Q(start__lt=F("end")), name="evidence_has_characters"),
            models.CheckConstraint(condition=~Q(quote=""), name="evidence_has_words"),
            InsideWorkspace("entry", name="evidence_entry_in_its_workspace", cascade=True),
            WorkspacePolicy(name="evidence_of_the_workspaces"),
        ]
        indexes = [models.Index(fields=["workspace", "origin"], name="evidence_by_message")]

    def __str__(self) -> str:
        return self.quote[:80]


class RefusedFact(models.Model):
    """A fact a model offered that was not kept: which, why, by which model and run.

    Removed after `MEMORY_REFUSED_TTL`, and with the messages it was said to rest on.

    - `refusedfact_reason_known`: `invalid`, `no_quote`, `bot`, `amount`, `code`, `name`, `subject`, `no_scope`,
      `contradicted`, `not_stated`.
    """

    table = Table(chapter=Chapter.REMEMBERED, fate=Fate.REMOVED, tied_by="scope")

    workspace = models.ForeignKey(Workspace, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+")
    scope = models.ForeignKey(Scope, models.DO_NOTHING, db_constraint=False, null=True, blank=True, related_name="+")
    model = models.CharField(_("model"), max_length=200)
    purpose = models.CharField(_("job"), max_length=40)
    run = models.CharField(_("run"), max_length=200, blank=True, default="")
    content = models.TextField(_("content"))
    quote = models.TextField(_("quote"), blank=True, default="")
    reason = models.CharField(_("reason"), max_length=20, choices=Refusal)
    origins = ArrayField(models.CharField(max_length=300), default=list, verbose_name=_("sources of origin"))
    created_at = models.DateTimeField(_("at"))

    class Meta:
        verbose_name = _("refused fact")
        verbose_name_plural = _("refused facts")
        ordering = ("-created_at", "-id")
        constraints = [
            models.CheckConstraint(condition=Q(reason__in=Refusal.values), name="refusedfact_reason_known"),
            WorkspacePolicy(name="refusedfact_of_the_workspaces"),
        ]
        indexes = [
            models.Index(fields=["workspace", "-created_at", "-id"], name="refusedfact_by_time"),
            models.Index(fields=["workspace", "run"], name="refusedfact_of_run"),
        ]

    def __str__(self) -> str:
        return self.content[:80]
