"""Forms of the admin: fields in its look, and pages that ask before something is done."""

from datetime import timedelta
from typing import Any

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.widgets import (
    UnfoldAdminSelectWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
    UnfoldBooleanSwitchWidget,
)

from memories.admin.history import display_value


class LineField(forms.CharField):
    """A text of one line; `attrs` are attributes of its input."""

    def __init__(self, *, attrs: dict[str, Any] | None = None, **options: Any) -> None:
        super().__init__(widget=UnfoldAdminTextInputWidget(attrs=attrs), **options)


class TextField(forms.CharField):
    """A text of several lines."""

    def __init__(self, *, rows: int, has_focus: bool = False, **options: Any) -> None:
        attrs = {"rows": rows, **({"autofocus": True} if has_focus else {})}
        super().__init__(widget=UnfoldAdminTextareaWidget(attrs=attrs), **options)


class SelectField(forms.ChoiceField):
    """One of some choices."""

    widget = UnfoldAdminSelectWidget


class SwitchField(forms.BooleanField):
    """On or off; off unless somebody switches it on."""

    widget = UnfoldBooleanSwitchWidget

    def __init__(self, **options: Any) -> None:
        super().__init__(required=False, **options)


class ReasonForm(forms.Form):
    """The reason, which is kept with the batch."""

    reason = TextField(
        label=_("Reason"),
        max_length=500,
        help_text=_("Kept with the change, for whoever asks later."),
        rows=2,
        has_focus=True,
    )


class VersionedForm(forms.ModelForm):  # type: ignore[type-arg]
    """The columns people edit of a row; a change by somebody else meanwhile is shown beside what was typed."""

    opened_version = forms.IntegerField(widget=forms.HiddenInput)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.initial["opened_version"] = self.instance.version
        self._was = {name: getattr(self.instance, name) for name in self.fields if name != "opened_version"}

    @property
    def is_stale(self) -> bool:
        """Whether the row was changed since this form was opened."""
        return self.cleaned_data.get("opened_version", self.instance.version) != self.instance.version

    def clean(self) -> dict[str, Any]:
        """Keep what was typed, say what the row says now, and let the next save win on purpose."""
        data = super().clean() or self.cleaned_data
        if self.is_stale:
            text = _(
                "Somebody changed this while you were editing it. What you typed is still here; below it stands what "
                "it says now. Save again to put yours over it, or open it anew to drop yours."
            )
            self.add_error(None, text)
            for name in set(self.changed_data) & set(data) & self._was.keys():
                value = display_value(self.instance._meta.get_field(name), self._was[name])
                self.add_error(name, gettext("Now it says: %(value)s") % {"value": value})
            data_now = QueryDict(mutable=True)
            data_now.update(self.data)
            data_now["opened_version"] = str(self.instance.version)
            self.data = data_now
        return data


#: Terms from now, in days.
TERMS = [
    ("7", _("7 days from now")),
    ("30", _("30 days from now")),
    ("90", _("90 days from now")),
    ("365", _("a year from now")),
]


class TermForm(ReasonForm):
    """The reason, and for how long from now."""

    term = SelectField(
        label=_("New term"), required=False, choices=[("", _("as long as its policy says, from today")), *TERMS]
    )
    field_order = ["term", "reason"]

    def chosen_term(self) -> timedelta | None:
        """The term that was chosen; None: as long as the policy says."""
        days = self.cleaned_data["term"]
        return timedelta(days=int(days)) if days else None


class CopiesForm(ReasonForm):
    """The reason, and whether the copies go, too."""

    copies = SwitchField(
        label=_("With its copies"),
        help_text=_("The same words in other memories, and what was drawn from them; they come back together."),
    )
    field_order = ["copies", "reason"]


class CopiesTermForm(TermForm):
    """The reason, for how long from now, and whether the copies come back, too."""

    copies = CopiesForm.base_fields["copies"]
    field_order = ["term", "copies", "reason"]
