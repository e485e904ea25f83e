"""Slack: the Events API, slash commands and buttons, by calls or in Socket Mode (docs.slack.dev/apis/events-api).

Calls come to one address; in Socket Mode the same arrive over a WebSocket that is opened from here, each in an
envelope that is acknowledged once it is stored (docs.slack.dev/apis/events-api/using-socket-mode).

It reports edits, deletions and members. What is sent, and the check of signatures, is slack-sdk's; its dispatcher
is not used. A message that names the bot comes as two events, and is one by its channel and time.
"""

import json
import re
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing, suppress
from datetime import UTC, datetime, timedelta
from html import escape
from typing import Any, ClassVar, TypeVar
from urllib.parse import parse_qsl

import structlog
from django.conf import settings
from django.utils.translation import gettext_lazy as _
from slack_sdk import WebClient, signature
from slack_sdk.errors import SlackApiError, SlackClientError
from websockets.sync.client import ClientConnection

from channels_app.models import MessageKind, Receiving
from channels_app.platforms import network
from channels_app.platforms.wire import (
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
    Received,
    TryLater,
    as_key_refused,
    read_json,
    text_of,
)

log = structlog.get_logger(__name__)
T = TypeVar("T")
SECONDS = 20
#: Errors by which Slack refuses the bot altogether (docs.slack.dev/reference/methods/chat.postMessage).
_REFUSED = frozenset({
    "account_inactive", "access_denied", "app_uninstalled", "ekm_access_denied", "invalid_auth", "missing_scope",
    "no_permission", "not_allowed_token_type", "not_authed", "org_login_required", "team_access_not_granted",
    "token_expired", "token_revoked", "two_factor_setup_required",
})  # fmt: skip
#: Errors that pass.
_PASSING = frozenset({
    "accesslimited", "fatal_error", "internal_error", "ratelimited", "rate_limited", "request_timeout",
    "service_unavailable", "team_added_to_org",
})  # fmt: skip
#: The same message was sent before, and somebody has deleted it since.
_SENT_AND_GONE = frozenset({"duplicate_message_not_found", "duplicate_channel_not_found"})
#: Of messages with a subtype those that somebody wrote; the others are notes of Slack itself, or by bots.
_WRITTEN = frozenset({"", "file_share", "me_message", "thread_broadcast"})
_MEMBERS = {"member_joined_channel": MessageKind.JOINED, "member_left_channel": MessageKind.LEFT}
_PLACEHOLDERS = {"image": "[photo]", "video": "[video]", "audio": "[audio]"}
_TIME = re.compile(r"(\d{1,11})\.(\d{6})")
_REFERENCE = re.compile(r"<([@#!]?)([^<>|]*)(?:\|([^<>]*))?>")


class Slack(Platform):
    """A Slack app with a bot user."""

    name = "slack"
    label = "Slack"
    options: ClassVar = (
        Option(
            name="token",
            label=_("bot token"),
            help=_("At api.slack.com/apps, on the page of your app, under OAuth & Permissions; it begins with xoxb-."),
            is_secret=True,
        ),
        Option(
            name="app_token",
            label=_("app-level token"),
            help=_(
                "Under Basic Information, App-Level Tokens, with the scope connections:write; it begins with xapp-."
                " Needed where this server asks Slack (Socket Mode)."
            ),
            is_secret=True,
            receiving=Receiving.PULL,
        ),
        Option(
            name="signing_secret",
            label=_("signing secret"),
            help=_("Under Basic Information, App Credentials. Needed where Slack calls this server."),
            is_secret=True,
            receiving=Receiving.WEBHOOK,
        ),
    )
    receiving = (Receiving.PULL, Receiving.WEBHOOK)
    text_chars = 3000  # of one section beside a button; a message without buttons may have 4,000
    reports = frozenset({MessageKind.EDITED, MessageKind.RECALLED, MessageKind.LEFT, MessageKind.JOINED})
    has_buttons = has_files = True

    def introduce(self, account: Account) -> Introduced:
        bot = _ask(lambda client: client.auth_test(), account)
        user, team = str(bot.get("user_id") or ""), str(bot.get("team_id") or "")
        if account["app_token"]:
            _socket_url(account)
        answer: Any = {}
        if bot_id := str(bot.get("bot_id") or ""):
            with suppress(KeyRefused, NotDeliverable):  # it may not ask which app it is of
                answer = _ask(lambda client: client.bots_info(bot=bot_id), account)
        app = str((answer.get("bot") or {}).get("app_id") or "")
        return Introduced(account=f"{team}-{user}", name=str(bot.get("user") or ""), id=user, app=app)

    def receive(self, call: Call, account: Account) -> Received:
        _verify(call, account)
        if call.headers.get("content-type", "").startswith("application/x-www-form-urlencoded"):
            try:
                form = dict(parse_qsl(call.body.decode(), keep_blank_values=True, max_num_fields=100))
            except ValueError:
                raise NotReadable from None
            if "payload" in form:  # a button that was pressed; else a slash command
                messages = _pressed(read_json(form["payload"]), account, call.now)
            else:
                messages = _commanded(form, account, call.now)
            return Received(messages=messages, answer="", content_type="text/plain")
        body = read_json(call.body)
        if body.get("type") == "url_verification":
            return Received(answer={"challenge": text_of(body, "challenge")})
        return Received(messages=read(body, account))

    def pull(
        self, account: Account, cursor: Mapping[str, Any], keep: Keep, stop: Callable[[], bool], clock: Clock
    ) -> None:
        while not stop():
            opened_at = time.monotonic()
            with closing(network.open_socket(_socket_url(account))) as socket:
                for raw in network.frames(socket, stop):
                    if not _take(socket, raw, account, keep, clock()):
                        break
            while time.monotonic() < opened_at + network.AGAIN_SECONDS and not stop():  # a new one each time it asks
                time.sleep(0.2)

    def send(self, message: Outgoing, account: Account) -> str:
        return _ask(lambda client: _sent(client, message), account)

    def ask_name(self, peer: str, account: Account) -> str:
        user: Any = _ask(lambda client: client.users_info(user=peer), account).get("user") or {}
        profile = user.get("profile") or {}
        return str(profile.get("display_name") or profile.get("real_name") or user.get("name") or "")


def _verify(call: Call, account: Account) -> None:
    """Raises NotGenuine: for another signature, and for one older than five minutes."""

    class CallClock(signature.Clock):
        def now(self) -> float:
            return call.now.timestamp()

    try:
        verifier = signature.SignatureVerifier(account["signing_secret"], CallClock())
        is_genuine = bool(account["signing_secret"]) and verifier.is_valid_request(call.body, call.headers)
    except (ValueError, TypeError, OverflowError):  # a time that is none, a body that is no text
        raise NotGenuine from None
    if not is_genuine:
        raise NotGenuine


def _socket_url(account: Account) -> str:
    """Where the next socket is opened; it is good for one. Raises KeyRefused, TryLater."""
    with as_key_refused("app_token"):
        url = _ask(lambda client: client.apps_connections_open(app_token=account["app_token"]), account).get("url")
    if not isinstance(url, str):
        raise TryLater("no url")
    return url


def _take(socket: ClientConnection, raw: str | bytes, account: Account, keep: Keep, now: datetime) -> bool:
    """Keep what an envelope holds, and acknowledge it once it is stored; False: another connection is due.

    Raises KeyRefused, TryLater.
    """
    try:
        envelope = read_json(raw)
    except NotReadable:
        return True
    kind, payload = text_of(envelope, "type"), envelope.get("payload")
    if kind == "hello":
        info = envelope.get("connection_info")
        if account.app and isinstance(info, dict) and text_of(info, "app_id") != account.app:
            raise KeyRefused("a token of another app", "app_token")
        keep((), {})
    if kind == "disconnect":
        if text_of(envelope, "reason") == "link_disabled":  # somebody has switched Socket Mode off
            raise KeyRefused("link_disabled", "app_token")
        return False
    if envelope_id := text_of(envelope, "envelope_id"):
        reader = _READERS.get(kind)
        messages: list[Incoming] = []
        try:
            if reader and isinstance(payload, dict):
                messages = reader(payload, account, now)
        except (NotReadable, NotGenuine) as refusal:  # acknowledged all the same: it will not be better next time
            log.warning("channel.not_taken", platform="slack", reason=type(refusal).__name__)
        keep(messages, {})
        network.send(socket, json.dumps({"envelope_id": envelope_id}))
    return True


def _check_owner(app: str, teams: Iterable[str], account: Account) -> None:
    """Raises NotGenuine for what another app or another workspace was meant to have, NotReadable for nobody's."""
    team_ids = {team for team in teams if team}
    if not team_ids:
        raise NotReadable
    if account.channel.partition("-")[0] not in team_ids or (account.app and app != account.app):
        raise NotGenuine


def read(body: Mapping[str, Any], account: Account) -> list[Incoming]:
    """What an event reports; nothing of what is none of ours to know. Raises NotGenuine, NotReadable."""
    if body.get("type") != "event_callback":
        return []
    # Where it happened, and for which workspaces it was sent: two where they share a channel
    granted = body.get("authorizations")
    teams = [text_of(row, "team_id") for row in granted] if isinstance(granted, list) else []
    teams += [text_of(body, "team_id"), text_of(body, "context_team_id")]
    _check_owner(text_of(body, "api_app_id"), teams, account)
    event = body.get("event")
    if not isinstance(event, dict):
        raise NotReadable
    kind, subtype, channel = (text_of(event, name) for name in ("type", "subtype", "channel"))
    if kind in _MEMBERS:
        user = text_of(event, "user")
        at = _time(text_of(event, "event_ts"))
        if at is None:
            seconds = body.get("event_time")
            if type(seconds) is not int or not 0 <= seconds < 10**11:  # true is an int, too
                raise NotReadable
            at = datetime.fromtimestamp(seconds, UTC)
        key = f"event:{text_of(body, 'event_id')}"
        member = Incoming(key=key, kind=_MEMBERS[kind], chat=channel, is_group=True, peer=user, sent_at=at)
        return [member] if channel and user and user != account.id else []
    if kind not in ("message", "app_mention"):
        return []
    if not channel:
        raise NotReadable
    place = {"chat": channel, "is_group": text_of(event, "channel_type") != "im" and not channel.startswith("D")}
    if subtype == "message_deleted":
        return [_recalled(place, text_of(event, "deleted_ts"), event.get("previous_message"), event)]
    if subtype == "message_changed":
        message = event.get("message")
        if not isinstance(message, dict):
            raise NotReadable
        if text_of(message, "subtype") == "tombstone":  # deleted, with answers below it
            return [_recalled(place, text_of(message, "ts"), event.get("previous_message"), event)]
        edited = message.get("edited")
        if not isinstance(edited, dict):  # a preview of a link was added
            return []
        return _of_message(message, place, account, edited=text_of(edited, "ts"))
    return _of_message(event, place, account)


def _recalled(place: Mapping[str, Any], ts: str, previous: Any, event: Mapping[str, Any]) -> Incoming:
    at = _time(text_of(event, "ts")) or _time(ts)
    if not ts or at is None:
        raise NotReadable
    key = f"deleted:{place['chat']}:{ts}"
    return Incoming(key=key, kind=MessageKind.RECALLED, **place, peer=text_of(previous, "user"), message=ts, sent_at=at)


def _of_message(
    message: Mapping[str, Any], place: Mapping[str, Any], account: Account, *, edited: str = ""
) -> list[Incoming]:
    """Raises NotReadable."""
    ts, user = text_of(message, "ts"), text_of(message, "user")
    at = _time(edited or ts)
    if at is None:
        raise NotReadable
    if text_of(message, "subtype") not in _WRITTEN or message.get("bot_id") or not user or user == account.id:
        return []
    text, is_named = plain(text_of(message, "text"), account.id)
    files = message.get("files")
    kinds = [text_of(file, "mimetype").partition("/")[0] for file in files if isinstance(file, dict)] if files else []
    text = " ".join([*(_PLACEHOLDERS.get(kind, "[file]") for kind in kinds), text]).strip()
    if not text:
        return []
    thread = text_of(message, "thread_ts")
    is_answer = bool(account.id) and text_of(message, "parent_user_id") == account.id
    return [
        Incoming(
            key=f"changed:{place['chat']}:{ts}:{edited}" if edited else f"message:{place['chat']}:{ts}",
            kind=MessageKind.EDITED if edited else MessageKind.MESSAGE,
            **place,
            peer=user,
            thread=thread if thread != ts else "",
            message=ts,
            text=text,
            reply_to=thread if thread != ts else "",
            is_for_bot=not place["is_group"] or is_named or is_answer,
            sent_at=at,
        )
    ]


def plain(text: str, bot: str) -> tuple[str, bool]:
    """A text as people read it, without the mention of the bot, and whether it was there."""
    is_named = False

    def words(match: re.Match[str]) -> str:
        nonlocal is_named
        mark, target, label = match[1], match[2], match[3] or ""
        if mark == "@" and target == bot:
            is_named = True
            return ""
        if mark == "!":  # everybody here, a group of people, a date
            return label or f"@{target.partition('^')[0]}"
        return f"{mark}{label or target}" if mark else label or target

    plain_text = _REFERENCE.sub(words, text).replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    return " ".join(plain_text.split(" ")).strip(), is_named


def _commanded(form: Mapping[str, Any], account: Account, now: datetime) -> list[Incoming]:
    """Raises NotGenuine, NotReadable."""
    command, user, channel = (text_of(form, name) for name in ("command", "user_id", "channel_id"))
    if form.get("ssl_check") or not command:
        return []
    if not user or not channel:
        raise NotReadable
    _check_owner(text_of(form, "api_app_id"), [text_of(form, "team_id")], account)
    is_group = not channel.startswith("D")
    return [
        Incoming(
            key=f"command:{text_of(form, 'trigger_id')}",
            chat=channel if is_group else user,  # it may have been typed in a direct chat the bot is not in
            is_group=is_group,
            title=text_of(form, "channel_name") if is_group else "",
            peer=user,
            text=f"{command} {text_of(form, 'text')}".strip(),
            sent_at=now,
        )
    ]


def _pressed(body: Mapping[str, Any], account: Account, now: datetime) -> list[Incoming]:
    """Raises NotGenuine, NotReadable."""
    actions = body.get("actions")
    if body.get("type") != "block_actions" or not isinstance(actions, list):
        return []
    button = next((action for action in actions if isinstance(action, dict) and action.get("value")), None)
    if button is None:
        return []
    chat, user = text_of(body.get("channel"), "id"), text_of(body.get("user"), "id")
    if not chat or not user:
        raise NotReadable
    _check_owner(text_of(body, "api_app_id"), [text_of(body.get("team"), "id")], account)
    return [
        Incoming(
            key=f"button:{text_of(body, 'trigger_id') or text_of(button, 'action_ts')}",
            kind=MessageKind.BUTTON,
            chat=chat,
            is_group=not chat.startswith("D"),
            peer=user,
            message=text_of(body.get("container"), "message_ts"),
            target=text_of(button, "value"),
            sent_at=_time(text_of(button, "action_ts")) or now,
        )
    ]


#: What a kind of envelope holds, as a call has it.
_READERS: dict[str, Callable[[Mapping[str, Any], Account, datetime], list[Incoming]]] = {
    "events_api": lambda payload, account, now: read(payload, account),
    "interactive": _pressed,
    "slash_commands": _commanded,
}


def _sent(client: WebClient, message: Outgoing) -> str:
    """Send a message; its time there, which is its id."""
    thread = message.thread or None
    if message.file_name:
        chat = message.chat
        if message.peer:  # no file can be shown to one person of a channel
            chat = client.conversations_open(users=message.peer)["channel"]["id"]
        upload = client.files_upload_v2(
            channel=chat, content=message.text, filename=message.file_name, thread_ts=None if message.peer else thread
        )
        return str((upload.get("file") or {}).get("id") or "")
    text = escape(message.text, quote=False)  # of what Slack takes for its own marks it knows three entities alone
    more: dict[str, Any] = {"text": text, "unfurl_links": False}
    if message.buttons:
        buttons = [
            {
                "type": "button",
                "action_id": f"button-{n}",
                "text": {"type": "plain_text", "text": button.label},
                "value": button.target,
            }
            for n, button in enumerate(message.buttons)
        ]
        section = {"type": "section", "text": {"type": "mrkdwn", "text": text}}
        more["blocks"] = [section, {"type": "actions", "elements": buttons}]
    if message.peer:
        more.pop("unfurl_links")
        response = client.chat_postEphemeral(channel=message.chat, user=message.peer, thread_ts=thread, **more)
        return str(response.get("message_ts") or "")
    if message.key:
        more["client_msg_id"] = message.key  # the same again is not sent twice
    try:
        return str(client.chat_postMessage(channel=message.chat, thread_ts=thread, **more).get("ts") or "")
    except SlackApiError as refusal:
        if isinstance(refusal.response.data, dict) and refusal.response.get("error") in _SENT_AND_GONE:
            return ""
        raise


def _ask(call: Callable[[WebClient], T], account: Account) -> T:
    """Ask the Web API. Raises KeyRefused, NotDeliverable, TryLater."""
    client = WebClient(
        account["token"], base_url=f"{settings.SLACK_API_URL}/", timeout=SECONDS, retry_handlers=[]
    )  # nothing is sent again but by us
    try:
        return call(client)
    except SlackApiError as refusal:
        response = refusal.response
        error = str(response.get("error") or "") if isinstance(response.data, dict) else ""
        if response.status_code == 429 or error in _PASSING or (response.status_code >= 500 and not error):
            wait = str(response.headers.get("Retry-After") or "")
            raise TryLater(error or "status", float(wait) if wait.isdecimal() else None) from None
        if error in _REFUSED:
            raise KeyRefused(error) from None
        raise NotDeliverable(error or f"status {response.status_code}") from None
    except (OSError, SlackClientError, ValueError) as failure:  # no connection, or something that is not Slack answers
        raise TryLater(type(failure).__name__) from None


def _time(ts: str) -> datetime | None:
    """A time as Slack writes it, which is the id of a message as well."""
    match = _TIME.fullmatch(ts)
    return datetime.fromtimestamp(int(match[1]), UTC) + timedelta(microseconds=int(match[2])) if match else None
