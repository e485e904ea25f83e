"""Taking a message out from its conversation, or into quarantine: a page says what goes, one click does it, as batches.

Taken out goes what rests on the message alone; into quarantine everything that rests on it, to be looked through.
"""

from urllib.parse import urlencode

from django import forms
from django.http import Http404, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext, ngettext_lazy
from django.utils.translation import gettext_lazy as _

from memories.admin.actions import Action, Asked, Outcome, Place, Question
from memories.admin.confirmation import ReasonForm
from memories.admin.entries.actions import outcome_of
from memories.admin.quarantine.asking import ask
from memories.batches import bulk_actions
from sessions_app.admin.conversation import PAGE
from sessions_app.admin.made_memories import suspect_message, taken_out_with
from sessions_app.models import Session, SessionEvent

_DONE = ngettext_lazy("%(n)d memory was taken out.", "%(n)d memories were taken out.", "n")


def message_url(session: Session, event: SessionEvent) -> str:
    """The page of the conversation with the message in its middle."""
    page = {"life": event.conversation, "before": event.position + PAGE // 2}
    return f"{reverse('admin:sessions_app_session_change', args=[session.pk])}?{urlencode(page)}#m{event.position}"


def _message(asked: Asked) -> SessionEvent:
    """The message the address names."""
    messages = SessionEvent.objects.filter(workspace_id=asked.row.workspace_id, session=asked.row)
    message = messages.filter(pk=asked.arguments["event"]).first()
    if message is None:
        raise Http404
    return message


def _form(asked: Asked) -> forms.Form:
    form: forms.Form = asked.bound(ReasonForm, reason=gettext("Taken out from the conversation"))
    form.fields["reason"].widget.attrs.pop("autofocus", None)
    return form


def _question(asked: Asked) -> Question:
    goes = taken_out_with(asked.row, asked.rows)
    return Question(template="admin/sessions_app/take_out.html", context={"goes": goes}, rows=())


def _take_out(asked: Asked) -> Outcome:
    goes = taken_out_with(asked.row, asked.rows)
    result = bulk_actions.apply_action(
        goes.entries, bulk_actions.suppress(), now=asked.now, actor=asked.actor, reason=asked.data["reason"]
    )
    nothing = "" if goes.entries else gettext("Nothing in use rests on this message.")
    return outcome_of(result, _DONE, nothing=nothing)


def _quarantine(asked: Asked) -> HttpResponse:
    """Everything that rests on a message and the answer to it; the page asks itself."""
    return ask(asked.request, suspect_message(asked.row, asked.rows, gettext("A message")), asked.back)


def _back(asked: Asked) -> str:
    return message_url(asked.row, asked.rows)


TAKE_OUT = Action(
    name="take_out", path="/<path:object_id>/take-out/<int:event>/", label=_("Take this out"), right="curate",
    place=Place.ADDRESS, rows=_message, form=_form, question=_question, act=_take_out, back=_back,
)  # fmt: skip
QUARANTINE = Action(
    name="quarantine", path="/<path:object_id>/quarantine/<int:event>/", label=_("Put into quarantine"),
    right="curate", place=Place.ADDRESS, rows=_message, act=_quarantine, back=_back,
)  # fmt: skip
