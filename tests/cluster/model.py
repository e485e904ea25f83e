"""A small server that keeps everything in memory: correct, or with one bug planted."""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from cluster.clients import Answer, Ask, Client
from cluster.history import MEMORY, MESSAGE, Call, Shown, Stored, What


@dataclass
class Kept:
    """An entry, with all its wordings."""

    uid: str
    workspace: str
    peer: str
    marks: list[str]
    is_live: bool = True
    version: int = 1


@dataclass
class Model:
    """Answers at once. `unsure` of all writes get no answer; half of these are done, at once or some calls later."""

    pick: random.Random
    unsure: float = 0.0
    away: float = 0.0  # share of turns that are accepted without the database
    messages: list[tuple[str, str, str]] = field(default_factory=list)  # workspace, peer, mark
    entries: dict[str, Kept] = field(default_factory=dict)
    answers: dict[str, Answer] = field(default_factory=dict)  # by Idempotency-Key
    late: list[Ask] = field(default_factory=list)
    time: float = 0.0

    def now(self) -> float:
        self.time += 0.01
        return self.time

    def send(self, ask: Ask) -> Answer:
        if self.late and self.pick.random() < 0.3:
            self.apply(self.late.pop(0))
        if ask.what in (What.READ, What.RECALL):
            return self.read(ask)
        if ask.key in self.answers:
            return self.answers[ask.key]
        if self.pick.random() < self.unsure:
            draw = self.pick.random()
            if draw < 0.25:
                self.apply(ask)
            elif draw < 0.5:
                self.late.append(ask)
            return Answer(self.pick.choice([None, 503]), seconds_to_wait=1.0)
        if ask.what is What.TURN and self.pick.random() < self.away:
            self.late.append(ask)
            return Answer(201, degraded=("database",))
        return self.apply(ask)

    def apply(self, ask: Ask) -> Answer:
        """Once, whatever comes twice."""
        if ask.key not in self.answers:
            self.answers[ask.key] = self.write(ask)
        return self.answers[ask.key]

    def write(self, ask: Ask) -> Answer:
        if ask.what in (What.TURN, What.CREATE):
            uid = f"id{len(self.entries)}"
            self.entries[uid] = Kept(uid, ask.workspace, ask.peer, [ask.mark])
            if ask.what is What.TURN:
                self.messages.append((ask.workspace, ask.peer, ask.mark))
            return Answer(201, entry=uid, version=1)
        kept = self.entries[ask.entry]
        if ask.what in (What.EDIT, What.REVERT):
            kept.marks.append(ask.mark)
        else:
            kept.is_live = ask.what in (What.RESTORE, What.UNDO)
        kept.version += 1
        return Answer(200, entry=kept.uid, version=kept.version, batch="b" if ask.what is What.EXPIRE else "")

    def read(self, ask: Ask) -> Answer:
        if ask.what is What.READ:
            kept = self.entries[ask.entry]
            return Answer(200, shows=(Shown(kept.marks[-1], kept.is_live),))
        seen = [kept for kept in self.entries.values() if self.may_see(ask, kept)]
        return Answer(200, shows=tuple(Shown(kept.marks[-1]) for kept in seen if kept.is_live))

    def may_see(self, ask: Ask, kept: Kept) -> bool:
        return (kept.workspace, kept.peer) == (ask.workspace, ask.peer)

    def stored(self) -> Iterator[Stored]:
        """What is there at the end, when all that waited is done."""
        while self.late:
            self.apply(self.late.pop(0))
        for number, (workspace, _peer, mark) in enumerate(self.messages):
            yield Stored(workspace, MESSAGE, mark, f"m{number}")
        for kept in self.entries.values():
            yield Stored(kept.workspace, MEMORY, kept.marks[-1], kept.uid, kept.is_live, kept.version)


class LosesTurns(Model):
    def write(self, ask: Ask) -> Answer:
        if ask.what is What.TURN and self.pick.random() < 0.2:
            return Answer(201, entry="nothing")
        return super().write(ask)


class LosesEdits(Model):
    """As after a failover to a replica that was behind: the answer is right, and later so is not the entry."""

    def stored(self) -> Iterator[Stored]:
        for row in super().stored():
            kept = self.entries.get(row.uid)
            is_edited = kept and len(kept.marks) == 2 and kept.version == 2
            yield replace(row, mark=kept.marks[0], version=1) if kept and is_edited else row


class LosesTheJournal(Model):
    """What was accepted without the database stays on the disk of a host that is gone."""

    def send(self, ask: Ask) -> Answer:
        answer = super().send(ask)
        if answer.degraded and self.pick.random() < 0.5:
            self.late.remove(ask)
        return answer


class DoesItTwice(Model):
    """Knows nothing of keys: a turn that is tried again is another."""

    def send(self, ask: Ask) -> Answer:
        self.answers.pop(ask.key, None)
        return super().send(ask)


@dataclass
class ReadsAReplica(Model):
    """Which is three writes behind."""

    behind: list[str] = field(default_factory=list)

    def write(self, ask: Ask) -> Answer:
        answer = super().write(ask)
        self.behind = [*self.behind, answer.entry][-3:]
        return answer

    def read(self, ask: Ask) -> Answer:
        answer = super().read(ask)
        if ask.what is What.READ:
            return answer
        new = {self.entries[uid].marks[-1] for uid in self.behind if uid in self.entries}
        return replace(answer, shows=tuple(shown for shown in answer.shows if shown.mark not in new))


class ForgetsTheWall(Model):
    def may_see(self, ask: Ask, kept: Kept) -> bool:
        return super().may_see(ask, kept) or (kept.workspace != ask.workspace and self.pick.random() < 0.02)


class StoresElsewhere(Model):
    def stored(self) -> Iterator[Stored]:
        for number, row in enumerate(super().stored()):
            yield replace(row, workspace="red" if number % 10 == 0 else row.workspace)


class BringsBack(Model):
    """A job that does not know what was taken out on purpose."""

    def stored(self) -> Iterator[Stored]:
        for row in super().stored():
            yield replace(row, is_live=True) if row.place == MEMORY else row


@dataclass
class TakesTheUndoBack(Model):
    """What was reverted has its former words again."""

    reverted: dict[str, str] = field(default_factory=dict)

    def write(self, ask: Ask) -> Answer:
        before = self.entries[ask.entry].marks[-1] if ask.what is What.REVERT else ""
        self.reverted.pop(ask.entry, None)
        if before:
            self.reverted[ask.entry] = before
        return super().write(ask)

    def stored(self) -> Iterator[Stored]:
        for row in super().stored():
            yield replace(row, mark=self.reverted.get(row.uid, row.mark))


def played(server: Model, steps: int, seed: int, clients: int = 4) -> list[Call]:
    """What clients of two workspaces saw, one step of each after the other."""
    calls: list[Call] = []
    people = [
        Client(n, "red" if n % 2 else "blue", server, server.now, calls.append, random.Random(f"{seed} {n}"))
        for n in range(clients)
    ]
    for _ in range(steps):
        for client in people:
            client.step()
    return calls
