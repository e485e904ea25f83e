"""A page of this server on which people write to a bot: channels_app.api.chat_page shows it.

What is written there is stored as any platform's is. To send is to let the page show it, which asks by itself.
"""

import re
from typing import ClassVar

from django.utils.translation import gettext_lazy as _

from channels_app.models import Receiving
from channels_app.platforms.wire import Account, Call, Introduced, NotGenuine, Option, Outgoing, Platform, Received

#: Who may open the page: who works in its workspace, or whoever has its address.
STAFF, ANYBODY = "staff", "anybody"
TEXT_CHARS = 8_000


class Web(Platform):
    """A chat page."""

    name = "web"
    label = _("Chat page of this server")
    options: ClassVar = (
        Option(name="title", label=_("title"), help=_("What stands at the top of the page, such as the bot's name.")),
        Option(
            name="visitors",
            label=_("who may open it"),
            help=_("Whoever has the address is a person of their own, by a cookie, with a memory of their own."),
            is_needed=False,
            choices=((STAFF, _("Who may operate this workspace")), (ANYBODY, _("Anybody who has its address"))),
        ),
    )
    receiving = (Receiving.WEBHOOK,)
    text_chars = TEXT_CHARS
    has_buttons = has_files = has_page = True

    def introduce(self, account: Account) -> Introduced:
        title = account["title"]
        name = re.sub(r"[^\w.-]+", "-", title).strip("-").lower()
        return Introduced(account=name or "page", name=title)

    def receive(self, call: Call, account: Account) -> Received:
        raise NotGenuine  # nobody calls: people write on the page

    def send(self, message: Outgoing, account: Account) -> str:
        return message.key
