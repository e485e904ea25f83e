"""What operators write about a person."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from channels_app.models import ConsentSubject
from memories.admin.confirmation import ReasonForm
from memories.admin.fields import LineField, SelectField, TextField

GIVEN, WITHDRAWN = "given", "withdrawn"


class LinkForm(ReasonForm):
    """What the person is called from now on, and why they are linked."""

    name = LineField(
        label=_("Name"),
        required=False,
        max_length=200,
        help_text=_("What operators call this person; bots never see it."),
    )
    field_order = ["name", "reason"]


class NoteForm(forms.Form):
    """What the person is called here, and what operators should know."""

    name = LineField(label=_("Name"), required=False, max_length=200)
    note = TextField(label=_("What to know"), required=False, max_length=2_000, rows=2)


class ConsentForm(forms.Form):
    """What somebody agreed to, or no longer does."""

    subject = SelectField(label=_("what for"), choices=ConsentSubject)
    given = SelectField(label=_("consent"), choices=[(GIVEN, _("given")), (WITHDRAWN, _("withdrawn"))])
    note = LineField(
        label=_("How it was said"),
        required=False,
        max_length=500,
        attrs={"placeholder": _("in the chat, by letter, by phone …")},
    )

    @property
    def columns(self) -> dict[str, Any]:
        """What was written, as columns of a consent."""
        written = self.cleaned_data
        return {"subject": written["subject"], "is_given": written["given"] == GIVEN, "note": written["note"]}
