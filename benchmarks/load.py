"""Does it stay whole, quick and fair under load? Part of `make bench`, about three minutes.

On a platform of its own, with readers and writers in equal parts, each waiting for its answer before it asks again:
8 clients; 32 clients; 8 of them beside 200 connections on which nobody speaks; then one client of another workspace
alone, and beside the 32 that flood. Exits with 1 when a call was answered with an error.
"""

import argparse
import os
import random
import socket
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from benchmarks.ground import Milliseconds, percentile
from memories.choices import Permission
from memories.models import Bot, BotKey, Workspace
from tests.support.house import House
from tests.support.load import turn, words


@dataclass
class Client:
    """A bot that writes or asks, one call after the other."""

    house: House
    peer: str
    key: str
    writes: bool
    took: Milliseconds = field(default_factory=list)
    refused: Counter[int] = field(default_factory=Counter)
    degraded: Counter[str] = field(default_factory=Counter)  # answers to questions, by the part they did without

    def run(self, until: float) -> None:
        pick = random.Random(f"{self.peer} {self.writes} {until}")
        while time.monotonic() < until:
            message = words(pick)
            body = turn(self.peer, message)
            if not self.writes:
                body = {"address": body["address"], "message": f"what was it about {message[:30]}?"}
            begun = time.monotonic()
            headers = {"Authorization": f"Bearer {self.key}"}
            answer = self.house.post("turns" if self.writes else "recall", body, **headers)
            if answer.status in (200, 201):
                self.took.append((time.monotonic() - begun) * 1000)
                self.degraded.update([] if self.writes else answer.json()["degraded"] or ["none"])
            else:
                self.refused[answer.status] += 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--seconds", type=float, default=60.0, help="of each part")
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--idle", type=int, default=200, help="connections on which nobody speaks")


def main(house: House, options: argparse.Namespace) -> None:
    key = (house.data / "credentials" / "bot-key").read_text()
    few, many = crowd(house, key, "few", options.clients // 4), crowd(house, key, "many", options.clients)
    light, beside = crowd(house, key, "light", options.clients // 4), crowd(house, key, "flood", options.clients)
    run(crowd(house, key, "first", 8), min(5.0, options.seconds))
    run(few, options.seconds)
    with idle_connections(house.port, options.idle):
        run(light, options.seconds)
    run(many, options.seconds)
    theirs = neighbour()
    alone, crowded = crowd(house, theirs, "alone", 2), crowd(house, theirs, "crowded", 2)
    run(alone, options.seconds)
    run([*crowded, *beside], options.seconds)
    quiet, loud = report(f"{len(few)} clients", few), report(f"{len(many)} clients", many)
    idle = report(f"{len(light)} beside {options.idle} idle connections", light)
    own, shared = report("2 of another workspace, alone", alone), report(f"the same beside {len(beside)}", crowded)
    report("those beside them", beside)
    print(f"p95 of {len(many)} clients: {loud / quiet:.1f} times that of {len(few)}, to be 2 × 4 at most;", end=" ")
    print(f"idle connections: {idle / quiet:.2f} times; a neighbour's flood: {shared / own:.2f} times", end="; ")
    print(f"load average {os.getloadavg()[0]:.1f} after")
    sys.exit(any(client.refused for client in [*few, *many, *light, *alone, *crowded]))


def crowd(house: House, key: str, name: str, count: int) -> list[Client]:
    """Half of them ask the memories the other half writes."""
    return [Client(house, f"{name}{n // 2}", key, writes=n % 2 == 0) for n in range(count)]


def run(clients: list[Client], seconds: float) -> None:
    until = time.monotonic() + seconds
    with ThreadPoolExecutor(len(clients)) as pool:
        list(pool.map(lambda client: client.run(until), clients))


@contextmanager
def idle_connections(port: int, count: int) -> Iterator[None]:
    with ExitStack() as stack:
        for _ in range(count):
            stack.enter_context(socket.create_connection(("127.0.0.1", port)))
        yield


def neighbour() -> str:
    """The key of a bot in another workspace."""
    bot = Bot.objects.create(workspace=Workspace.objects.create(name="Neighbour"), name="bot")
    return BotKey.issue(bot, permissions=list(Permission.values), label="load")[1]


def report(name: str, clients: list[Client]) -> float:
    """Print their figures; the p95."""
    took = [value for client in clients for value in client.took]
    refused = sum((client.refused for client in clients), Counter[int]())
    p50, p95 = (percentile(took, part) for part in (50, 95))
    degraded = sum((client.degraded for client in clients), Counter[str]())
    without = {part: f"{count / max(1, degraded.total()):.0%}" for part, count in degraded.items() if part != "none"}
    print(f"{name:40}{len(took):6} calls, p50 {p50:7.0f} ms, p95 {p95:7.0f} ms;", end=" ")
    print(f"refused {dict(refused)}, without {without}")
    return p95
