"""What the home page keeps of people and of the platform's past: lines put off, and incidents."""

from django.conf import settings
from django.db import models
from django.db.models import F, Q, TextChoices
from django.utils.translation import gettext_lazy as _

from memories.models.table import Chapter, Fate, Table


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
