"""Pages of big tables: the rows are counted up to a limit, never all of them."""

from functools import cached_property

from django.core.paginator import Paginator
from django.utils.translation import gettext as _


class BoundedPaginator(Paginator):  # type: ignore[type-arg]
    """Counts at most LIMIT rows: whoever has more before them narrows the list instead of leafing through it.

    Counting 100,000 rows exactly took longer than everything else on the page.
    """

    LIMIT = 5_000
    template_name = "admin/pages_bounded.html"

    @cached_property
    def count(self) -> int:
        rows = self.object_list
        return rows.order_by()[: self.LIMIT].count() if hasattr(rows, "order_by") else len(rows)

    @property
    def said(self) -> str:
        """The count as people read it."""
        return (
            _("more than %(limit)s") % {"limit": f"{self.LIMIT:,}"} if self.count >= self.LIMIT else f"{self.count:,}"
        )
