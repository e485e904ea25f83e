"""The second factor of the people who work here: the secret of an app that makes codes, and codes for recovery."""

from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from memories.models.table import Chapter, Fate, Table


class Factor(models.Model):
    """The second factor of an account: its secret, encrypted, and hashes of its recovery codes.

    An account has one.
    """

    table = Table(chapter=Chapter.TENANTS, fate=Fate.NOTHING)

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="factor", verbose_name=_("person")
    )
    sealed = models.TextField(editable=False)
    step = models.BigIntegerField(editable=False, help_text="Of the last code; it and older ones are not taken again.")
    recovery = ArrayField(models.CharField(max_length=64), default=list, editable=False)
    wrong = models.PositiveSmallIntegerField(default=0, editable=False)
    wrong_at = models.DateTimeField(null=True, editable=False)
    created_at = models.DateTimeField(_("since"))

    class Meta:
        verbose_name = _("second factor")
        verbose_name_plural = _("second factors")
        constraints = [models.CheckConstraint(condition=~Q(sealed=""), name="factor_has_a_secret")]

    def __str__(self) -> str:
        return str(self.user)

    def is_locked(self, now: datetime) -> bool:
        """Whether as many wrong codes were given as a login allows, and none is taken until some time has gone by."""
        return self.wrong >= settings.AXES_FAILURE_LIMIT and not self._is_past(now)

    def count_wrong(self, now: datetime) -> None:
        """Write down a wrong code; after a pause the count begins again."""
        self.wrong = 1 if self._is_past(now) else self.wrong + 1
        self.wrong_at = now
        self.save(update_fields=["wrong", "wrong_at"])

    def _is_past(self, now: datetime) -> bool:
        pause: timedelta = settings.AXES_COOLOFF_TIME
        return self.wrong_at is None or self.wrong_at + pause <= now

    @classmethod
    def of(cls, user: Any) -> "Factor | None":
        """The factor of somebody, read once for the object; None where they have none, or nobody is logged in."""
        try:
            factor: Factor | None = getattr(user, "factor", None)
        except cls.DoesNotExist:
            return None
        return factor
