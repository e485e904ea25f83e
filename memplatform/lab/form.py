"""What is asked in the lab, as people fill it in."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from django import forms
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from unfold.widgets import (
    UnfoldAdminDecimalFieldWidget,
    UnfoldAdminIntegerFieldWidget,
    UnfoldAdminTextInputWidget,
)

from memories.admin.fields import LineField, SelectField, SwitchField, TextField
from memories.choices import EntryType, NeedMode, PolicyKind, ScopeKind
from memories.kinds import type_rule
from memories.models.policy import WEIGHTS, Policies, Subject
from memories.recall import Mode

#: Labels of the weights, by their names in a policy.
WEIGHT_LABELS = {
    "alpha": _("meaning beside words (0–1)"),
    "min_similarity": _("least similarity"),
    "speaker_boost": _("added for the speaker who is named"),
    "date_boost": _("added for the day that is named"),
    "recency": _("added for what was just said"),
    "max_recalls": _("memories at most"),
}
_MODES = {
    Mode.HYBRID: _("words and meaning"),
    Mode.VECTOR: _("meaning alone"),
    Mode.KEYWORD: _("words as they stand"),
    Mode.FTS: _("full text"),
}
_TYPES, _SCOPES = dict(EntryType.choices), dict(ScopeKind.choices)
_PLAIN = {"widget": UnfoldAdminTextInputWidget}


def quota_keys() -> list[tuple[str, str]]:
    """The types and kinds of scope that have a number of places in a recall."""
    return [(kind, scope) for kind in EntryType for scope in ScopeKind if scope in type_rule(kind).quotas]


class LabForm(forms.Form):
    """A question, as whom and as of when it is asked, and the numbers that are tried."""

    message = TextField(label=_("Question"), max_length=4_000, rows=2, has_focus=True)
    whom = LineField(
        label=_("As whom"),
        required=False,
        max_length=255,
        help_text=_("The key of a scope or of a session; or an address, below."),
        attrs={"list": "lab-whom", "autocomplete": "off"},
    )
    platform = forms.CharField(label=_("platform"), required=False, max_length=40, **_PLAIN)
    account = forms.CharField(label=_("account"), required=False, max_length=200, **_PLAIN)
    peer = forms.CharField(label=_("peer"), required=False, max_length=200, **_PLAIN)
    chat = forms.CharField(label=_("chat"), required=False, max_length=200, **_PLAIN)
    is_group = SwitchField(label=_("group"))
    at = forms.DateTimeField(
        label=_("As of"),
        required=False,
        help_text=_("Memory as it was then, in the workspace's time zone. Empty: now."),
        widget=UnfoldAdminTextInputWidget(attrs={"type": "datetime-local", "step": 1}),
    )
    mode = SelectField(label=_("Manner"), choices=list(_MODES.items()))
    always = SwitchField(label=_("Search even where no memory is needed"))

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in WEIGHTS:
            most = 50 if name == "MAX_RECALLS" else 10
            self.fields[name.lower()] = forms.FloatField(
                label=WEIGHT_LABELS[name.lower()],
                required=False,
                min_value=1 if name == "MAX_RECALLS" else 0,
                max_value=most,
                widget=UnfoldAdminDecimalFieldWidget(attrs={"step": "any"}),
            )
        for kind, scope in quota_keys():
            self.fields[f"quota_{kind}_{scope}"] = forms.IntegerField(
                label=f"{_TYPES[kind]}, {_SCOPES[scope]}",
                required=False,
                min_value=0,
                max_value=50,
                widget=UnfoldAdminIntegerFieldWidget,
            )

    def clean_at(self) -> datetime | None:
        at: datetime | None = self.cleaned_data["at"]
        if at is not None and at > timezone.now():
            raise forms.ValidationError(_("This moment is still to come."))
        return at

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        if not (data.get("whom") or data.get("platform")):
            self.add_error("whom", _("Name a scope, a session or an address."))
        return data

    def said(self) -> str:
        """As whom it is asked, as people call it."""
        data = self.cleaned_data
        parts = [data[name] for name in ("platform", "account", "chat", "peer")] if data["platform"] else [data["whom"]]
        return " · ".join(filter(None, parts))

    def asked(self) -> list[tuple[str, str]]:
        """What a form beside it sends again: all that was filled in, as it was sent."""
        return [(name, self.data[name]) for name in self.fields if self.data.get(name)]

    @property
    def need(self) -> str:
        return NeedMode.OFF if self.cleaned_data["always"] else NeedMode.AUTO

    def changes(self) -> dict[Subject, float | None]:
        """The numbers that are tried in place of the workspace's."""
        data = self.cleaned_data
        weights = {(PolicyKind.WEIGHT.value, "", "", name.lower()): data.get(name.lower()) for name in WEIGHTS}
        quotas = {
            (PolicyKind.QUOTA.value, kind, scope, ""): data.get(f"quota_{kind}_{scope}") for kind, scope in quota_keys()
        }
        return {key: value for key, value in (weights | quotas).items() if value is not None}

    def numbers(self, policies: Policies) -> Iterator[tuple[Any, Any]]:
        """The fields of the numbers, each with the value that holds today."""
        for name in WEIGHTS:
            yield self[name.lower()], f"{policies.weight(name):g}"
        for kind, scope in quota_keys():
            quota = policies.quota(kind, scope)
            yield self[f"quota_{kind}_{scope}"], "∞" if quota is None else quota
