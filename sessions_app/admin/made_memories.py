"""The memories that rest on the messages of a conversation, and what goes when people take a message out."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

from memories.batches.quarantine import Suspect
from memories.choices import ScopeKind
from memories.models import DailyEvent, Entry, Scope, Suppression
from memories.models.state import State, mark_of
from memories.tenancy.keys import key_of_speaker
from sessions_app.choices import EventKind
from sessions_app.models import Session, SessionEvent, event_ids

#: Memories shown beneath one message.
SHOWN = 12


@dataclass(frozen=True)
class MadeMemory:
    """A memory that rests on a message."""

    entry: Entry
    others: int  # messages it rests on besides this one and the answer to it

    @property
    def state_label(self) -> str:
        """Why it is out of use; empty while it is in use."""
        mark = mark_of(self.entry)
        return str(State(mark).label) if mark else ""


@dataclass(frozen=True)
class TakenOut:
    """What goes when a message is taken out."""

    turn: Sequence[SessionEvent]  # the message, and the answers to it
    entries: list[Entry] = field(default_factory=list)  # expired, and kept from being written again
    along: list[Entry] = field(default_factory=list)  # in the same scopes, resting on the same messages
    days: list[DailyEvent] = field(default_factory=list)  # told no more
    told_still: list[DailyEvent] = field(default_factory=list)  # of scopes where no memory in use rests on it
    messages: list[SessionEvent] = field(default_factory=list)  # others that are left out with it


def memories_of(session: Session, events: Sequence[SessionEvent]) -> dict[int, list[MadeMemory]]:
    """By the position of a message, the memories that rest on it; those of a whole turn stand at its question."""
    origins = {session.origin_of(event): event for event in events}
    found = _resting_on(session, events, origins) if origins else []
    by_position: defaultdict[int, list[MadeMemory]] = defaultdict(list)
    for entry in found:
        named = sorted((origins[path] for path in entry.origins if path in origins), key=lambda event: event.position)
        asked = [event for event in named if event.kind not in (EventKind.ASSISTANT, EventKind.TOOL)]
        of_turn = len(named) if len(asked) < 2 else 2  # the message, and the answer to it
        others = max(len(entry.origins) - of_turn, 0)
        for event in asked or named[:1]:
            by_position[event.position].append(MadeMemory(entry, others))
    return {position: rows[:SHOWN] for position, rows in by_position.items()}


def taken_out_with(session: Session, event: SessionEvent) -> TakenOut:
    """What goes when people take a message out.

    In each scope the memories of this turn alone are taken out, whether or not they have ended by themselves; whatever
    else rests on it there is served no more. Where there are none, those that rest on it among others are taken out:
    then their other messages are left out as well.
    """
    turn = _turn(session, event)
    origins = {session.origin_of(one) for one in turn}
    resting = _resting_on(session, turn, origins)
    taken_out = set(Suppression.objects.filter(entry__in=resting).values_list("entry_id", flat=True))
    by_scope: defaultdict[int, list[Entry]] = defaultdict(list)
    for entry in resting:
        if entry.pk not in taken_out and not entry.scope.frozen:
            by_scope[entry.scope_id].append(entry)
    chosen = {entry.pk: entry for group in by_scope.values() for entry in _narrowest(group, origins)}
    left_out = {(entry.scope_id, path) for entry in chosen.values() for path in entry.origins}
    days = _days(session, turn, {path for _scope, path in left_out} | origins)
    goes = [day for day in days if any((day.scope_id, path) in left_out for path in day.origins)]
    return TakenOut(
        turn=turn,
        entries=list(chosen.values()),
        along=[entry for entry in resting if entry.is_live() and entry.pk not in chosen],
        days=goes,
        told_still=[day for day in days if day not in goes and origins.intersection(day.origins)],
        messages=_messages(session, {path for _scope, path in left_out} - origins),
    )


def suspect_message(session: Session, event: SessionEvent, about: str) -> Suspect:
    """A message and what the bot answered to it, as what is in question."""
    turn = _turn(session, event)
    return Suspect(
        workspace_id=session.workspace_id,
        about=about,
        origins=frozenset(session.origin_of(one) for one in turn),
        scopes=frozenset(_scopes(session, turn)),
    )


def _narrowest(group: Sequence[Entry], origins: Collection[str]) -> list[Entry]:
    """Of the memories of a scope those of this turn alone; where none is, all that are in use."""
    own = [entry for entry in group if set(entry.origins) <= set(origins)]
    return own or [entry for entry in group if entry.is_live()]


def _turn(session: Session, event: SessionEvent) -> list[SessionEvent]:
    """A message, and what the bot answered to it."""
    if event.kind != EventKind.USER:
        return [event]
    later = session.messages(event.conversation).filter(position__gt=event.position)
    following = later.filter(kind=EventKind.USER).values_list("position", flat=True).first()
    answers = later.filter(kind__in=(EventKind.ASSISTANT, EventKind.TOOL))
    return [event, *(answers.filter(position__lt=following) if following else answers)]


def _scopes(session: Session, events: Iterable[SessionEvent]) -> list[int]:
    """The scopes in which memories of these messages may lie: of the session, and of who speaks in a group."""
    own = [pk for pk in (session.user_scope_id, session.chat_scope_id) if pk is not None]
    keys = {key_of_speaker(session.platform, event.sender_id) for event in events if event.sender_id}
    speakers = Scope.objects.in_workspace(session.workspace_id).filter(key__in=keys, kind=ScopeKind.USER)
    return [*own, *speakers.values_list("pk", flat=True)]


def _resting_on(session: Session, events: Sequence[SessionEvent], origins: Collection[str]) -> list[Entry]:
    rows = Entry.objects.filter(workspace_id=session.workspace_id, scope__in=_scopes(session, events))
    found = rows.filter(origins__overlap=sorted(origins)).select_related("scope").defer("terms")
    return list(found.order_by("created_at", "pk"))


def _days(session: Session, events: Sequence[SessionEvent], origins: Collection[str]) -> list[DailyEvent]:
    """The days that are told and rest on these messages."""
    told = DailyEvent.objects.in_use().filter(workspace_id=session.workspace_id, scope__in=_scopes(session, events))
    return list(told.filter(origins__overlap=sorted(origins)).select_related("scope").order_by("local_date", "pk"))


def _messages(session: Session, origins: Collection[str]) -> list[SessionEvent]:
    rows = SessionEvent.objects.filter(workspace_id=session.workspace_id, pk__in=list(event_ids(origins)))
    return list(rows.order_by("at", "pk"))
