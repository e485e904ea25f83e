"""Taking a turn in: the session hears it, memory keeps it, in one transaction (A1, A5, A13)."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any

from django.db import transaction
from django_q.tasks import async_task

from channels_app import addresses, buffering
from memories.consolidation import turn_summaries
from memories.consolidation.capture import Turn, capture_task, capture_turn
from memories.entries import WriteResult
from memories.language.redaction import ToolCall, scrubbed
from memories.models.change import acting
from memories.tenancy.access import Caller
from memories.tenancy.resolver import LOCAL_PEER, Address
from sessions_app.choices import EventKind
from sessions_app.lifecycle import budget, conversations, reset
from sessions_app.models import Session, SessionEvent


@dataclass(frozen=True, kw_only=True)
class Said:
    """A turn as a bot reports it."""

    address: Address
    user: str
    assistant: str
    at: datetime
    slots: dict[str, str] = field(default_factory=dict)
    sender_name: str = ""  # what people call the peer
    tool_calls: tuple[ToolCall, ...] = ()
    outcome: str = ""
    recall_id: str = ""  # the recall that was used
    max_tokens: int | None = None  # of the history, where it is not the channel's


@dataclass(frozen=True)
class Taken:
    """What became of a turn."""

    session: Session
    remembered: list[WriteResult] = field(default_factory=list)
    directives: list[budget.Directive] = field(default_factory=list)
    reply: str | None = None  # to be given to the user in place of an answer


def take_turn(caller: Caller, said: Said, *, now: datetime) -> Taken:
    """Append a turn to its session and remember it; one that says /reset closes the conversation instead.

    Raises InvalidAddress, ScopeNotFound, InvalidDraft, ScopeFrozen, SessionBusy.
    """
    language, actor = caller.language, caller.actor
    with acting(actor):
        session, resolved, scopes = addresses.open_session(caller, said.address, now=now)
        if reset.is_reset_command(said.user):
            reset.reset(session, now=now)
            return Taken(session, reply=reset.reset_reply(language))
        sender = speaker_of(resolved.address)
        events = _append(session, said, sender, now)
        turn = Turn(
            user=said.user,
            assistant=said.assistant,
            at=said.at,
            slots=_named(said),
            origins=tuple(session.origin_of(event) for event in events),
        )
        remembered = [
            *capture_turn(turn, resolved, scopes, sender=sender, now=now, actor=actor),
            *capture_task(turn, said.tool_calls, said.outcome, resolved, scopes, sender=sender, now=now, actor=actor),
        ]
        buffering.hold_turn(turn, session, events, resolved, scopes, sender=sender, now=now)
        _shorten_later(turn, session, events, remembered)
        asked = budget.directives(session, language=language, now=now, max_tokens=said.max_tokens)
    return Taken(session, remembered, asked)


def _named(said: Said) -> dict[str, str]:
    """The slots of a turn with the name of who speaks; a speaker among the slots wins."""
    name = " ".join((said.sender_name or "").split())
    return {"speaker": name, **said.slots} if name else said.slots


def _shorten_later(
    turn: Turn, session: Session, events: Sequence[SessionEvent], remembered: Sequence[WriteResult]
) -> None:
    """Have a long turn shortened once it is stored (A11); the queue carries ids, and no words."""
    if remembered and turn_summaries.is_wanted(turn.user, turn.assistant):
        ids = [event.pk for event in events], [one.entry.pk for one in remembered]
        work = partial(async_task, "channels_app.tasks.shorten_turn", session.workspace_id, *ids, group="mem:shorten")
        transaction.on_commit(work)


def speaker_of(address: Address) -> str:
    """Who speaks: the peer; where a direct chat needs none, at a keyboard or under `main`, its one owner (A5)."""
    return address.peer if address.peer or address.is_group else LOCAL_PEER


def _reported(said: Said) -> dict[str, Any]:
    """What else a bot told of a turn, as far as it did, less what looks secret; kept with the answer (A6)."""
    told = {
        "tool_calls": [call.cleaned() for call in said.tool_calls],
        "outcome": scrubbed(said.outcome),
        "recall_id": said.recall_id,
    }
    return {name: value for name, value in told.items() if value}


def _append(session: Session, said: Said, sender: str, now: datetime) -> list[SessionEvent]:
    messages = [
        conversations.NewMessage(kind=kind, content=content, at=said.at, sender_id=who, data=data)
        for kind, content, who, data in (
            (EventKind.USER, said.user, sender, {}),
            (EventKind.ASSISTANT, said.assistant, "", _reported(said)),
        )
        if content.strip()
    ]
    return conversations.append(session, messages, now=now)
