"""The page that adds a memory by hand: through the door, checked as everybody's, in a batch with its reason."""

from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from memories.admin.access import actor_of
from memories.admin.batches.detail import batch_url
from memories.admin.confirmation import ReasonForm
from memories.admin.entries.bulk_forms import TERMS, TYPE_CHOICES, TYPES, ends_in
from memories.admin.entries.scope_field import scope_field
from memories.admin.fields import LineField, SelectField, SwitchField, TextField
from memories.admin.own_pages import own_page
from memories.admin.return_link import return_url, with_return_url
from memories.batches import bulk_actions
from memories.batches.descriptions import note_of
from memories.choices import Category, ChangeState, Outcome, Source
from memories.entries.draft import UnscopedDraft
from memories.exceptions import InvalidDraft, PlatformError
from memories.models import BatchChange, Scope


class AddForm(ReasonForm):
    """A memory, and why it is added."""

    content = TextField(label=_("content"), rows=4, has_focus=True)
    type = SelectField(label=_("type"), choices=TYPE_CHOICES, initial="user_explicit")
    category = SelectField(label=_("category"), choices=[("", _("None")), *Category.choices], required=False)
    term = SelectField(label=_("Term"), choices=TERMS, required=False, initial="")
    project = LineField(label=_("project"), required=False)
    pinned = SwitchField(label=_("pinned"))
    slots = TextField(label=_("slots"), required=False, help_text=_("One a line: name = value."), rows=2)
    field_order = ["scope", "content", "type", "category", "term", "project", "pinned", "slots", "reason"]

    def __init__(self, data: Any = None, *, scope: forms.Field, **kwargs: Any) -> None:
        super().__init__(data, **kwargs)
        self.fields["scope"] = scope
        self.fields["reason"].widget.attrs.pop("autofocus", None)
        self.order_fields(self.field_order)

    def clean_slots(self) -> dict[str, str]:
        lines = [line for line in self.cleaned_data["slots"].splitlines() if line.strip()]
        pairs = [line.partition("=") for line in lines]
        if odd := next((name for name, sign, _value in pairs if not sign), None):
            raise forms.ValidationError(gettext("“%(line)s” is not name = value.") % {"line": odd[:60]})
        return {name.strip(): value.strip() for name, _sign, value in pairs}

    def draft(self, *, now: Any) -> UnscopedDraft:
        """The memory a valid form describes."""
        data = self.cleaned_data
        return UnscopedDraft(
            content=data["content"].replace("\r\n", "\n"),
            source=Source.MANUAL,
            at=now,
            category=data["category"],
            project=data["project"],
            pinned=data["pinned"],
            expires_at=ends_in(data["term"], now),
            slots=data["slots"],
            **TYPES[data["type"]][1],
        )


class Adding:
    """The admin of entries adds one by hand."""

    admin_site: Any
    opts: Any
    has_add_permission: Any
    reachable: Any

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> HttpResponse:
        if not self.has_add_permission(request):
            raise PermissionDenied
        bound = request.POST if request.method == "POST" else None
        initial = {"scope": request.GET.get("scope", "")}
        form = AddForm(bound, scope=scope_field(self, request), initial=initial)
        if bound is not None and form.is_valid():
            try:
                return self._add(request, form, form.cleaned_data["scope"])
            except InvalidDraft as refusal:
                field = str(refusal.field or "").partition(".")[0]
                form.add_error(field if field in form.fields else None, str(refusal))
            except PlatformError as refusal:
                form.add_error("scope", str(refusal))
        back = return_url(request, reverse("admin:memories_entry_changelist"))
        context = {"title": gettext("Add a memory"), "back": back, "form": form}
        return own_page(request, "admin/memories/add_entry.html", context, self)

    def _add(self, request: HttpRequest, form: AddForm, scope: Scope) -> HttpResponse:
        now = timezone.now()
        row = bulk_actions.create(
            scope, form.draft(now=now), now=now, actor=actor_of(request), reason=form.cleaned_data["reason"]
        )
        link = '{} <a class="mp-link underline" href="{}">{}</a>'
        label = gettext("Look at it or undo it")
        messages.success(request, format_html(link, _outcome_label(row), batch_url(row.batch), label))
        if row.entry is None:
            return HttpResponseRedirect(batch_url(row.batch))
        page = reverse("admin:memories_entry_change", args=[row.entry.pk])
        return HttpResponseRedirect(with_return_url(request, page))


def _outcome_label(row: BatchChange) -> str:
    """What became of it: remembered, or part of what was known."""
    if row.state == ChangeState.APPLIED and row.note not in Outcome.values:
        return gettext("It is remembered, and can be recalled at once.")
    note = note_of(row)
    return note[1] if note else ""
