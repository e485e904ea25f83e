"""What operators write about a person."""

from collections.abc import Sequence
from typing import Any, Self

from django import forms
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget

from channels_app.models import ConsentSubject
from channels_app.people.linking import RuleOffer
from memories.admin.forms import LineField, ReasonForm, SelectField, TextField

GIVEN, WITHDRAWN = "given", "withdrawn"


class LinkForm(ReasonForm):
    """What the person is called from now on, and why they are linked."""

    name = LineField(
        label=_("Name"),
        required=False,
        max_length=200,
        help_text=_("What operators call this person; bots never see it."),
    )
    channels = forms.MultipleChoiceField(
        label=_("From now on one memory a person in"),
        required=False,
        widget=UnfoldAdminCheckboxSelectMultipleWidget,
        help_text=_(
            "This is the rule «one per person» of the channel, for everybody who writes there, from the next message "
            "on. It moves nothing: what is remembered so far stays where it is and is not recalled in direct chats "
            "before the rule is set back; conversations begin anew."
        ),
    )
    field_order = ["name", "channels", "reason"]

    def offer(self, offers: Sequence[RuleOffer]) -> Self:
        """Let the rules of these channels be chosen."""
        if not offers:
            del self.fields["channels"]
            return self
        choices = []
        for offer in offers:
            people = ngettext("%(n)d person", "%(n)d people", offer.people) % {"n": offer.people}
            memories = ngettext("%(n)d memory", "%(n)d memories", offer.entries) % {"n": offer.entries}
            consequence = gettext("nothing would be left behind")
            if offer.entries:
                consequence = gettext("%(people)s and %(memories)s would be left behind")
                consequence %= {"people": people, "memories": memories}
            choices.append((str(offer.channel.pk), f"{offer.channel} · {consequence}"))
        self.fields["channels"].choices = choices  # type: ignore[attr-defined]
        return self


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
        data = self.cleaned_data
        return {"subject": data["subject"], "is_given": data["given"] == GIVEN, "note": data["note"]}
