"""Clients of the load: each writes, changes, takes back and asks for texts of its own, and notes every call.

What a client does next follows from its seed and from what it was answered. Whom it asks is a `Server`: a platform over
HTTP (cluster.wire), or a model of one in tests.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Protocol

from cluster.history import READS, Call, Outcome, Shown, What, mark_of

ATTEMPTS = 3
TURNS_OF_A_PEER = 20  # then another person speaks: sessions stay short
ENTRIES_KEPT = 6  # that are still changed


@dataclass(frozen=True)
class Ask:
    """A call, before it is sent."""

    what: What
    workspace: str
    peer: str
    key: str = ""
    mark: str = ""
    entry: str = ""  # its id
    version: int = 0  # to go back to
    batch: str = ""  # to undo


@dataclass(frozen=True)
class Answer:
    status: int | None
    degraded: tuple[str, ...] = ()
    shows: tuple[Shown, ...] = ()
    entry: str = ""
    version: int = 0
    batch: str = ""
    seconds_to_wait: float | None = None


class Server(Protocol):
    def send(self, ask: Ask) -> Answer: ...


@dataclass
class Entry:
    """What a client knows of an entry it wrote."""

    target: str
    peer: str
    uid: str
    marks: list[str]  # of its versions; the last is its words
    versions: list[int]
    is_live: bool = True
    batch: str = ""  # that took it out of use

    @property
    def mark(self) -> str:
        return self.marks[-1]


@dataclass
class Client:
    number: int
    workspace: str
    server: Server
    now: Callable[[], float]
    note: Callable[[Call], None]
    pick: random.Random
    wait: Callable[[float], None] = lambda seconds: None  # between attempts
    texts: int = 0
    made: int = 0
    turns: list[tuple[str, str]] = field(default_factory=list)  # peer and mark of those that were acknowledged
    entries: list[Entry] = field(default_factory=list)

    @property
    def name(self) -> str:
        return f"c{self.number}"

    @property
    def peer(self) -> str:
        return f"{self.workspace}-{self.name}-p{self.texts // TURNS_OF_A_PEER}"

    def step(self) -> None:
        """One write with its attempts, or one question."""
        choices = [self.say, self.ask, self.ask_again, self.save, self.look]
        weights = [5, 4, 2, 2, 2]
        if self.entries:
            choices, weights = [*choices, self.change], [*weights, 5]
        self.pick.choices(choices, weights)[0]()

    def say(self) -> None:
        mark, peer = self._new_mark(), self.peer
        if self._write(Ask(What.TURN, self.workspace, peer, mark=mark)):
            self.turns.append((peer, mark))

    def save(self) -> None:
        mark, target, peer = self._new_mark(), f"{self.name}-e{self.texts}", self.peer
        if (answer := self._write(Ask(What.CREATE, self.workspace, peer, mark=mark), target)) and answer.entry:
            self.entries = self.entries[1 - ENTRIES_KEPT :]
            self.entries.append(Entry(target, peer, answer.entry, [mark], [answer.version]))

    def change(self) -> None:
        """Change an entry, take it out of use or bring it back; one whose state is not certain is left alone."""
        entry = self.pick.choice(self.entries)
        ask = Ask(What.EDIT, self.workspace, entry.peer, entry=entry.uid)
        if not entry.is_live:
            ask = replace(ask, what=What.UNDO, batch=entry.batch) if entry.batch else replace(ask, what=What.RESTORE)
        elif (draw := self.pick.random()) < 0.2:
            ask = replace(ask, what=What.DELETE)
        elif draw < 0.4:
            ask = replace(ask, what=What.EXPIRE)
        elif draw < 0.6 and len(entry.marks) > 1:
            ask = replace(ask, what=What.REVERT, mark=entry.marks[-2], version=entry.versions[-2])
        else:
            ask = replace(ask, mark=self._new_mark())
        answer = self._write(ask, entry.target)
        if answer is None:
            self.entries.remove(entry)
            return
        if ask.mark:
            entry.marks.append(ask.mark)
            entry.versions.append(answer.version)
        else:
            entry.is_live = ask.what in (What.RESTORE, What.UNDO)
            entry.batch = answer.batch if ask.what is What.EXPIRE else ""

    def ask(self) -> None:
        """Ask for the last turn; a write that has just been answered is the hardest to find."""
        if self.turns:
            peer, mark = self.turns[-1]
            self._read(Ask(What.RECALL, self.workspace, peer, mark=mark), "")

    def ask_again(self) -> None:
        """Ask for an old turn, or for an entry in one of its wordings, be it in use or not."""
        if self.entries and self.pick.random() < 0.7:
            entry = self.pick.choice(self.entries)
            mark = self.pick.choice([entry.mark, entry.mark, *entry.marks])
            self._read(Ask(What.RECALL, self.workspace, entry.peer, mark=mark), entry.target)
        elif self.turns:
            peer, mark = self.pick.choice(self.turns)
            self._read(Ask(What.RECALL, self.workspace, peer, mark=mark), "")

    def look(self) -> None:
        if self.entries:
            entry = self.pick.choice(self.entries)
            self._read(Ask(What.READ, self.workspace, entry.peer, entry=entry.uid), entry.target)

    def _new_mark(self) -> str:
        self.texts += 1
        return mark_of(self.number, self.texts)

    def _write(self, ask: Ask, target: str = "") -> Answer | None:
        """The answer that acknowledges it; None: it was refused, or nobody knows."""
        self.made += 1
        ask = replace(ask, key=f"{self.name}-{self.made}")
        for attempt in range(1, ATTEMPTS + 1):
            answer, outcome = self._call(ask, f"{ask.key}.{attempt}", target)
            if outcome is Outcome.ACKNOWLEDGED:
                return answer
            if outcome is Outcome.REFUSED:
                return None
            self.wait(min(answer.seconds_to_wait or 0.2, 1.0))
        return None

    def _read(self, ask: Ask, target: str) -> None:
        self.made += 1
        self._call(ask, f"{self.name}-{self.made}", target)

    def _call(self, ask: Ask, id_: str, target: str) -> tuple[Answer, Outcome]:
        start = self.now()
        answer = self.server.send(ask)
        call = Call(
            id=id_,
            client=self.name,
            workspace=ask.workspace,
            peer=ask.peer,
            what=ask.what,
            start=start,
            end=self.now(),
            key="" if ask.what in READS else ask.key,
            target=target,
            mark=ask.mark,
            entry=ask.entry or answer.entry,
            status=answer.status,
            degraded=answer.degraded,
            shows=answer.shows,
            seconds_to_wait=answer.seconds_to_wait,
        )
        self.note(call)
        return answer, call.outcome
