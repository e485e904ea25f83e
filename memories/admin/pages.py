"""Pages of the admin that are none of Django's own, the way back from them, their clock, and long lists by pages."""

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import cached_property
from typing import Any
from urllib.parse import urlencode
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from django.contrib import admin
from django.core.paginator import EmptyPage, Page, Paginator
from django.db.models import Model
from django.http import HttpRequest
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import localize
from django.utils.html import format_html
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.timesince import timesince
from django.utils.translation import gettext as _
from unfold.decorators import display
from unfold.views import ChangeList

from memories.models import Workspace
from memories.staff.rights import holds
from memories.staff.roles import Right


def own_page(
    request: HttpRequest, template: str, context: Mapping[str, Any], model_admin: Any = None, **options: Any
) -> TemplateResponse:
    """A page with side bar and head; that of a table's admin says whose it is. Like every page here, never cached."""
    request.current_app = admin.site.name
    frame = admin.site.each_context(request) | ({"opts": model_admin.opts} if model_admin else {})
    return TemplateResponse(request, template, {**frame, **context}, **options)


def row_number(text: object, most: int = 18) -> int | None:
    """The id of a row that a request names, or another number of at most so many digits; None: it is none."""
    digits = str(text)
    return int(digits) if digits.isascii() and digits.isdecimal() and len(digits) <= most else None


def admin_url(table: Model | type[Model], page: str = "changelist", *arguments: Any) -> str:
    """The address of a page of a table's admin."""
    return reverse(f"admin:{table._meta.label_lower.replace('.', '_')}_{page}", args=arguments)


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
    parameters = {name: request.GET[name] for name in (RETURN_PARAMETER, FILTERS_PARAMETER) if request.GET.get(name)}
    return f"{address}?{urlencode(parameters)}" if parameters else address


def actions_with_return_url(request: HttpRequest, actions: list[Any]) -> list[Any]:
    """The buttons of a page, each leading back to where the page leads back to."""
    linked = []
    for action in actions:
        if isinstance(action, dict) and "items" in action:
            linked.append(action | {"items": actions_with_return_url(request, action["items"])})
        elif isinstance(action, dict) and "path" in action:
            linked.append(action | {"path": with_return_url(request, action["path"])})
        else:
            linked.append(action)
    return linked


class BoundedPaginator(Paginator):  # type: ignore[type-arg]
    """Counts at most LIMIT rows: longer lists are to be narrowed.

    Counting 100,000 rows exactly took longer than everything else on the page.
    """

    LIMIT = 5_000
    template_name = "admin/pages_bounded.html"

    @cached_property
    def count(self) -> int:
        """What fits on one page has been counted by reading it: a search that finds little reads the table once."""
        if len(self.first_rows) <= self.per_page:
            return len(self.first_rows)
        rows = self.object_list
        return rows.order_by()[: self.LIMIT].count() if hasattr(rows, "order_by") else len(rows)

    @cached_property
    def first_rows(self) -> list[Any]:
        """The first page and one row more."""
        return list(self.object_list[: self.per_page + 1])

    def validate_number(self, number: Any) -> int:
        """The nearest page there is: the list may have been longer when its address was written."""
        try:
            return super().validate_number(number)
        except EmptyPage:
            return self.num_pages if int(number) > 1 else 1

    def page(self, number: int | str) -> Page[Any]:
        if self.validate_number(number) == 1:
            return Page(self.first_rows[: self.per_page], 1, self)
        return super().page(number)

    @property
    def count_label(self) -> str:
        return (
            _("more than %(limit)s") % {"limit": f"{self.LIMIT:,}"} if self.count >= self.LIMIT else f"{self.count:,}"
        )


class BoundedChangeList(ChangeList):
    """A list that does not offer to show all when all is what it shows."""

    full_result_count: Any
    page_num: int
    may_connect = False  # whether an empty list leads to the page that connects a bot

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        self.may_connect = holds(request, Right.KEYS)
        if not self.multi_page:  # Django would ask for it once more
            self.result_list = self.paginator.first_rows
        self.page_num = min(self.page_num, self.paginator.num_pages)
        if not (self.query or self.has_active_filters):
            self.full_result_count = self.result_count


#: Holds the name of the zone somebody chose.
ZONE_COOKIE = "memplatform_zone"


def zone_named(name: str) -> ZoneInfo | None:
    """The time zone of this name; None where there is none."""
    try:
        return ZoneInfo(name) if name else None
    except (ZoneInfoNotFoundError, ValueError, OSError):  # a path that is no zone
        return None


def chosen_zone(request: HttpRequest) -> ZoneInfo | None:
    """The zone the reader chose for all pages."""
    return zone_named(request.COOKIES.get(ZONE_COOKIE, ""))


def show_zone_of(request: HttpRequest, workspace: Workspace) -> None:
    """Show the times of a page by the clock of its workspace, unless the reader chose another for all pages."""
    if chosen_zone(request) is None:
        timezone.activate(workspace.zone())


def quarantine_url(**seed: Any) -> str:
    """The page that asks about an entry, a batch, the file of a scope, or a bot."""
    return f"{reverse('quarantine_new')}?{urlencode(seed)}"


def moment(at: datetime | None, now: datetime) -> str | None:
    """How long ago, or in how long; the exact time, in the zone of the page, for whoever points at it."""
    if at is None:
        return None
    text = _("%(time)s ago") if at <= now else _("in %(time)s")
    span = timesince(min(at, now), max(at, now), depth=1)
    exact = f"{localize(timezone.localtime(at))} {timezone.get_current_timezone_name()}"
    return format_html('<time datetime="{}" title="{}">{}</time>', at.isoformat(), exact, text % {"time": span})


def column(description: Any, value: Callable[[Any], Any], **options: Any) -> Any:
    """A column of a list, or a field that is only read: what `value` says of a row; options as `display` takes them."""
    return display(description=description, **options)(lambda _admin, row: value(row))


def moment_column(name: str, label: Any) -> Any:
    """A moment of a table as a column that says how long ago it was."""

    def column(row: Any) -> str | None:
        return moment(getattr(row, name), timezone.now())

    column.__name__ = name
    return display(description=label, ordering=name)(column)
