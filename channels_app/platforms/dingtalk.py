"""DingTalk: robots of a company's own apps, by Stream mode or by signed callback (open.dingtalk.com/document/orgapp).

Pages: «Receive messages by a robot», «Protocol of Stream mode», «The robot sends a group message», «Send one-on-one
messages in batches», «Message types of robots», «Upload media files», «Get the access token of an app».
It reports neither edits nor recalls nor members.

A callback's signature is of its time alone, not of its body: what a body says is believed within the connection's own
company, and an address in it is used only where DingTalk is.
"""

import base64
import hashlib
import hmac
import json
from collections.abc import Callable, Mapping
from contextlib import closing
from datetime import UTC, datetime, timedelta
from io import BytesIO
from pathlib import PurePath
from typing import Any, ClassVar
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import structlog
from django.conf import settings
from django.utils.translation import gettext_lazy as _
from websockets.sync.client import ClientConnection

from channels_app.models import Receiving
from channels_app.platforms import network
from channels_app.platforms.network import Answer, ask
from channels_app.platforms.wire import (
    NAME_MAX,
    Account,
    Call,
    Clock,
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
    PlatformFailure,
    Received,
    TryLater,
    as_key_refused,
    read_json,
)

log = structlog.get_logger(__name__)
OLDEST, NEWEST = timedelta(hours=1), timedelta(minutes=5)
TOPIC = "/v1.0/im/bot/messages/get"
_BUSY_SECONDS = 30.0
_BUSY_ERRORS = frozenset({130101, 410100, 90018, -1})  # of a session's address: too fast, limited, busy
_USER = "user:"  # how the key of a direct chat begins: it is written to by its person
_OUTSIDE = "$:"  # how the id of somebody begins who is not of the company
_PLACEHOLDERS = {
    "picture": "[photo]", "audio": "[voice message]", "video": "[video]", "file": "[file]", "location": "[location]",
    "unknownMsgType": "[message]",
}  # fmt: skip


class DingTalk(Platform):
    """The robot of a company's own app."""

    name = "dingtalk"
    label = _("DingTalk")
    options: ClassVar = (
        Option(
            name="client_id",
            label=_("Client ID"),
            help=_("At open-dev.dingtalk.com, your app, Credentials and Basic Information: the Client ID, or AppKey."),
        ),
        Option(
            name="client_secret",
            label=_("Client Secret"),
            help=_("Beside it, also called AppSecret. Calls of DingTalk are signed with it."),
            is_secret=True,
        ),
        Option(
            name="robot_code",
            label=_("robot code"),
            help=_("On the page of the robot; empty where it is the same as the Client ID."),
            is_needed=False,
        ),
    )
    receiving = (Receiving.PULL, Receiving.WEBHOOK)
    text_chars = 4_000  # of 15,000 bytes
    has_files = True

    def introduce(self, account: Account) -> Introduced:
        _login(account).token()
        return Introduced(account=account["client_id"], id=_robot(account))

    def receive(self, call: Call, account: Account) -> Received:
        stamp, secret = call.headers.get("timestamp", ""), account["client_secret"]
        expected = base64.b64encode(hmac.digest(secret.encode(), f"{stamp}\n{secret}".encode(), hashlib.sha256))
        if not secret or not hmac.compare_digest(expected, call.headers.get("sign", "").encode()):
            raise NotGenuine
        try:
            age = call.now.timestamp() - int(stamp) / 1000
        except (ValueError, OverflowError):
            raise NotGenuine from None
        if not -NEWEST.total_seconds() <= age <= OLDEST.total_seconds():
            raise NotGenuine
        return Received(messages=read(read_json(call.body), account))

    def send(self, message: Outgoing, account: Account) -> str:
        is_for_all = not message.peer
        if is_for_all and message.token and not message.file_name:
            # At the address of a message a text is taken until its time is over
            answer = ask(message.token, {"msgtype": "text", "text": {"content": message.text}})
            code = answer.body.get("errcode")
            if code in _BUSY_ERRORS or answer.status == 429:
                raise TryLater(f"{code or answer.status}", _BUSY_SECONDS)
            if code == 0:
                return ""
        kind, content = _file(message, account) if message.file_name else ("sampleText", {"content": message.text})
        param = json.dumps(content, ensure_ascii=False)
        body: dict[str, Any] = {"robotCode": _robot(account), "msgKey": kind, "msgParam": param}
        if is_for_all and not message.chat.startswith(_USER):
            result = _call(account, "/v1.0/robot/groupMessages/send", {**body, "openConversationId": message.chat})
            return str(result.get("processQueryKey", ""))
        person = message.peer or message.chat.removeprefix(_USER)
        if person.startswith(_OUTSIDE):
            raise NotDeliverable("not of the company")
        result = _call(account, "/v1.0/robot/oToMessages/batchSend", {**body, "userIds": [person]})
        if person in (result.get("flowControlledStaffIdList") or ()):
            raise TryLater("rate", _BUSY_SECONDS)
        if person in (result.get("invalidStaffIdList") or ()):
            raise NotDeliverable("invalidStaffId")
        return str(result.get("processQueryKey", ""))

    def pull(
        self, account: Account, cursor: Mapping[str, Any], keep: Keep, stop: Callable[[], bool], clock: Clock
    ) -> None:
        body = {
            "clientId": account["client_id"],
            "clientSecret": account["client_secret"],
            "subscriptions": [{"type": "CALLBACK", "topic": TOPIC}],
            "ua": "memplatform",
        }
        answer = ask(f"{settings.DINGTALK_API_URL}/v1.0/gateway/connections/open", body)
        endpoint, ticket = answer.body.get("endpoint"), answer.body.get("ticket")
        if not (isinstance(endpoint, str) and isinstance(ticket, str)):
            with as_key_refused():
                raise _failure(answer)
        with closing(network.open_socket(f"{endpoint}?ticket={ticket}")) as stream:
            keep((), {})
            for raw in network.frames(stream, stop):
                _take(stream, raw, account, keep)


def _take(stream: ClientConnection, raw: str | bytes, account: Account, keep: Keep) -> None:
    """Keep what a frame holds, and acknowledge it once it is stored. Raises TryLater when another connection is due."""
    try:
        frame = json.loads(raw)
        headers, data = frame["headers"], frame.get("data") or ""
        kind, topic, message_id = frame["type"], headers.get("topic"), headers["messageId"]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return
    if kind == "SYSTEM" and topic == "disconnect":
        raise TryLater("disconnect", network.AGAIN_SECONDS)
    answer = data
    if kind == "CALLBACK":
        answer = json.dumps({"response": "OK"})
        try:
            messages = read(json.loads(data), account)
        except (ValueError, TypeError, RecursionError, NotReadable, NotGenuine) as refusal:
            log.warning("channel.not_taken", platform="dingtalk", reason=type(refusal).__name__)
            messages = []  # acknowledged all the same: it will not be better next time
        keep(messages, {})
    ack = {"contentType": "application/json", "messageId": message_id}
    network.send(stream, json.dumps({"code": 200, "headers": ack, "message": "OK", "data": answer}))


def read(body: Any, account: Account) -> list[Incoming]:
    """What somebody wrote to the robot. Raises NotReadable; NotGenuine where it is another's."""
    try:
        if body.get("robotCode") not in (None, "", "normal", _robot(account)):
            raise NotGenuine
        text = _text(body)
        person, is_group = body.get("senderStaffId") or body["senderId"], body["conversationType"] == "2"
        address = body.get("sessionWebhook") or ""
        is_theirs = address.startswith(f"{settings.DINGTALK_SESSION_URL}/") and len(address) <= NAME_MAX
        replied = (body.get("text") or {}).get("repliedMsg") or {}
        message = Incoming(
            key=f"message:{body['msgId']}",
            chat=body["conversationId"] if is_group else f"{_USER}{person}",
            is_group=is_group,
            title=body.get("conversationTitle") or "" if is_group else "",
            peer=person,
            name=body.get("senderNick") or "",
            message=body["msgId"],
            text=text,
            reply_to=replied.get("msgId") or "",
            is_for_bot=not is_group or body.get("isInAtList") is not False,
            sent_at=datetime.fromtimestamp(int(body["createAt"]) / 1000, tz=UTC),
            token=address if is_theirs else "",
        )
    except (TypeError, ValueError, KeyError, AttributeError, OverflowError, OSError):
        raise NotReadable from None
    if any(not isinstance(value, str) for value in (message.chat, message.peer, message.message, message.name)):
        raise NotReadable
    return [message] if text else []


def _text(body: Mapping[str, Any]) -> str:
    """The words; what is no text as a placeholder. The mention of the robot is taken out by DingTalk."""
    kind = body["msgtype"]
    if kind == "text":
        return str(body["text"]["content"]).strip()
    content = body.get("content") or {}
    if kind == "richText":
        parts = content.get("richText") or []
        return "".join(str(part["text"]) if "text" in part else _PLACEHOLDERS["picture"] for part in parts).strip()
    caption = content.get("recognition") or content.get("fileName") or ""
    return f"{_PLACEHOLDERS.get(kind, '[message]')} {caption}".strip()


def _robot(account: Account) -> str:
    return account["robot_code"].strip() or account["client_id"]


def _file(message: Outgoing, account: Account) -> tuple[str, dict[str, str]]:
    """A file that is uploaded: of the kinds a robot may send none is text, so it is packed."""
    buffer = BytesIO()
    with ZipFile(buffer, "w", ZIP_DEFLATED) as archive:
        archive.writestr(ZipInfo(message.file_name), message.text, ZIP_DEFLATED)
    name = f"{PurePath(message.file_name).stem}.zip"
    answer = ask(
        f"{settings.DINGTALK_SESSION_URL}/media/upload",
        params={"access_token": _login(account).token(), "type": "file"},
        files={"media": (name, buffer.getvalue(), "application/zip")},
    )
    media, code = answer.body.get("media_id"), answer.body.get("errcode")
    if code in _BUSY_ERRORS or answer.status == 429:
        raise TryLater(f"{code or answer.status}", _BUSY_SECONDS)
    if not isinstance(media, str):
        raise NotDeliverable(f"upload {code or answer.status}")
    return "sampleFile", {"mediaId": media, "fileName": name, "fileType": "zip"}


def _call(account: Account, path: str, payload: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a call answers. Raises KeyRefused, NotDeliverable, TryLater."""
    url = f"{settings.DINGTALK_API_URL}{path}"
    answer = _login(account).ask(
        lambda token: ask(url, payload, headers={"x-acs-dingtalk-access-token": token}),
        lambda answer: answer.body.get("code") == "InvalidAuthentication",
    )
    if answer.status >= 400 or "code" in answer.body:
        raise _failure(answer)
    return answer.body


def _login(account: Account) -> network.Login:
    server, app, secret = str(settings.DINGTALK_API_URL), account["client_id"], account["client_secret"]

    def get(_is_fresh: bool) -> tuple[str, float]:
        answer = ask(f"{server}/v1.0/oauth2/accessToken", {"appKey": app, "appSecret": secret})
        if not (token := answer.body.get("accessToken")):
            raise _failure(answer)
        return str(token), float(answer.body.get("expireIn") or 0)

    return network.Login((server, app, secret), get)


def _failure(answer: Answer) -> PlatformFailure:
    """By the codes of the API, which are words."""
    code = str(answer.body.get("code") or f"status {answer.status}")
    words = f"{code} {answer.body.get('message', '')}"[:150].strip()
    if answer.status == 429 or "QpsLimit" in code or code.startswith("Throttling"):
        return TryLater(words, 1.0)
    if code.startswith(("InvalidAuthentication", "Forbidden", "invalidClient", "invalidParameter.robotCode")):
        return KeyRefused(words)
    return NotDeliverable(words)
