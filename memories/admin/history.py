"""The history of a recorded row as a page, and any earlier version of it brought back, field by field (F2)."""

import json
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.db.models import Model
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import path
from django.utils.formats import localize
from django.utils.timezone import localtime
from django.utils.translation import gettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget

from memories.admin.actions import Action, ActionCall, Outcome, Question, run
from memories.admin.labels import actor_label, batch_name
from memories.admin.pages import admin_url, own_page, with_return_url
from memories.choices import Operation
from memories.entries.history import as_of_version, changes_of, stored_columns
from memories.models import Batch
from memories.staff.rights import needs

UNSHOWN = frozenset({"id", "uid", "workspace_id", "version", "updated_at"})


@dataclass(frozen=True)
class FieldChange:
    """One value that changed."""

    name: str
    before: str
    after: str


@dataclass(kw_only=True)
class HistoryStep:
    """A change of a row, as the page shows it."""

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
    def who(self) -> str:
        return actor_label(self.actor)

    @property
    def batch_name(self) -> str:
        return batch_name(self.batch) if self.batch else ""


def history_page(
    model_admin: Any, request: HttpRequest, row: Model, steps: list[HistoryStep], back: str | None = None
) -> HttpResponse:
    context = {
        "title": gettext("History"),
        "subtitle": str(row)[:60],
        "back": back or with_return_url(request, admin_url(row, "change", row.pk)),
        "steps": steps,
    }
    return own_page(request, "admin/memories/history.html", context, model_admin)


class RecordedHistory:
    """For the admin of a recorded table: its history page is what the database wrote down."""

    reach: Any

    def history_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> HttpResponse:
        row = self.reach(request, object_id, "view")
        return history_page(self, request, row, self.history_steps(row))

    def history_steps(self, row: Any) -> list[HistoryStep]:
        """The changes of a row, the newest first."""
        return row_history(row, stored_columns(row))


def row_history(row: Any, now: dict[str, Any]) -> list[HistoryStep]:
    """The changes of a row, the newest first: walked back from its columns `now`, for a change holds what was.

    A row that is there no more has none, and its removal holds all of it.
    """
    steps, model, now = [], type(row), dict(now)
    present = row.version if now else None
    for change in changes_of(row).order_by("-version", "-id"):
        before = dict.fromkeys(now) if change.op == Operation.INSERT else change.old
        lines = [field_change(model, name, was, now.get(name)) for name, was in before.items() if name not in UNSHOWN]
        steps.append(
            HistoryStep(
                version=change.version,
                at=change.at,
                actor=change.actor,
                headline=str(_HEADLINES.get(change.op, _CHANGED)),
                lines=[line for line in lines if line.before != line.after],
                is_present=change.version == present,
            )
        )
        now.update(change.old)
    return steps


_CHANGED = pgettext_lazy("history", "Changed")
_HEADLINES: dict[str, Any] = {
    Operation.INSERT: pgettext_lazy("history", "Added"),
    Operation.DELETE: pgettext_lazy("history", "Removed"),
}


def field_change(model: type[Model], name: str, before: Any, after: Any) -> FieldChange:
    column = next((column for column in model._meta.concrete_fields if name in (column.attname, column.name)), None)
    label = str(column.verbose_name) if column else name
    return FieldChange(label, display_value(column, before), display_value(column, after))


def slot_change(name: str, before: str | None, after: str | None) -> FieldChange:
    return FieldChange(f"{gettext('slot')} {name}", display_value(None, before), display_value(None, after))


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
        choice_field: Any = self.fields["fields_back"]
        choice_field.choices = [(name, f"{line.name}: {line.before} → {line.after}") for name, line in lines.items()]
        choice_field.initial = list(lines)


def _bring_back(call: ActionCall) -> Outcome:
    version = call.arguments["version"]
    values = {name: call.rows[name][0] for name in call.data["fields_back"]}
    try:
        call.admin.revert(call.request, call.row, version, values)
    except ValidationError as refusal:  # a version from before a rule that holds now
        return Outcome(errors=[" ".join(refusal.messages)])
    return Outcome(text=gettext("Version %(version)d is back.") % {"version": version})


#: Asked on the page of a version; its rows are the fields that differ, each as it was then and as it is.
BRING_BACK = Action(
    name="version", label=_("Bring it back"), right="change",
    rows=lambda call: call.admin.differences(call.row, call.arguments["version"]),
    refuses=lambda call: "" if call.rows else Outcome(info=gettext("Nothing differs from that version.")),
    form=lambda call: RevertForm(
        call.reply, lines={name: call.admin.difference_line(name, *values) for name, values in call.rows.items()}
    ),
    question=lambda call: call.admin.revert_question(call.row, call.arguments["version"], call.rows),
    act=_bring_back,
    back=lambda call: with_return_url(call.request, admin_url(call.row, "history", call.row.pk)),
)  # fmt: skip


class RevertibleHistory(RecordedHistory):
    """For the admin of a recorded table whose fields people set: any version of these can be brought back."""

    #: The fields that are brought back; what a row is about never is.
    revertible: tuple[str, ...] = ()
    model: Any
    opts: Any
    admin_site: Any
    has_change_permission: Any
    save_model: Any

    def get_urls(self) -> list[Any]:
        view = self.admin_site.admin_view(self.bring_version_back)
        urls: list[Any] = super().get_urls()  # type: ignore[misc]
        name = f"{self.opts.app_label}_{self.opts.model_name}_version"
        return [path("<path:object_id>/versions/<int:version>/", view, name=name), *urls]

    def history_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> HttpResponse:
        row = self.reach(request, object_id, "view")
        steps = self.history_steps(row)
        if self.has_change_permission(request, row):
            for step in steps:
                if not step.is_present:
                    step.bring_back = with_return_url(request, admin_url(row, "version", row.pk, step.version))
        return history_page(self, request, row, steps)

    @needs("change")
    def bring_version_back(self, request: HttpRequest, object_id: str, version: int) -> HttpResponse:
        row = self.reach(request, object_id, "change")
        if not 1 <= version <= row.version:
            raise Http404
        return run(ActionCall(BRING_BACK, self, request, row=row, arguments={"version": version}))

    def differences(self, row: Any, version: int) -> dict[str, tuple[Any, Any]]:
        """The revertible fields that differ from a version: as they were then, and as they are."""
        was = stored_columns(row) | as_of_version(row, version)
        values = {name: row._meta.get_field(name).to_python(was[name]) for name in self.revertible}
        pairs = {name: (value, getattr(row, name)) for name, value in values.items()}
        return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}

    def difference_line(self, name: str, was: Any, present: Any) -> FieldChange:
        """A field as it is now, and as it would be."""
        return field_change(self.model, name, present, was)

    def revert_question(self, row: Any, version: int, pairs: dict[str, tuple[Any, Any]]) -> Question:
        """What the page asks, and the rows it is about."""
        title = gettext("Bring version %(version)d back") % {"version": version}
        text = gettext("It holds from the next call on. What holds now stays in the history.")
        return Question(title=title, text=text, rows=())

    def revert(self, request: HttpRequest, row: Any, version: int, values: dict[str, Any]) -> None:
        """Give a row the values of a version. Raises ValidationError or PlatformError."""
        for name, value in values.items():
            setattr(row, name, value)
        row.full_clean()
        self.save_model(request, row, None, True)
