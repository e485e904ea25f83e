"""The forms of entries: one that edits an entry, with the version it was opened with, and those about several."""

from datetime import datetime, timedelta
from typing import Any

from django import forms
from django.contrib.admin.widgets import AutocompleteSelect
from django.contrib.postgres.forms import SimpleArrayField
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminRadioSelectWidget, UnfoldAdminTextInputWidget

from memories.admin.access import RestrictedInline
from memories.admin.forms import TERMS, LineField, ReasonForm, SelectField, SwitchField, TextField, VersionedForm
from memories.admin.masking import MASK, is_secret
from memories.choices import Category, EntryType
from memories.conf import conf
from memories.entries import FORM_FIELDS, Edit
from memories.entries.draft import NAME_CHARS, NAMES_MOST
from memories.exceptions import PlatformError
from memories.models import Entry, Slot
from memories.staff.rights import MANAGE


def scope_field(model_admin: Any, request: HttpRequest) -> forms.ModelChoiceField:  # type: ignore[type-arg]
    """A required choice among the scopes of workspaces where this person may write, found as one types."""
    column = Entry._meta.get_field("scope")
    return forms.ModelChoiceField(
        label=_("scope"),
        queryset=model_admin.settable(column, request),
        widget=AutocompleteSelect(column, model_admin.admin_site, attrs={"class": "unfold-filter-autocomplete"}),
    )


NO_CATEGORY = "none"
#: What people may make a memory: a tier goes with a fact; turns and lines of files are made elsewhere.
TYPES: dict[str, tuple[Any, dict[str, Any]]] = {
    "fact1": (_("Fact of the profile"), {"type": EntryType.FACT.value, "tier": 1}),
    "fact2": (_("Fact"), {"type": EntryType.FACT.value, "tier": 2}),
    **{
        kind.value: (kind.label, {"type": kind.value, "tier": None})
        for kind in (EntryType.USER_EXPLICIT, EntryType.AUTO_CAPTURE, EntryType.WORKFLOW_TRACE)
    },
}
TYPE_CHOICES = [(name, label) for name, (label, _columns) in TYPES.items()]
#: How long a memory lives; empty: as the policy says.
LIFETIMES = [*TERMS, ("", _("as the policy says"))]

#: Reasons to choose from: the audit log outlives an erasure, so that nobody types about people there.
WHYS = [
    ("", _("not said")),
    ("asked", _("its owner asked for it")),
    ("check", _("to see whether it is right")),
    ("incident", _("an incident")),
]


class BulkActionForm(ReasonForm):
    """The reason, and whether it is only planned yet."""

    plan_only = SwitchField(
        label=_("Plan only"), help_text=_("Shows what would become of each, word by word; you approve it there.")
    )


class ValuesForm(BulkActionForm):
    """Values that are set on several entries."""

    def columns(self, *, now: datetime, actor: str) -> dict[str, Any]:
        """The columns to set, by name."""
        raise NotImplementedError


class MoveForm(ReasonForm):
    """Where to, and why."""

    field_order = ["scope", "reason"]

    def __init__(self, data: Any = None, *, scope: Any) -> None:
        super().__init__(data)
        self.fields["scope"] = scope
        self.order_fields(self.field_order)


class WhyForm(forms.Form):
    """Why somebody looks at a masked credential; it may stay unsaid."""

    why = SelectField(label=_("Why"), required=False, choices=WHYS, help_text=_("Kept in the audit log."))


class SetTypeForm(ValuesForm):
    """The type of several entries, with the tier of facts."""

    type = SelectField(label=_("type"), choices=TYPE_CHOICES)
    field_order = ["type"]

    def columns(self, *, now: datetime, actor: str) -> dict[str, Any]:
        return dict(TYPES[self.cleaned_data["type"]][1])


class SetTermForm(ValuesForm):
    """When several entries end."""

    term = SelectField(label=_("New term"), choices=LIFETIMES, required=False, initial="30")
    field_order = ["term"]

    def columns(self, *, now: datetime, actor: str) -> dict[str, Any]:
        return {"expires_at": ends_in(self.cleaned_data["term"], now)}


class CheckedForm(ValuesForm):
    """When entries that were checked are to be checked again."""

    again = SelectField(
        label=_("Check again"), choices=[("", _("when somebody thinks of it")), *TERMS[1:]], required=False
    )
    field_order = ["again"]

    def columns(self, *, now: datetime, actor: str) -> dict[str, Any]:
        return {"verified_at": now, "verified_by": actor, "review_at": ends_in(self.cleaned_data["again"], now)}


def ends_in(days: str, now: datetime) -> datetime | None:
    """The moment so many days from now; None where no number is chosen."""
    return now + timedelta(days=int(days)) if days else None


class SetAttributesForm(ValuesForm):
    """The category and the project of several entries; what is left empty stays as it is."""

    category = SelectField(
        label=_("category"), required=False, choices=[("", _("as it is")), (NO_CATEGORY, _("None")), *Category.choices]
    )
    project = LineField(label=_("project"), required=False, max_length=100, help_text=_("Empty: stays as it is."))
    field_order = ["category", "project"]

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        if not (data.get("category") or data.get("project")):
            raise forms.ValidationError(_("There is nothing to change."))
        return data

    def columns(self, *, now: datetime, actor: str) -> dict[str, Any]:
        category, project = self.cleaned_data["category"], self.cleaned_data["project"]
        columns = {"category": "" if category == NO_CATEGORY else category} if category else {}
        return columns | ({"project": project} if project else {})


class MergeForm(BulkActionForm):
    """Which of several entries stays, and what it is to say."""

    stays = forms.ChoiceField(label=_("Which one stays"), widget=UnfoldAdminRadioSelectWidget)
    content = TextField(
        label=_("What it is to say then"), required=False, help_text=_("Empty: what it says now."), rows=3
    )
    field_order = ["stays", "content"]

    def __init__(self, data: Any = None, *, entries: list[Entry]) -> None:
        super().__init__(data)
        stays: Any = self.fields["stays"]
        stays.choices = [(str(entry.pk), entry.content[:200]) for entry in entries]
        stays.initial = str(entries[0].pk)
        self.fields["content"].max_length = conf.CONTENT_MAX_CHARS  # type: ignore[attr-defined]


class EntryForm(VersionedForm):
    """The columns people edit of an entry."""

    names = SimpleArrayField(
        forms.CharField(max_length=NAME_CHARS),
        label=_("Names"),
        required=False,
        max_length=NAMES_MOST,
        widget=UnfoldAdminTextInputWidget,
        help_text=_("What it is about and its other names, with commas between: Kubernetes, k8s"),
    )
    #: Why the door refused what this request wants, set for one request on a class made for it.
    refusal: PlatformError | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "content" in self.fields:
            self.fields["content"].widget.attrs["rows"] = 6
            if is_secret(self.instance):
                self.initial["content"] = ""
                self.fields["content"].required = False
                self.fields["content"].widget.attrs["placeholder"] = MASK
                self.fields["content"].help_text = _("Masked. Leave it empty to keep it; what you type replaces it.")

    def clean_content(self) -> str:
        """What was masked stays where nothing else was typed."""
        return str(self.cleaned_data["content"]) or str(self._was["content"])

    def clean(self) -> dict[str, Any]:
        data = super().clean()
        if self.refusal and not self.is_stale:
            field = self.refusal.field
            self.add_error(field if field in self.fields else None, str(self.refusal))
        return data


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

    def admits(self, request: HttpRequest, what: str, obj: Any = None) -> bool:
        """Those of a frozen scope are only read."""
        is_frozen = isinstance(obj, Entry) and obj.scope.frozen
        return super().admits(request, what, obj) and (what == "view" or not is_frozen)


def edit_of(form: Any, formsets: list[Any]) -> Edit:
    """What a valid form wants changed, slots included; a name that one slot leaves may be the new one of another."""
    columns = {name: form.cleaned_data[name] for name in form.changed_data if name in FORM_FIELDS}
    gone: dict[str, str | None] = {}
    given: dict[str, str | None] = {}
    for line in (line for formset in formsets for line in formset.forms):
        if not line.has_changed() and not line.cleaned_data.get("DELETE"):
            continue
        before = line.initial.get("name")
        if before and (line.cleaned_data.get("DELETE") or line.cleaned_data["name"] != before):
            gone[before] = None
        if not line.cleaned_data.get("DELETE"):
            given[line.cleaned_data["name"]] = line.cleaned_data["value"]
    return Edit(columns=columns, slots=gone | given)
