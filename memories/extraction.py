"""What waits in the buffer becomes what is known of a day (D5). Without a model: the most telling sentences.

Whose memory it becomes. A direct chat: the person's. A group: of the whole the chat's, where the channel keeps a memory
of groups, and of each speaker's own words, and of nobody else's, that speaker's, to be heard in that chat (A3).
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime

import structlog
from django.db import DataError, IntegrityError
from django.db.models import QuerySet

from memories import buffer, days, summaries, text
from memories.buffer import Claimed, Message, Turn
from memories.choices import ScopeKind
from memories.conf import conf
from memories.days import Day, TakenOut
from memories.exceptions import PlatformError
from memories.models import Parcel, Scope, Workspace
from memories.store import statistics

log = structlog.get_logger(__name__)
ACTOR = "job:extract"
#: Who answers, as entries of turns name it.
_ASSISTANT = "Assistant"
#: What may be wrong with a parcel, rather than with the program or the machine.
_REFUSED = (PlatformError, DataError, IntegrityError)
Clock = Callable[[], datetime]


@dataclass(frozen=True)
class Said:
    """One message in the memory of one scope."""

    message: Message
    turn: Turn


def extract_ready(clock: Clock, *, workspace_id: int | None = None) -> dict[str, int]:
    """Work off the parcels that are due until there are none, or for MEMORY_EXTRACT_TIME; what became of how many."""
    counts: Counter[str] = Counter(parcels=0, turns=0, events=0, failed=0, parked=0)
    until = clock() + conf.EXTRACT_TIME
    while clock() < until:
        parcel = buffer.claim_next(now=clock(), workspace_id=workspace_id)
        if parcel is None:
            break
        counts.update(_extract(parcel, clock))
    return dict(counts)


def extract_all(clock: Clock, *, workspace_id: int) -> dict[str, int]:
    """The sweep of the night: whatever a workspace's buffer holds, however little and however fresh."""
    sealed = buffer.seal(waiting_in(workspace_id), now=clock())
    return {"sealed": sealed, **extract_ready(clock, workspace_id=workspace_id)}


def waiting_in(workspace_id: int) -> QuerySet[Parcel]:
    return Parcel.objects.filter(workspace_id=workspace_id)


def _extract(parcel: Claimed, clock: Clock) -> dict[str, int]:
    """One parcel: read it, store what it comes to, and let it go; or say what went wrong."""
    try:
        told = tell(parcel)
        with buffer.completing(parcel):
            written = days.write(told, now=clock(), actor=ACTOR)
    except buffer.ClaimLost:
        log.warning("extraction.claim_lost", parcel=parcel.pk, workspace=parcel.workspace_id)
        return {"lost": 1}
    except _REFUSED as error:
        parked = buffer.fail(parcel, f"{type(error).__name__}: {error}", now=clock())
        log.warning("extraction.failed", parcel=parcel.pk, attempt=parcel.attempt, parked=parked)
        return {"parked" if parked else "failed": 1}
    return {"parcels": 1, "turns": len(parcel.turns), "events": len(written)}


def tell(parcel: Claimed) -> list[Day]:
    """What a parcel comes to without a model: for each scope and local day at most one event."""
    zone = Workspace.objects.get(pk=parcel.workspace_id).zone()
    shares = _shares(parcel.turns)
    taken_out = TakenOut(scope for scope, _said in shares)
    told: list[Day] = []
    for scope, said in shares:
        kept = [one for one in said if not taken_out.holds(scope, one.message.content, [one.message.id])]
        weigh = _weights(scope, kept)
        by_day: dict[date, list[Said]] = defaultdict(list)
        for one in kept:
            by_day[one.message.at.astimezone(zone).date()].append(one)
        told += filter(None, (_day(scope, day, by_day[day], weigh) for day in sorted(by_day)))
    return told


def _shares(turns: Sequence[Turn]) -> list[tuple[Scope, list[Said]]]:
    """What each scope may hold of these turns, in the order it was said."""
    shares: dict[int, tuple[Scope, list[Said]]] = {}
    for turn in turns:
        for scope, messages in _of_turn(turn):
            shares.setdefault(scope.pk, (scope, []))[1].extend(Said(message, turn) for message in messages)
    return list(shares.values())


def _of_turn(turn: Turn) -> Iterator[tuple[Scope, Iterable[Message]]]:
    if turn.chat_scope:
        yield turn.chat_scope, turn.messages
    if turn.user_scope:
        own = (message for message in turn.messages if message.role == buffer.USER)
        yield turn.user_scope, own if turn.is_group else turn.messages


def _weights(scope: Scope, said: Sequence[Said]) -> summaries.Weigh:
    """How much a term tells: the rarer it is among the entries of its scope, the more."""
    own = {term for one in said for term in text.terms(one.message.content)}
    counts = {term: count for (_scope, term), count in statistics.frequencies([scope.pk], own).items()}
    entries = max([scope.entry_count, *counts.values(), 1])

    def weigh(term: int) -> float:
        count = counts.get(term, 0)
        return math.log(1 + (entries - count + 0.5) / (count + 0.5))

    return weigh


def _day(scope: Scope, day: date, said: Sequence[Said], weigh: summaries.Weigh) -> Day | None:
    """The event of one day; None when it held nothing but pleasantries."""
    lines = [
        summaries.Line(
            content=one.message.content,
            origin=one.message.id,
            label=_label(one, scope),
            is_answer=one.message.role != buffer.USER,
        )
        for one in said
    ]
    summary = summaries.summarise(lines, weigh, limit=conf.SUMMARY_CHARS)
    if not summary.content:
        return None
    from_chats = [one.turn.chat for one in said if one.message.id in summary.origins and one.turn.chat]
    return Day(
        scope=scope,
        local_date=day,
        content=summary.content,
        chats=tuple(dict.fromkeys(from_chats)) if scope.kind == ScopeKind.USER else (),
        origins=summary.origins,
    )


def _label(said: Said, scope: Scope) -> str:
    """How the summary calls who said it: in a chat's memory by name, in a person's own not at all."""
    if said.message.role != buffer.USER:
        return _ASSISTANT
    return said.turn.place.get("speaker") or said.message.sender if scope.kind == ScopeKind.CHAT else ""
