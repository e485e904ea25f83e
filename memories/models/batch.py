"""Batches: a bundle of changes made by one run or one action of an operator (F3)."""

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from memories.choices import BatchState, BatchVerb, ChangeState, SkipReason
from memories.models.buffer import DailyEvent
from memories.models.entry import Entry
from memories.models.ids import uuid7
from memories.models.outbox import WebhookEvent, tells_of_row
from memories.models.policy import ttls_in_words
from memories.models.table import Chapter, Fate, Table
from memories.models.tenancy import Scope, Workspace
from memories.models.walls import InsideWorkspace, WorkspacePolicy


class Batch(models.Model):
    """One run of a job on one scope, or one bulk action; who decided on it, and why.

    - `batch_state_known`: `proposed`, `applying`, `applied`, `undone`, `refused`.
    - `batch_in_workspace`: the pair others point to.
    """

    table = Table(chapter=Chapter.RECORDS, fate=Fate.REMOVED, tied_by="scope", clears="reason")

    uid = models.UUIDField(_("id"), default=uuid7, unique=True, editable=False)
    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="batches")
    scope = models.ForeignKey(
        Scope, models.DO_NOTHING, db_constraint=False, null=True, blank=True, related_name="batches"
    )
    name = models.CharField(_("name"), max_length=60, help_text=_("The job or action that made it."))
    run = models.CharField(_("run"), max_length=64)
    actor = models.CharField(_("by"), max_length=200)
    reason = models.TextField(_("reason"), blank=True, default="")
    state = models.CharField(_("state"), max_length=10, choices=BatchState, default=BatchState.PROPOSED)
    held_because = models.JSONField(
        _("held because"),
        default=list,
        blank=True,
        help_text=_("Reasons of the safety limit, each a code with its figures."),
    )
    is_summed = models.BooleanField(
        _("judged by a machine"),
        default=False,
        help_text=_("What it retires counts towards what machines may retire within a month."),
    )
    decided_by = models.CharField(
        _("decided by"), max_length=200, blank=True, default="", help_text=_("Who approved or refused it.")
    )
    decided_because = models.TextField(
        _("decided because"), blank=True, default="", help_text=_("What whoever decided gave as the reason.")
    )
    counts = models.JSONField(_("counts"), default=dict, blank=True)
    cost = models.JSONField(_("cost"), default=dict, blank=True)
    undoes = models.ForeignKey("self", models.DO_NOTHING, null=True, blank=True, related_name="undone_by")
    created_at = models.DateTimeField(_("created"))
    applied_at = models.DateTimeField(_("applied"), null=True, blank=True)
    closed_at = models.DateTimeField(_("undone or refused"), null=True, blank=True)

    class Meta:
        verbose_name = _("batch")
        verbose_name_plural = _("batches")
        triggers = [
            tells_of_row(
                WebhookEvent.BATCH_HELD,
                once="OLD.held_because = '[]'::jsonb AND NEW.held_because <> '[]'::jsonb AND NEW.state = 'proposed'",
                actor="NEW.actor",
            )
        ]
        constraints = [
            models.UniqueConstraint(fields=["id", "workspace"], name="batch_in_workspace"),
            models.UniqueConstraint(fields=["run", "scope"], nulls_distinct=False, name="batch_once_a_run_and_scope"),
            models.CheckConstraint(condition=Q(state__in=BatchState.values), name="batch_state_known"),
            InsideWorkspace("scope", name="batch_scope_in_its_workspace"),
            WorkspacePolicy(name="batch_of_the_workspaces"),
        ]
        indexes = [
            models.Index(fields=["workspace", "-created_at", "-id"], name="batch_by_time"),
            # few of many wait, and every page of the admin counts them
            models.Index(fields=["-created_at", "-id"], condition=Q(state="proposed"), name="batch_waiting"),
        ]

    def __str__(self) -> str:
        return f"{self.name} {self.created_at:%Y-%m-%d %H:%M}"

    @property
    def reason_in_words(self) -> str:
        """The reason as people read it: a nightly expiry stores the times to live in codes."""
        return ttls_in_words(self.reason)


class BatchChange(models.Model):
    """One row of a batch's plan.

    - `batchchange_names_its_entry`: every planned row but those that `create`, `tell` or set a `policy`, or put back
      the event of a day; of what was removed for good nothing is named.
    """

    table = Table(chapter=Chapter.RECORDS, fate=Fate.CLEARED)

    workspace = models.ForeignKey(Workspace, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+")
    batch = models.ForeignKey(Batch, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="changes")
    position = models.PositiveIntegerField(_("position"))
    verb = models.CharField(_("verb"), max_length=10, choices=BatchVerb)
    entry = models.ForeignKey(
        Entry, models.DO_NOTHING, db_constraint=False, db_index=False, null=True, related_name="+"
    )
    event = models.ForeignKey(
        DailyEvent, models.DO_NOTHING, db_constraint=False, db_index=False, null=True, related_name="+"
    )
    expected_version = models.PositiveIntegerField(_("expected version"), null=True)
    draft = models.JSONField(_("draft"), default=dict)
    state = models.CharField(_("state"), max_length=10, choices=ChangeState, default=ChangeState.PLANNED)
    note = models.TextField(_("note"), blank=True, default="")

    class Meta:
        verbose_name = _("planned change")
        verbose_name_plural = _("planned changes")
        constraints = [
            models.UniqueConstraint(fields=["batch", "position"], name="batchchange_position_once"),
            models.CheckConstraint(condition=Q(verb__in=BatchVerb.values), name="batchchange_verb_known"),
            models.CheckConstraint(condition=Q(state__in=ChangeState.values), name="batchchange_state_known"),
            models.CheckConstraint(
                # of what was removed for good nothing is named any more
                condition=Q(verb__in=(BatchVerb.CREATE, BatchVerb.TELL, BatchVerb.POLICY))
                | Q(entry__isnull=False)
                | Q(event__isnull=False, verb=BatchVerb.UNDO)
                | ~Q(state=ChangeState.PLANNED),
                name="batchchange_names_its_entry",
            ),
            InsideWorkspace("batch", name="batchchange_batch_in_its_workspace", cascade=True),
            InsideWorkspace("entry", name="batchchange_entry_in_its_workspace"),
            InsideWorkspace("event", name="batchchange_event_in_its_workspace"),
            WorkspacePolicy(name="batchchange_of_the_workspaces"),
        ]
        indexes = [
            models.Index(fields=["batch", "position"], condition=Q(state="planned"), name="batchchange_to_do"),
            models.Index(fields=["entry"], name="batchchange_of_entry"),
            models.Index(fields=["event"], condition=Q(event__isnull=False), name="batchchange_of_event"),
        ]

    def __str__(self) -> str:
        return f"{self.verb} {self.entry_id or ''}"

    def skip(self, reason: SkipReason, detail: str = "") -> None:
        """Mark it as skipped, with the reason; not saved."""
        self.state, self.note = ChangeState.LEFT, f"{reason}: {detail}" if detail else str(reason)
