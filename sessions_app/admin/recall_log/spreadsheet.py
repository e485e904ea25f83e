"""The log, as it is narrowed, as a file for spreadsheets."""

import csv
from collections.abc import Iterator
from io import StringIO
from typing import Any

from django.http import HttpResponse

from memories.admin.access import in_workspaces
from sessions_app.admin.recall_log.askers import Asker, askers_of
from sessions_app.admin.recall_log.columns import used_by_answer

#: Rows of one file: it is made while a person waits.
ROWS_MOST = 10_000
#: What a spreadsheet would take for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_COLUMNS = (
    "id", "asked", "workspace", "bot", "person", "chat", "session", "question", "verdict", "served", "used",
    "degraded", "milliseconds",
)  # fmt: skip


def as_csv(rows: Any, workspaces: frozenset[int] | None) -> HttpResponse:
    """The first ROWS_MOST traces of a list in these workspaces; its name says when there are more."""
    traces = list(in_workspaces(rows, workspaces)[: ROWS_MOST + 1])
    name = f"recalls-first-{ROWS_MOST}.csv" if len(traces) > ROWS_MOST else "recalls.csv"
    shown = traces[:ROWS_MOST]
    askers = askers_of(shown)
    page = StringIO()
    page.write("\ufeff")  # so that spreadsheets read it as UTF-8
    lines = csv.writer(page)
    lines.writerow(_COLUMNS)
    lines.writerows([_cell(value) for value in _values(trace, askers[trace.pk])] for trace in shown)
    return HttpResponse(
        page.getvalue(),
        content_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"},
    )


def _values(trace: Any, asker: Asker) -> Iterator[Any]:
    yield from (trace.uid, trace.created_at.isoformat(timespec="seconds"), trace.workspace.name)
    yield from (trace.bot.name if trace.bot else "", trace.asker or asker.who, asker.chat, trace.session_key)
    yield from (trace.message, trace.verdict or "unneeded", len(trace.served), used_by_answer(trace))
    yield from (" ".join(trace.degraded), round(trace.timings.get("total", 0)))


def _cell(value: Any) -> str:
    shown = "" if value is None else str(value)
    return f"'{shown}" if shown.startswith(_FORMULA) else shown
