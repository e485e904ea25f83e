"""The history of a recorded row as a page, and any earlier version of it brought back, field by field (F2)."""

import json
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.db import connection
from django.db.models import Model
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import path, reverse
from django.utils.formats import localize
from django.utils.timezone import localtime
from django.utils.translation import gettext, pgettext
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget

from memories.admin.confirmation import confirmation_page, is_confirmed
from memories.admin.labels import batch_name
from memories.choices import Operation
from memories.models import Batch, Change

UNSHOWN = frozenset({"id", "uid", "workspace_id", "version", "updated_at"})


@dataclass(frozen=True)
class FieldChange:
    """One value that changed."""

    name: str
    before: str
    after: str


@dataclass(frozen=True, kw_only=True)
class HistoryStep:
    """A step of a row's life as the page tells it."""

    version: int
    at: datetime
    actor: str
    headline: str
    lines: list[FieldChange] = field(default_factory=list)
    wording: list[tuple[str, str]] | None = None
    batch: Batch | None = None
    is_present: bool = False
    bring_back: str = ""

    @property
    def batch_name(self) -> str:
        return batch_name(self.batch) if self.batch else ""


def history_page(
    model_admin: Any, request: HttpRequest, row: Model, told: list[HistoryStep], back: str | None = None
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
        return history_page(self, request, row, row_history(row))


def row_history(row: Any) -> list[HistoryStep]:
    """The changes of a row, the newest first: walked back from the row as it is, for a change holds what was."""
    return _steps(type(row), row.workspace_id, row.pk, columns_of(row), row.version)


def removed_row_history(model: type[Model], removal: Change) -> list[HistoryStep]:
    """The same of a row that is there no more, from its removal on, which holds all of it."""
    return _steps(model, removal.workspace_id, removal.row_id, {}, None)


def _steps(
    model: type[Model], workspace_id: int, row_id: int, now: dict[str, Any], version: int | None
) -> list[HistoryStep]:
    told = []
    changes = Change.objects.filter(workspace_id=workspace_id, table_name=model._meta.db_table, row_id=row_id)
    for change in changes.order_by("-version", "-id"):
        added = change.op == Operation.INSERT
        before = dict.fromkeys(now) if added else change.old
        lines = [field_change(model, name, was, now.get(name)) for name, was in before.items() if name not in UNSHOWN]
        told.append(
            HistoryStep(
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


def field_change(model: type[Model], name: str, before: Any, after: Any) -> FieldChange:
    column = next((column for column in model._meta.concrete_fields if name in (column.attname, column.name)), None)
    label = str(column.verbose_name) if column else name
    return FieldChange(label, display_value(column, before), display_value(column, after))


def display_value(column: Any, value: Any) -> str:
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


class RevertForm(forms.Form):
    """Which of the fields that differ are to be what they were."""

    fields_back = forms.MultipleChoiceField(label=_("Bring back"), widget=UnfoldAdminCheckboxSelectMultipleWidget)

    def __init__(self, data: Any = None, *, lines: dict[str, FieldChange]) -> None:
        super().__init__(data)
        wanted: Any = self.fields["fields_back"]
        wanted.choices = [(name, f"{line.name}: {line.before} → {line.after}") for name, line in lines.items()]
        wanted.initial = list(lines)


class RevertibleHistory(RecordedHistory):
    """For the admin of a recorded table whose fields people set: any version of these can be brought back."""

    #: The fields that are brought back; what a row is about never is.
    revertible: tuple[str, ...] = ()
    opts: Any
    admin_site: Any
    has_change_permission: Any
    save_model: Any

    def get_urls(self) -> list[Any]:
        view = self.admin_site.admin_view(self.bring_version_back)
        urls: list[Any] = super().get_urls()  # type: ignore[misc]
        return [path("<path:object_id>/versions/<int:version>/", view, name=self._name("version")), *urls]

    def history_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> HttpResponse:
        row = self.reach(request, object_id, "view")
        told = row_history(row)
        if self.has_change_permission(request, row):
            told = [replace(step, bring_back="" if step.is_present else self._address(row, step)) for step in told]
        return history_page(self, request, row, told)

    def bring_version_back(self, request: HttpRequest, object_id: str, version: int) -> HttpResponse:
        row = self.reach(request, object_id, "change")
        if not 1 <= version <= row.version:
            raise Http404
        was = self._differing(row, version)
        back = reverse(f"admin:{self._name('history')}", args=[row.pk])
        if not was:
            messages.info(request, gettext("Nothing differs from that version."))
            return HttpResponseRedirect(back)
        lines = {name: field_change(type(row), name, getattr(row, name), value) for name, value in was.items()}
        form = RevertForm(request.POST if is_confirmed(request) else None, lines=lines)
        if is_confirmed(request) and form.is_valid():
            self._save(request, row, {name: was[name] for name in form.cleaned_data["fields_back"]}, version)
            return HttpResponseRedirect(back)
        return confirmation_page(
            self,
            request,
            form,
            title=gettext("Bring version %(version)d back") % {"version": version},
            text=f"{gettext('It holds from the next call on. What holds now stays in the history.')} "
            f"{self.consequence(row, was)}".strip(),
            button=gettext("Bring it back"),
            back=back,
        )

    def consequence(self, row: Any, values: dict[str, Any]) -> str:
        """What the page that asks says of these values besides, if anything."""
        return ""

    def _differing(self, row: Any, version: int) -> dict[str, Any]:
        """What each field was in that version, of those that are something else now."""
        was = columns_of(row)
        later = Change.objects.filter(
            workspace_id=row.workspace_id, table_name=row._meta.db_table, row_id=row.pk, version__gt=version
        )
        for change in later.order_by("-version", "-id"):
            was.update(change.old)
        values = {name: row._meta.get_field(name).to_python(was[name]) for name in self.revertible}
        return {name: value for name, value in values.items() if value != getattr(row, name)}

    def _save(self, request: HttpRequest, row: Any, values: dict[str, Any], version: int) -> None:
        for name, value in values.items():
            setattr(row, name, value)
        try:
            row.full_clean()
        except ValidationError as problem:  # a version from before a rule that holds now
            messages.error(request, " ".join(problem.messages))
            return
        self.save_model(request, row, None, True)
        messages.success(request, gettext("Version %(version)d is back.") % {"version": version})

    def _name(self, page: str) -> str:
        return f"{self.opts.app_label}_{self.opts.model_name}_{page}"

    def _address(self, row: Any, step: Any) -> str:
        return reverse(f"admin:{self._name('version')}", args=[row.pk, step.version])
