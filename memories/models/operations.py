"""What the platform records of its own work: runs of jobs, processes, and the model's health and spend (D7)."""

from datetime import datetime

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from memories.choices import JobState
from memories.exceptions import HistoryArchived
from memories.models.lease import LeaseQuerySet
from memories.models.outbox import WebhookEvent, tells_of_row
from memories.models.table import Chapter, Fate, Table
from memories.models.tenancy import BotKey, Workspace
from memories.models.walls import WorkspacePolicy


class JobRun(models.Model):
    """One run of a job for one workspace and local date.

    The row is the claim. Runs that somebody asked for stand beside it, each under a name of its own.
    """

    table = Table(chapter=Chapter.RECORDS, fate=Fate.SEARCHED, clears="error")

    job = models.CharField(_("job"), max_length=60)
    workspace = models.ForeignKey(Workspace, models.CASCADE, null=True, blank=True, related_name="job_runs")
    local_date = models.DateField(_("local date"))
    state = models.CharField(_("state"), max_length=10, choices=JobState, default=JobState.RUNNING)
    attempts = models.PositiveSmallIntegerField(_("attempts"), default=1)
    started_at = models.DateTimeField(_("started"))
    taken_at = models.DateTimeField(
        _("taken"), null=True, blank=True, help_text=_("When the process that works on it began, or went on with it.")
    )
    finished_at = models.DateTimeField(_("finished"), null=True, blank=True)
    counts = models.JSONField(_("counts"), default=dict, blank=True)
    error = models.TextField(_("error"), blank=True, default="")
    asked = models.CharField(
        _("asked"), max_length=36, blank=True, default="", help_text=_("Of a run somebody asked for; empty: by itself.")
    )
    actor = models.CharField(_("by"), max_length=200, blank=True, default="")
    is_dry = models.BooleanField(_("dry run"), default=False)

    #: What a reader calls the job, where it is set by what knows the table of jobs.
    title: str = ""

    objects = LeaseQuerySet["JobRun"].as_manager()

    class Meta:
        verbose_name = _("job run")
        verbose_name_plural = _("job runs")
        triggers = [
            tells_of_row(
                WebhookEvent.JOB_FAILED,
                once="OLD.state <> 'failed' AND NEW.state = 'failed' AND NOT NEW.is_dry",
                actor="'job:' || NEW.job",
            )
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["job", "workspace", "local_date", "asked"],
                nulls_distinct=False,
                name="jobrun_once_a_local_date",
            ),
            models.CheckConstraint(condition=Q(state__in=JobState.values), name="jobrun_state_known"),
            WorkspacePolicy(name="jobrun_of_the_workspaces", of_all=True),
        ]
        indexes = [models.Index(fields=["-started_at"], name="jobrun_by_time")]

    def __str__(self) -> str:
        return f"{self.title or self.job} {self.local_date}"


class ModelHealth(models.Model):
    """What the last calls to a model came to, whichever process made them: when it answered and failed last, how often
    in a row, and the error; and what the last check of it found.
    """

    table = Table(chapter=Chapter.RECORDS, fate=Fate.NOTHING)

    model = models.CharField(_("model"), max_length=200, unique=True)
    answered_at = models.DateTimeField(_("last answered"), null=True)
    failed_at = models.DateTimeField(_("last failed"), null=True)
    failures = models.PositiveIntegerField(_("failures in a row"), default=0)
    error = models.CharField(_("error"), max_length=300, blank=True, default="")
    check_result = models.JSONField(
        _("last check"),
        null=True,
        help_text=_("What `manage.py llm check` found: of facts, true and false statements."),
    )

    class Meta:
        verbose_name = _("model")
        verbose_name_plural = _("models")

    def __str__(self) -> str:
        return self.model


class Spend(models.Model):
    """What the machine's own model was asked and answered on one local day of a workspace, by purpose and model.

    `reserved_tokens` are asked for and not yet answered.

    - `spend_once_a_day_and_purpose`: what the budget is checked and reserved by, in one statement.
    """

    table = Table(chapter=Chapter.RECORDS, fate=Fate.NOTHING)

    workspace = models.ForeignKey(Workspace, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+")
    local_date = models.DateField(_("local date"))
    purpose = models.CharField(_("purpose"), max_length=40)
    model = models.CharField(_("model"), max_length=200)
    calls = models.PositiveIntegerField(_("calls"), default=0)
    failures = models.PositiveIntegerField(_("failures"), default=0)
    prompt_tokens = models.PositiveBigIntegerField(_("tokens asked"), default=0)
    completion_tokens = models.PositiveBigIntegerField(_("tokens answered"), default=0)
    reserved_tokens = models.PositiveBigIntegerField(_("tokens reserved"), default=0)
    refused = models.PositiveIntegerField(_("refused for the budget"), default=0)

    class Meta:
        verbose_name = _("spend")
        verbose_name_plural = _("spend")
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "local_date", "purpose", "model"], name="spend_once_a_day_and_purpose"
            ),
            models.CheckConstraint(condition=~Q(purpose=""), name="spend_has_a_purpose"),
            WorkspacePolicy(name="spend_of_the_workspaces"),
        ]

    def __str__(self) -> str:
        return f"{self.local_date} {self.purpose}"


class KeyUsage(models.Model):
    """Calls of a key in one minute, over all web processes.

    Unlogged: a crash may lose it.
    """

    table = Table(chapter=Chapter.RECORDS, fate=Fate.NOTHING)

    key = models.ForeignKey(BotKey, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+")
    minute = models.DateTimeField()
    calls = models.PositiveIntegerField(default=0)

    class Meta:
        verbose_name = _("key usage")
        verbose_name_plural = _("key usage")
        constraints = [models.UniqueConstraint(fields=["key", "minute"], name="keyusage_once_a_minute")]

    def __str__(self) -> str:
        return f"{self.key_id}: {self.calls}"


class WritePosition(models.Model):
    """How far the log of the database had come when one of some workspaces was written to last, for those who read from
    a replica (`memories.offline.replicas`).

    4,096 rows, each of the workspaces whose id leaves the same rest; -1 is of all of them. Unlogged: a crash may lose
    it, and a replica does not have it.
    """

    table = Table(chapter=Chapter.RECORDS, fate=Fate.NOTHING)

    bucket = models.SmallIntegerField(primary_key=True)
    position = models.BigIntegerField()

    class Meta:
        verbose_name = _("write position")
        verbose_name_plural = _("write positions")

    def __str__(self) -> str:
        return f"{self.bucket}: {self.position}"


class ArchivedRows(models.Model):
    """Rows of a table that stand in an object of the [archive](../howto/archive.md) and no longer here.

    `sha256` is of the object, `until` the time of the newest row. `is_stale`: memories were removed for good since, and
    the object is still to be written anew without them.

    - `archivedrows_once`: an object is noted once.
    """

    table = Table(chapter=Chapter.RECORDS, fate=Fate.NOTHING)

    workspace = models.ForeignKey(Workspace, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+")
    table_name = models.CharField(_("table"), max_length=63)
    key = models.CharField(max_length=500)
    sha256 = models.CharField(max_length=64)
    rows = models.PositiveIntegerField(_("rows"))
    first_id = models.BigIntegerField()
    last_id = models.BigIntegerField()
    until = models.DateTimeField()
    is_stale = models.BooleanField(default=False)
    archived_at = models.DateTimeField(_("archived"))

    class Meta:
        verbose_name = _("archived rows")
        verbose_name_plural = verbose_name
        constraints = [
            models.UniqueConstraint(fields=["workspace", "key"], name="archivedrows_once"),
            WorkspacePolicy(name="archivedrows_of_the_workspaces"),
        ]

    def __str__(self) -> str:
        return self.key


def require_history(workspace_id: int, since: datetime, *, field: str | None = None) -> None:
    """Raises HistoryArchived where history from this moment on is not all here."""
    if ArchivedRows.objects.filter(workspace_id=workspace_id, table_name="memories_change", until__gte=since).exists():
        raise HistoryArchived(field=field)
