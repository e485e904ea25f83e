"""A finished turn of a conversation becomes one memory a scope (A1, A3); a task with tools is told as well (A6)."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from memories import entries
from memories.choices import EntryType, ScopeKind, Source
from memories.conf import conf
from memories.entries.draft import Draft
from memories.entries.locks import lock_scopes
from memories.language.redaction import ARROW, ToolCall, scrubbed, sequence_of
from memories.language.text import smart_truncate
from memories.models import Entry, Scope
from memories.tenancy.resolver import Resolved

#: The slot by which a way of working is known again.
SEQUENCE = "tool_sequence"
#: Characters of what was done, whose beginning and end are kept.
DONE_CHARS = 1_000


@dataclass(frozen=True, kw_only=True)
class Turn:
    """What was said and answered."""

    user: str
    assistant: str
    at: datetime
    slots: dict[str, str] = field(default_factory=dict)
    origins: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        return not (self.user.strip() or self.assistant.strip())


def turn_text(user: str, assistant: str) -> str:
    """Both sides of a turn, each cut to its limit (A1)."""
    asked = smart_truncate(user, conf.TURN_USER_CHARS)
    answered = smart_truncate(assistant, conf.TURN_ASSISTANT_CHARS)
    return f"User: {asked}\nAssistant: {answered}"


def capture_turn(
    turn: Turn, resolved: Resolved, scopes: dict[str, Scope], *, sender: str, now: datetime, actor: str
) -> list[entries.WriteResult]:
    """Store a turn in the speaker's scope and, where the channel says so, once in the chat's.

    `scopes` holds the scopes of `resolved` by key. Nothing is stored of an empty turn, and nothing in a user's scope
    when nobody knows who spoke.
    """
    if turn.is_empty:
        return []
    drafts = []
    if resolved.user_scope and sender:
        drafts.append(_draft(turn, resolved, scopes[resolved.user_scope], sender))
    if resolved.chat_scope and resolved.rules.capture_group_memory:
        drafts.append(_draft(turn, resolved, scopes[resolved.chat_scope], sender))
    return entries.remember_many(drafts, now=now, actor=actor)


def _draft(turn: Turn, resolved: Resolved, scope: Scope, sender: str) -> Draft:
    return Draft(
        scope=scope,
        type=EntryType.CHAT_TURN,
        content=turn_text(turn.user, turn.assistant),
        source=Source.CONVERSATION_CAPTURE,
        at=turn.at,
        slots={**turn.slots, **source_slots(resolved, sender)},
        chats=(resolved.chat,) if scope.kind == ScopeKind.USER else (),
        origins=turn.origins,
    )


def capture_task(
    turn: Turn,
    calls: Sequence[ToolCall],
    outcome: str,
    resolved: Resolved,
    scopes: dict[str, Scope],
    *,
    sender: str,
    now: datetime,
    actor: str,
) -> list[entries.WriteResult]:
    """Store what was asked, done, and how it ended, and of two or more tools the order they were used in (A6).

    The first goes where the turn goes. The order goes to the speaker alone, and there once: used again, it is counted.
    """
    if not calls:
        return []
    drafts = []
    if resolved.user_scope and sender:
        own = scopes[resolved.user_scope]
        drafts.append(_task(turn, calls, outcome, resolved, own, sender))
        if len(calls) > 1:
            drafts.append(_workflow(turn, calls, resolved, own, sender))
    if resolved.chat_scope and resolved.rules.capture_group_memory:
        drafts.append(_task(turn, calls, outcome, resolved, scopes[resolved.chat_scope], sender))
    return entries.remember_many(drafts, now=now, actor=actor)


def _task(turn: Turn, calls: Sequence[ToolCall], outcome: str, resolved: Resolved, scope: Scope, sender: str) -> Draft:
    ended = smart_truncate(scrubbed(outcome) if outcome.strip() else turn.assistant, conf.TURN_ASSISTANT_CHARS)
    done = smart_truncate(ARROW.join(call.told() for call in calls), DONE_CHARS)
    told = {"Asked": smart_truncate(turn.user, conf.TURN_USER_CHARS), "Done": done, "Outcome": ended}
    content = "\n".join(f"{name}: {said}" for name, said in told.items() if said)
    return _told(turn, resolved, scope, sender, EntryType.AUTO_CAPTURE, content, turn.slots)


def _workflow(turn: Turn, calls: Sequence[ToolCall], resolved: Resolved, scope: Scope, sender: str) -> Draft:
    """The order of tools; in the words it was stored with, where it is known, so that it is found to be the same."""
    sequence = sequence_of(calls)
    lock_scopes([scope])  # two tasks at once would both not find it
    known = Entry.objects.in_scope(scope).live().filter(type=EntryType.WORKFLOW_TRACE, sender_id=sender)
    same = known.filter(chat_id=resolved.address.chat, slots__name=SEQUENCE, slots__value=sequence).first()
    tools = smart_truncate(ARROW.join(call.name for call in calls), DONE_CHARS)
    content = f"Task: {smart_truncate(turn.user, conf.TURN_USER_CHARS)}\nTools: {tools}"
    free = [item for item in turn.slots.items() if item[0] != SEQUENCE][: conf.SLOT_LIMIT - 1]
    slots = {SEQUENCE: sequence} if same else {**dict(free), SEQUENCE: sequence}
    return _told(turn, resolved, scope, sender, EntryType.WORKFLOW_TRACE, same.content if same else content, slots)


def _told(
    turn: Turn, resolved: Resolved, scope: Scope, sender: str, kind: EntryType, content: str, slots: dict[str, str]
) -> Draft:
    return Draft(
        scope=scope,
        type=kind,
        content=content,
        source=Source.MEMORY_CAPTURE,
        at=turn.at,
        slots={**slots, **source_slots(resolved, sender)},
        chats=(resolved.chat,) if scope.kind == ScopeKind.USER else (),
        origins=turn.origins,
    )


def source_slots(resolved: Resolved, sender: str) -> dict[str, str]:
    """The slots that say where and by whom something was said."""
    address = resolved.address
    return {
        "channel": address.platform,
        "chat_id": address.chat,
        "session_id": resolved.session_key,
        "sender_id": sender,
        "thread_id": address.thread,
    }
