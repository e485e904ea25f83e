"""Who answers a message: the model of this server, or the owner's bot, called or asking. Memory is beside all of them.

The network is asked outside transactions; what came of it is stored in one: the turn, its state and what is to be sent.
"""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext as _

from channels_app import addresses
from channels_app.context import Context, context_for
from channels_app.models import (
    Answerer,
    Connection,
    ConnectionProblem,
    Contact,
    IncomingMessage,
    MessageKind,
    MessageState,
    OutgoingMessage,
)
from channels_app.people.peers import Peer
from channels_app.platforms import platform_named
from channels_app.platforms.wire import Incoming, Outgoing, Platform
from channels_app.turns import TurnResult, report_turn
from memories import llm, secrets
from memories.conf import conf
from memories.consolidation.capture import Turn
from memories.exceptions import BudgetSpent, MessageNotFound, ModelFailed, ModelOff
from memories.language.text import PLAIN_HAN
from memories.models import Workspace
from memories.tenancy.access import Caller
from memories.tenancy.resolver import Address
from memories.webhooks.delivery import NotSent, Receiver, make_secret, signed_headers

Clock = Callable[[], datetime]
UNANSWERED = (MessageState.WAITING, MessageState.OFFERED)
OFFERED_MOST = 100  # messages a bot that asks is offered the first of
CALLBACK_SECRET = "callback_secret"  # noqa: S105 (a name)
_HAN = re.compile(f"[{PLAIN_HAN}]")
#: How a command begins, and a placeholder of what is no text: neither says which language somebody speaks.
_OURS = ("/", "[")


def new_callback_secret(connection: Connection) -> str:
    """Make and keep what the calls of the owner's bot are signed with, in place of a former one."""
    secret = make_secret()
    secrets.keep(connection.secret_name(CALLBACK_SECRET), secret, workspace=connection.workspace)
    return secret


class NoAnswer(Exception):
    """Nobody answered; the message waits, or is given up."""

    def __init__(self, problem: ConnectionProblem, reason: str, *, is_final: bool = False) -> None:
        super().__init__(reason)
        self.problem, self.is_final = problem, is_final


class AlreadyAnswered(Exception):
    """Another process has answered this message meanwhile."""


@dataclass(frozen=True)
class Written:
    """A message as it is worked on."""

    row: IncomingMessage
    incoming: Incoming
    connection: Connection
    platform: Platform

    @property
    def workspace(self) -> Workspace:
        return self.connection.workspace

    @property
    def caller(self) -> Caller:
        """The connection, as history names it."""
        return caller_of(self.connection)

    @property
    def writer(self) -> Peer:
        """Who wrote it."""
        return Peer(self.connection.channel.platform, self.incoming.peer)

    @property
    def actor(self) -> str:
        """Its writer, where they change their own memory, as history and the audit log name them."""
        return f"person:{self.writer.platform}:{self.writer.peer}"

    @property
    def address(self) -> Address:
        """Where it was written: in a direct chat the peer, in a group the chat, under its own name, and the peer."""
        incoming = self.incoming
        place = self.row.chat.place if incoming.is_group else ""
        return replace(self.private_address, chat=place, is_group=incoming.is_group, thread=incoming.thread)

    @property
    def private_address(self) -> Address:
        """The writer's own direct chat."""
        channel = self.connection.channel
        return Address(platform=channel.platform, account=channel.account, peer=self.incoming.peer)

    @property
    def language(self) -> str:
        """In which language its writer is answered: that of their words, and of a command that of their program, else
        of what they wrote before, else of the workspace.
        """
        text = self.incoming.text
        if text and (_HAN.search(text) or not text.startswith(_OURS)):
            return _language_of(text)
        contact = Contact.objects.filter(connection=self.connection, peer=self.incoming.peer).first()
        if contact and contact.language:
            return contact.language
        rows = IncomingMessage.objects.filter(chat=self.row.chat_id, peer=self.incoming.peer, kind=MessageKind.MESSAGE)
        row = rows.filter(body__has_key="text").exclude(body__text__regex=r"^[/\[]").order_by("-pk").first()
        return _language_of(row.body["text"]) if row else self.workspace.language


def _language_of(text: str) -> str:
    return "zh-hans" if _HAN.search(text) else "en"


def caller_of(connection: Connection) -> Caller:
    channel = connection.channel
    return connection.workspace.caller(f"channel:{channel.platform}:{channel.account}")


def answer(message: Written, clock: Clock) -> TurnResult | None:
    """Have a message answered, and store the turn with what is to be sent; None: the owner's bot has it now.

    Raises NoAnswer, and whatever context_for and report_turn raise.
    """
    connection, now = message.connection, clock()
    if connection.answerer == Answerer.POLL:
        offer = IncomingMessage.objects.filter(pk=message.row.pk, state=MessageState.WAITING)
        offer.update(state=MessageState.OFFERED, offered_at=None, recall=None)
        return None
    if connection.answerer == Answerer.NOBODY:
        return store_turn(message, "", recall=None, now=now)
    context = context_of(message, now=now)
    if context.reply is not None:
        return store_turn(message, context.reply, recall=None, now=now)
    ask = _from_bot if connection.answerer == Answerer.CALLBACK else _from_model
    text = ask(message, context, now)
    trace = context.recall.trace
    return store_turn(message, text, recall=trace.uid if trace else None, now=clock())


def context_of(message: Written, *, now: datetime) -> Context:
    """What memory knows on a message."""
    return context_for(
        message.caller, message.address, message.incoming.text, token_budget=conf.CONTEXT_BUDGET, now=now
    )


def _from_model(message: Written, context: Context, now: datetime) -> str:
    """Raises NoAnswer."""
    instructions = message.connection.instructions.strip() or _(
        "You are a helpful assistant in a chat. Answer briefly and in the language you are written to."
    )
    parts = [instructions, context.text]
    messages = [{"role": "system", "content": "\n\n".join(filter(None, parts))}]
    for item in context.history:
        role = "assistant" if item.event.kind == "assistant" else "system" if item.is_summary else "user"
        messages.append({"role": role, "content": item.content})
    messages.append({"role": "user", "content": message.incoming.text})
    try:
        return llm.converse(message.workspace, "answer", messages, now=now)
    except ModelOff:
        raise NoAnswer(ConnectionProblem.MODEL, "no model is configured", is_final=True) from None
    except BudgetSpent:
        raise NoAnswer(ConnectionProblem.MODEL, "the budget of the day or month is spent", is_final=True) from None
    except ModelFailed as failure:
        raise NoAnswer(ConnectionProblem.MODEL, str(failure)) from None


def offered(message: Written, context: Context) -> dict[str, Any]:
    """A message as the owner's bot gets it, with what memory knows on it."""
    incoming = message.incoming
    return {
        "id": str(message.row.uid),
        "at": incoming.sent_at.isoformat(),
        "address": {name: value for name, value in vars(message.address).items() if value},
        "sender_name": incoming.name,
        "message": incoming.text,
        "context": {
            "text": context.text,
            "history": [{"role": item.event.kind, "content": item.content} for item in context.history],
            "recall_id": str(context.recall.trace.uid) if context.recall.trace else None,
        },
    }


def _from_bot(message: Written, context: Context, now: datetime) -> str:
    """Raises NoAnswer."""
    connection = message.connection
    secret = secrets.read(connection.secret_name(CALLBACK_SECRET), workspace=message.workspace)
    if not secret:
        raise NoAnswer(ConnectionProblem.SECRET, "no secret", is_final=True)
    body = json.dumps(offered(message, context), ensure_ascii=False).encode()
    headers = signed_headers(secret, str(message.row.uid), int(now.timestamp()), body)
    try:
        with Receiver(connection.callback_url) as receiver:
            status, content = receiver.post(body, headers, seconds=conf.CHANNEL_CALLBACK_SECONDS)
    except NotSent as failure:
        raise NoAnswer(ConnectionProblem.CALLBACK, failure.problem.value) from None
    if not 200 <= status < 300:
        raise NoAnswer(ConnectionProblem.CALLBACK, f"status {status}")
    try:
        text = json.loads(content)["text"] if content.strip() else ""
    except (ValueError, TypeError, KeyError):
        raise NoAnswer(ConnectionProblem.CALLBACK, "no JSON with «text»") from None
    return text if isinstance(text, str) else ""


def is_asked(caller: Caller, platform: str, account: str) -> bool:
    """Whether a connection of this account is on, and answered by a bot that asks."""
    rows = Connection.objects.filter(workspace_id=caller.workspace_id, answerer=Answerer.POLL, is_enabled=True)
    return rows.filter(channel__platform=platform, channel__account=account).exists()


def take_offered(caller: Caller, platform: str, account: str, *, now: datetime) -> tuple[Written, Context] | None:
    """Give the next message of a connection to a bot that asks, if there is one in its reach; it has it for a while."""
    channel = {"connection__channel__platform": platform, "connection__channel__account": account}
    for message in _offered_to(caller, offered_at=None, connection__is_enabled=True, **channel):
        row = message.row
        if IncomingMessage.objects.filter(pk=row.pk, offered_at=None).update(offered_at=now):
            context = context_of(message, now=now)
            row.recall = context.recall.trace.uid if context.recall.trace else None
            row.save(update_fields=["recall"])
            return message, context
    return None


def offered_message(caller: Caller, uid: UUID) -> Written:
    """A message that was given to a bot and is not answered yet. Raises MessageNotFound."""
    message = next(_offered_to(caller, uid=uid), None)
    if message is None:
        raise MessageNotFound
    return message


def _offered_to(caller: Caller, **columns: Any) -> Iterator[Written]:
    """The messages with these columns that wait for the owner's bot and are in its reach, in their order."""
    rows = IncomingMessage.objects.filter(workspace_id=caller.workspace_id, state=MessageState.OFFERED, **columns)
    rows = rows.select_related("chat", "connection__channel", "connection__workspace")
    for row in rows.order_by("sent_at", "sequence", "pk")[:OFFERED_MOST]:
        message = read_stored(row)
        resolution = addresses.resolve_address(caller, message.address)
        if all(caller.may_reach(key) for key in (resolution.user_scope, resolution.chat_scope) if key):
            yield message


def read_stored(row: IncomingMessage) -> Written:
    """A stored message as it is worked on."""
    own = {"key": row.key, "kind": MessageKind(row.kind), "sent_at": row.sent_at, "sequence": row.sequence}
    body = {"chat": row.chat.key, "is_for_bot": False, **row.body}
    return Written(row, Incoming(**{**body, **own}), row.connection, platform_named(row.connection.channel.platform))


def lock_unanswered(message: Written) -> None:
    """Keep others from answering a message until the transaction ends. Raises AlreadyAnswered."""
    unanswered = IncomingMessage.objects.filter(pk=message.row.pk, state__in=UNANSWERED)
    if unanswered.select_for_update().values_list("pk").first() is None:
        raise AlreadyAnswered


def store_turn(message: Written, text: str, *, recall: UUID | None, now: datetime) -> TurnResult:
    """Take the turn in, mark its message as done, and put its answer among what is to be sent: all of it or nothing.

    Raises AlreadyAnswered.
    """
    incoming = message.incoming
    turn = Turn(
        address=message.address,
        user=incoming.text,
        assistant=text,
        at=min(incoming.sent_at, now),
        sender_name=incoming.name,
        recall_id=str(recall or ""),
    )
    with transaction.atomic():
        lock_unanswered(message)
        result = report_turn(replace(message.caller, language=message.language), turn, used_ids=None, now=now)
        events = [event.pk for event in result.events]
        columns = {"state": MessageState.DONE, "error": "", "events": events, "recall": recall}
        IncomingMessage.objects.filter(pk=message.row.pk).update(**columns)
        if reply := result.reply or text:
            send(message, reply, now=now)
        mine = Connection.objects.filter(pk=message.connection.pk)
        mine.update(answered_at=now)
        if text:
            mine.clear_problem((ConnectionProblem.MODEL, ConnectionProblem.CALLBACK))
    return result


def send(message: Written, text: str, *, now: datetime, is_private: bool = False, **more: Any) -> None:
    """Put an answer to a message among what is to be sent, in as many parts as its platform wants."""
    incoming = message.incoming
    if is_private and incoming.is_group:
        more["peer"] = incoming.peer
    else:
        more |= {"thread": incoming.thread, "reply_to": incoming.message if incoming.is_group else ""}
    more["token"] = incoming.token
    parts = [text] if more.get("file_name") else list(split(text, message.platform.chars_of(incoming)))
    for n, part in enumerate(parts, start=1):
        last = more if n == len(parts) else {**more, "buttons": ()}
        outgoing = Outgoing(chat=incoming.chat, text=part, **last)
        queue(message.connection, message.row.chat_id, outgoing, now=now)


def queue(connection: Connection, chat_id: int, message: Outgoing, *, now: datetime) -> OutgoingMessage:
    """Put a message among what is to be sent to a chat."""
    return OutgoingMessage.objects.create(
        workspace_id=connection.workspace_id,
        connection=connection,
        chat_id=chat_id,
        body=message.as_json(),
        created_at=now,
    )


def split(text: str, limit: int) -> list[str]:
    """A text in parts of at most so many characters: cut between paragraphs, else lines, sentences, words."""
    parts = []
    text = text.strip()
    while len(text) > limit:
        ends = (text.rfind(mark, limit // 3, limit - len(mark)) + len(mark) for mark in ("\n\n", "\n", "。", ". ", " "))
        end = next((end for end in ends if end > limit // 3), limit)
        parts.append(text[:end].rstrip())
        text = text[end:].lstrip()
    return [*parts, text] if text else parts
