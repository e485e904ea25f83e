"""What an operator may do to a conversation."""

from typing import Any

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.enums import ActionVariant

from memories.admin.actions import Action, Asked, Question, to_row
from memories.models.change import acting
from sessions_app import conversations
from sessions_app import flush as flushing
from sessions_app.models import Session


def _has_begun(session: Session) -> bool:
    """Whether anything has been said."""
    return session.next_position > 1


def _rows(asked: Asked) -> list[str]:
    session = asked.row
    place = " · ".join(filter(None, [session.platform, session.account, session.peer or session.chat_id]))
    return [gettext("%(place)s, conversation %(n)d") % {"place": place or session.key, "n": session.conversation}]


def _flush(asked: Asked) -> str:
    with acting(asked.actor):
        flush, is_queued = flushing.flush_or_queue(asked.row, now=asked.now, actor=asked.actor)
    if is_queued:
        return gettext("The worker flushes it in a moment.")
    return gettext("The conversation is flushed.") if flush else gettext("Nothing new was said since the last flush.")


def _close(asked: Asked) -> str:
    with acting(asked.actor):
        conversations.lock_session(asked.row)
        closed = conversations.close(asked.row, conversations.CLOSED, now=asked.now)
    return gettext("The conversation is closed.") if closed else gettext("Nothing has been said in it yet.")


def _reset(asked: Asked) -> str:
    with acting(asked.actor):
        conversations.lock_session(asked.row)
        closed = conversations.reset(asked.row, now=asked.now)
    return gettext("The conversation is reset.") if closed else gettext("Nothing has been said in it yet.")


_OF_SESSIONS: dict[str, Any] = {"right": "operate", "fits": _has_begun, "rows": _rows, "back": to_row}
FLUSH = Action(
    name="flush", label=_("Flush"), icon="output", act=_flush, **_OF_SESSIONS,
    question=Question(
        title=_("Flush this conversation"),
        text=_(
            "What must not be lost of what was said since the last flush is kept as memories. The conversation goes on "
            "as it is."
        ),
    ),
)  # fmt: skip
CLOSE = Action(
    name="close", label=_("Close conversation"), icon="door_front", act=_close, **_OF_SESSIONS,
    question=Question(
        title=_("Close this conversation"),
        text=_(
            "Its last turns are kept as a memory, and the next message begins a new conversation. What was said can "
            "still be read here."
        ),
    ),
)  # fmt: skip
RESET = Action(
    name="reset", label=_("Reset"), icon="restart_alt", variant=ActionVariant.DANGER, act=_reset, **_OF_SESSIONS,
    question=Question(
        title=_("Reset this conversation"),
        text=_(
            "The next message begins with no history, and what still waited to be extracted is not. Nothing else is "
            "forgotten. What was said can still be read here."
        ),
        is_grave=True,
    ),
)  # fmt: skip
