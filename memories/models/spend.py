"""Spend: what the machine's own model was asked, by workspace and local day (D7)."""

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from memories.models.tenancy import Workspace


class Spend(models.Model):
    """Calls and tokens of one purpose on one local day; what is reserved has been asked and not been answered yet."""

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
        ]

    def __str__(self) -> str:
        return f"{self.local_date} {self.purpose}"
