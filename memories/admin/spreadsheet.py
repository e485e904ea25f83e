"""Lists as files for spreadsheets, and files as a browser saves them."""

import csv
from collections.abc import Iterable, Sequence
from datetime import datetime
from io import StringIO
from typing import Any

from django.contrib.admin.options import IncorrectLookupParameters
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import path, reverse
from django.utils.timezone import localtime

from memories.admin.access import in_workspaces, workspaces_of
from memories.admin.auditing import note
from memories.audit.models import AuditEvent
from memories.staff.rights import needs
from memories.staff.roles import Right

#: Rows of one file: it is made while a person waits.
ROWS_MOST = 10_000
#: What a spreadsheet would take for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def csv_text(columns: Sequence[str], rows: Iterable[Iterable[Any]]) -> str:
    """A table for spreadsheets: times by the clock of the page, and nothing they would take for a formula."""
    page = StringIO()
    page.write("\ufeff")  # so that spreadsheets read it as UTF-8
    lines = csv.writer(page)
    lines.writerow(columns)
    lines.writerows([_cell(value) for value in row] for row in rows)
    return page.getvalue()


def _cell(value: Any) -> str:
    if isinstance(value, datetime):
        return localtime(value).isoformat(timespec="seconds")
    shown = "" if value is None else str(value)
    return f"'{shown}" if shown.startswith(_FORMULA) else shown


def saved_file(content: str | bytes, name: str, content_type: str) -> HttpResponse:
    """A file that the browser saves under this name, and no cache keeps."""
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"}
    return HttpResponse(content, content_type=content_type, headers=headers)


class CsvList:
    """For the admin of a list that leaves as it is narrowed; noted like anything else that leaves."""

    csv_name: str
    csv_columns: Sequence[str]
    admin_site: Any
    opts: Any
    get_changelist_instance: Any

    def csv_rows(self, changelist: Any, rows: list[Any]) -> Iterable[Iterable[Any]]:
        """The values of rows of the list, in the order of the columns."""
        raise NotImplementedError

    def get_urls(self) -> list[Any]:
        page = self.admin_site.admin_view(self.as_csv)
        own = path("csv/", page, name=f"{self.opts.app_label}_{self.opts.model_name}_csv")
        return [own, *super().get_urls()]  # type: ignore[misc]

    @needs(Right.EXPORT)
    def as_csv(self, request: HttpRequest) -> HttpResponse:
        """The first ROWS_MOST rows, in the workspaces of the right; the name of the file says when there are more."""
        try:
            changelist = self.get_changelist_instance(request)
        except IncorrectLookupParameters:
            return HttpResponseRedirect(reverse(f"admin:{self.opts.app_label}_{self.opts.model_name}_changelist"))
        rows = list(in_workspaces(changelist.queryset, workspaces_of(request, Right.EXPORT))[: ROWS_MOST + 1])
        first = f"-first-{ROWS_MOST}" if len(rows) > ROWS_MOST else ""
        text = csv_text(self.csv_columns, self.csv_rows(changelist, rows[:ROWS_MOST]))
        narrowed = sorted(set(request.GET) - {""})  # by what, not to which values: those may be people's words
        about = f"{self.csv_name}.csv"
        note(request, AuditEvent.EXPORTED, about=about, details={"text": ", ".join(narrowed)[:200]})
        return saved_file(text, f"{self.csv_name}{first}.csv", "text/csv; charset=utf-8")
