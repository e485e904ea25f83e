"""Lark and Feishu: what a connection needs, which calls are theirs, and what is sent.

The checks of a call are open.feishu.cn's «Configure an Encrypt Key» and «Verification Token».
"""

import base64
import binascii
import hashlib
import hmac
import json
import re
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, ClassVar
from urllib.parse import quote

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.padding import PKCS7
from django.utils.translation import gettext_lazy as _

from channels_app.models import MessageKind, Receiving
from channels_app.platforms.lark import connection
from channels_app.platforms.lark.api import call as ask
from channels_app.platforms.lark.api import server_of
from channels_app.platforms.lark.events import read
from channels_app.platforms.wire import (
    Account,
    Call,
    Clock,
    Introduced,
    Keep,
    NotGenuine,
    NotReadable,
    Option,
    Outgoing,
    Platform,
    Received,
    as_key_refused,
    read_json,
    text_of,
)

#: It calls again for seven hours, and does not say whether with a new time; the row it finds is what stops a replay.
OLDEST, NEWEST = timedelta(hours=8), timedelta(minutes=5)
#: In a text this would call people; behind an invisible space it is words.
_TAG = re.compile(r"<(?=/?at\b)", re.IGNORECASE)


class Lark(Platform):
    """Lark's server API, by callback or long connection."""

    name = "lark"
    label = _("Lark / Feishu")
    options: ClassVar = (
        Option(
            name="server",
            label=_("server"),
            help=_("feishu.cn, or larksuite.com: where the developer console is in which you made the app."),
            is_needed=False,
        ),
        Option(
            name="app_id",
            label=_("App ID"),
            help=_("In the developer console, under Credentials & Basic Info: cli_…"),
        ),
        Option(name="app_secret", label=_("App Secret"), help=_("Beside the App ID."), is_secret=True),
        Option(
            name="verification_token",
            label=_("Verification Token"),
            help=_("Only where Lark calls this server: under Events & Callbacks, Encryption Strategy."),
            is_secret=True,
            receiving=Receiving.WEBHOOK,
        ),
        Option(
            name="encrypt_key",
            label=_("Encrypt Key"),
            help=_("On the same page. With it calls are signed and encrypted: set one."),
            is_secret=True,
            is_needed=False,
            receiving=Receiving.WEBHOOK,
        ),
    )
    receiving = (Receiving.PULL, Receiving.WEBHOOK)
    text_chars = 8_000
    reports = frozenset({MessageKind.RECALLED, MessageKind.LEFT, MessageKind.JOINED})
    has_buttons = has_files = True

    def introduce(self, account: Account) -> Introduced:
        with as_key_refused():
            bot = ask(account, "/bot/v3/info", method="GET").get("bot") or {}
        return Introduced(account=account["app_id"], name=bot.get("app_name") or "", id=bot.get("open_id") or "")

    def receive(self, call: Call, account: Account) -> Received:
        body = _opened(call, account)
        header = body.get("header")
        call_token = text_of(header if isinstance(header, dict) else body, "token")
        if token := account["verification_token"]:
            if not hmac.compare_digest(call_token.encode(errors="surrogatepass"), token.encode()):
                raise NotGenuine
        elif not account["encrypt_key"]:
            raise NotGenuine
        if body.get("type") == "url_verification":
            return Received(answer={"challenge": str(body.get("challenge", ""))})
        if isinstance(header, dict) and header.get("app_id", account["app_id"]) != account["app_id"]:
            raise NotGenuine
        if not isinstance(header, dict) and "uuid" in body:  # of version 1.0, which has nothing we need
            return Received()
        return Received(messages=read(body, account))

    def send(self, message: Outgoing, account: Account) -> str:
        if message.file_name:
            file = {"file": (message.file_name, message.text.encode(), "application/octet-stream")}
            form = {"file_type": "stream", "file_name": message.file_name}
            upload = ask(account, "/im/v1/files", data=form, files=file)["data"]
            kind, content = "file", {"file_key": upload["file_key"]}
        elif message.buttons:
            # A message with buttons; what one stands for comes back as its value
            buttons = [
                {
                    "tag": "button",
                    "text": {"tag": "plain_text", "content": button.label},
                    "value": {"target": button.target},
                }
                for button in message.buttons
            ]
            words = {"tag": "div", "text": {"tag": "plain_text", "content": message.text}}
            elements = [words, {"tag": "action", "actions": buttons}]
            kind, content = "interactive", {"config": {"wide_screen_mode": True}, "elements": elements}
        else:
            kind, content = "text", {"text": _TAG.sub("<\u200b", message.text)}
        body: dict[str, Any] = {"msg_type": kind, "content": json.dumps(content, ensure_ascii=False)}
        if message.key:
            body["uuid"] = message.key  # the same within an hour is sent once
        answers = message.reply_to or (message.token if message.thread else "")
        if answers and not message.peer:
            body["reply_in_thread"] = bool(message.thread)
            result = ask(account, f"/im/v1/messages/{answers}/reply", body)
        else:
            to, receiver = ("open_id", message.peer) if message.peer else ("chat_id", message.chat)
            result = ask(account, "/im/v1/messages", {"receive_id": receiver, **body}, params={"receive_id_type": to})
        return str(result["data"]["message_id"])

    def ask_name(self, peer: str, account: Account) -> str:
        path = f"/contact/v3/users/{quote(peer, safe='')}"
        data = ask(account, path, method="GET", params={"user_id_type": "open_id"}).get("data") or {}
        return str((data.get("user") or {}).get("name") or "")

    def pull(
        self, account: Account, cursor: Mapping[str, Any], keep: Keep, stop: Callable[[], bool], clock: Clock
    ) -> None:
        connection.pull(account, server_of(account), keep, stop)


def _opened(call: Call, account: Account) -> dict[str, Any]:
    """The body of a call that is signed, where there is a key, and decrypted. Raises NotGenuine, NotReadable."""
    body = read_json(call.body)
    if not account["encrypt_key"]:
        if "encrypt" in body:
            raise NotGenuine
        header = body.get("header")
        if isinstance(header, dict):
            _check_age(str(header.get("create_time", "")), call)
        return body
    if not isinstance(body.get("encrypt"), str):
        raise NotGenuine
    key = account["encrypt_key"]
    headers = call.headers
    stamp, nonce = headers.get("x-lark-request-timestamp", ""), headers.get("x-lark-request-nonce", "")
    expected = hashlib.sha256(f"{stamp}{nonce}{key}".encode() + call.body).hexdigest()
    is_signed = hmac.compare_digest(expected.encode(), headers.get("x-lark-signature", "").encode())
    if is_signed:
        _check_age(call.headers.get("x-lark-request-timestamp", ""), call)
    # AES-256-CBC by the digest of the key, the first block the vector
    try:
        raw = base64.b64decode(body["encrypt"], validate=True)
        decryptor = Cipher(algorithms.AES256(hashlib.sha256(key.encode()).digest()), modes.CBC(raw[:16])).decryptor()
        padding = PKCS7(128).unpadder()
        plain = padding.update(decryptor.update(raw[16:]) + decryptor.finalize()) + padding.finalize()
    except (ValueError, binascii.Error):
        raise (NotReadable if is_signed else NotGenuine) from None
    opened = read_json(plain)
    if not is_signed and opened.get("type") != "url_verification":  # the one call that may come without
        raise NotGenuine
    return opened


def _check_age(stamp: str, call: Call) -> None:
    """Raises NotGenuine for a time that is long ago, to come, or none."""
    try:
        seconds = int(stamp)
    except ValueError:
        raise NotGenuine from None
    while seconds > 1e11:  # milliseconds, or less
        seconds //= 1000
    age = call.now.timestamp() - seconds
    if not -NEWEST.total_seconds() <= age <= OLDEST.total_seconds():
        raise NotGenuine
