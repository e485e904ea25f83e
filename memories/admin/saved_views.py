"""Saved views of a list: conditions operators ask for daily, each a tab above it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest

from memories.admin.filters import Condition
from memories.admin.pagination import BoundedChangeList

#: Names the view in the address of the list.
_PARAMETER = "view"


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


def saved_view(views: Mapping[str, SavedView], request: HttpRequest) -> SavedView | None:
    """The view the address of the list names; None: all rows."""
    return views.get(request.GET.get(_PARAMETER, ""))


class ViewedChangeList(BoundedChangeList):
    """A list with saved views; `said_by_views` are parameters of the address that a view takes the place of."""

    saved_views: Mapping[str, SavedView]
    all_rows: Any
    said_by_views: tuple[str, ...]
    request: HttpRequest

    def get_filters_params(self, params: Any = None) -> dict[str, Any]:
        return {name: value for name, value in super().get_filters_params(params).items() if name != _PARAMETER}

    @property
    def view_tabs(self) -> list[ViewTab]:
        """All rows and each view, as links that keep the search and the other filters."""
        labels = {"": self.all_rows} | {name: view.label for name, view in self.saved_views.items()}
        shown = self.params.get(_PARAMETER, "")
        shown = shown if shown in labels else ""
        return [
            ViewTab(label, self.get_query_string({_PARAMETER: name or None}, self.said_by_views), name == shown)
            for name, label in labels.items()
        ]
