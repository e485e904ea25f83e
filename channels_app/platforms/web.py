"""A page of this server on which people write to a bot: channels_app.api.chat_page shows it.

What is written there is stored as any platform's is. To send is to let the page show it, which asks by itself.
"""

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar

from django.utils.translation import get_language
from django.utils.translation import gettext_lazy as _

from channels_app.models import Connection, MessageKind, Receiving
from channels_app.platforms.wire import (
    Account,
    Call,
    Incoming,
    Introduced,
    NotGenuine,
    Option,
    Outgoing,
    Platform,
    Received,
)


class Web(Platform):
    """A chat page."""

    name = "web"
    label = _("Chat page of this server")
    options: ClassVar = (
        Option(name="title", label=_("title"), help=_("What stands at the top of the page, such as the bot's name.")),
        Option(
            name="is_open",
            label=_("open to anybody who has its address"),
            help=_("Each visitor is a person with a memory of their own, by a cookie. Off: staff who log in."),
            is_needed=False,
            is_switch=True,
        ),
    )
    receiving = (Receiving.WEBHOOK,)
    text_chars = 8_000
    has_buttons = has_files = has_page = True

    def introduce(self, account: Account) -> Introduced:
        title = account["title"]
        name = re.sub(r"[^\w.-]+", "-", title).strip("-").lower()
        return Introduced(account=name or "page", name=title)

    def receive(self, call: Call, account: Account) -> Received:
        raise NotGenuine  # nobody calls: people write on the page

    def send(self, message: Outgoing, account: Account) -> str:
        return message.key


@dataclass(frozen=True)
class Visitor:
    """Who has a page open; the chat is theirs alone."""

    connection: Connection
    peer: str
    name: str = ""
    is_staff: bool = False

    def writes(self, kind: MessageKind, key: str, now: datetime, **more: Any) -> Incoming:
        """What somebody wrote or pressed, in the language of the page."""
        language = "zh-hans" if (get_language() or "").startswith("zh") else "en"
        place: dict[str, Any] = {"chat": self.peer, "title": self.name, "peer": self.peer, "name": self.name}
        return Incoming(key=f"{self.peer}:{key}", kind=kind, language=language, sent_at=now, **place, **more)
