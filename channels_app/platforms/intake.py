"""What platforms report, stored once: a redelivery finds its row and changes nothing."""

import json
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from datetime import datetime, timedelta
from threading import Lock
from typing import Any
from uuid import UUID

from cachetools import TTLCache, cached
from django.db import transaction

from channels_app.models import AT_PLATFORM, Connection, MessageKind
from channels_app.platforms import platform_named
from channels_app.platforms.wire import NAME_MAX, TEXT_MAX, TOKEN_MAX, Account, Call, Incoming, Received
from memories import postgresql, secrets
from memories.language.text import is_storable
from memories.models.ids import uuid7
from memories.models.lease import wake_on_commit

#: The process that works listens here.
CHANNEL = "memplatform_channels"
#: Deliveries of one moment may come in any order: a message waits so long for those before it.
SETTLING = timedelta(seconds=0.3)
_LONGER = {"text": TEXT_MAX, "token": TOKEN_MAX}


#: What platforms call with again and again: a new secret holds after seconds, and so does a switch.
_accounts: TTLCache[tuple[int, int], Account] = TTLCache(maxsize=256, ttl=3)
_connections: TTLCache[UUID, Connection] = TTLCache(maxsize=256, ttl=2)
_reading = Lock()


def forget_accounts() -> None:
    """Read connections and their secrets anew; other processes do so within seconds."""
    with _reading:
        _accounts.clear()
        _connections.clear()


def account_of(connection: Connection) -> Account:
    """What a connection needs at its platform, its secrets with it. Raises SecretUnreadable."""
    platform = platform_named(connection.channel.platform)
    options = {option.name: str(connection.options.get(option.name, "")) for option in platform.options}
    hidden = [option.name for option in platform.options if option.is_secret]
    for name in (*hidden, "webhook_secret"):
        options[name] = secrets.read(connection.secret_name(name), workspace=connection.workspace) or ""
    bot = {name: connection.options.get(f"bot_{name}", "") for name in ("name", "id", "app")}
    return Account(options, channel=connection.channel.account, receiving=connection.receiving, **bot)


@cached(_accounts, lambda connection: (connection.pk, connection.version), _reading)
def cached_account(connection: Connection) -> Account:
    """The same, of a few seconds ago: reading secrets takes longer than all else of a call."""
    return account_of(connection)


def connection_with(uid: UUID) -> Connection | None:
    """An enabled connection by its id."""
    rows = Connection.objects.filter(uid=uid, is_enabled=True).select_related("channel", "workspace")
    return rows.first()


def cached_connection(uid: UUID) -> Connection | None:
    """The same, as it was a few seconds ago: a platform calls again and again."""
    with _reading:
        connection = _connections.get(uid)
    if connection is None and (connection := connection_with(uid)) is not None:
        with _reading:
            _connections[uid] = connection
    return connection


def receive(connection: Connection, call: Call) -> Received:
    """Store what a call of the platform holds. Raises NotGenuine, NotReadable, SecretUnreadable: nothing is stored."""
    received = platform_named(connection.channel.platform).receive(call, cached_account(connection))
    keep(connection, received.messages, now=call.now)
    return received


def keep(
    connection: Connection, messages: Sequence[Incoming], *, now: datetime, cursor: Mapping[str, Any] | None = None
) -> int:
    """Store messages, each once, with the cursor behind them; how many were new. The process that works is woken."""
    new_count = 0
    with transaction.atomic() if cursor is not None else nullcontext():
        if messages:
            names = ("key", "chat", "title", "is_group", "peer", "name", "language", "message", "sequence")
            rows = []
            for message in map(cleaned, messages):
                due_at = now if message.kind == MessageKind.BUTTON else now + SETTLING
                row = {name: getattr(message, name) for name in names}
                row |= {"uid": str(uuid7()), "kind": str(message.kind), "body": message.as_json()}
                rows.append({**row, "sent_at": message.sent_at.isoformat(), "due_at": due_at.isoformat()})
            place = {"workspace": connection.workspace_id, "connection": connection.pk}
            new_count = int(postgresql.rows(_STORE, {**place, "rows": json.dumps(rows), "now": now})[0][0])
        if cursor is not None:
            Connection.objects.filter(pk=connection.pk).update(cursor=dict(cursor))
    if new_count:
        wake()
    if connection.problem in AT_PLATFORM:
        Connection.objects.filter(pk=connection.pk).clear_problem(AT_PLATFORM)
    return new_count


#: The chats, the people and the messages that are new, in one statement: a platform waits for it.
_STORE = """
    WITH given AS (
        SELECT * FROM jsonb_to_recordset(%(rows)s::jsonb) AS row (uid uuid, key text, kind text, chat text, title text,
            is_group boolean, peer text, name text, language text, message text, body jsonb, sent_at timestamptz,
            sequence bigint, due_at timestamptz)
    ), chats AS (
        INSERT INTO channels_app_chat AS stored (workspace_id, connection_id, key, place, title, is_group, failures)
        SELECT %(workspace)s::bigint, %(connection)s::bigint, chat, chat, max(title), bool_or(is_group), 0
        FROM given GROUP BY chat ORDER BY chat
        ON CONFLICT (connection_id, key) DO UPDATE SET -- some reports do not say that their chat is a group
            is_group = stored.is_group OR EXCLUDED.is_group,
            title = CASE WHEN EXCLUDED.title = '' THEN stored.title ELSE EXCLUDED.title END
        RETURNING id, key
    ), people AS (
        INSERT INTO channels_app_contact AS stored (workspace_id, connection_id, peer, name, language, listed,
            link_code)
        SELECT DISTINCT ON (peer) %(workspace)s::bigint, %(connection)s::bigint, peer, name, language, '[]'::jsonb,
            ''
        FROM given WHERE peer <> '' ORDER BY peer, name = ''
        ON CONFLICT (connection_id, peer) DO UPDATE SET name = EXCLUDED.name, language = EXCLUDED.language
        WHERE EXCLUDED.name <> ''
            AND (stored.name, stored.language) IS DISTINCT FROM (EXCLUDED.name, EXCLUDED.language)
    ), new AS (
        INSERT INTO channels_app_incomingmessage (uid, workspace_id, connection_id, chat_id, key, kind, message, peer,
            body, sent_at, sequence, received_at, due_at, state, attempts, error, events)
        SELECT DISTINCT ON (given.key) uid, %(workspace)s::bigint, %(connection)s::bigint, chats.id, given.key, kind,
            message, peer, body, sent_at, sequence, %(now)s::timestamptz, due_at, 'waiting', 0, '', '{}'
        FROM given JOIN chats ON chats.key = given.chat ORDER BY given.key
        ON CONFLICT (connection_id, key) DO NOTHING
        RETURNING id
    ), noted AS (
        UPDATE channels_app_connection SET received_at = %(now)s::timestamptz
        WHERE id = %(connection)s::bigint AND EXISTS (SELECT FROM new)
            AND (received_at IS NULL OR received_at < %(now)s::timestamptz - interval '1 second')
    )
    SELECT count(*) FROM new
"""


def wake() -> None:
    """Wake the process that works, once the transaction is committed."""
    wake_on_commit(CHANNEL)


def cleaned(message: Incoming) -> Incoming:
    """A message without characters no database stores, and no longer than any is."""
    words = {name: value for name, value in vars(message).items() if isinstance(value, str) and name != "kind"}
    storable = {
        name: value if is_storable(value) else value.encode("utf-8", "replace").decode().replace("\0", "�")
        for name, value in words.items()
    }
    values: dict[str, Any] = {name: value[: _LONGER.get(name, NAME_MAX)] for name, value in storable.items()}
    return replace(message, **values)
