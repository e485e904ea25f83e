"""The forms of entries: editing one with the version it was opened with, and what is asked about several."""

from typing import Any

from django import forms
from django.http import HttpRequest, QueryDict
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from memories.admin.access import MANAGE, RestrictedInline
from memories.admin.history import display_value
from memories.admin.masking import MASK, is_secret
from memories.entries import FORM_FIELDS, Edit
from memories.exceptions import PlatformError
from memories.models import Entry, Slot

NO_CATEGORY = "none"


class EntryForm(forms.ModelForm):  # type: ignore[type-arg]
    """The columns people edit; a change by somebody else meanwhile is shown beside what was typed."""

    opened_version = forms.IntegerField(widget=forms.HiddenInput)
    #: Why the door refused what this request wants, set for one request on a class made for it.
    refusal: PlatformError | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.initial["opened_version"] = self.instance.version
        if "content" in self.fields:
            self.fields["content"].widget.attrs["rows"] = 6
            if is_secret(self.instance):
                self.initial["content"] = ""
                self.fields["content"].required = False
                self.fields["content"].widget.attrs["placeholder"] = MASK
                self.fields["content"].help_text = _("Masked. Leave it empty to keep it; what you type replaces it.")
        self._was = {name: getattr(self.instance, name) for name in FORM_FIELDS}

    def clean_content(self) -> str:
        """What was masked stays where nothing else was typed."""
        return str(self.cleaned_data["content"]) or str(self._was["content"])

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        opened = data.get("opened_version")
        if opened is not None and opened != self.instance.version:
            self._show_current_values(data)
        elif self.refusal:
            field = self.refusal.field
            self.add_error(field if field in self.fields else None, str(self.refusal))
        return data

    def _show_current_values(self, data: dict[str, Any]) -> None:
        """Keep what was typed, say what the entry says now, and let the next save win on purpose."""
        self.add_error(
            None,
            _(
                "Somebody changed this entry while you were editing it. What you typed is still here; below it stands "
                "what the entry says now. Save again to put yours over it, or open it anew to drop yours."
            ),
        )
        for name in set(self.changed_data) & set(data) & set(FORM_FIELDS):
            said = display_value(Entry._meta.get_field(name), self._was[name])
            self.add_error(name, gettext("Now it says: %(value)s") % {"value": said})
        data_now = QueryDict(mutable=True)
        data_now.update(self.data)
        data_now["opened_version"] = str(self.instance.version)
        self.data = data_now


class SlotForm(forms.ModelForm):  # type: ignore[type-arg]
    """A value may be long; the name is what bots filter by."""

    class Meta:
        model = Slot
        fields = ["name", "value"]


class SlotInline(RestrictedInline):
    """The free slots of an entry, saved with it as one change."""

    model = Slot
    form = SlotForm
    members_may = MANAGE
    fields = ["name", "value"]
    ordering = ["name"]
    hide_title = True

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return super().has_change_permission(request, obj) and not _is_frozen(obj)

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return super().has_add_permission(request, obj) and not _is_frozen(obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return super().has_delete_permission(request, obj) and not _is_frozen(obj)


def _is_frozen(entry: Any) -> bool:
    return isinstance(entry, Entry) and entry.scope.frozen


def edit_of(form: Any, formsets: list[Any]) -> Edit:
    """What a valid form wants changed, slots included."""
    columns = {name: form.cleaned_data[name] for name in form.changed_data if name in FORM_FIELDS}
    slots: dict[str, str | None] = {}
    for line in (line for formset in formsets for line in formset.forms):
        if not line.has_changed() and not line.cleaned_data.get("DELETE"):
            continue
        before = line.initial.get("name")
        if before and (line.cleaned_data.get("DELETE") or line.cleaned_data["name"] != before):
            slots[before] = None
        if not line.cleaned_data.get("DELETE"):
            slots[line.cleaned_data["name"]] = line.cleaned_data["value"]
    return Edit(columns=columns, slots=slots)
