"""The lives of a conversation: begun, written to by one at a time, within its budget, ended, and what of it was erased.

It ends when it was idle for too long, is reset, or moves to another scope (B4, B6). What is closed stays stored; the
next message begins another conversation, with no history and no metadata. Long-term memory stays.
"""

import hashlib
import json
import threading
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import structlog
from django.db import DatabaseError, OperationalError, connection, transaction
from django.db.models import QuerySet
from django_q.tasks import async_task
from psycopg.errors import LockNotAvailable

from memories import postgresql
from memories.choices import GroupSessions
from memories.conf import conf
from memories.consolidation import buffer
from memories.entries import suppression
from memories.exceptions import InvalidAddress, PlatformError, SessionBusy
from memories.language.text import count_tokens
from memories.models import Scope
from memories.models.change import acting
from memories.offline import database
from memories.tenancy.resolver import Resolution
from sessions_app import summaries
from sessions_app.models import FLUSH_INSTRUCTION, EventKind, Session, SessionEvent, in_language
from sessions_app.search import rows

log = structlog.get_logger(__name__)

_OTHER_PEER = "This is the direct chat of another peer: their histories are not mixed. A chat of several is a group."


def get_or_create(
    workspace_id: int, resolution: Resolution, scopes: dict[str, Scope], *, existing: Session | None, now: datetime
) -> Session:
    """The session of an address, with a new conversation if it was idle for too long. Needs the session's lock.

    `existing` is what was read under the lock. Raises InvalidAddress for another peer in a direct chat, and for a chat
    that was a group and now is not, or the other way round.
    """
    # What follows the address and the rules. A group's session has no user scope, unless each member has one (B8)
    address = resolution.address
    is_own = not address.is_group or resolution.rules.group_sessions == GroupSessions.PER_MEMBER
    columns: dict[str, Any] = {
        "peer": _peer_of(resolution),
        "rules": asdict(resolution.rules),
        "user_scope": scopes.get(resolution.user_scope or "") if is_own else None,
        "chat_scope": scopes.get(resolution.chat_scope or ""),
    }
    if existing is None:
        return Session.objects.create(
            workspace_id=workspace_id,
            platform=resolution.session_platform,
            account=resolution.session_account,
            key=resolution.session_key,
            chat_id=address.chat,
            is_group=address.is_group,
            started_at=now,
            last_at=now,
            **columns,
        )
    if problem := _mismatch(existing, resolution):
        raise InvalidAddress(problem)
    close_if_stale(existing, now=now)
    # The rules of today; a conversation whose messages belong to another scope is closed
    columns["peer"] = existing.peer or columns["peer"]
    scope_pks = {name: getattr(existing, f"{name}_id") for name in ("user_scope", "chat_scope")}
    moved_fields = [name for name, pk in scope_pks.items() if pk != (columns[name] and columns[name].pk)]
    if any(scope_pks[name] and columns[name] for name in moved_fields):
        close(existing, MOVED, now=now)
    changed_fields = [*moved_fields, *(name for name in ("peer", "rules") if getattr(existing, name) != columns[name])]
    for name in changed_fields:
        setattr(existing, name, columns[name])
    if changed_fields:
        existing.save(update_fields=changed_fields)
    return existing


def direct_chat(workspace_id: int, platform: str, account: str, *keys: str) -> tuple[str, str]:
    """Chat and peer of the first of these keys that is the session of a direct chat; both empty when none is."""
    channel = {"workspace_id": workspace_id, "platform": platform, "account": account}
    direct = Session.objects.filter(**channel, key__in=keys, is_group=False).exclude(peer="")
    chats = {key: (chat, peer) for key, chat, peer in direct.values_list("key", "chat_id", "peer")}
    return next((chats[key] for key in keys if key in chats), ("", ""))


def _peer_of(resolution: Resolution) -> str:
    """The peer of a direct chat; empty for a session that memory shares between chats."""
    is_one_chat = bool(resolution.session_platform) and not resolution.address.is_group
    return resolution.address.peer if is_one_chat else ""


def matches(session: Session, resolution: Resolution) -> bool:
    """Whether an address may mean this session: the same kind of chat, and in a direct one the same peer."""
    return not _mismatch(session, resolution)


def _mismatch(session: Session, resolution: Resolution) -> str:
    """Why an address cannot mean this session; empty when it can."""
    if session.is_group != resolution.address.is_group:
        kind = "a group" if session.is_group else "a direct chat"
        return f"This chat is known as {kind}: what is said in private never goes into a group."
    peer = _peer_of(resolution)
    return _OTHER_PEER if session.peer and peer and session.peer != peer else ""


def check_speakers(session: Session, messages: Sequence[SessionEvent]) -> None:
    """Raises InvalidAddress for the first message in a direct chat that is not by its peer."""
    if session.is_group or not session.peer:
        return
    for n, message in enumerate(messages):
        is_spoken_by_people = message.kind in (EventKind.USER, EventKind.AMBIENT)
        if is_spoken_by_people and message.sender_id not in ("", session.peer):
            raise InvalidAddress(_OTHER_PEER, field=f"events.{n}.sender")


#: The messages, their search rows, and the counters of their session.
_APPEND = """
    WITH new AS (
        SELECT * FROM unnest(%(position)s::int[], %(kind)s::text[], %(sender_id)s::text[], %(content)s::text[],
            %(data)s::text[], %(tokens)s::int[], %(at)s::timestamptz[], %(keywords)s::text[])
            AS row (position, kind, sender_id, content, data, tokens, at, keywords)
    ), appended AS (
        INSERT INTO sessions_app_sessionevent
            (workspace_id, session_id, conversation, position, kind, sender_id, content, data, tokens, at)
        SELECT %(workspace)s, %(session)s, %(conversation)s, position, kind, sender_id, content, data::jsonb, tokens, at
        FROM new ORDER BY position RETURNING id, position
    ), indexed AS (
        INSERT INTO sessions_app_eventindex
            (event_id, workspace_id, session_id, conversation, kind, at, keywords, failures)
        SELECT id, %(workspace)s, %(session)s, %(conversation)s, kind, at, keywords::sparsevec, 0
        FROM appended JOIN new USING (position) WHERE keywords IS NOT NULL ORDER BY id
    ), counted AS (
        UPDATE sessions_app_session SET tokens = %(sum)s, next_position = %(next)s, last_at = %(last_at)s
        WHERE id = %(session)s
    )
    SELECT id FROM appended ORDER BY position
"""


def append(session: Session, messages: Sequence[SessionEvent], *, now: datetime) -> list[SessionEvent]:
    """Append unsaved messages to the open conversation, in order. Needs the session's lock."""
    if not messages:
        return []
    for position, message in enumerate(messages, start=session.next_position):
        message.workspace_id, message.session = session.workspace_id, session
        message.conversation, message.position = session.conversation, position
        message.tokens = count_tokens(message.content)
    dialogue = [message for message in messages if message.kind != EventKind.AMBIENT]
    session.tokens += sum(message.tokens for message in dialogue)
    session.next_position += len(messages)
    session.last_at = max(session.last_at, now) if dialogue else session.last_at
    # Store them, found by their words at once, with the counters of their session, in one statement
    columns: dict[str, Any] = {
        name: [getattr(message, name) for message in messages]
        for name in ("position", "kind", "sender_id", "content", "tokens", "at")
    }
    columns |= {
        "data": [json.dumps(message.data) for message in messages],
        "keywords": [rows.keywords_of(message.kind, message.content) for message in messages],
        "workspace": session.workspace_id,
        "session": session.pk,
        "conversation": session.conversation,
        "sum": session.tokens,
        "next": session.next_position,
        "last_at": session.last_at,
    }
    with postgresql.cursor() as cursor:
        cursor.execute(_APPEND, columns)
        for message, (pk,) in zip(messages, cursor.fetchall(), strict=True):
            message.pk, message._state.adding = pk, False
    if len(dialogue) < len(messages):
        # Keep the last AMBIENT_KEPT of a chat
        ambient = ambient_events(session)
        oldest = ambient.order_by("-id").values_list("pk", flat=True)[conf.AMBIENT_KEPT - 1 : conf.AMBIENT_KEPT].first()
        if oldest:
            ambient.filter(pk__lt=oldest).delete()
    return list(messages)


def take_back(session: Session, messages: Sequence[SessionEvent], *, last_at: datetime) -> None:
    """Take out the messages that were appended last, as though they had not come. Needs the session's lock."""
    session.tokens -= sum(message.tokens for message in messages)
    session.next_position -= len(messages)
    session.last_at = last_at
    SessionEvent.objects.filter(pk__in=[message.pk for message in messages]).delete()
    session.save(update_fields=["tokens", "next_position", "last_at"])


def ambient_events(session: Session) -> QuerySet[SessionEvent]:
    """The ambient talk of a session's chat; where each member of a group has a session, of all of them (B5)."""
    ambient = SessionEvent.objects.filter(workspace_id=session.workspace_id, kind=EventKind.AMBIENT)
    if not session.is_group:
        return ambient.filter(session=session)
    same = {name: getattr(session, name) for name in ("workspace_id", "platform", "account", "chat_id")}
    return ambient.filter(session__in=Session.objects.filter(is_group=True, **same).values("pk"))


def recent_chat(session: Session) -> list[SessionEvent]:
    """The latest ambient talk of a group, in order; none of a direct chat (B5)."""
    if not session.is_group:
        return []
    return list(ambient_events(session).order_by("-id")[: conf.CHAT_CONTEXT])[::-1]


#: Advisory locks differ in their highest byte.
SESSION_LOCK = 2 << 56
_BITS = (1 << 56) - 1

_counting = threading.Lock()
_waiting = 0


#: Of the scopes of a session, what tells one from another; locked, they are read whole.
_SCOPE = ("id", "workspace", "key", "kind")
_OPEN = f"""
    SELECT o.is_locked, o.transaction, (o.session).id IS NOT NULL, u.id IS NOT NULL, c.id IS NOT NULL,
        {postgresql.columns(Scope, "u", *_SCOPE)}, {postgresql.columns(Scope, "c", *_SCOPE)},
        {postgresql.columns(Session, "(o.session)")}
    FROM memplatform_open_session(%s::bigint, %s::bigint, %s::text, %s::text, %s::text) o
    LEFT JOIN memories_scope u ON u.id = (o.session).user_scope_id
    LEFT JOIN memories_scope c ON c.id = (o.session).chat_scope_id
"""  # noqa: S608 (names of ours)


def acquire_lock(workspace_id: int, platform: str, account: str, key: str) -> Session | None:
    """Lock a session, which need not exist yet, until the transaction ends; the session with its scopes, if it does.

    Waits in the order of arrival, SESSION_WAIT at most; not at all where SESSION_WAITERS threads of this process wait
    already. Of the scopes only what names them is read. Raises SessionBusy.
    """
    place = [workspace_id, platform, account, key]
    # sessions that share a number only wait for each other
    digest = hashlib.blake2b("\0".join(map(str, place)).encode(), digest_size=8).digest()
    number = SESSION_LOCK | int.from_bytes(digest) & _BITS
    is_locked, transaction, *values = postgresql.rows(_OPEN, [number, *place])[0]
    database.transaction_of_call.set(database.Transaction(transaction, platform, account, key))
    if not is_locked:
        _wait_for_lock(number)
        _is_locked, _transaction, *values = postgresql.rows(_OPEN, [number, *place])[0]
    # A session with its scopes, as `_OPEN` reads them
    exists, has_user, has_chat, *columns = values
    if not exists:
        return None
    width = len(_SCOPE)
    user, chat, own = columns[:width], columns[width : 2 * width], columns[2 * width :]
    session = postgresql.instance(Session, own)
    session.user_scope = postgresql.instance(Scope, user, *_SCOPE) if has_user else None
    session.chat_scope = postgresql.instance(Scope, chat, *_SCOPE) if has_chat else None
    return session


def lock_session(session: Session) -> None:
    """Lock a session that exists, and read it again. Raises SessionBusy."""
    acquire_lock(session.workspace_id, session.platform, session.account, session.key)
    session.refresh_from_db()


def _wait_for_lock(number: int) -> None:
    """Wait for an advisory lock, SESSION_WAIT at most, as one of SESSION_WAITERS threads. Raises SessionBusy."""
    global _waiting  # noqa: PLW0603 (threads of this process)
    with _counting:
        if _waiting >= conf.SESSION_WAITERS:
            raise SessionBusy
        _waiting += 1
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT current_setting('lock_timeout')")
            before = cursor.fetchone()[0]
            limit = f"{int(conf.SESSION_WAIT.total_seconds() * 1000)}"
            cursor.execute("SELECT set_config('lock_timeout', %s, true)", [limit])
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [number])
            cursor.execute("SELECT set_config('lock_timeout', %s, true)", [before])
    except OperationalError as error:
        if isinstance(error.__cause__, LockNotAvailable):
            raise SessionBusy from error
        raise
    finally:
        with _counting:
            _waiting -= 1


_BY_PEOPLE = (EventKind.USER, EventKind.AMBIENT)


def marks(session: Session, message: SessionEvent) -> tuple[str, str]:
    """What identifies a message of a session: its words, and its words at its moment."""
    sender = (message.sender_id or session.peer) if message.kind in _BY_PEOPLE else ""
    place = (session.platform, session.account, session.key, sender)
    return suppression.of_message(session.workspace_id, place, message.content, message.at)


def come_again(session: Session, messages: Sequence[SessionEvent]) -> list[bool]:
    """Of the messages of one call, in order, which were erased and come again.

    Its words and its answer's identify a person's; without an answer by telling words, or words and moment. An
    answer is known behind what it answers; in a group, where the bot may tell another the same, only there.
    """
    if not messages or not suppression.is_anybody_erased(session.workspace_id):
        return [False] * len(messages)
    marks_of = [marks(session, message) for message in messages]
    erased = suppression.tombstones_among(session.workspace_id, [mark for pair in marks_of for mark in pair])
    again: list[bool] = []
    for n, (message, (words, moment)) in enumerate(zip(messages, marks_of, strict=True)):
        is_alone = suppression.is_telling(message.content)
        if message.kind not in _BY_PEOPLE:
            may_match = again[-1:] == [True] or (is_alone and not session.is_group)
        elif n + 1 < len(messages) and messages[n + 1].kind not in _BY_PEOPLE:
            may_match = marks_of[n + 1][0] in erased
        else:
            may_match = is_alone
        again.append(moment in erased or (may_match and words in erased))
    return again


#: A compaction that did not come is queued again.
QUEUE_AGAIN_AFTER = timedelta(minutes=10)
TASK = "sessions_app.tasks.compact"


@dataclass(frozen=True)
class BotDirective:
    """What the bot is asked to do next."""

    kind: str
    instruction: str


def directives(session: Session, *, language: str, now: datetime, max_tokens: int | None = None) -> list[BotDirective]:
    """The bot's directives after messages were appended; may queue a compaction. Needs the session's lock."""
    limit = max_tokens or session.max_tokens()
    if session.tokens >= limit * conf.SESSION_COMPACT_SHARE:
        queue_compaction_task(session, limit, now=now)
    if not is_flush_due(session, limit):
        return []
    if session.flush_asked_at is None:
        session.flush_asked_at = now
        session.save(update_fields=["flush_asked_at"])
    return [flush_directive(session, language)]


def is_flush_due(session: Session, max_tokens: int | None = None) -> bool:
    """Whether the share of the budget is reached and there is no flush in this compaction cycle yet."""
    if session.tokens < (max_tokens or session.max_tokens()) * conf.SESSION_FLUSH_SHARE:
        return False
    return not session.flush_of_cycle().exists()


def flush_directive(session: Session, language: str) -> BotDirective:
    """The request to flush a conversation, which it names, in the language of its workspace."""
    instruction = in_language(FLUSH_INSTRUCTION, language)
    return BotDirective("flush_required", instruction.format(id=session.uid, conversation=session.conversation))


def queue_compaction_task(session: Session, max_tokens: int, *, now: datetime, is_asked: bool = False) -> None:
    """Queue a compaction, unless one was queued a moment ago; with `is_asked`, by a bot or an operator, in any case."""
    queued_at = session.compaction_asked_at
    if queued_at is not None and abs(now - queued_at) < QUEUE_AGAIN_AFTER and not is_asked:
        return
    session.compaction_asked_at = now
    session.save(update_fields=["compaction_asked_at"])
    task = partial(async_task, TASK, session.pk, *session.open_cycle, max_tokens, is_asked, group="mem:sessions")
    transaction.on_commit(task)


def queue_next_part(session: Session, max_tokens: int, *, now: datetime, up_to: int = 0) -> None:
    """Queue what is left of a compaction, in the transaction of what was done: a crash loses both or neither."""
    session.compaction_asked_at = now
    session.save(update_fields=["compaction_asked_at"])
    async_task(TASK, session.pk, *session.open_cycle, max_tokens, False, up_to, group="mem:sessions")


#: Why conversations are closed.
STALE, RESET, MOVED, CLOSED = "stale", "reset", "moved", "closed"
#: The actor in the history where no one asked for it.
ACTOR = "platform:sessions"
#: How a conversation begins.
BEGINNING = {
    "metadata": {},
    "tokens": 0,
    "next_position": 1,
    "cycle": 1,
    "flushed_to": 0,
    "compacted_to": 0,
    "flush_asked_at": None,
    "compaction_asked_at": None,
}


def close_if_stale(session: Session, *, now: datetime) -> bool:
    """Close a conversation that was idle for too long, once, and keep its last turns (B4). Needs the session's lock."""
    return session.is_stale(now=now) and close(session, STALE, now=now)


def close(session: Session, why: str, *, now: datetime) -> bool:
    """End the open conversation; False when there is none, or another process was first. Needs the session's lock.

    The session moves on first: the process that moves it is the one that keeps its last turns. If keeping them fails,
    it is closed all the same.
    """
    ended = session.conversation
    with acting(ACTOR) if why == STALE else transaction.atomic():
        claimed = Session.objects.filter(
            pk=session.pk, conversation=ended, last_at=session.last_at, next_position__gt=1
        ).update(conversation=ended + 1, **BEGINNING)
        if not claimed:
            session.refresh_from_db()
            return False
        count = 0
        if why != RESET:
            try:
                with transaction.atomic():
                    newest = list(session.spoken(ended).order_by("-position")[: summaries.TURNS * 20])
                    turns = summaries.turns_of(newest[::-1])[-summaries.TURNS :]
                    events = [event for turn in turns for event in turn.events]
                    results = summaries.store_summary(session, events, summaries.EXPIRED, now=now, actor=ACTOR)
                    count = len(results)
            except (PlatformError, DatabaseError) as error:
                log.warning("session_not_kept", session=str(session.uid), conversation=ended, error=str(error))
    session.refresh_from_db()
    log.info("session_closed", session=str(session.uid), conversation=ended, why=why, kept=count)
    return True


def reset(session: Session, *, now: datetime) -> bool:
    """Close the open conversation and drop what of it waits to be extracted. Needs the session's lock."""
    ended = session.conversation
    is_closed = close(session, RESET, now=now)
    if is_closed:
        buffer.drop_conversation(session.uid, ended)
    return is_closed


def sweep(*, now: datetime) -> dict[str, int]:
    """Close every conversation that was idle for too long; counts of the closed ones and of those in use."""
    closed = busy = 0
    for session in list(_stale(now)):
        try:
            with transaction.atomic():
                lock_session(session)
                closed += close_if_stale(session, now=now)
        except PlatformError:  # in use, so not idle
            busy += 1
    return {"closed": closed, "left": busy}


def count_stale(*, now: datetime) -> dict[str, int]:
    """How many conversations a sweep would close, those in use included."""
    return {"closed": _stale(now).count()}


def _stale(now: datetime) -> QuerySet[Session]:
    if not conf.SESSION_STALE_AFTER:
        return Session.objects.none()
    return Session.objects.filter(last_at__lt=now - conf.SESSION_STALE_AFTER, next_position__gt=1).order_by("last_at")
