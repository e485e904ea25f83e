"""What platforms report, stored once: a redelivery finds its row and changes nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import connection as database
from django.db import transaction

from channels_app.models import AT_PLATFORM, Chat, Connection, Contact, IncomingMessage, MessageKind
from channels_app.platforms import platform_named
from channels_app.platforms.wire import NAME_MAX, TEXT_MAX, TOKEN_MAX, Account, Call, Incoming, Received
from memories import secrets
from memories.language.text import is_storable

#: The process that works listens here.
CHANNEL = "memplatform_channels"
#: Deliveries of one moment may come in any order: a message waits so long for those before it.
SETTLING = timedelta(seconds=0.3)
_LONGER = {"text": TEXT_MAX, "token": TOKEN_MAX}


def account_of(connection: Connection) -> Account:
    """What a connection needs at its platform, its secrets with it. Raises SecretUnreadable."""
    platform = platform_named(connection.channel.platform)
    options = {option.name: str(connection.options.get(option.name, "")) for option in platform.options}
    hidden = [option.name for option in platform.options if option.is_secret]
    for name in (*hidden, "webhook_secret"):
        options[name] = secrets.read(connection.secret_name(name), workspace=connection.workspace) or ""
    return Account(options, name=connection.options.get("bot_name", ""), id=connection.options.get("bot_id", ""))


def connection_with(uid: UUID) -> Connection | None:
    """An enabled connection by its id."""
    rows = Connection.objects.filter(uid=uid, is_enabled=True).select_related("channel", "workspace")
    return rows.first()


def receive(connection: Connection, call: Call) -> Received:
    """Store what a call of the platform holds. Raises NotGenuine, NotReadable, SecretUnreadable: nothing is stored."""
    received = platform_named(connection.channel.platform).receive(call, account_of(connection))
    keep(connection, received.messages, now=call.now)
    return received


def keep(
    connection: Connection, messages: Sequence[Incoming], *, now: datetime, cursor: Mapping[str, Any] | None = None
) -> int:
    """Store messages, each once, with the cursor behind them; how many were new. The process that works is woken."""
    messages = [cleaned(message) for message in messages]
    mine = Connection.objects.filter(pk=connection.pk)
    with transaction.atomic():
        kept = _store(connection, messages, now) if messages else 0
        if kept:
            mine.update(received_at=now)
            wake()
        if cursor is not None:
            mine.update(cursor=dict(cursor))
        mine.clear_problem(AT_PLATFORM)
    return kept


def _store(connection: Connection, messages: Sequence[Incoming], now: datetime) -> int:
    """The chats, the people and the messages that are new; how many messages were."""
    place = {"workspace_id": connection.workspace_id, "connection": connection}
    by_chat = {message.chat: message for message in messages}
    chats = [
        Chat(**place, key=key, place=key, title=message.title, is_group=message.is_group)
        for key, message in sorted(by_chat.items())
    ]
    Chat.objects.bulk_create(chats, ignore_conflicts=True)
    rows = {chat.key: chat for chat in Chat.objects.filter(connection=connection, key__in=by_chat)}
    groups = [rows[message.chat].pk for message in messages if message.is_group and not rows[message.chat].is_group]
    if groups:  # some reports do not say that their chat is one
        Chat.objects.filter(pk__in=groups).update(is_group=True)
    people = {message.peer: message for message in messages if message.peer}
    contacts = [
        Contact(**place, peer=peer, name=message.name, language=message.language)
        for peer, message in sorted(people.items())
    ]
    Contact.objects.bulk_create(
        [contact for contact in contacts if contact.name],
        update_conflicts=True,
        unique_fields=["connection", "peer"],
        update_fields=["name", "language"],
    )
    Contact.objects.bulk_create([contact for contact in contacts if not contact.name], ignore_conflicts=True)
    stored = IncomingMessage.objects.filter(connection=connection, key__in=[message.key for message in messages])
    seen = set(stored.values_list("key", flat=True))
    new = [
        IncomingMessage(
            **place,
            chat=rows[message.chat],
            key=message.key,
            kind=message.kind,
            message=message.message,
            peer=message.peer,
            body=message.as_json(),
            sent_at=message.sent_at,
            sequence=message.sequence,
            received_at=now,
            due_at=now if message.kind == MessageKind.BUTTON else now + SETTLING,
        )
        for message in {message.key: message for message in messages}.values()
        if message.key not in seen
    ]
    IncomingMessage.objects.bulk_create(new, ignore_conflicts=True)
    return len(new)


def wake() -> None:
    """Wake the process that works, once the transaction is committed."""
    with database.cursor() as cursor:
        cursor.execute("SELECT pg_notify(%s, '')", [CHANNEL])


def cleaned(message: Incoming) -> Incoming:
    """A message without characters no database stores, and no longer than any is."""
    words = {name: value for name, value in vars(message).items() if isinstance(value, str) and name != "kind"}
    storable = {name: value if is_storable(value) else _storable(value) for name, value in words.items()}
    cut: dict[str, Any] = {name: value[: _LONGER.get(name, NAME_MAX)] for name, value in storable.items()}
    return replace(message, **cut)


def _storable(text: str) -> str:
    return text.encode("utf-8", "replace").decode().replace("\0", "�")
