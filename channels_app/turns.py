"""Taking a turn in: its session and memory store it in one transaction (A1, A5, A13); and saving on purpose (A3)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from django.db import transaction
from django_q.tasks import async_task

from channels_app import addresses
from channels_app.addresses import check_scope_key, ensure_channel
from memories import entries
from memories.choices import EntryType, Outcome, ScopeKind
from memories.consolidation import buffer, summaries
from memories.consolidation.capture import (
    EarlierTurn,
    Turn,
    capture,
    capturing_scopes,
    is_kept,
    source_slots,
    turn_without_secrets,
)
from memories.entries import ERASED, WriteResult
from memories.entries.draft import Draft
from memories.entries.evidence import check_profile
from memories.exceptions import InvalidAddress
from memories.language.confidential import redact
from memories.language.text import asks_to_keep, is_blank, names_what
from memories.models import Scope
from memories.models.change import acting
from memories.offline import replicas
from memories.recall import traces
from memories.tenancy.access import Caller
from memories.tenancy.resolver import Address, Resolution
from memories.visibility import scope_to_write, trace_for
from sessions_app import conversations
from sessions_app.history import replay
from sessions_app.models import SENDER_NAME, EventKind, Session, SessionEvent, is_reset_command, reset_reply

_ROLES = {EventKind.USER: buffer.USER, EventKind.ASSISTANT: buffer.ASSISTANT}
#: The tier of a fact that is saved, unless it is to belong to the profile.
KNOWLEDGE = 2


@dataclass(frozen=True)
class TurnResult:
    """What became of a turn."""

    session: Session
    resolved: Resolution
    written: list[WriteResult] = field(default_factory=list)
    directives: list[conversations.BotDirective] = field(default_factory=list)
    reply: str | None = None  # to be given to the user in place of an answer
    is_erased: bool = False  # it was erased with a person and came again: nothing of it is kept
    events: list[SessionEvent] = field(default_factory=list)  # its messages in the session


def report_turn(
    caller: Caller, turn: Turn, *, used_ids: Sequence[UUID] | None, now: datetime, is_replay: bool = False
) -> TurnResult:
    """Take a turn, and record as feedback of the recall it names which memories its answer used.

    `used_ids` are checked before anything is stored. A trace may be gone by then, after a crash or after its time: that
    is no reason to lose a turn. A replay comes from the journal. Raises NotServed, and whatever take_turn raises.
    """
    trace = trace_for(caller, UUID(turn.recall_id)) if turn.recall_id else None
    if trace is not None and used_ids:
        traces.served_ids(trace, used_ids)
    result = take_turn(caller, turn, now=now, is_replay=is_replay)
    if trace is not None:
        if used_ids is not None:
            traces.record_feedback(trace, list(dict.fromkeys(used_ids)))
        traces.record_answer(trace, question=turn.user, answer=turn.assistant)
    replicas.note_write_after_commit(caller.workspace_id)
    return result


def take_turn(caller: Caller, turn: Turn, *, now: datetime, is_replay: bool = False) -> TurnResult:
    """Append a turn to its session and remember it; the command /reset closes the conversation instead.

    The secrets it tells are taken out of both, and kept apart by the rule of the channel. A turn that was erased with a
    person, and comes again in the same words, is kept nowhere.
    Raises InvalidAddress, ScopeNotFound, InvalidDraft, ScopeFrozen, SessionBusy; LeaveToFiles where the channel is
    answered from files or earlier turns wait in the journal, unless this is their replay.
    """
    language, actor = caller.language, caller.actor
    with acting(actor):
        check = None if is_replay else partial(addresses.check_database_takes, caller)
        session, resolution, scopes = addresses.open_session(caller, turn.address, now=now, check=check)
        if is_reset_command(turn.user):
            conversations.reset(session, now=now)
            return TurnResult(session, resolution, reply=reset_reply(language))
        turn, secrets = turn_without_secrets(turn, resolution.rules.secrets)
        # Who asks to keep earlier words («please remember that») has the turn they speak of beside them
        speaker = resolution.address.speaker
        if asks_to_keep(turn.user) and not names_what(turn.user) and (earlier := replay.last_turn(session, speaker)):
            user, assistant = ("\n".join(event.content for event in earlier if event.kind == kind) for kind in _ROLES)
            about = EarlierTurn(user=user, assistant=assistant, origins=tuple(map(session.origin_of, earlier)))
            turn = replace(turn, about=about)
        last_at = session.last_at
        events = _append(session, turn, speaker, now)
        origins = [session.origin_of(event) for event in events]
        results = capture(turn, resolution, scopes, origins=origins, now=now, actor=actor, secrets=secrets)
        if results and all(result.reason == ERASED for result in results):
            conversations.take_back(session, events, last_at=last_at)
            return TurnResult(session, resolution, results, is_erased=True)
        _buffer(turn, session, dict(zip(origins, events, strict=True)), resolution, scopes, now)
        if results and not is_kept(turn) and summaries.is_wanted(turn.user, turn.assistant):
            ids = [event.pk for event in events], [result.entry.pk for result in results]
            work = partial(
                async_task, "channels_app.tasks.shorten_turn", session.workspace_id, *ids, group="mem:shorten"
            )
            transaction.on_commit(work)
        directives = conversations.directives(session, language=language, now=now, max_tokens=turn.max_tokens)
    return TurnResult(session, resolution, results, directives, events=events)


def _append(session: Session, turn: Turn, sender: str, now: datetime) -> list[SessionEvent]:
    """Both sides of a turn, the user's with the name they came with; what else the bot reported goes with the answer.

    That is without what looks secret (A6).
    """
    report = {
        "tool_calls": [call.cleaned() for call in turn.tool_calls],
        "outcome": redact(turn.outcome),
        "recall_id": turn.recall_id,
    }
    data = {name: value for name, value in report.items() if value}
    name = turn.named_slots().get("speaker", "")
    sender_data = {SENDER_NAME: name} if sender and name else {}
    user = SessionEvent(kind=EventKind.USER, content=turn.user, at=turn.at, sender_id=sender, data=sender_data)
    assistant = SessionEvent(kind=EventKind.ASSISTANT, content=turn.assistant, at=turn.at, data=data)
    return conversations.append(session, [side for side in (user, assistant) if not is_blank(side.content)], now=now)


def _buffer(
    turn: Turn,
    session: Session,
    events: dict[str, SessionEvent],
    resolution: Resolution,
    scopes: dict[str, Scope],
    now: datetime,
) -> None:
    """Put a turn, in full, into the extraction buffer for the scopes that capture it (D5); `events` by origin."""
    own, chat = capturing_scopes(resolution, scopes)
    messages = [
        buffer.Message(
            id=origin,
            role=_ROLES[EventKind(event.kind)],
            sender=event.sender_id,
            content=event.content,
            at=event.at,
            used_tools=bool(event.data.get("tool_calls")),
        )
        for origin, event in events.items()
    ]
    buffer.add(
        messages,
        session_uid=session.uid,
        conversation=session.conversation,
        user_scope=own,
        chat_scope=chat,
        chat=resolution.chat,
        is_group=resolution.address.is_group,
        slots={**turn.named_slots(), **source_slots(resolution)},
        now=now,
    )


def save(
    caller: Caller,
    to: Address | str,
    *,
    kind: str | None = None,
    slots: Mapping[str, str],
    now: datetime,
    **attributes: Any,
) -> WriteResult:
    """Save a memory to the scope with a key, or to the scope of this kind that an address means.

    From an address it has its place in the slots, as a turn from there would, and a person's memory the chat.
    `attributes` are further fields of Draft. Raises InvalidAddress, ScopeNotFound, InvalidDraft, ScopeFrozen.
    """
    if attributes["type"] == EntryType.FACT:
        attributes["tier"] = attributes.get("tier") or KNOWLEDGE
    if isinstance(to, str):
        check_scope_key(caller.workspace_id, to)
        draft = Draft(scope=scope_to_write(caller, to), slots=slots, **attributes)
    else:
        resolution = addresses.resolve_address(caller, to)
        # The scope it is saved to: the speaker's, or the group's
        kind = kind or (ScopeKind.USER if resolution.user_scope else ScopeKind.CHAT)
        key = resolution.user_scope if kind == ScopeKind.USER else resolution.chat_scope
        if key is None and kind == ScopeKind.USER:
            raise InvalidAddress("Nobody is named here whose memory it could become: the address needs a peer.")
        if key is None:
            raise InvalidAddress("A direct chat has no memory of its own: it is its peer's.", field="scope_kind")
        scope = addresses.scope_to_write(caller, resolution, key)
        ensure_channel(caller.workspace_id, resolution.address)
        place = {name: value for name, value in source_slots(resolution).items() if value}
        chats = (resolution.chat,) if scope.kind == ScopeKind.USER else ()
        draft = Draft(scope=scope, slots={**slots, **place}, chats=chats, **attributes)
    if draft.tier == 1:
        check_profile(draft)
    result = entries.remember(draft, now=now, actor=caller.actor)
    if result.outcome != Outcome.CREATED:
        result.entry.refresh_from_db(fields=["version"])  # it rises when an entry is repeated
    return result
