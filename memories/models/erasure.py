"""Erasures: a person removed for good on an operator's order, the rows still to go, and what may not come back (F7)."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from memories.models.ids import uuid7
from memories.models.table import Chapter, Fate, Table
from memories.models.tenancy import Workspace
from memories.models.walls import InsideWorkspace, WorkspacePolicy


class ErasureState(models.TextChoices):
    """How far an erasure is."""

    WAITING = "waiting", _("Waiting")
    RUNNING = "running", _("Running")
    DONE = "done", _("Done")
    FAILED = "failed", _("Failed")


class Erasure(models.Model):
    """One person's erasure: who ordered it, why, how far it is, its certificate.

    `identities` name the person until it is done; from then on `person` holds keyed hashes of them. See [erase a
    person](../howto/erase-a-person.md).

    - `erasure_in_workspace`: the pair others point to.
    - `erasure_state_known`: `waiting`, `running`, `done`, `failed`.
    - `erasure_forgets_whom_it_erased`: one that is done has a certificate and names nobody.
    """

    table = Table(chapter=Chapter.ERASURES, fate=Fate.RECORD)

    uid = models.UUIDField(_("id"), default=uuid7, unique=True, editable=False)
    workspace = models.ForeignKey(Workspace, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+")
    identities = models.JSONField(_("identities"), default=list, help_text=_("Each platform and peer."))
    person = ArrayField(models.CharField(max_length=64), default=list, help_text=_("Keyed hashes of the identities."))
    reason = models.TextField(_("reason"))
    actor = models.CharField(_("by"), max_length=200)
    state = models.CharField(_("state"), max_length=10, choices=ErasureState, default=ErasureState.WAITING)
    step = models.CharField(_("step"), max_length=20, blank=True, default="")
    total = models.PositiveIntegerField(_("rows"), default=0, help_text=_("Found so far."))
    counts = models.JSONField(_("counts"), default=dict, help_text=_("Removed or cleared so far, by table."))
    phrases = ArrayField(models.BigIntegerField(), default=list, help_text=_("Keyed hashes of what the person said."))
    certificate = models.JSONField(_("certificate"), null=True, blank=True)
    error = models.TextField(_("error"), blank=True, default="")
    created_at = models.DateTimeField(_("ordered"))
    finished_at = models.DateTimeField(_("finished"), null=True, blank=True)

    class Meta:
        verbose_name = _("erasure")
        verbose_name_plural = _("erasures")
        constraints = [
            models.UniqueConstraint(fields=["id", "workspace"], name="erasure_in_workspace"),
            models.CheckConstraint(condition=Q(state__in=ErasureState.values), name="erasure_state_known"),
            models.CheckConstraint(condition=~Q(reason=""), name="erasure_has_a_reason"),
            models.CheckConstraint(
                condition=Q(state=ErasureState.DONE, identities=[], certificate__isnull=False)
                | ~Q(state=ErasureState.DONE),
                name="erasure_forgets_whom_it_erased",
            ),
            WorkspacePolicy(name="erasure_of_the_workspaces"),
        ]
        indexes = [models.Index(fields=["workspace", "-created_at", "-id"], name="erasure_by_time")]

    def __str__(self) -> str:
        return str(self.uid)


class ErasureTarget(models.Model):
    """A row an erasure found and has not removed yet: one that was killed goes on by it.

    - `erasuretarget_erasure_in_its_workspace`: and goes when its erasure goes.
    """

    table = Table(chapter=Chapter.ERASURES, fate=Fate.RECORD)

    workspace = models.ForeignKey(Workspace, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+")
    erasure = models.ForeignKey(Erasure, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="targets")
    table_name = models.CharField(max_length=63)
    row_id = models.BigIntegerField()

    class Meta:
        verbose_name = _("row to erase")
        verbose_name_plural = _("rows to erase")
        constraints = [
            models.UniqueConstraint(fields=["erasure", "table_name", "row_id"], name="erasuretarget_once"),
            InsideWorkspace("erasure", name="erasuretarget_erasure_in_its_workspace", cascade=True),
            WorkspacePolicy(name="erasuretarget_of_the_workspaces"),
        ]

    def __str__(self) -> str:
        return f"{self.table_name} {self.row_id}"


class Tombstone(models.Model):
    """A keyed hash of words or of a message that was erased, by which it is refused when it comes again.

    Its key is a secret.
    """

    table = Table(chapter=Chapter.ERASURES, fate=Fate.RECORD)

    workspace = models.ForeignKey(Workspace, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+")
    erasure = models.ForeignKey(
        Erasure, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="tombstones"
    )
    digest = models.CharField(max_length=64)

    class Meta:
        verbose_name = _("tombstone")
        verbose_name_plural = _("tombstones")
        constraints = [
            models.UniqueConstraint(fields=["workspace", "digest"], name="tombstone_once"),
            InsideWorkspace("erasure", name="tombstone_erasure_in_its_workspace"),
            WorkspacePolicy(name="tombstone_of_the_workspaces"),
        ]

    def __str__(self) -> str:
        return self.digest[:12]
