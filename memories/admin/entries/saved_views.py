"""Saved views of the list of entries: conditions operators ask for daily, each a tab above the list."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db.models import Exists, OuterRef, Q
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from memories.admin.filters import Condition, due_condition, last_night_condition, resolve, state_condition
from memories.choices import Due
from memories.entries import CONTRADICTED_BY
from memories.models import EntryAccess, Slot, Workspace
from memories.models.state import LIVE, State

#: Names the view in the address of the list.
VIEW_PARAMETER = "view"
#: What was checked longer ago is worth another look.
CHECKED_LONG_AGO = timedelta(days=180)
#: Of the address, what a view says itself.
_SAID_BY_A_VIEW = ("p", "state", "due", "pinned__exact")


@dataclass(frozen=True)
class SavedView:
    """A condition with its label; `has_one_state` where every row is in the same state."""

    label: Any
    condition: Condition
    has_one_state: bool = False


@dataclass(frozen=True)
class ViewTab:
    """A view as a link above the list."""

    label: Any
    address: str
    is_shown: bool


def _is_due(request: HttpRequest) -> Q:
    over, review = due_condition(Due.OVER), due_condition(Due.REVIEW)
    return resolve(over, request) | resolve(review, request)


def _is_disputed(request: HttpRequest) -> Q:
    """Live, with something newer against it; the workspaces are named because the index of slots begins with them."""
    marks = Slot.objects.filter(workspace__in=Workspace.objects.values("pk"), name=CONTRADICTED_BY)
    return LIVE & Q(pk__in=marks.values("entry"))


def _was_never_recalled(request: HttpRequest) -> Q:
    return LIVE & ~Q(Exists(EntryAccess.objects.filter(entry=OuterRef("pk"), access_count__gt=0)))


def _was_checked_long_ago(request: HttpRequest) -> Q:
    return LIVE & Q(verified_at__lte=timezone.now() - CHECKED_LONG_AGO)


SAVED_VIEWS: Mapping[str, SavedView] = {
    "live": SavedView(State.LIVE.label, state_condition(State.LIVE), has_one_state=True),
    "due": SavedView(State.DUE.label, _is_due),
    "last_night": SavedView(_("Expired last night"), last_night_condition, has_one_state=True),
    "archived": SavedView(State.ARCHIVED.label, state_condition(State.ARCHIVED), has_one_state=True),
    "pinned": SavedView(_("Pinned"), LIVE & Q(pinned=True)),
    "disputed": SavedView(_("Disputed"), _is_disputed),
    "never": SavedView(_("Never recalled"), _was_never_recalled),
    "checked": SavedView(_("Checked long ago"), _was_checked_long_ago),
}


def saved_view(request: HttpRequest) -> SavedView | None:
    """The view the address of the list names; None: all entries."""
    return SAVED_VIEWS.get(request.GET.get(VIEW_PARAMETER, ""))


def view_tabs(changelist: Any) -> list[ViewTab]:
    """All entries and each view, as links that keep the search and the other filters."""
    shown = changelist.params.get(VIEW_PARAMETER, "")
    shown = shown if shown in SAVED_VIEWS else ""
    labels = {"": pgettext_lazy("entries", "All")} | {name: view.label for name, view in SAVED_VIEWS.items()}
    return [
        ViewTab(label, changelist.get_query_string({VIEW_PARAMETER: name or None}, _SAID_BY_A_VIEW), name == shown)
        for name, label in labels.items()
    ]


def in_view(rows: Any, request: HttpRequest) -> Any:
    """The entries of a query that are in the view of the request."""
    view = saved_view(request)
    return rows.filter(resolve(view.condition, request)) if view else rows
