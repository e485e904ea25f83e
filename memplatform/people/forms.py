"""What operators write about a person."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextareaWidget, UnfoldAdminTextInputWidget

from channels_app.models import ConsentSubject
from memories.admin.confirmation import ReasonForm

GIVEN, WITHDRAWN = "given", "withdrawn"


class LinkForm(ReasonForm):
    """What the person is called from now on, and why they are linked."""

    name = forms.CharField(
        label=_("Name"),
        required=False,
        max_length=200,
        help_text=_("What operators call this person; bots never see it."),
        widget=UnfoldAdminTextInputWidget,
    )
    field_order = ["name", "reason"]


class NoteForm(forms.Form):
    """What the person is called here, and what operators should know."""

    name = forms.CharField(label=_("Name"), required=False, max_length=200, widget=UnfoldAdminTextInputWidget)
    note = forms.CharField(
        label=_("What to know"), required=False, max_length=2_000, widget=UnfoldAdminTextareaWidget(attrs={"rows": 2})
    )


class ConsentForm(forms.Form):
    """What somebody agreed to, or no longer does."""

    subject = forms.ChoiceField(label=_("what for"), choices=ConsentSubject, widget=UnfoldAdminSelectWidget)
    given = forms.ChoiceField(
        label=_("consent"), choices=[(GIVEN, _("given")), (WITHDRAWN, _("withdrawn"))], widget=UnfoldAdminSelectWidget
    )
    note = forms.CharField(
        label=_("How it was said"),
        required=False,
        max_length=500,
        widget=UnfoldAdminTextInputWidget(attrs={"placeholder": _("in the chat, by letter, by phone …")}),
    )

    @property
    def columns(self) -> dict[str, Any]:
        """What was written, as columns of a consent."""
        written = self.cleaned_data
        return {"subject": written["subject"], "is_given": written["given"] == GIVEN, "note": written["note"]}
