"""What an operator may do to a conversation: each on a page that asks first."""

from collections.abc import Callable
from functools import partial
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.enums import ActionVariant

from memories.admin.access import actor_of
from memories.admin.confirmation import confirm
from memories.admin.row_actions import row_action
from memories.models.change import acting
from sessions_app.compaction import flush as flushing
from sessions_app.lifecycle import close, locks
from sessions_app.models import Session


class SessionActions:
    """The actions «flush», «close» and «reset» of the admin of sessions; only where something has been said."""

    actions_detail = ["flush", "close", "reset"]
    reach: Any
    get_object: Any
    _get_base_actions_detail: Any

    def get_actions_detail(self, request: HttpRequest, object_id: Any) -> list[Any]:
        session = self.get_object(request, str(object_id))
        return self._get_base_actions_detail() if session and session.next_position > 1 else []

    @row_action(_("Flush"), "flush", "output", "operate")
    def flush(self, request: HttpRequest, object_id: str) -> HttpResponse:
        text = gettext(
            "What must not be lost of what was said since the last flush is kept as memories. The conversation goes on "
            "as it is."
        )
        act = partial(_flush, actor=actor_of(request))
        title = gettext("Flush this conversation")
        return self._confirm(request, object_id, act, title=title, text=text, button=gettext("Flush"))

    @row_action(_("Close conversation"), "close", "door_front", "operate")
    def close(self, request: HttpRequest, object_id: str) -> HttpResponse:
        text = gettext(
            "Its last turns are kept as a memory, and the next message begins a new conversation. What was said can "
            "still be read here."
        )
        title, button = gettext("Close this conversation"), gettext("Close conversation")
        return self._confirm(request, object_id, _close, title=title, text=text, button=button)

    @row_action(_("Reset"), "reset", "restart_alt", "operate", ActionVariant.DANGER)
    def reset(self, request: HttpRequest, object_id: str) -> HttpResponse:
        text = gettext(
            "The next message begins with no history, and what still waited to be extracted is not. Nothing else is "
            "forgotten. What was said can still be read here."
        )
        title = gettext("Reset this conversation")
        return self._confirm(request, object_id, _reset, title=title, text=text, button=gettext("Reset"), is_grave=True)

    def _confirm(
        self, request: HttpRequest, object_id: str, act: Callable[[Session], str], **question: Any
    ) -> HttpResponse:
        session = self.reach(request, object_id, "operate")

        def attributed() -> str:
            with acting(actor_of(request)):
                return act(session)

        back = reverse("admin:sessions_app_session_change", args=[session.pk])
        return confirm(self, request, attributed, back=back, rows=[_session_name(session)], **question)


def _session_name(session: Session) -> str:
    place = " · ".join(filter(None, [session.platform, session.account, session.peer or session.chat_id]))
    return gettext("%(place)s, conversation %(n)d") % {"place": place or session.key, "n": session.conversation}


def _flush(session: Session, *, actor: str) -> str:
    flush, is_queued = flushing.flush_or_queue(session, now=timezone.now(), actor=actor)
    if is_queued:
        return gettext("The worker flushes it in a moment.")
    return gettext("The conversation is flushed.") if flush else gettext("Nothing new was said since the last flush.")


def _close(session: Session) -> str:
    locks.lock_session(session)
    closed = close.close(session, close.CLOSED, now=timezone.now())
    return gettext("The conversation is closed.") if closed else gettext("Nothing has been said in it yet.")


def _reset(session: Session) -> str:
    locks.lock_session(session)
    closed = close.reset(session, now=timezone.now())
    return gettext("The conversation is reset.") if closed else gettext("Nothing has been said in it yet.")
