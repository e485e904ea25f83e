"""What Lark reports, by callback and by long connection alike: events of version 2.0.

Read as open.feishu.cn describes them: im-v1/message/events/receive and recalled, im-v1/chat-member/events,
«Content of received messages», «Card callback». There is no event of an edit.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from channels_app.models import MessageKind
from channels_app.platforms.wire import Account, Incoming, NotReadable

Event = Mapping[str, Any]
_PLACEHOLDERS = {
    "image": "[photo]", "file": "[file]", "folder": "[folder]", "audio": "[voice message]", "media": "[video]",
    "sticker": "[sticker]", "interactive": "[card]", "share_chat": "[shared chat]", "share_user": "[contact]",
    "location": "[location]", "hongbao": "[red envelope]", "merge_forward": "[forwarded messages]", "vote": "[poll]",
    "todo": "[task]", "video_chat": "[call]", "share_calendar_event": "[calendar event]",
    "calendar": "[calendar event]", "general_calendar": "[calendar event]",
}  # fmt: skip
#: What stands in the content of some of these besides.
_CAPTIONS = ("file_name", "name", "topic", "summary", "title")
_MENTION = re.compile(r"@_(?:user_\d+|all)")


def read(body: Any, account: Account) -> list[Incoming]:
    """What an event reports; nothing of what is none of ours to know. Raises NotReadable."""
    try:
        header, event = body["header"], body["event"]
        reader = _READERS.get(header["event_type"])
        return list(reader(event, header, account)) if reader else []
    except (TypeError, ValueError, KeyError, AttributeError, OverflowError, OSError, RecursionError):
        raise NotReadable from None


def _written(event: Event, header: Event, account: Account) -> Iterable[Incoming]:
    sender, message = event["sender"], event["message"]
    kind, is_group = message["message_type"], message["chat_type"] != "p2p"
    if sender.get("sender_type", "user") != "user" or kind == "system":
        return
    text = _text(kind, json.loads(message["content"]))
    # With names where the wire has numbers, and without that of the bot
    names, is_named = {"@_all": "@all"}, False
    for mention in message.get("mentions") or []:
        is_bot = (mention.get("id") or {}).get("open_id") == account.id if account.id else False
        is_named = is_named or is_bot
        names[mention["key"]] = "" if is_bot else f"@{mention.get('name', '')}"
    text = _MENTION.sub(lambda match: names.get(match[0], match[0]), text).strip()
    if not text:
        return
    parent, thread = message.get("parent_id") or "", message.get("thread_id") or ""
    yield Incoming(
        key=f"message:{message['message_id']}",
        chat=message["chat_id"],
        is_group=is_group,
        thread=thread,
        peer=sender["sender_id"]["open_id"],
        message=message["message_id"],
        text=text,
        reply_to=parent,
        is_for_bot=is_named or not is_group,
        sent_at=_moment(message["create_time"]),
        token=message["message_id"] if thread else "",
    )


def _recalled(event: Event, header: Event, account: Account) -> Iterable[Incoming]:
    yield Incoming(
        key=f"recalled:{event['message_id']}",
        kind=MessageKind.RECALLED,
        chat=event["chat_id"],
        message=event["message_id"],
        sent_at=_moment(event.get("recall_time") or header["create_time"]),
    )


def _members(kind: MessageKind) -> Callable[[Event, Event, Account], Iterable[Incoming]]:
    def changed(event: Event, header: Event, account: Account) -> Iterable[Incoming]:
        for user in event.get("users") or []:
            peer = user["user_id"]["open_id"]
            yield Incoming(
                key=f"event:{header['event_id']}:{peer}",
                kind=kind,
                chat=event["chat_id"],
                is_group=True,
                title=event.get("name") or "",
                peer=peer,
                name=user.get("name") or "",
                sent_at=_moment(header["create_time"]),
            )

    return changed


def _pressed(event: Event, header: Event, account: Account) -> Iterable[Incoming]:
    target, context = event["action"].get("value") or {}, event["context"]
    if isinstance(target, dict) and isinstance(target.get("target"), str):
        yield Incoming(
            key=f"event:{header['event_id']}",
            kind=MessageKind.BUTTON,
            chat=context["open_chat_id"],
            peer=event["operator"]["open_id"],
            message=context.get("open_message_id") or "",
            target=target["target"],
            sent_at=_moment(header["create_time"]),
        )


_READERS: Mapping[str, Callable[[Event, Event, Account], Iterable[Incoming]]] = {
    "im.message.receive_v1": _written,
    "im.message.recalled_v1": _recalled,
    "im.chat.member.user.added_v1": _members(MessageKind.JOINED),
    "im.chat.member.user.deleted_v1": _members(MessageKind.LEFT),
    "im.chat.member.user.withdrawn_v1": _members(MessageKind.LEFT),
    "card.action.trigger": _pressed,
}


def _moment(value: str | int) -> datetime:
    """A time in milliseconds; some events have it in microseconds."""
    milliseconds = int(value)
    return datetime.fromtimestamp(milliseconds / (1e6 if milliseconds > 1e14 else 1e3), tz=UTC)


def _text(kind: str, content: Mapping[str, Any]) -> str:
    if kind == "text":
        return str(content["text"])
    if kind == "post":
        if "content" not in content:  # a language around it
            content = next(iter(content.values()), {"content": []})
        lines = ["".join(_words(node) for node in line) for line in content["content"]]
        return "\n".join(filter(None, [content.get("title") or "", *lines]))
    caption = next((content[name] for name in _CAPTIONS if isinstance(content.get(name), str)), "")
    return f"{_PLACEHOLDERS.get(kind, '[message]')} {caption}".strip()


def _words(node: Mapping[str, Any]) -> str:
    """The words of a part of a post; of what is no text a placeholder."""
    match node["tag"]:
        case "at":
            user_id = str(node.get("user_id", ""))
            return user_id if _MENTION.fullmatch(user_id) else f"@{node.get('user_name', '')}"
        case "img":
            return _PLACEHOLDERS["image"]
        case "media":
            return _PLACEHOLDERS["media"]
        case "emotion":
            return f"[{node.get('emoji_type', '')}]"
        case _:
            return str(node.get("text", ""))
