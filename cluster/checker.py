"""Judges a history by what is stored at the end. Pure: it reads no clock, no file and no network.

Each client writes to people and entries of its own, one call after the other, so that what a later call has to show
follows from the calls before it. A call without an answer may have been done, may not, and may be done at any time
after: all of these are allowed. So is an answer that says of itself that it was given without the database.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from math import inf

from cluster.history import (
    MEMORY,
    MESSAGE,
    READS,
    REMOVING,
    RETURNING,
    WORDING,
    Call,
    Outcome,
    Shown,
    Stored,
    What,
)

#: What an answer says of itself that may lack what was just written; an acknowledged write, that it is stored later.
WITHOUT_DATABASE = {"database", "files", "stale"}


class Kind(StrEnum):
    LOST = "acknowledged and lost"
    TWICE = "applied twice"
    STALE = "own write not read"
    CROSSED = "cross-workspace"
    CAME_BACK = "undone and come back"
    UNASKED = "never written by anyone"  # or only by calls that were refused


@dataclass(frozen=True)
class Finding:
    kind: Kind
    calls: tuple[str, ...]  # ids
    says: str


@dataclass(frozen=True)
class Write:
    """All attempts of one write, by their key."""

    what: What
    client: str
    workspace: str
    peer: str
    target: str
    mark: str
    calls: tuple[str, ...]
    outcome: Outcome
    start: float
    end: float  # of the answer that acknowledged it; infinite without one
    is_deferred: bool  # it was acknowledged without the database

    @classmethod
    def of(cls, attempts: list[Call]) -> "Write":
        first = attempts[0]
        good = min(
            (call for call in attempts if call.outcome is Outcome.ACKNOWLEDGED), key=lambda c: c.end, default=None
        )
        is_open = any(call.outcome is Outcome.UNKNOWN for call in attempts)
        return cls(
            what=first.what,
            client=first.client,
            workspace=first.workspace,
            peer=first.peer,
            target=first.target,
            mark=first.mark,
            calls=tuple(call.id for call in attempts),
            outcome=Outcome.ACKNOWLEDGED if good else Outcome.UNKNOWN if is_open else Outcome.REFUSED,
            start=min(call.start for call in attempts),
            end=good.end if good else inf,
            is_deferred=good is not None and not WITHOUT_DATABASE.isdisjoint(good.degraded),
        )


@dataclass(frozen=True)
class Allowed:
    """What may be seen of an entry in a span of time."""

    must_exist: bool
    marks: frozenset[str]
    live: frozenset[bool]


@dataclass
class Life:
    """The writes of one entry, in order."""

    writes: list[Write]

    def allowed(self, since: float, until: float) -> Allowed:
        """Certain is what was acknowledged before; open, what had begun by then and has no answer yet, or never had."""
        exists, marks, live = False, set[str](), {False}
        waiting: list[Write] = []
        for write in self.writes:
            if write.outcome is Outcome.REFUSED or write.start >= until:
                continue
            if write.outcome is Outcome.UNKNOWN or write.end > since or (write.is_deferred and until < inf):
                waiting.append(write)
                continue
            if write.what in WORDING:
                exists, marks = True, {write.mark}
            if write.what not in (What.EDIT, What.REVERT):
                live = {write.what not in REMOVING}
        for write in waiting:
            if write.what in WORDING:
                marks.add(write.mark)
            if write.what not in (What.EDIT, What.REVERT):
                live.add(write.what not in REMOVING)
        return Allowed(exists, frozenset(marks), frozenset(live))

    def undone_at(self, view: Shown, since: float) -> float | None:
        """When what is shown was taken back, by a deletion, a batch or an undo that was acknowledged before `since`."""
        over = [write for write in self.writes if write.outcome is Outcome.ACKNOWLEDGED and write.end <= since]
        last_of_life = next((write for write in reversed(over) if write.what in REMOVING | RETURNING), None)
        if last_of_life and view.is_live == (last_of_life.what in REMOVING):
            return last_of_life.end
        last_of_words = next((write for write in reversed(over) if write.what in WORDING), None)
        if last_of_words and last_of_words.what is What.REVERT and view.mark != last_of_words.mark:
            return last_of_words.end if any(write.mark == view.mark for write in over) else None
        return None


@dataclass
class Report:
    findings: list[Finding]
    counts: dict[What, Counter[str]]  # of calls by outcome, and of those that said they did without the database
    writes: Counter[Outcome] = field(default_factory=Counter)

    @property
    def is_clean(self) -> bool:
        return not self.findings

    def by_kind(self) -> dict[Kind, int]:
        """How many findings of each kind, also of those there are none of."""
        return {kind: sum(finding.kind is kind for finding in self.findings) for kind in Kind}


@dataclass
class Ledger:
    """A history in the order questions are put to it."""

    calls: list[Call]
    writes: list[Write]
    author: dict[str, Write] = field(default_factory=dict)  # by mark; of a text that was written again, the first
    lives: dict[str, Life] = field(default_factory=dict)  # by target

    @classmethod
    def of(cls, calls: Iterable[Call]) -> "Ledger":
        calls_in_order = sorted(calls, key=lambda call: call.start)
        attempts: dict[str, list[Call]] = defaultdict(list)
        for call in calls_in_order:
            if call.what not in READS:
                attempts[call.key or call.id].append(call)
        ledger = cls(calls_in_order, [Write.of(tries) for tries in attempts.values()])
        for write in ledger.writes:
            if write.mark:
                ledger.author.setdefault(write.mark, write)
            if write.target:
                ledger.lives.setdefault(write.target, Life([])).writes.append(write)
        return ledger

    @property
    def turns(self) -> list[Write]:
        return [write for write in self.writes if write.what is What.TURN]

    @property
    def reads(self) -> list[Call]:
        """Those that were answered; that an entry is not there is an answer, too."""
        return [
            call
            for call in self.calls
            if call.what in READS
            and (call.outcome is Outcome.ACKNOWLEDGED or (call.what is What.READ and call.status == 404))
        ]


def check(calls: Iterable[Call], rows: Iterable[Stored]) -> Report:
    """Everything that is wrong, and how many calls were answered how."""
    ledger, there = Ledger.of(calls), list(rows)
    findings = [
        finding for judge in (judge_walls, judge_turns, judge_entries, judge_reads) for finding in judge(ledger, there)
    ]
    counts: dict[What, Counter[str]] = {what: Counter() for what in What}
    for call in ledger.calls:
        counts[call.what][call.outcome] += 1
        counts[call.what]["degraded"] += not WITHOUT_DATABASE.isdisjoint(call.degraded)
    return Report(findings, counts, Counter(write.outcome for write in ledger.writes))


Judge = Callable[[Ledger, list[Stored]], Iterator[Finding]]


def judge_walls(ledger: Ledger, there: list[Stored]) -> Iterator[Finding]:
    """Nobody is shown, and no workspace holds, what was written to another workspace, or by nobody."""
    for call in ledger.reads:
        for view in call.shows:
            author = ledger.author.get(view.mark)
            if author is None or author.outcome is Outcome.REFUSED:
                yield Finding(Kind.UNASKED, (call.id,), f"{call.id} is shown {view.mark}, which nobody has written")
            elif author.workspace != call.workspace:
                says = f"{call.id} of {call.workspace} is shown {view.mark}, written to {author.workspace}"
                yield Finding(Kind.CROSSED, (*author.calls, call.id), says)
            elif author.peer != call.peer:
                says = f"{call.id} about {call.peer} is shown {view.mark}, written about {author.peer}"
                yield Finding(Kind.CROSSED, (*author.calls, call.id), says)
    for row in there:
        author = ledger.author.get(row.mark)
        if author is None or author.outcome is Outcome.REFUSED:
            says = f"the {row.place} {row.uid} holds {row.mark}, which nobody has written"
            yield Finding(Kind.UNASKED, author.calls if author else (), says)
        elif author.workspace != row.workspace:
            says = f"the {row.place} {row.uid} of {row.workspace} holds {row.mark}, written to {author.workspace}"
            yield Finding(Kind.CROSSED, author.calls, says)


def judge_turns(ledger: Ledger, there: list[Stored]) -> Iterator[Finding]:
    """A turn that was acknowledged is there once, as a message and as a memory; another once or not at all."""
    counts = Counter((row.place, row.mark) for row in there)
    read = {
        view.mark: call.id for call in ledger.reads if WITHOUT_DATABASE.isdisjoint(call.degraded) for view in call.shows
    }
    for turn in ledger.turns:
        how = "accepted without the database" if turn.is_deferred else "acknowledged"
        for place in (MESSAGE, MEMORY):
            count = counts[place, turn.mark]
            if count > 1:
                yield Finding(Kind.TWICE, turn.calls, f"the turn {turn.mark} is there {count} times as a {place}")
            elif count == 0 and turn.outcome is Outcome.ACKNOWLEDGED:
                yield Finding(Kind.LOST, turn.calls, f"the turn {turn.mark} was {how} and is no {place}")
            elif count == 0 and turn.mark in read:
                says = f"the turn {turn.mark} was shown by {read[turn.mark]} and is no {place}"
                yield Finding(Kind.LOST, (*turn.calls, read[turn.mark]), says)


def judge_entries(ledger: Ledger, there: list[Stored]) -> Iterator[Finding]:
    """An entry is at the end what its last acknowledged change made it, and there once."""
    target_of = {write.mark: target for target, life in ledger.lives.items() for write in life.writes if write.mark}
    rows: dict[str, list[Stored]] = defaultdict(list)
    for row in there:
        if row.place == MEMORY and row.mark in target_of:
            rows[target_of[row.mark]].append(row)
    for target, life in ledger.lives.items():
        allowed = life.allowed(inf, inf)
        calls = tuple(call for write in life.writes for call in write.calls)
        entry_rows = rows[target]
        if not entry_rows and allowed.must_exist:
            yield Finding(Kind.LOST, calls, f"the entry {target} was acknowledged and is not there")
        if len({row.uid for row in entry_rows}) > 1:
            yield Finding(Kind.TWICE, calls, f"the entry {target} is there {len(entry_rows)} times")
            continue
        for row in entry_rows:
            change_count = sum(write.outcome is not Outcome.REFUSED for write in life.writes)
            if row.version > change_count:
                says = f"the entry {target} is in version {row.version} after {change_count} changes"
                yield Finding(Kind.TWICE, calls, says)
            if row.mark not in allowed.marks or row.is_live not in allowed.live:
                view = Shown(row.mark, row.is_live)
                kind = Kind.LOST if life.undone_at(view, inf) is None else Kind.CAME_BACK
                yield Finding(kind, calls, f"the entry {target} {_wrong(view, allowed)}")


def judge_reads(ledger: Ledger, there: list[Stored]) -> Iterator[Finding]:
    """Who wrote, and was answered, reads it; what was seen to be taken back is not seen again."""
    views: dict[str, list[tuple[float, Shown | None]]] = defaultdict(list)  # by target, with when the read began
    for call in ledger.reads:
        if not WITHOUT_DATABASE.isdisjoint(call.degraded):
            continue
        yield from _missing(ledger, call)
        for target, view in _entries_shown(ledger, call):
            life = ledger.lives[target]
            allowed = life.allowed(call.start, call.end)
            if view and (view.mark not in allowed.marks or view.is_live not in allowed.live):
                undone = life.undone_at(view, call.start)
                is_back = undone is not None and any(
                    undone <= moment and other != view for moment, other in views[target]
                )
                calls = (*(id_ for write in life.writes if write.start < call.end for id_ in write.calls), call.id)
                says = f"{call.id}: the entry {target} {_wrong(view, allowed)}"
                yield Finding(Kind.CAME_BACK if is_back else Kind.STALE, calls, says)
            views[target].append((call.start, view))


def _entries_shown(ledger: Ledger, call: Call) -> list[tuple[str, Shown | None]]:
    """The client's own entries a read shows, and the one it asked for where that is not shown."""
    if call.what is What.READ:
        return [(call.target, call.shows[0] if call.shows else None)]
    authors = ((ledger.author.get(view.mark), view) for view in call.shows)
    views: list[tuple[str, Shown | None]] = [
        (author.target, view) for author, view in authors if author and author.target and author.client == call.client
    ]
    return views if call.target in dict(views) or not call.target else [*views, (call.target, None)]


def _missing(ledger: Ledger, call: Call) -> Iterator[Finding]:
    """What a read has to show, and does not: a recall only what is in use and says what was asked for."""
    author = ledger.author.get(call.mark)
    if call.what is What.READ:
        life = ledger.lives[call.target]
        is_due = not call.shows and life.allowed(call.start, call.end).must_exist
        writes = life.writes
    elif author is None:
        return
    elif author.target:
        writes = ledger.lives[author.target].writes
        due = Allowed(True, frozenset({call.mark}), frozenset({True}))
        is_due = ledger.lives[author.target].allowed(call.start, call.end) == due
    else:
        writes = [author]
        is_due = author.outcome is Outcome.ACKNOWLEDGED and not author.is_deferred and author.end <= call.start
    if is_due and (call.what is What.READ or call.mark not in {view.mark for view in call.shows}):
        before = [write for write in writes if write.end <= call.start]
        what, ago = call.target or call.mark, call.start - max(write.end for write in before)
        calls = (*(id_ for write in before for id_ in write.calls), call.id)
        yield Finding(Kind.STALE, calls, f"{call.id} does not show {what}, acknowledged {ago:.2f} s before")


def _wrong(view: Shown, allowed: Allowed) -> str:
    is_, may = ("in use" if view.is_live else "out of use"), " or ".join(sorted(allowed.marks)) or "nothing"
    lives = " or ".join("in use" if live else "out of use" for live in sorted(allowed.live))
    return f"is {view.mark}, {is_}; it may be {may}, {lives}"


def longest_silence(
    calls: Iterable[Call], kinds: set[What], since: float, until: float, *, from_database: bool = False
) -> float:
    """The longest time between two acknowledged calls of these kinds, in seconds; of any client.

    `from_database` leaves out answers that were given without it.
    """
    ends = sorted(
        call.end
        for call in calls
        if call.what in kinds
        and call.outcome is Outcome.ACKNOWLEDGED
        and since <= call.end <= until
        and not (from_database and not WITHOUT_DATABASE.isdisjoint(call.degraded))
    )
    moments = [since, *ends, until]
    return max(later - earlier for earlier, later in zip(moments, moments[1:], strict=False))
