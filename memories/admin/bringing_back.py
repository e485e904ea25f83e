"""Bringing a setting back to what it was in an earlier version, field by field; asked first (F2)."""

from dataclasses import replace
from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import path, reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget

from memories.admin.confirmations import Question, ask, is_answer
from memories.admin.row_history import Line, RecordedHistory, columns_of, life_of, line_of, told_page
from memories.models import Change


class FieldsForm(forms.Form):
    """Which of the fields that differ are to be what they were."""

    fields_back = forms.MultipleChoiceField(label=_("Bring back"), widget=UnfoldAdminCheckboxSelectMultipleWidget)

    def __init__(self, data: Any = None, *, lines: dict[str, Line]) -> None:
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
        told = life_of(row)
        if self.has_change_permission(request, row):
            told = [replace(step, bring_back="" if step.is_present else self._address(row, step)) for step in told]
        return told_page(self, request, row, told)

    def bring_version_back(self, request: HttpRequest, object_id: str, version: int) -> HttpResponse:
        row = self.reach(request, object_id, "change")
        if not 1 <= version <= row.version:
            raise Http404
        was = self._differing(row, version)
        back = reverse(f"admin:{self._name('history')}", args=[row.pk])
        if not was:
            messages.info(request, gettext("Nothing differs from that version."))
            return HttpResponseRedirect(back)
        lines = {name: line_of(type(row), name, getattr(row, name), value) for name, value in was.items()}
        form = FieldsForm(request.POST if is_answer(request) else None, lines=lines)
        if is_answer(request) and form.is_valid():
            self._save(request, row, {name: was[name] for name in form.cleaned_data["fields_back"]}, version)
            return HttpResponseRedirect(back)
        question = Question(
            title=gettext("Bring version %(version)d back") % {"version": version},
            text=f"{gettext('It holds from the next call on. What holds now stays in the history.')} "
            f"{self.consequence(row, was)}".strip(),
            button=gettext("Bring it back"),
            back=back,
        )
        return ask(self, request, question, form)

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
