"""Filters that neither Django nor unfold has."""

from collections.abc import Callable, Iterator, Mapping
from datetime import date, datetime, time, timedelta
from typing import Any

from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import AutocompleteSelectFilter, DropdownFilter, RangeDateFilter, TextFilter
from unfold.utils import parse_date_str

from memories.admin.access import in_workspaces
from memories.choices import Due, Verification
from memories.lifecycle import expiry
from memories.models import Batch, Policy
from memories.models.state import State, in_state
from memories.staff.rights import workspaces_of
from memories.staff.roles import Right

Condition = Q | Callable[[HttpRequest], Q]


def resolve(condition: Condition, request: HttpRequest) -> Q:
    """The condition as it stands for a request."""
    return condition if isinstance(condition, Q) else condition(request)


def condition_filter(name: Any, parameter: str, options: Mapping[str, tuple[Any, Condition]]) -> type[DropdownFilter]:
    """A filter that offers conditions: by the value in the address, the label of each and the condition itself."""

    class ConditionFilter(DropdownFilter):
        title = name
        parameter_name = parameter

        def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
            return [(value, label) for value, (label, _condition) in options.items()]

        def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
            if self.value() not in options:
                return queryset
            return queryset.filter(resolve(options[self.value()][1], request))

    return ConditionFilter


def state_condition(state: State) -> Condition:
    """That an entry is in a state now, by the policies of its workspace."""
    return lambda request: in_state(state, Policy.objects.over(timezone.now()))


def due_condition(due: Due) -> Condition:
    """That an entry is due now, for this reason."""
    return lambda request: expiry.due(due, timezone.now(), Policy.objects.over)


def expired_last_night(request: HttpRequest, now: datetime, right: Right = Right.READ) -> QuerySet[Batch]:
    """The batches of the expiry job of the last day, in the workspaces where this person holds the right."""
    where = workspaces_of(request, right)
    batches: QuerySet[Batch] = in_workspaces(expiry.expiry_batches(since=now - expiry.NIGHT), where)
    return batches


def last_night_condition(request: HttpRequest) -> Q:
    """That the nightly job expired an entry within the last day."""
    return expiry.is_expired_by(expired_last_night(request, timezone.now()))


#: Where entries stand now.
StateFilter = condition_filter(
    _("state"), "state", {state.value: (state.label, state_condition(state)) for state in State}
)
#: What somebody should look at, and what the job took out last.
DueFilter = condition_filter(
    _("due"),
    "due",
    {due.value: (due.label, due_condition(due)) for due in Due}
    | {"last_night": (_("Expired last night"), last_night_condition)},
)
#: Which layer of the memory; only facts have one.
TierFilter = condition_filter(
    _("tier"),
    "tier",
    {
        "1": (_("1 · profile"), Q(tier=1)),
        "2": (_("2 · knowledge"), Q(tier=2)),
        "none": (_("None"), Q(tier__isnull=True)),
    },
)


#: What no second reading has borne out.
VerificationFilter = condition_filter(
    _("verification"),
    "verification",
    {value: (Verification(value).label, Q(verification=value)) for value in filter(None, Verification.values)}
    | {"none": (Verification.NONE.label, Q(verification=Verification.NONE))},
)


class ExactTextFilter(TextFilter):
    """A column by its exact value: a list of all values would be a scan of the table."""

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        asked = (self.value() or "").strip().replace("\0", "")
        return queryset.filter(**{str(self.parameter_name): asked}) if asked else queryset


class ProjectFilter(ExactTextFilter):
    """By the name of the project."""

    title = _("project")
    parameter_name = "project"


class ReachableFilter(AutocompleteSelectFilter):
    """A related row by its name, among those this person may see; unfold's own would name any row whose id is asked."""

    def choices(self, changelist: Any) -> Iterator[dict[str, Any]]:
        for shown in super().choices(changelist):
            shown["form"].fields[self.lookup_kwarg].queryset = self.model_admin.reachable(self.field, self.request)
            yield shown


class DaysFilter(RangeDateFilter):
    """From one day to another, both included, by the clock the operator reads: a range of the index."""

    #: What is compared, where it is not the field itself.
    column = ""

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        moment = self.column or self.field_path
        if first := self._day("from"):
            queryset = queryset.filter(**{f"{moment}__gte": _midnight(first)})
        if last := self._day("to"):
            queryset = queryset.filter(**{f"{moment}__lt": _midnight(last + timedelta(days=1))})
        return queryset

    def _day(self, end: str) -> date | None:
        """What was typed, if it is a day."""
        day: date | None = parse_date_str(str(self.used_parameters.get(f"{self.parameter_name}_{end}") or ""))
        return day if day and 1 < day.year < 9_999 else None


def _midnight(day: date) -> datetime:
    return timezone.make_aware(datetime.combine(day, time.min))
