"""Taking a message out from its conversation, or into quarantine: a page says what goes, one click does it, as batches.

Taken out goes what rests on the message alone; into quarantine everything that rests on it, to be looked through.
"""

from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import path, reverse
from django.utils import timezone
from django.utils.translation import gettext, ngettext_lazy
from django.utils.translation import gettext_lazy as _

from memories.admin.access import actor_of
from memories.admin.confirmation import ReasonForm, confirmation_form, is_confirmed
from memories.admin.entries.reports import report
from memories.admin.own_pages import own_page
from memories.admin.quarantine.asking import ask
from memories.batches import bulk_actions
from memories.rights import holds, needs
from memories.tenancy.roles import Right
from sessions_app.admin.conversation import PAGE
from sessions_app.admin.made_memories import suspect_message, taken_out_with
from sessions_app.models import Session, SessionEvent


class TakeOut:
    """The page of the admin of sessions that takes a message out."""

    admin_site: Any
    opts: Any
    reach: Any

    def get_urls(self) -> list[Any]:
        view = self.admin_site.admin_view(self.take_out)
        page = path("<path:object_id>/take-out/<int:event>/", view, name="sessions_app_session_take_out")
        view = self.admin_site.admin_view(self.quarantine)
        other = path("<path:object_id>/quarantine/<int:event>/", view, name="sessions_app_session_quarantine")
        return [page, other, *super().get_urls()]  # type: ignore[misc]

    def may_take_out(self, request: HttpRequest, session: Session) -> bool:
        """Whether this person may change memories, and so take out what they rest on."""
        return holds(request, Right.CURATE, session.workspace_id)

    def _message(self, session: Session, event: int) -> SessionEvent:
        message = SessionEvent.objects.filter(workspace_id=session.workspace_id, session=session, pk=event).first()
        if message is None:
            raise Http404
        return message

    @needs(Right.CURATE)
    def quarantine(self, request: HttpRequest, object_id: str, event: int) -> HttpResponse:
        """Everything that rests on a message and the answer to it."""
        session = self.reach(request, object_id, "curate")
        message = self._message(session, event)
        return ask(request, suspect_message(session, message, gettext("A message")), message_url(session, message))

    @needs(Right.CURATE)
    def take_out(self, request: HttpRequest, object_id: str, event: int) -> HttpResponse:
        session = self.reach(request, object_id, "curate")
        message = self._message(session, event)
        goes, back = taken_out_with(session, message), message_url(session, message)
        form = confirmation_form(request, ReasonForm, reason=gettext("Taken out from the conversation"))
        if is_confirmed(request) and form.is_valid():
            result = bulk_actions.apply_action(
                goes.entries,
                bulk_actions.suppress(),
                now=timezone.now(),
                actor=actor_of(request),
                reason=form.cleaned_data["reason"],
            )
            report(request, result, _DONE)
            if not goes.entries:
                messages.info(request, gettext("Nothing in use rests on this message."))
            return HttpResponseRedirect(back)
        form.fields["reason"].widget.attrs.pop("autofocus", None)
        context = {"title": _("Take this out"), "goes": goes, "back": back, "form": form}
        return own_page(request, "admin/sessions_app/take_out.html", context, self)


_DONE = ngettext_lazy("%(n)d memory was taken out.", "%(n)d memories were taken out.", "n")


def message_url(session: Session, event: SessionEvent) -> str:
    """The page of the conversation with the message in its middle."""
    page = {"life": event.conversation, "before": event.position + PAGE // 2}
    return f"{reverse('admin:sessions_app_session_change', args=[session.pk])}?{urlencode(page)}#m{event.position}"
