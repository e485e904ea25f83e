"""What operators alone look at: processes, incidents, lines of the home page put off, and what its charts are of.

Counts are by hour, workspace and channel, without a word anybody said. A channel is the name of its platform; empty, of
memory that several channels share.
"""

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q, TextChoices
from django.utils.translation import gettext_lazy as _
from pgvector.django import VectorField

from memories.models import Workspace
from memories.models.table import Chapter, Fate, Table
from memories.models.walls import WorkspacePolicy

#: Buckets of a histogram (memplatform.operations.rollups says what each holds).
BUCKETS = 64


def this_host() -> str:
    """The name of the host this process runs on."""
    return str(settings.HOST_NAME)


class Host(models.Model):
    """A machine, or a container, whose `manage.py up` works with this database.

    - `host_name_once`: its heartbeats are found by its name.
    - `host_runs_a_part`: one without any is none.
    """

    table = Table(chapter=Chapter.RECORDS, fate=Fate.NOTHING)

    name = models.CharField(_("host"), max_length=100)
    uid = models.UUIDField(help_text=_("Of its data folder."))
    parts = ArrayField(models.CharField(max_length=40), verbose_name=_("parts"))
    version = models.CharField(_("version"), max_length=40)
    pid = models.PositiveIntegerField(_("process id"))
    folder = models.UUIDField(null=True, help_text=_("Id of the folder of memory in markdown it opens; empty: none."))
    folder_path = models.CharField(_("folder of memory in markdown"), max_length=1000, blank=True, default="")
    signing_keys = ArrayField(
        models.CharField(max_length=16),
        help_text=_("Fingerprints of SECRET_KEY and its fallbacks; it signs by the first."),
    )
    sealing_keys = ArrayField(
        models.CharField(max_length=16), help_text=_("Fingerprints of the keys of secrets; it encrypts by the first.")
    )
    started_at = models.DateTimeField(_("started"))
    seen_at = models.DateTimeField(_("last seen"))
    stopped_at = models.DateTimeField(_("stopped"), null=True, blank=True)

    class Meta:
        verbose_name = _("host")
        verbose_name_plural = _("hosts")
        constraints = [
            models.UniqueConstraint(fields=["name"], name="host_name_once"),
            models.CheckConstraint(condition=~Q(parts=[]), name="host_runs_a_part"),
        ]

    def __str__(self) -> str:
        return self.name


class Heartbeat(models.Model):
    """A process that wrote its name here within the last seconds, or stopped doing so."""

    table = Table(chapter=Chapter.RECORDS, fate=Fate.NOTHING)

    host = models.CharField(_("host"), max_length=100, default=this_host)
    name = models.CharField(_("process"), max_length=40)
    pid = models.PositiveIntegerField(_("process id"))
    started_at = models.DateTimeField(_("started"))
    beat_at = models.DateTimeField(_("last sign of life"))

    class Meta:
        verbose_name = _("heartbeat")
        verbose_name_plural = _("heartbeats")
        constraints = [models.UniqueConstraint(fields=["host", "name", "pid"], name="heartbeat_once_a_process")]

    def __str__(self) -> str:
        return f"{self.name} {self.pid}"


class Snooze(models.Model):
    """A line of the home page one person has put off, or dismissed until it is about something new.

    - `snooze_ends`: with a moment, or with what it is about.
    """

    table = Table(chapter=Chapter.HOME, fate=Fate.NOTHING)

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, db_index=False, related_name="+")
    key = models.CharField(max_length=200)
    until = models.DateTimeField(null=True, help_text=_("Empty: until the mark changes."))
    mark = models.CharField(max_length=100, blank=True, default="")

    class Meta:
        verbose_name = _("snooze")
        verbose_name_plural = _("snoozes")
        constraints = [
            models.UniqueConstraint(fields=["user", "key"], name="snooze_once_a_line"),
            models.CheckConstraint(condition=Q(until__isnull=False) | ~Q(mark=""), name="snooze_ends"),
        ]

    def __str__(self) -> str:
        return self.key


class IncidentKind(TextChoices):
    """What happened to a part of the platform."""

    STOPPED = "stopped", _("ended without being stopped")
    SILENT = "silent", _("gave no sign of life")
    AWAY = "away", _("did not answer")
    LATE = "late", _("was behind its time")
    DEGRADED = "degraded", _("was missing from answers")


class Incident(models.Model):
    """From when to when a part of the platform did not do what it should.

    Of the whole platform. A clean restart is none.

    - `incident_open_once`: a part has one incident of a kind at a time.
    """

    table = Table(chapter=Chapter.HOME, fate=Fate.NOTHING)

    part = models.CharField(_("part"), max_length=40)
    kind = models.CharField(_("what happened"), max_length=10, choices=IncidentKind)
    began_at = models.DateTimeField(_("from"))
    seen_at = models.DateTimeField(_("last seen"), help_text=_("While it lasts: when that was last found."))
    ended_at = models.DateTimeField(_("to"), null=True, blank=True)

    class Meta:
        verbose_name = _("incident")
        verbose_name_plural = _("incidents")
        constraints = [
            models.UniqueConstraint(
                fields=["part", "kind"], condition=Q(ended_at__isnull=True), name="incident_open_once"
            ),
            models.CheckConstraint(condition=Q(kind__in=IncidentKind.values), name="incident_kind_known"),
            models.CheckConstraint(
                condition=Q(ended_at__isnull=True) | Q(ended_at__gte=F("began_at")), name="incident_ends_after_it_began"
            ),
        ]
        indexes = [models.Index(fields=["-began_at"], name="incident_by_time")]

    def __str__(self) -> str:
        return f"{self.part} {self.kind} {self.began_at:%Y-%m-%d %H:%M}"


class Rollup(models.Model):
    """A row of a workspace and channel at a time."""

    workspace = models.ForeignKey(Workspace, models.CASCADE, db_index=False, related_name="+")
    channel = models.CharField(_("channel"), max_length=200, blank=True, default="")

    class Meta:
        abstract = True


class HourlyCount(Rollup):
    """What was asked and written within an hour of UTC on a channel of a workspace.

    A job replaces the rows of an hour in one transaction. *Derived* for as long as recall traces are kept.
    """

    table = Table(chapter=Chapter.HOME, fate=Fate.NOTHING)

    hour = models.DateTimeField(_("hour"))
    found = models.PositiveIntegerField(default=0)
    weak = models.PositiveIntegerField(default=0)
    none = models.PositiveIntegerField(default=0)
    unneeded = models.PositiveIntegerField(default=0, help_text=_("Recalls of messages that needed no memory."))
    degraded = models.PositiveIntegerField(default=0)
    served = models.PositiveBigIntegerField(default=0, help_text=_("Entries."))
    reported = models.PositiveBigIntegerField(default=0, help_text=_("Entries served whose answer is known."))
    used = models.PositiveBigIntegerField(default=0, help_text=_("Entries that answers rested on."))
    tokens = models.PositiveBigIntegerField(default=0, help_text=_("Of the contexts that were handed out."))
    created = models.PositiveIntegerField(default=0)
    derived = models.PositiveIntegerField(default=0, help_text=_("Created by a batch: facts, notes, imports."))
    merged = models.PositiveIntegerField(default=0)
    repeated = models.PositiveIntegerField(default=0, help_text=_("Skipped: it was known already."))
    expired = models.PositiveIntegerField(default=0)

    class Meta:
        verbose_name = _("counts of an hour")
        verbose_name_plural = _("counts by hour")
        constraints = [
            models.UniqueConstraint(fields=["hour", "workspace", "channel"], name="hourlycount_once"),
            WorkspacePolicy(name="hourlycount_of_the_workspaces"),
        ]

    def __str__(self) -> str:
        return f"{self.hour:%Y-%m-%d %H} {self.channel}"


class HourlyTime(Rollup):
    """How long a step of recalls took within that hour, or work waited, as a histogram of [64
    buckets](home-page.md#times). Steps of recalls in milliseconds, lags in seconds.
    """

    table = Table(chapter=Chapter.HOME, fate=Fate.NOTHING)

    hour = models.DateTimeField(_("hour"))
    step = models.CharField(_("step"), max_length=40)
    counts = VectorField(dimensions=BUCKETS)

    class Meta:
        verbose_name = _("times of an hour")
        verbose_name_plural = _("times by hour")
        constraints = [
            models.UniqueConstraint(fields=["hour", "workspace", "channel", "step"], name="hourlytime_once"),
            WorkspacePolicy(name="hourlytime_of_the_workspaces"),
        ]

    def __str__(self) -> str:
        return f"{self.hour:%Y-%m-%d %H} {self.channel} {self.step}"


class RolledHour(models.Model):
    """An hour that has been counted, and when that was done last.

    Of all workspaces.
    """

    table = Table(chapter=Chapter.HOME, fate=Fate.NOTHING)

    hour = models.DateTimeField(primary_key=True)
    taken_at = models.DateTimeField(_("counted"))

    class Meta:
        verbose_name = _("counted hour")
        verbose_name_plural = _("counted hours")

    def __str__(self) -> str:
        return f"{self.hour:%Y-%m-%d %H}"


class EntryStock(Rollup):
    """How many entries of a type were in a state, how many of them no recall ever served, and how many end within a
    week; four times a day.

    - `entrystock_adds_up`: those never recalled are among the others.
    """

    table = Table(chapter=Chapter.HOME, fate=Fate.NOTHING)

    at = models.DateTimeField(_("at"))
    type = models.CharField(_("type"), max_length=20)
    state = models.CharField(_("state"), max_length=20)
    entries = models.PositiveIntegerField(default=0)
    never_recalled = models.PositiveIntegerField(default=0)
    ending = models.PositiveIntegerField(default=0, help_text=_("Whose time is over within a week."))

    class Meta:
        verbose_name = _("stock of entries")
        verbose_name_plural = _("stocks of entries")
        constraints = [
            models.UniqueConstraint(fields=["at", "workspace", "channel", "type", "state"], name="entrystock_once"),
            models.CheckConstraint(condition=Q(never_recalled__lte=models.F("entries")), name="entrystock_adds_up"),
            WorkspacePolicy(name="entrystock_of_the_workspaces"),
        ]

    def __str__(self) -> str:
        return f"{self.at:%Y-%m-%d %H} {self.type} {self.state}"


class MostRecalled(models.Model):
    """The ids of the entries of a workspace that were served most often, as last counted.

    The first is the one served most often.
    """

    table = Table(chapter=Chapter.HOME, fate=Fate.NOTHING)

    workspace = models.OneToOneField(Workspace, models.CASCADE, primary_key=True, related_name="+")
    entries = ArrayField(models.BigIntegerField(), default=list)
    at = models.DateTimeField(_("at"))

    class Meta:
        verbose_name = _("most recalled")
        verbose_name_plural = _("most recalled")
        constraints = [
            WorkspacePolicy(name="mostrecalled_of_the_workspaces"),
        ]

    def __str__(self) -> str:
        return f"{self.workspace_id}"
