"""The list of entries, as it is narrowed, as a file for spreadsheets."""

import csv
from collections.abc import Iterator
from datetime import datetime
from io import StringIO
from typing import Any

from django.http import HttpResponse
from django.utils.timezone import localtime

from memories.admin.access import in_workspaces
from memories.admin.masking import MASK, is_secret

#: Rows of one file: it is made while a person waits.
ROWS_MOST = 10_000
#: What a spreadsheet would take for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_COLUMNS = (
    "id", "workspace", "scope", "state", "type", "tier", "category", "project", "topic", "importance", "pinned",
    "content", "speaker", "chat", "source", "created", "last stated", "ends", "checked", "checked by", "recalled",
    "last recalled",
)  # fmt: skip


def as_csv(changelist: Any, workspaces: frozenset[int] | None) -> HttpResponse:
    """The first ROWS_MOST rows of a list in these workspaces, with every column; its name says when there are more."""
    rows = list(in_workspaces(changelist.queryset, workspaces)[: ROWS_MOST + 1])
    is_cut = len(rows) > ROWS_MOST
    changelist.describe_rows(rows := rows[:ROWS_MOST])
    page = StringIO()
    page.write("\ufeff")  # so that spreadsheets read it as UTF-8
    lines = csv.writer(page)
    lines.writerow(_COLUMNS)
    lines.writerows([_cell(value) for value in _values(row)] for row in rows)
    name = f"memories-first-{ROWS_MOST}.csv" if is_cut else "memories.csv"
    return HttpResponse(
        page.getvalue(),
        content_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"},
    )


def _values(entry: Any) -> Iterator[Any]:
    access = getattr(entry, "access", None)
    yield from (entry.uid, entry.workspace.name, entry.scope.key, entry.state.value, entry.type, entry.tier)
    yield from (entry.category, entry.project, entry.topic, entry.importance, "yes" if entry.pinned else "no")
    yield from (
        MASK if is_secret(entry) else entry.content,
        entry.speaker or entry.sender_id,
        entry.chat_id,
        entry.source,
    )
    yield from (entry.created_at, entry.stated_at, entry.ends_at, entry.verified_at, entry.verified_by)
    yield from (access.access_count, access.last_accessed) if access else (0, None)


def _cell(value: Any) -> str:
    if isinstance(value, datetime):
        return localtime(value).isoformat(timespec="seconds")
    shown = "" if value is None else str(value)
    return f"'{shown}" if shown.startswith(_FORMULA) else shown
