"""Filters that neither Django nor unfold has."""

from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import AutocompleteSelectFilter, DropdownFilter, RangeDateFilter, TextFilter
from unfold.utils import parse_date_str

from memories.admin.batches.restore import expired_last_night
from memories.choices import Due
from memories.lifecycle import expiry
from memories.models import Policy
from memories.models.state import State, in_state


class StateFilter(DropdownFilter):
    """Where entries stand now."""

    title = _("state")
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return list(State.choices)

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self.value() not in State.values:
            return queryset
        return queryset.filter(in_state(str(self.value()), Policy.objects.over(timezone.now())))


class DueFilter(DropdownFilter):
    """What somebody should look at, and what the job took out last."""

    title = _("due")
    parameter_name = "due"
    LAST_NIGHT = "last_night"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [*Due.choices, (self.LAST_NIGHT, _("Expired last night"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        now, asked = timezone.now(), str(self.value())
        if asked == self.LAST_NIGHT:
            return queryset.filter(pk__in=expiry.expired_by(expired_last_night(request, now)).values("pk"))
        return queryset.filter(expiry.due(asked, now, Policy.objects.over)) if asked in Due.values else queryset


class TierFilter(DropdownFilter):
    """Which layer of the memory; only facts have one."""

    title = _("tier")
    parameter_name = "tier"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [("1", _("1 · profile")), ("2", _("2 · knowledge")), ("none", _("None"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        conditions: dict[Any, dict[str, Any]] = {"1": {"tier": 1}, "2": {"tier": 2}, "none": {"tier__isnull": True}}
        return queryset.filter(**conditions.get(self.value(), {}))


class ProjectFilter(TextFilter):
    """The project by its exact name: a list of all names would be a scan of the table."""

    title = _("project")
    parameter_name = "project"

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        asked = (self.value() or "").strip().replace("\0", "")
        return queryset.filter(project=asked) if asked else queryset


class ReachableFilter(AutocompleteSelectFilter):
    """A related row by its name, among those this person may see; unfold's own would name any row whose id is asked."""

    def choices(self, changelist: Any) -> Iterator[dict[str, Any]]:
        for shown in super().choices(changelist):
            shown["form"].fields[self.lookup_kwarg].queryset = self.model_admin.reachable(self.field, self.request)
            yield shown


class DaysFilter(RangeDateFilter):
    """From one day to another, both included, by the clock the operator reads: a range of the index."""

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if first := self._day("from"):
            queryset = queryset.filter(**{f"{self.field_path}__gte": _midnight(first)})
        if last := self._day("to"):
            queryset = queryset.filter(**{f"{self.field_path}__lt": _midnight(last + timedelta(days=1))})
        return queryset

    def _day(self, end: str) -> date | None:
        """What was typed, if it is a day."""
        day: date | None = parse_date_str(str(self.used_parameters.get(f"{self.parameter_name}_{end}") or ""))
        return day if day and 1 < day.year < 9_999 else None


def _midnight(day: date) -> datetime:
    return timezone.make_aware(datetime.combine(day, time.min))
