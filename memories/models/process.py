"""Who is alive."""

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
