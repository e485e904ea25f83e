"""The way back from a page: to the list as it was searched and filtered, or to the page that led here."""

from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme

#: Names the page that led here, in the address of a page.
RETURN_PARAMETER = "_back"
#: Django's own, with the search and the filters of the list that led here.
FILTERS_PARAMETER = "_changelist_filters"


def return_url(request: HttpRequest, listed: str) -> str:
    """The page that led here, if the address names one of the admin; else the list at `listed`, as it was narrowed."""
    back = request.GET.get(RETURN_PARAMETER, "")
    if back.startswith(reverse("admin:index")) and url_has_allowed_host_and_scheme(back, allowed_hosts=None):
        return back
    if request.path == listed:
        return request.get_full_path()
    filters = request.GET.get(FILTERS_PARAMETER, "")
    return f"{listed}?{filters}" if filters else listed


def with_return_url(request: HttpRequest, address: str) -> str:
    """An address with the way back of this page handed on."""
    kept = {name: request.GET[name] for name in (RETURN_PARAMETER, FILTERS_PARAMETER) if request.GET.get(name)}
    return f"{address}?{urlencode(kept)}" if kept else address


def actions_with_return_url(request: HttpRequest, actions: list[Any]) -> list[Any]:
    """The buttons of a page, each leading back to where the page leads back to."""
    return [_action_with_return_url(request, action) for action in actions]


def _action_with_return_url(request: HttpRequest, action: Any) -> Any:
    if not isinstance(action, dict):
        return action
    if "items" in action:
        return action | {"items": actions_with_return_url(request, action["items"])}
    return action | {"path": with_return_url(request, action["path"])} if "path" in action else action
