"""Who is alive: the platform's processes, and the model it asks."""

from django.db import models
from django.utils.translation import gettext_lazy as _


class Heartbeat(models.Model):
    """A process that wrote its name here within the last seconds, or stopped doing so."""

    name = models.CharField(_("process"), max_length=40)
    pid = models.PositiveIntegerField(_("process id"))
    started_at = models.DateTimeField(_("started"))
    beat_at = models.DateTimeField(_("last sign of life"))

    class Meta:
        verbose_name = _("heartbeat")
        verbose_name_plural = _("heartbeats")
        constraints = [models.UniqueConstraint(fields=["name", "pid"], name="heartbeat_once_a_process")]

    def __str__(self) -> str:
        return f"{self.name} {self.pid}"


class ModelHealth(models.Model):
    """What the last calls to a model came to; of the whole platform, for it asks one endpoint."""

    model = models.CharField(_("model"), max_length=200, unique=True)
    answered_at = models.DateTimeField(_("last answered"), null=True)
    failed_at = models.DateTimeField(_("last failed"), null=True)
    failures = models.PositiveIntegerField(_("failures in a row"), default=0)
    error = models.CharField(_("error"), max_length=300, blank=True, default="")

    class Meta:
        verbose_name = _("model")
        verbose_name_plural = _("models")

    def __str__(self) -> str:
        return self.model
