"""The history of a recorded row as a page: every change with its values before and after, by whom and when (F2)."""

import json
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db import connection
from django.db.models import Model
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.formats import localize
from django.utils.timezone import localtime
from django.utils.translation import gettext, pgettext

from memories.admin.batch_names import name_of
from memories.choices import Operation
from memories.models import Batch, Change

UNSHOWN = frozenset({"id", "uid", "workspace_id", "version", "updated_at"})


@dataclass(frozen=True)
class Line:
    """One value that changed."""

    name: str
    before: str
    after: str


@dataclass(frozen=True, kw_only=True)
class Told:
    """A step of a row's life as the page tells it."""

    version: int
    at: datetime
    actor: str
    headline: str
    lines: list[Line] = field(default_factory=list)
    wording: list[tuple[str, str]] | None = None
    batch: Batch | None = None
    is_present: bool = False
    bring_back: str = ""

    @property
    def batch_name(self) -> str:
        return name_of(self.batch) if self.batch else ""


def told_page(
    model_admin: Any, request: HttpRequest, row: Model, told: list[Told], back: str | None = None
) -> HttpResponse:
    label = row._meta.label_lower.replace(".", "_")
    context = {
        **model_admin.admin_site.each_context(request),
        "opts": model_admin.opts,
        "title": gettext("History"),
        "subtitle": str(row)[:60],
        "back": back or reverse(f"admin:{label}_change", args=[row.pk]),
        "told": told,
    }
    request.current_app = model_admin.admin_site.name
    return TemplateResponse(request, "admin/memories/history.html", context)


class RecordedHistory:
    """For the admin of a recorded table: its history page is what the database wrote down."""

    reach: Any

    def history_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> HttpResponse:
        row = self.reach(request, object_id, "view")
        return told_page(self, request, row, life_of(row))


def life_of(row: Any) -> list[Told]:
    """The changes of a row, the newest first: walked back from the row as it is, for a change holds what was."""
    return _walked_back(type(row), row.workspace_id, row.pk, columns_of(row), row.version)


def life_of_removed(model: type[Model], removal: Change) -> list[Told]:
    """The same of a row that is there no more, from its removal on, which holds all of it."""
    return _walked_back(model, removal.workspace_id, removal.row_id, {}, None)


def _walked_back(
    model: type[Model], workspace_id: int, row_id: int, now: dict[str, Any], version: int | None
) -> list[Told]:
    told = []
    changes = Change.objects.filter(workspace_id=workspace_id, table_name=model._meta.db_table, row_id=row_id)
    for change in changes.order_by("-version", "-id"):
        added = change.op == Operation.INSERT
        before = dict.fromkeys(now) if added else change.old
        lines = [line_of(model, name, was, now.get(name)) for name, was in before.items() if name not in UNSHOWN]
        told.append(
            Told(
                version=change.version,
                at=change.at,
                actor=change.actor,
                headline=_headline(change.op),
                lines=[line for line in lines if line.before != line.after],
                is_present=change.version == version,
            )
        )
        now.update(change.old)
    return told


def _headline(op: str) -> str:
    match op:
        case Operation.INSERT:
            return pgettext("history", "Added")
        case Operation.DELETE:
            return pgettext("history", "Removed")
    return pgettext("history", "Changed")


def columns_of(row: Model) -> dict[str, Any]:
    """The row as the history writes values down."""
    table = connection.ops.quote_name(row._meta.db_table)
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT pair.key, pair.value FROM {table} row,"  # noqa: S608 (the name is quoted)
            " jsonb_each(to_jsonb(row)) pair WHERE row.id = %s",
            [row.pk],
        )
        return {name: json.loads(value) for name, value in cursor.fetchall()}  # Django leaves JSON as text


def line_of(model: type[Model], name: str, before: Any, after: Any) -> Line:
    column = next((column for column in model._meta.concrete_fields if name in (column.attname, column.name)), None)
    label = str(column.verbose_name) if column else name
    return Line(label, say(column, before), say(column, after))


def say(column: Any, value: Any) -> str:
    """A value as people read it; nothing is a dash."""
    if value in (None, "", [], {}):
        return "—"
    if isinstance(value, bool):
        return gettext("yes") if value else gettext("no")
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if isinstance(value, datetime):
        return str(localize(localtime(value)))
    if isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    return str(dict(getattr(column, "flatchoices", None) or []).get(value, value))
