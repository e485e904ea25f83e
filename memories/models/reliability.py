"""What keeps the platform's word: jobs run once, calls repeated safely, deleted things stay gone."""

import pgtrigger
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from memories.choices import JobState
from memories.models.change import Recorded, record_changes
from memories.models.entry import Entry
from memories.models.lease import LeaseQuerySet
from memories.models.scope import Scope
from memories.models.tenancy import Bot, BotKey, Workspace

#: A column of its own, because row-level security lets no index of arrays be used.
_NAME_CONVERSATION = """
SELECT CASE count(DISTINCT place) WHEN 0 THEN '' WHEN 1 THEN min(place) ELSE '*' END INTO NEW.conversation
FROM (SELECT regexp_replace(origin, '/[^/]*$', '') AS place FROM unnest(NEW.origins) origin) named;
RETURN NEW;
"""


class Suppression(Recorded):
    """What a person or bot took out stays out: no machine writes it again until somebody brings it back (A15)."""

    workspace = models.ForeignKey(Workspace, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+")
    scope = models.ForeignKey(Scope, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+")
    entry = models.ForeignKey(Entry, models.DO_NOTHING, db_constraint=False, related_name="+")
    fingerprint = models.CharField(max_length=32)
    wordings = ArrayField(models.CharField(max_length=32), default=list)  # fingerprints of all else that said it
    origins = ArrayField(models.CharField(max_length=300), default=list)
    conversation = models.CharField(max_length=300, default="", editable=False)  # where these were said; *: in several
    actor = models.CharField(_("by"), max_length=200)
    created_at = models.DateTimeField(_("at"))

    class Meta:
        verbose_name = _("suppression")
        verbose_name_plural = _("suppressions")
        triggers = [
            *record_changes(),
            pgtrigger.Trigger(
                name="name_conversation", when=pgtrigger.Before, operation=pgtrigger.Insert, func=_NAME_CONVERSATION
            ),
        ]
        constraints = [models.UniqueConstraint(fields=["scope", "entry"], name="suppression_once_an_entry")]
        indexes = [
            models.Index(fields=["scope", "fingerprint"], name="suppression_by_words"),
            models.Index(fields=["workspace", "conversation"], name="suppression_by_conversation"),
        ]

    def __str__(self) -> str:
        return f"{self.entry_id}"


class JobRun(models.Model):
    """One run of a job for one workspace and local date; the row is the claim, so that it runs once."""

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

    objects = LeaseQuerySet["JobRun"].as_manager()

    class Meta:
        verbose_name = _("job run")
        verbose_name_plural = _("job runs")
        constraints = [
            models.UniqueConstraint(
                fields=["job", "workspace", "local_date", "asked"],
                nulls_distinct=False,
                name="jobrun_once_a_local_date",
            ),
            models.CheckConstraint(condition=Q(state__in=JobState.values), name="jobrun_state_known"),
        ]
        indexes = [models.Index(fields=["-started_at"], name="jobrun_by_time")]

    def __str__(self) -> str:
        return f"{self.job} {self.local_date}"


class IdempotencyKey(models.Model):
    """The answer to a write, kept so that the same call again gets the same answer and changes nothing (24 h)."""

    workspace = models.ForeignKey(Workspace, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+")
    bot = models.ForeignKey(Bot, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+")
    key = models.CharField(max_length=200)
    request_hash = models.CharField(max_length=64, help_text=_("Of method, path and body."))
    status = models.PositiveSmallIntegerField(null=True)
    response = models.JSONField(null=True)
    created_at = models.DateTimeField()

    class Meta:
        verbose_name = _("idempotency key")
        verbose_name_plural = _("idempotency keys")
        constraints = [models.UniqueConstraint(fields=["bot", "key"], name="idempotencykey_once_a_bot")]
        indexes = [models.Index(fields=["created_at"], name="idempotencykey_by_age")]

    def __str__(self) -> str:
        return self.key


class KeyUsage(models.Model):
    """Calls of a key in one minute, counted for all web processes together; may be lost in a crash."""

    key = models.ForeignKey(BotKey, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+")
    minute = models.DateTimeField()
    calls = models.PositiveIntegerField(default=0)

    class Meta:
        verbose_name = _("key usage")
        verbose_name_plural = _("key usage")
        constraints = [models.UniqueConstraint(fields=["key", "minute"], name="keyusage_once_a_minute")]

    def __str__(self) -> str:
        return f"{self.key_id}: {self.calls}"


class Secret(models.Model):
    """A value only the platform reads: encrypted, without history, never in a log or an answer."""

    workspace = models.ForeignKey(Workspace, models.CASCADE, null=True, blank=True, related_name="secrets")
    name = models.CharField(_("name"), max_length=100)
    ciphertext = models.BinaryField()
    updated_at = models.DateTimeField(_("updated"), auto_now=True)

    class Meta:
        verbose_name = _("secret")
        verbose_name_plural = _("secrets")
        constraints = [
            models.UniqueConstraint(fields=["workspace", "name"], nulls_distinct=False, name="secret_name_once"),
            models.CheckConstraint(condition=~Q(name=""), name="secret_has_a_name"),
        ]

    def __str__(self) -> str:
        return self.name
