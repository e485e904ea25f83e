"""How many turns a second are taken in, and when are they all embedded? `make bench ARGS=turns`.

A platform with two web workers and the embedder running. One bot at a time first, each turn beside a ping; then eight
bots at once, each in a chat of its own; then what waits for the embedder, and how long until nothing does. With
`--against COMMIT` the platform of an earlier commit does the same in turn, in one run. Last, how many entries a second
`remember_many` stores without their vectors. On a machine that does other things as well, believe the ratios.
"""

import argparse
import gc
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

from benchmarks import ground
from benchmarks.ground import ROOT, Milliseconds, percentile
from benchmarks.latency import Caller, turn
from tests.support.house import House

#: The queue of entries, by its name and by that of earlier commits.
QUEUES = "SELECT relname FROM pg_class WHERE relname IN ('memories_indexqueueitem', 'memories_staleentry')"


@dataclass
class Side:
    """A platform, and what was measured of it."""

    house: House
    pings: Milliseconds = field(default_factory=list)
    turns: Milliseconds = field(default_factory=list)
    rates: list[float] = field(default_factory=list)  # turns a second
    waiting: list[int] = field(default_factory=list)  # after the last turn of a round
    drained: list[float] = field(default_factory=list)  # seconds until nothing waited
    numbers: Iterator[int] = field(default_factory=count)  # no two turns are alike

    def caller(self) -> Caller:
        return Caller(self.house.port, (self.house.data / "credentials" / "bot-key").read_text())

    def count_waiting(self) -> int:
        """Entries and messages that have no vector yet."""
        (queue,) = self.house.ask(QUEUES)
        messages = "SELECT count(*) FROM sessions_app_eventindex WHERE model_id IS NULL"
        return int(self.house.ask(f"SELECT count(*) FROM {queue}")[0]) + int(self.house.ask(messages)[0])  # noqa: S608

    def say(self, caller: Caller, chat: str) -> float:
        """The milliseconds of one more turn."""
        address = {"platform": "telegram", "account": "bench", "peer": chat, "chat": chat}
        return caller.post("turns", {**turn(next(self.numbers)), "address": address})[1]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--against", metavar="COMMIT", help="an earlier commit, measured in turn")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--calls", type=int, default=60, help="turns of one bot in a round, each beside a ping")
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=10, help="of all bots at once in a round")
    parser.add_argument("--drain", type=float, default=60, help="seconds that are waited for the embedder")
    parser.add_argument("--entries", type=int, default=3_000, help="for remember_many")


def main(data: Path, options: argparse.Namespace) -> None:
    with ExitStack() as stack:
        sides = {"now": Side(stack.enter_context(ground.platform(data)))}
        if options.against:
            root = stack.enter_context(checkout(options.against, data.parent / "before"))
            sides["before"] = Side(stack.enter_context(ground.platform(data.parent / "before-data", root)))
        for _round in range(options.rounds):
            for side in reversed(sides.values()):
                measure(side, options)
    for name, side in sides.items():
        report(name, side, options)
    if options.against:
        gain = sum(sides["now"].rates) / sum(sides["before"].rates)
        print(f"{gain:.1f} times the turns a second of {options.against}")
    with ground.database(data):
        print(f"remember_many: {stored(options.entries):,.0f} entries a second without vectors")


@contextmanager
def checkout(commit: str, root: Path) -> Iterator[Path]:
    """The files of a commit in a folder; taken away at the end."""
    subprocess.run(["git", "worktree", "add", "-q", "--detach", str(root), commit], cwd=ROOT, check=True)
    try:
        yield root
    finally:
        subprocess.run(["git", "worktree", "remove", "--force", str(root)], cwd=ROOT, check=True)


def measure(side: Side, options: argparse.Namespace) -> None:
    """One round, which begins and ends with nothing left for the embedder."""
    with closing(side.caller()) as caller:
        for _call in range(options.calls):
            side.pings.append(caller.ping())
            side.turns.append(side.say(caller, "alone"))
    wait_until_embedded(side, options.drain)
    began = time.perf_counter()
    with ThreadPoolExecutor(options.clients) as pool:
        turns = sum(pool.map(lambda n: talk(side, f"chat{n}", began + options.seconds), range(options.clients)))
    side.rates.append(turns / (time.perf_counter() - began))
    side.waiting.append(side.count_waiting())
    side.drained.append(wait_until_embedded(side, options.drain))


def talk(side: Side, chat: str, end: float) -> int:
    """Say turns in one chat until then; how many."""
    with closing(side.caller()) as caller:
        turns = 0
        while time.perf_counter() < end:
            side.say(caller, chat)
            turns += 1
    return turns


def wait_until_embedded(side: Side, most: float) -> float:
    """How many seconds it took; `most` where something still waits."""
    began = time.perf_counter()
    while side.count_waiting() and time.perf_counter() - began < most:
        time.sleep(0.2)
    return min(time.perf_counter() - began, most)


def report(name: str, side: Side, options: argparse.Namespace) -> None:
    ping, p50, p95 = percentile(side.pings, 50), percentile(side.turns, 50), percentile(side.turns, 95)
    print(f"{name}: one bot: p50 {p50} ms, p95 {p95} ms, {p50 / ping:.1f} and {p95 / ping:.1f} pings of {ping} ms")
    print(f"{name}: {options.clients} bots: {_each(side.rates)} turns a second;", end=" ")
    print(f"{_each(side.waiting)} entries and messages waited for the embedder, {_each(side.drained)} s")


def _each(values: list[Any]) -> str:
    return " / ".join(f"{value:.1f}" if isinstance(value, float) else str(value) for value in values)


def stored(entries: int) -> float:
    """Entries a second of `remember_many` in calls of 500, into one scope."""
    from memories.choices import EntryType, Source
    from memories.entries import remember_many
    from memories.entries.draft import Draft

    now = datetime.now(UTC)
    kind = {"type": EntryType.USER_EXPLICIT, "source": Source.MANUAL, "at": now}
    first, scope = ground.scope_of("bench:before"), ground.scope_of("bench:entries")
    remember_many([Draft(scope=first, content=turn(n)["user"], **kind) for n in range(500)], now=now, actor="bench")
    ground.sql("ANALYZE")  # as the server does within ten seconds: before, every plan takes the tables for empty
    gc.freeze()  # as every process of the platform does when it has started
    drafts = [Draft(scope=scope, content=turn(n)["user"], **kind) for n in range(entries)]
    took = sum(
        ground.seconds(lambda part=drafts[n : n + 500]: remember_many(part, now=now, actor="bench"))  # type: ignore[misc]
        for n in range(0, entries, 500)
    )
    return entries / took
