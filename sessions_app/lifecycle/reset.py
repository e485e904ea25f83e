"""/reset: a person clears the conversation by a message, or a bot by a call (B6). Long-term memory stays."""

import re
from datetime import datetime

from memories.conf import conf
from memories.consolidation import buffer
from sessions_app.lifecycle import close
from sessions_app.messages import RESET_REPLY, in_language
from sessions_app.models import Session

COMMAND = "/reset"
#: How platforms write that a message is meant for the bot: `@bot`, `<at user_id="…">bot</at>`, `/reset@bot`.
_MENTION = re.compile(r"<at\b[^<>]*+(?:(?<=/)>|>[^<]*+</at>)|[@＠][^\s@＠/]++")


def is_reset_command(message: str) -> bool:
    """Whether a message is the command and nothing else: trimmed, the mention of the bot removed."""
    if COMMAND not in message or not conf.RESET_COMMAND:
        return False
    return _MENTION.sub(" ", message, count=1).strip() == COMMAND


def reset(session: Session, *, now: datetime) -> bool:
    """Close the open conversation and leave nothing of it to be extracted. Needs the session's lock."""
    ended = session.conversation
    if not close.close(session, close.RESET, now=now):
        return False
    buffer.drop_conversation(session.uid, ended)
    return True


def reset_reply(language: str) -> str:
    return in_language(RESET_REPLY, language)
