"""WeCom: an app of a company, called with XML, or a smart bot of its groups, called with JSON; all of it encrypted.

A smart bot may also be reached over a connection that is opened from here (`wecom_connection`).

Pages of developer.work.weixin.qq.com/document: path/90238 (calls of apps), 90236 (sending), 90313 (codes), 100719
(calls of smart bots), 101138 (their one answer). Neither edits, nor messages that were taken back, nor members are
reported.
"""

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, ClassVar

from django.conf import settings
from django.utils.translation import gettext_lazy as _

from channels_app.models import Receiving
from channels_app.platforms import tencent, wecom_connection
from channels_app.platforms.wire import (
    Account,
    Call,
    Clock,
    Incoming,
    Introduced,
    Keep,
    KeyRefused,
    NotDeliverable,
    NotReadable,
    Option,
    Outgoing,
    Platform,
    Received,
    read_json,
    text_of,
)

CODES = tencent.Codes(
    "wecom",
    expired={40001, 40014, 42001},
    refused={40013, 40056, 40082, 41001, 41002, 41004, 48002, 60011, 60020, 301002},
    passing=wecom_connection.CODES.passing,
)
_PLACEHOLDERS = {"image": "[photo]", "file": "[file]", "video": "[video]", "voice": "[voice message]"}
_MENTION = re.compile(r"@\S{1,64}\s{1,8}")


class WeCom(Platform):
    """An app of a company, where a company is named, else a smart bot."""

    name = "wecom"
    label = _("WeCom")
    options: ClassVar = (
        Option(
            name="token",
            label=_("token of the calls"),
            help=_("Where WeCom calls this server: made where the app or the bot is set up to receive messages."),
            is_secret=True,
            receiving=Receiving.WEBHOOK,
        ),
        Option(
            name="aes_key",
            label=_("EncodingAESKey"),
            help=_("43 letters, made in the same place."),
            is_secret=True,
            receiving=Receiving.WEBHOOK,
        ),
        Option(
            name="bot_id",
            label=_("Bot ID"),
            help=_("For a smart bot that this server asks: where its API mode is set to the long connection."),
            receiving=Receiving.PULL,
        ),
        Option(
            name="bot_secret",
            label=_("secret of the smart bot"),
            help=_("Made beside the Bot ID, for the long connection alone."),
            is_secret=True,
            receiving=Receiving.PULL,
        ),
        Option(
            name="corp_id",
            label=_("company id"),
            help=_("For an app: under My Company, at the bottom; it begins with ww. A smart bot needs none."),
            is_needed=False,
            receiving=Receiving.WEBHOOK,
        ),
        Option(
            name="agent_id",
            label=_("AgentId"),
            help=_("For an app: the number on its page."),
            is_needed=False,
            receiving=Receiving.WEBHOOK,
        ),
        Option(
            name="secret",
            label=_("secret of the app"),
            help=_("For an app: on its page. The address of this server has to be among its trusted IP addresses."),
            is_secret=True,
            is_needed=False,
            receiving=Receiving.WEBHOOK,
        ),
        Option(
            name="bot",
            label=_("name of the smart bot"),
            help=_("For a smart bot: as it is named in groups, without @."),
            is_needed=False,
        ),
    )
    receiving = (Receiving.WEBHOOK, Receiving.PULL)
    text_chars = 600  # 2,048 bytes
    has_files = True

    def introduce(self, account: Account) -> Introduced:
        if account.receiving == Receiving.PULL:
            wecom_connection.introduce(account)
            return Introduced(account=account["bot_id"], name=account["bot"], id=account["bot_id"])
        try:
            tencent.key_of(account["aes_key"])
        except ValueError:
            raise KeyRefused("EncodingAESKey") from None
        if not account["corp_id"]:
            if not account["bot"]:
                raise KeyRefused("company id, or name of the smart bot")
            return Introduced(account=account["bot"], name=account["bot"])
        if not (account["agent_id"].isascii() and account["agent_id"].isdecimal()):
            raise KeyRefused("AgentId")
        _api(account).login.token()
        return Introduced(account=f"{account['corp_id']}-{account['agent_id']}")

    def receive(self, call: Call, account: Account) -> Received:
        if call.method == "GET":
            echo = _opened(call, account, call.query.get("echostr", ""))
            return Received(answer=echo.decode(errors="replace"), content_type="text/plain")
        if account["corp_id"]:
            encrypted = tencent.read_xml(call.body).get("Encrypt", "")
            messages = tencent.messages_of(tencent.read_xml(_opened(call, account, encrypted)))
        else:
            body = read_json(_opened(call, account, text_of(read_json(call.body), "encrypt")))
            messages = _of_bot(body, account, text_of(body, "response_url"), call.now)
        return Received(messages=messages, answer="", content_type="text/plain")

    def chars_of(self, message: Incoming) -> int:
        return tencent.BOT_BYTES // 4 if message.token else self.text_chars

    def pull(
        self, account: Account, cursor: Mapping[str, Any], keep: Keep, stop: Callable[[], bool], clock: Clock
    ) -> None:
        def read(body: Mapping[str, Any], number: str) -> list[Incoming]:
            if body.get("aibotid") not in (None, account["bot_id"]):
                raise NotReadable
            return _of_bot(body, account, number, clock())

        wecom_connection.pull(account, read, keep, stop)

    def send(self, message: Outgoing, account: Account) -> str:
        if account.receiving == Receiving.PULL:
            wecom_connection.send(account, message.peer or message.chat, message.text)
            return ""
        if not account["corp_id"]:
            # Answer a message of a smart bot: once, within an hour, and where it was written
            if message.peer:
                raise NotDeliverable("a smart bot answers where it is asked, and nobody alone")
            url = str(settings.WECOM_API_URL)
            if not message.token.startswith(f"{url}/cgi-bin/aibot/"):
                raise NotDeliverable("no address to answer to")
            content = message.text.encode()[: tencent.BOT_BYTES].decode(errors="ignore")
            answer = {"msgtype": "markdown", "markdown": {"content": content}}
            _api(account).post(message.token.removeprefix(url), json=answer)
            return ""
        api = _api(account)
        body: dict[str, Any] = {"touser": message.peer or message.chat, "agentid": int(account["agent_id"])}
        if message.file_name:
            files = {"media": (message.file_name, message.text.encode(), "application/octet-stream")}
            media = api.ask("/cgi-bin/media/upload", params={"type": "file"}, files=files)
            body |= {"msgtype": "file", "file": {"media_id": media.get("media_id")}}
        else:
            body |= {"msgtype": "text", "text": {"content": message.text}}
        result = api.ask("/cgi-bin/message/send", json=body)
        if result.get("invaliduser"):  # of the one it is for
            raise NotDeliverable("not a user of this app")
        return str(result.get("msgid") or "")

    def ask_name(self, peer: str, account: Account) -> str:
        if not account["corp_id"]:
            return ""
        return str(_api(account).ask("/cgi-bin/user/get", "GET", params={"userid": peer}).get("name") or "")


def _api(account: Account) -> tencent.Api:
    parameters = {"corpid": account["corp_id"], "corpsecret": account["secret"]}
    return tencent.Api(settings.WECOM_API_URL, "GET", "/cgi-bin/gettoken", parameters, CODES)


def _opened(call: Call, account: Account, encrypted: str) -> bytes:
    """What a genuine call holds; a smart bot's is meant for nobody by name. Raises NotGenuine."""
    tencent.verify(call, account["token"], parameter="msg_signature", encrypted=encrypted)
    return tencent.decrypt(account["aes_key"], encrypted, account["corp_id"])


def _of_bot(body: Mapping[str, Any], account: Account, token: str, now: datetime) -> list[Incoming]:
    """What somebody wrote to a smart bot. Raises NotReadable."""
    kind, user, number = body.get("msgtype"), text_of(body.get("from"), "userid"), text_of(body, "msgid")
    if kind in ("event", "stream"):  # a card that was pressed, the next part of an answer: not ours
        return []
    if not isinstance(kind, str) or not user or not number:
        raise NotReadable
    is_group, chat = body.get("chattype") == "group", body.get("chatid")
    if is_group and not isinstance(chat, str):
        raise NotReadable
    text = _words(kind, body.get(kind))
    if is_group:  # only by a mention of the bot does a message of a group get here
        mention = f"@{account.name}"
        if account.name and mention in text:
            text = text.replace(mention, "", 1).strip()
        else:
            text = _MENTION.sub("", text, count=1) if _MENTION.match(text) else text
    message = Incoming(
        key=f"message:{number}",
        chat=str(chat) if is_group else user,
        is_group=is_group,
        peer=user,
        message=number,
        text=text,
        token=token,
        sent_at=now,
    )
    return [message] if text else []


def _words(kind: str, content: Any) -> str:
    """The text of a message; of what is no text a word for it."""
    if not isinstance(content, dict):
        raise NotReadable
    if kind == "mixed":
        parts = content.get("msg_item")
        if not isinstance(parts, list) or any(not isinstance(part, dict) for part in parts):
            raise NotReadable
        kinds = [str(part.get("msgtype")) for part in parts]
        return " ".join(
            _words(kind, part.get(kind)) for kind, part in zip(kinds, parts, strict=True) if kind != "mixed"
        )
    words = text_of(content, "content").strip()  # of a voice message what was understood of it
    return " ".join(filter(None, [_PLACEHOLDERS.get(kind, ""), words]))
