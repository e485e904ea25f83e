"""Pages of big tables: the rows are counted up to a limit, never all of them."""

from functools import cached_property
from typing import Any

from django.core.paginator import EmptyPage, Page, Paginator
from django.http import HttpRequest
from django.utils.translation import gettext as _
from unfold.views import ChangeList


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

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        if not self.multi_page:  # Django would ask for it once more
            self.result_list = self.paginator.first_rows
        self.page_num = min(self.page_num, self.paginator.num_pages)
        if not (self.query or self.has_active_filters):
            self.full_result_count = self.result_count
