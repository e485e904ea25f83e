"""Telegram: its Bot API, by webhook or long polling (core.telegram.org/bots/api).

It reports edits and members, and no deletions. What is sent and read is checked by python-telegram-bot's models, which
know the API's names; its dispatcher is not used.
"""

import asyncio
import hmac
import os
import re
import threading
from collections.abc import Callable, Coroutine, Mapping
from datetime import timedelta
from functools import cache, partial
from typing import Any, ClassVar, TypeVar

import structlog
from django.conf import settings
from django.utils.translation import gettext_lazy as _
from telegram import Bot, InlineKeyboardButton, InlineKeyboardMarkup, Message, ReplyParameters, Update, User
from telegram.constants import ChatType, MessageLimit
from telegram.error import (
    BadRequest,
    ChatMigrated,
    Conflict,
    Forbidden,
    InvalidToken,
    RetryAfter,
    TelegramError,
)
from telegram.request import HTTPXRequest

from channels_app.models import MessageKind, Receiving
from channels_app.platforms.wire import (
    Account,
    Call,
    ChatMoved,
    Clock,
    Conflicting,
    Incoming,
    Introduced,
    Keep,
    KeyRefused,
    NotDeliverable,
    NotGenuine,
    NotReadable,
    Option,
    Outgoing,
    Platform,
    Received,
    TryLater,
    read_json,
)

log = structlog.get_logger(__name__)
T = TypeVar("T")
os.environ.setdefault("PTB_TIMEDELTA", "1")  # how long to wait is a timedelta, as it will always be
#: What is asked for by name; members are told of by no other way.
UPDATES = ("message", "edited_message", "callback_query", "my_chat_member", "chat_member")
POLL_SECONDS = 25
#: Of the chat that everybody's anonymous administrators and channels write as.
_NOBODY = (1087968824, 136817688, 777000)
_PLACEHOLDERS = {
    "photo": "[photo]", "video": "[video]", "voice": "[voice message]", "audio": "[audio]", "document": "[file]",
    "sticker": "[sticker]", "animation": "[animation]", "video_note": "[video message]", "location": "[location]",
    "contact": "[contact]", "poll": "[poll]", "dice": "[dice]",
}  # fmt: skip


class Telegram(Platform):
    """Telegram's Bot API."""

    name = "telegram"
    label = "Telegram"
    options: ClassVar = (
        Option(
            name="token",
            label=_("token"),
            help=_("Write /newbot to @BotFather in Telegram; the token is in its answer, such as 123456:ABC-DEF…"),
            is_secret=True,
        ),
    )
    receiving = (Receiving.PULL, Receiving.WEBHOOK)
    text_chars = int(MessageLimit.MAX_TEXT_LENGTH)
    reports = frozenset({MessageKind.EDITED, MessageKind.LEFT, MessageKind.JOINED})
    sets_address = True
    has_buttons = has_files = True

    def introduce(self, account: Account) -> Introduced:
        user = _ask(lambda bot: bot.get_me(), account)
        return Introduced(account=user.username or str(user.id), name=user.username or "", id=str(user.id))

    def receive(self, call: Call, account: Account) -> Received:
        call_secret = call.headers.get("x-telegram-bot-api-secret-token", "")
        if not hmac.compare_digest(call_secret.encode(), account["webhook_secret"].encode()) or not call_secret:
            raise NotGenuine
        return Received(messages=read(read_json(call.body), account))

    def connect(self, account: Account, url: str) -> None:
        if url:
            secret = account["webhook_secret"]
            _ask(lambda bot: bot.set_webhook(url, secret_token=secret, allowed_updates=UPDATES), account)
        else:
            _ask(lambda bot: bot.delete_webhook(), account)

    def send(self, message: Outgoing, account: Account) -> str:
        chat = message.peer or message.chat
        more: dict[str, Any] = {}
        if chat == message.chat and message.thread:
            more["message_thread_id"] = int(message.thread)
        if chat == message.chat and message.reply_to:
            more["reply_parameters"] = ReplyParameters(int(message.reply_to), allow_sending_without_reply=True)
        if message.file_name:
            content = message.text.encode()
            result = _ask(lambda bot: bot.send_document(chat, content, filename=message.file_name, **more), account)
            return str(result.message_id)
        if message.buttons:
            row = [InlineKeyboardButton(button.label, callback_data=button.target) for button in message.buttons]
            more["reply_markup"] = InlineKeyboardMarkup([row])
        result = _ask(lambda bot: bot.send_message(chat, message.text, **more), account)
        return str(result.message_id)

    def show_typing(self, chat: str, account: Account) -> None:
        _ask(lambda bot: bot.send_chat_action(chat, "typing"), account)

    def take_press(self, press: Incoming, account: Account) -> None:
        if press.token:
            _ask(lambda bot: bot.answer_callback_query(press.token), account)

    def pull(
        self, account: Account, cursor: Mapping[str, Any], keep: Keep, stop: Callable[[], bool], clock: Clock
    ) -> None:
        offset = cursor.get("offset")
        _ask(lambda bot: bot.delete_webhook(), account)
        while not stop():
            # The library's `get_updates` reads all or none of what is new; in small letters, which the Bot API takes as
            # well, it does not warn that it has a method for this
            asked = {"offset": offset, "limit": 100, "timeout": POLL_SECONDS, "allowed_updates": UPDATES}
            updates = _ask(partial(Bot.do_api_request, endpoint="getupdates", api_kwargs=asked), account)
            messages: list[Incoming] = []
            for update in updates:
                try:
                    messages += read(update, account)
                except NotReadable:  # it will not be better next time
                    log.warning("channel.not_taken", platform="telegram", update=update["update_id"])
            if updates:
                offset = updates[-1]["update_id"] + 1
            keep(messages, {"offset": offset})


def read(body: Any, account: Account) -> list[Incoming]:
    """What an update reports; nothing of what is none of ours to know. Raises NotReadable."""
    try:
        update = Update.de_json(body, None)
    except (TypeError, ValueError, KeyError, AttributeError, OverflowError, OSError):
        raise NotReadable from None
    if not isinstance(update.update_id, int):
        raise NotReadable
    key = f"update:{update.update_id}"
    if query := update.callback_query:
        if query.message is None or not isinstance(query.data, str):
            return []
        at, chat = query.message.date, query.message.chat
        more: dict[str, Any] = {
            "chat": str(chat.id),
            "is_group": chat.type != ChatType.PRIVATE,
            "title": chat.title or "",
        }
        more |= {"message": str(query.message.message_id), "target": query.data, "token": query.id, "sent_at": at}
        return [Incoming(key=key, kind=MessageKind.BUTTON, **more, **_sender(query.from_user))]
    if update.chat_member:
        change = update.chat_member
        before, after = (member.status in _THERE for member in (change.old_chat_member, change.new_chat_member))
        if before == after:
            return []
        kind = MessageKind.JOINED if after else MessageKind.LEFT
        chat = change.chat
        return [
            Incoming(
                key=key, kind=kind, chat=str(chat.id), is_group=True, title=chat.title or "", sent_at=change.date,
                **_sender(change.new_chat_member.user),
            )
        ]  # fmt: skip
    message = update.message or update.edited_message
    return _of_message(message, key, account, is_edit=update.edited_message is not None) if message else []


_THERE = ("member", "administrator", "creator", "owner", "restricted")


def _of_message(message: Message, key: str, account: Account, *, is_edit: bool) -> list[Incoming]:
    chat, user = message.chat, message.from_user
    place: dict[str, Any] = {
        "chat": str(chat.id),
        "is_group": chat.type != ChatType.PRIVATE,
        "title": chat.title or "",
        "thread": str(message.message_thread_id) if message.is_topic_message else "",
        "message": str(message.message_id),
        "sent_at": message.edit_date if is_edit and message.edit_date else message.date,
        "sequence": message.message_id,
    }
    if message.migrate_to_chat_id:
        return [Incoming(key=key, kind=MessageKind.MOVED, target=str(message.migrate_to_chat_id), **place)]
    member_changes = [(MessageKind.JOINED, user) for user in message.new_chat_members]
    member_changes += [(MessageKind.LEFT, message.left_chat_member)] if message.left_chat_member else []
    if member_changes:
        return [
            Incoming(key=f"{key}:{member.id}", kind=kind, **place, **_sender(member))
            for kind, member in member_changes
            if not member.is_bot
        ]
    # Anonymous administrators and channels are nobody whose memory it could become
    is_somebody = user is not None and not user.is_bot and user.id not in _NOBODY and message.sender_chat is None
    # What is no text as a word for it, with its caption
    word = next((words for kind, words in _PLACEHOLDERS.items() if getattr(message, kind, None)), "")
    text = message.text or " ".join(filter(None, [word, message.caption])).strip()
    if not text:
        return []
    # The mention of the bot is taken out: `@bot …` and `/command@bot`
    mention = rf"@{re.escape(account.name)}(?![a-z0-9_])"
    text, mention_count = re.subn(mention, "", text, count=1, flags=re.I) if account.name else (text, 0)
    reply = message.reply_to_message
    is_reply_to_bot = bool(reply and reply.from_user and str(reply.from_user.id) == account.id)
    return [
        Incoming(
            key=key,
            kind=MessageKind.EDITED if is_edit else MessageKind.MESSAGE,
            text=text.strip() if mention_count else text,
            reply_to=str(reply.message_id) if reply else "",
            is_for_bot=not place["is_group"] or bool(mention_count) or is_reply_to_bot,
            **place,
            **(_sender(user) if is_somebody and user else {}),
        )
    ]


def _sender(user: User) -> dict[str, Any]:
    language = (user.language_code or "").lower()
    return {
        "peer": str(user.id),
        "name": user.full_name,
        "language": "zh-hans" if language.startswith("zh") else "en" if language else "",
    }


@cache
def _loop() -> asyncio.AbstractEventLoop:
    """The one loop of this process, in a thread of its own, on which the library asks."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="telegram", daemon=True).start()
    return loop


#: Bots with their connections, by token and server: kept from one call to the next.
_bots: dict[tuple[str, str], Bot] = {}


def close() -> None:
    """Close the connections of this process."""

    async def close_all() -> None:
        while _bots:
            _place, bot = _bots.popitem()
            await bot.request.shutdown()

    asyncio.run_coroutine_threadsafe(close_all(), _loop()).result()


def _ask(call: Callable[[Bot], Coroutine[Any, Any, T]], account: Account) -> T:
    """Ask the Bot API. Raises KeyRefused, Conflicting, NotDeliverable, ChatMoved, TryLater."""

    async def ask() -> T:
        place = (account["token"], str(settings.TELEGRAM_API_URL))
        if place not in _bots:
            token, url = place
            request = HTTPXRequest(connection_pool_size=8, read_timeout=POLL_SECONDS + 10.0)
            await request.initialize()
            _bots[place] = Bot(token, base_url=f"{url}/bot", base_file_url=f"{url}/file/bot", request=request)
        return await call(_bots[place])

    try:
        return asyncio.run_coroutine_threadsafe(ask(), _loop()).result(POLL_SECONDS + 30)
    except InvalidToken:
        raise KeyRefused("token") from None
    except RetryAfter as refusal:
        assert isinstance(refusal.retry_after, timedelta)
        raise TryLater("rate", refusal.retry_after.total_seconds()) from None
    except Conflict:
        raise Conflicting from None
    except ChatMigrated as refusal:
        raise ChatMoved(str(refusal.new_chat_id)) from None
    except (Forbidden, BadRequest) as refusal:
        raise NotDeliverable(refusal.message[:150]) from None
    except (TelegramError, TimeoutError) as refusal:
        raise TryLater(type(refusal).__name__) from None
