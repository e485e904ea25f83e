"""What the admin shows of comparisons: sums of days, and of a recall the lines that only one of the two found (A4)."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count, F, Func, IntegerField, Sum
from django.db.models.functions import TruncDate
from django.urls import reverse

from channels_app.models import PathComparison
from memories.admin.access import in_workspaces
from memories.admin.files.addresses import file_url
from memories.models import Entry, FileState, RecallTrace

#: Sums are of at most so many days of channels.
_SUMS_SHOWN = 100


@dataclass(frozen=True)
class FoundLine:
    """Something that only one of the two found, and where it can be read."""

    content: str
    place: str
    url: str


def days_of(seen: frozenset[int] | None, since: datetime) -> list[dict[str, Any]]:
    """The sums of each day and channel in these workspaces, the newest first."""
    rows = in_workspaces(PathComparison.objects.filter(created_at__gt=since), seen)
    by_day = rows.annotate(day=TruncDate("created_at")).order_by()
    sums = by_day.values("day", "workspace__name", "platform", "account").annotate(
        recalls=Count("pk"), found_by_both=Sum("both"), database=_length("only_database"), files=_length("only_files")
    )
    return list(sums.order_by("-day", "workspace__name", "platform", "account")[:_SUMS_SHOWN])


def _length(column: str) -> Sum:
    return Sum(Func(F(column), function="jsonb_array_length", output_field=IntegerField()))


def comparison_context(comparison: PathComparison) -> dict[str, Any]:
    """The lines of a comparison, and the recall it was made of."""
    workspace, alone = comparison.workspace_id, [*comparison.only_database, *comparison.only_files]
    named = Entry.objects.filter(workspace_id=workspace, uid__in=[row["id"] for row in alone if row.get("id")])
    entries = {str(uid): pk for uid, pk in named.values_list("uid", "pk")}
    paths = FileState.objects.filter(workspace_id=workspace, path__in=[row["path"] for row in alone if row.get("path")])
    scopes = dict(paths.values_list("path", "scope_id"))
    trace = RecallTrace.objects.filter(workspace_id=workspace, uid=comparison.trace) if comparison.trace else None
    return {
        "comparison": comparison,
        "trace": trace.first() if trace else None,
        "database_lines": [_line(row, entries, scopes) for row in comparison.only_database],
        "file_lines": [_line(row, entries, scopes) for row in comparison.only_files],
    }


def _line(row: dict[str, Any], entries: dict[str, int], scopes: dict[str, int]) -> FoundLine:
    """A line with the page of its entry, or else of its file, as far as they are still there."""
    path, line = row.get("path") or "", row.get("line")
    place, url = f"{path}:{line}" if path and line else path, ""
    if entry := entries.get(row.get("id") or ""):
        url = reverse("admin:memories_entry_change", args=[entry])
    elif path in scopes:
        url = file_url(scopes[path], path, line)
    return FoundLine(row.get("content", ""), place, url)
