"""Policies: what operators set per workspace; no row means the built-in default."""

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from memories.choices import EntryType, PolicyKind, ScopeKind
from memories.models.change import Recorded, record_changes
from memories.models.tenancy import Workspace


class Policy(Recorded):
    """One number: a time to live in days, a quota, or a weight. An empty value means without limit."""

    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="policies")
    kind = models.CharField(_("kind"), max_length=10, choices=PolicyKind)
    entry_type = models.CharField(_("type"), max_length=20, choices=EntryType, blank=True, default="")
    scope_kind = models.CharField(_("scope kind"), max_length=10, choices=ScopeKind, blank=True, default="")
    name = models.CharField(_("weight"), max_length=40, blank=True, default="")
    value = models.FloatField(_("value"), null=True, blank=True)
    updated_at = models.DateTimeField(_("updated"), auto_now=True)

    class Meta:
        verbose_name = _("policy")
        verbose_name_plural = _("policies")
        triggers = record_changes(along=("updated_at",))
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "kind", "entry_type", "scope_kind", "name"], name="policy_once_a_subject"
            ),
            models.CheckConstraint(condition=Q(kind__in=PolicyKind.values), name="policy_kind_known"),
            models.CheckConstraint(
                condition=(Q(kind=PolicyKind.WEIGHT, entry_type="", scope_kind="") & ~Q(name=""))
                | (
                    Q(kind__in=[PolicyKind.TTL, PolicyKind.QUOTA], name="")
                    & Q(entry_type__in=EntryType.values, scope_kind__in=ScopeKind.values)
                ),
                name="policy_says_what_it_is_about",
            ),
            models.CheckConstraint(condition=Q(value__isnull=True) | Q(value__gte=0), name="policy_value_not_negative"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.name or f'{self.entry_type}/{self.scope_kind}'}"
