"""What becomes of old messages: how long the log keeps them, and the secrets that are left out of what is shown."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol, TypeVar

from django.db import connection, transaction
from django.db.models import BooleanField, Q
from django.db.models.expressions import RawSQL

from memories.choices import EntryType, ScopeKind, SecretsRule
from memories.conf import conf
from memories.entries import evidence
from memories.language.confidential import find_secrets, secret_spans
from memories.models import Scope
from memories.models.entry import LIVE_SQL
from memories.models.policy import Policies
from memories.recall.people import name_in
from sessions_app.models import HIDDEN_SPANS, LEFT_OUT, EventKind, Session, SessionEvent, conversation_path, event_ids

#: Turns whose term is not that of their messages: pinned, restored, repeated, or with a term of their own.
_LIVES = f"""({LIVE_SQL} AND CASE WHEN e.expires_at IS NOT NULL THEN e.expires_at > %(now)s
    WHEN e.pinned THEN true ELSE e.stated_at > %(since)s END)"""
_APART = f"""
SELECT e.origins, {_LIVES} FROM memories_entry e
WHERE e.workspace_id = %(workspace)s AND e.scope_id = ANY(%(scopes)s::bigint[]) AND e.type = %(turn)s
    AND cardinality(e.origins) > 0
    AND (({_LIVES} AND e.created_at <= %(since)s)
        OR (e.stated_at > %(since)s AND (e.expired_at IS NOT NULL OR e.expires_at <= %(now)s)))
"""  # noqa: S608 (constants)


@dataclass(frozen=True)
class Retention:
    """Which messages of some scopes of one kind are handed out: all after a time, with exceptions by id."""

    since: datetime | None  # None: no limit
    longer: frozenset[int] = frozenset()
    shorter: frozenset[int] = frozenset()

    def includes(self, event: int, at: datetime) -> bool:
        """Whether a message is still handed out."""
        if event in self.longer:
            return True
        return event not in self.shorter and (self.since is None or at > self.since)


def retention_of(
    workspace_id: int, scopes: Sequence[int], kind: ScopeKind, policies: Policies, now: datetime
) -> Retention:
    """The retention of messages in these scopes, all of one kind."""
    ttl = policies.ttl(EntryType.CHAT_TURN, kind)
    since = None if ttl is None else now - ttl
    if not scopes:
        return Retention(since)
    parameters: dict[str, Any] = {
        "workspace": workspace_id,
        "scopes": list(scopes),
        "turn": EntryType.CHAT_TURN.value,
        "since": since or datetime(1, 1, 2, tzinfo=UTC),
        "now": now,
    }
    with connection.cursor() as cursor:
        cursor.execute(_APART, parameters)
        rows = cursor.fetchall()
    longer = {pk for origins, lives in rows if lives for pk in event_ids(origins)}
    shorter = {pk for origins, lives in rows if not lives for pk in event_ids(origins)}
    return Retention(since, frozenset(longer), frozenset(shorter - longer))


CHUNK = 5_000  # messages removed in one transaction
#: Never a message of the open conversation that no summary covers, nor one that waits to be extracted.
_OLD = """
    FROM sessions_app_sessionevent e JOIN sessions_app_session s ON s.id = e.session_id
    WHERE e.at < %(before)s AND NOT (e.conversation = s.conversation AND e.position > s.compacted_to)
    AND NOT EXISTS (
        SELECT 1 FROM memories_extractionbatch b WHERE b.session_uid = s.uid AND b.conversation = e.conversation
    )
"""
_REMOVE = f"""
    WITH removed AS (
        DELETE FROM sessions_app_sessionevent WHERE id IN (
            SELECT e.id {_OLD} ORDER BY e.at LIMIT %(chunk)s FOR UPDATE OF e SKIP LOCKED
        ) RETURNING workspace_id, session_id, conversation, id
    )
    SELECT r.workspace_id, s.uid, r.conversation, r.id FROM removed r JOIN sessions_app_session s ON s.id = r.session_id
"""  # noqa: S608 (constants)


def clean_events(*, now: datetime) -> dict[str, int]:
    """Remove messages older than SESSION_EVENT_TTL, in short transactions; their count.

    What facts quote of them is forgotten with them.
    """
    total, removed_count = 0, CHUNK
    while removed_count == CHUNK:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(_REMOVE, {"before": now - conf.SESSION_EVENT_TTL, "chunk": CHUNK})
            rows = cursor.fetchall()
            # Forget what facts quote of messages, each named by its workspace, session, conversation and id
            origins: dict[int, list[str]] = {}
            for workspace, session, conversation, event in rows:
                origins.setdefault(workspace, []).append(f"{conversation_path(session, conversation)}/event-{event}")
            for workspace, paths in origins.items():
                evidence.forget(workspace, paths)
        removed_count = len(rows)
        total += removed_count
    return {"events": total}


def count_old(*, now: datetime) -> dict[str, int]:
    """How many messages a run would remove."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT count(*) {_OLD}", {"before": now - conf.SESSION_EVENT_TTL})  # noqa: S608 (constants)
        return {"events": int(cursor.fetchone()[0])}


def mark_messages(scope: Scope) -> None:
    """Note the secrets in the conversations of a scope; where a channel stores them as they are written, none."""
    sessions = Session.objects.filter(Q(user_scope=scope) | Q(chat_scope=scope), workspace_id=scope.workspace_id)
    for session in sessions.order_by("pk"):
        if session.channel_rules().secrets != SecretsRule.OFF:
            for conversation in range(1, session.conversation + 1):
                # Of one conversation: a bot often repeats its user's words
                messages = list(session.messages(conversation).only("pk", "content", "data"))
                values = {secret.value for message in messages for secret in find_secrets(message.content)}
                changed_messages = []
                for message in messages if values else ():
                    spans = [list(span) for span in secret_spans(message.content, values)]
                    if spans and message.data.get(HIDDEN_SPANS) != spans:
                        message.data = {**message.data, HIDDEN_SPANS: spans}
                        changed_messages.append(message)
                SessionEvent.objects.bulk_update(changed_messages, ["data"], batch_size=500)


#: Suppressions are indexed by conversation; a memory of several conversations stands under this.
_SEVERAL = "*"
_SUPPRESSED = "SELECT origins FROM memories_suppression WHERE workspace_id = %s AND conversation = ANY(%s)"
#: Run only where there are any: planning it takes longer than running it. A message that is no longer stored was
#: summarised before, so it stands before all that are (position 0).
_WITH_ANSWERS = """
SELECT named.id, coalesce(e.position, 0)
FROM unnest(%(ids)s::bigint[]) AS named (id)
LEFT JOIN sessions_app_sessionevent e ON e.id = named.id AND e.workspace_id = %(workspace)s
UNION
SELECT answer.id, answer.position FROM sessions_app_sessionevent e CROSS JOIN LATERAL (
    SELECT min(position) AS position FROM sessions_app_sessionevent
    WHERE session_id = e.session_id AND conversation = e.conversation AND position > e.position AND kind = %(user)s
) following
JOIN sessions_app_sessionevent answer
    ON answer.session_id = e.session_id AND answer.conversation = e.conversation AND answer.position > e.position
    AND answer.position < coalesce(following.position, %(end)s) AND answer.kind = ANY(%(answers)s)
WHERE e.id = ANY(%(ids)s::bigint[]) AND e.workspace_id = %(workspace)s AND e.kind = %(user)s
"""
_NO_END = 2**31 - 1


class Identified(Protocol):
    """A message by its id."""

    @property
    def pk(self) -> int: ...


M = TypeVar("M", bound=Identified)


def redacted_events(session: Session, conversation: int | None = None) -> dict[int, int]:
    """The positions of the redacted messages of a conversation, by default the open one, by id."""
    number = session.conversation if conversation is None else conversation
    return redacted_in(session.workspace_id, {conversation_path(session.uid, number)})


def redacted_in(workspace_id: int, conversations: Collection[str]) -> dict[int, int]:
    """The same of several conversations of a workspace, by path."""
    with connection.cursor() as cursor:
        cursor.execute(_SUPPRESSED, [workspace_id, [*conversations, _SEVERAL]])
        ids = [pk for (origins,) in cursor.fetchall() for pk in event_ids(origins, conversations)]
        if not ids:
            return {}
        parameters: dict[str, Any] = {
            "ids": ids,
            "workspace": workspace_id,
            "user": EventKind.USER.value,
            "answers": [EventKind.ASSISTANT.value, EventKind.TOOL.value],
            "end": _NO_END,
        }
        cursor.execute(_WITH_ANSWERS, parameters)
        return dict(cursor.fetchall())


def redact(events: Iterable[M], redacted: Collection[int]) -> list[M]:
    """Messages without the redacted ones."""
    return [event for event in events if event.pk not in redacted]


def reveals(redacted: Mapping[int, int], up_to: int, shown_pks: Collection[int] = ()) -> bool:
    """Whether a text about all up to a position may tell a redacted message; `shown_pks`: redacted when it was made."""
    return any(position <= up_to and pk not in shown_pks for pk, position in redacted.items())


def latest_summary(session: Session, redacted: Mapping[int, int]) -> tuple[SessionEvent | None, int]:
    """The newest summary of the open conversation that reveals nothing redacted, and the position it covers.

    (None, 0) when all reveal something: then the messages are handed out themselves, until there is a new one.
    """
    if not session.compacted_to:
        return None, 0
    newest_first = session.messages().filter(kind=EventKind.SUMMARY).order_by("-position")
    for summary in newest_first if redacted else newest_first[:1]:
        up_to = int(summary.data.get("covers_to", summary.position))
        if not reveals(redacted, up_to, summary.data.get(LEFT_OUT, ())):
            return summary, up_to
    return None, 0


#: Of an entry, whether a message of a user that it rests on is still there.
_HAS_MESSAGE = """EXISTS (
    SELECT 1 FROM unnest("memories_entry"."origins") named (origin)
    JOIN sessions_app_sessionevent v ON v.id = substring(named.origin FROM '/event-([0-9]{1,18})$')::bigint
    WHERE v.workspace_id = "memories_entry"."workspace_id" AND v.kind = %s
)"""


class Messages:
    """What facts rest on, by path: the log of messages that their words are looked for in (`MessageLog`)."""

    def has_message(self) -> RawSQL:
        return RawSQL(_HAS_MESSAGE, (EventKind.USER.value,), BooleanField())  # noqa: S611 (constants)

    def quotable(self, workspace_id: int, paths: Collection[str]) -> dict[str, SessionEvent]:
        events = SessionEvent.objects.filter(workspace_id=workspace_id, pk__in=event_ids(paths), kind=EventKind.USER)
        rows = list(events.select_related("session").select_for_update(of=("self",), no_key=True))
        redacted = redacted_in(workspace_id, {path.rpartition("/")[0] for path in paths})
        return {event.session.origin_of(event): event for event in redact(rows, redacted)}

    def contents(self, workspace_id: int, paths: Collection[str]) -> dict[str, str]:
        events = SessionEvent.objects.filter(pk__in=event_ids(paths), workspace_id=workspace_id)
        return {event.session.origin_of(event): event.content for event in events.select_related("session")}

    def name_of(self, scope: Scope, sender: str) -> str:
        return name_in(scope, sender)


MESSAGES = Messages()
