"""Do many conversations at once stay whole and in order? Part of `make bench`, about two minutes.

Starts a platform of its own in a temporary folder. Fifty chats of forty turns each are sent over HTTP, each turn
again with its Idempotency-Key until it is acknowledged; meanwhile a web worker, the worker, the embedder and the
database are killed with -9, one after another. Then the history of every chat is compared with what was
sent, message by message. Then twenty people speak in one group at once. Then ten chats go on while the session of an
eleventh is locked by somebody who never comes to an end, and a crowd waits for it. Exits with 1 when anything is
missing, twice, or out of order.
"""

import argparse
import os
import signal
import statistics
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import psycopg

from memplatform import postgres
from tests.support.house import House


@dataclass
class Calls:
    """Seconds of calls that were acknowledged, and how often others were refused, by status."""

    seconds: list[float] = field(default_factory=list)
    refused: Counter[int] = field(default_factory=Counter)
    is_over: bool = False  # nobody waits for an answer any more

    def report(self, name: str, took: float) -> None:
        cuts = statistics.quantiles([seconds * 1000 for seconds in self.seconds], n=20)
        print(f"{name}: {len(self.seconds)} turns in {took:.0f} s, {len(self.seconds) / took:.1f} a second;", end=" ")
        print(f"p50 {cuts[9]:.0f} ms, p95 {cuts[18]:.0f} ms; not acknowledged at first: {dict(self.refused)}")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--chats", type=int, default=50)
    parser.add_argument("--turns", type=int, default=40)
    parser.add_argument("--people", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3, help="turns of each of them in the group")


def main(house: House, options: argparse.Namespace) -> None:
    wrong = chats(house, options.chats, options.turns) + group(house, options.people, options.rounds)
    wrong += beside_a_stuck_one(house, chats=10, turns=30)
    print(f"load average {os.getloadavg()[0]:.1f} after; {len(wrong)} conversations were not as they were sent")
    sys.exit(1 if wrong else 0)


@contextmanager
def talking(house: House, addresses: list[dict[str, Any]], turns: int, name: str) -> Iterator[None]:
    """Everybody takes turns at the same time, until all are through; then their figures are printed."""
    calls, began = Calls(), time.monotonic()
    with ThreadPoolExecutor(len(addresses)) as pool:
        running = [pool.submit(talk, house, address, turns, calls) for address in addresses]
        try:
            yield
            for item in running:
                item.result()
        finally:
            calls.is_over = True
    calls.report(name, time.monotonic() - began)


def chats(house: House, count: int, turns: int) -> list[str]:
    addresses = [direct(n) for n in range(count)]
    with talking(house, addresses, turns, f"{count} chats, four processes killed"):
        for name in ("web", "worker", "embedder", "the database"):
            time.sleep(6)
            pid = house.database_pid() if name == "the database" else min(house.pids(name), default=None)
            if pid:
                os.kill(pid, signal.SIGKILL)
    return changed(house, addresses, turns)


def changed(house: House, addresses: list[dict[str, Any]], turns: int) -> list[str]:
    """The chats whose history is not what was sent."""
    return [address["chat"] for address in addresses if history(house, address) != expected(address, turns)]


def direct(number: int) -> dict[str, Any]:
    return {"platform": "telegram", "account": "bench", "peer": f"u{number}", "chat": f"chat {number}"}


def message_of(address: dict[str, Any], turn: int) -> str:
    return f"{address['peer']} says number {turn}: the {turn * 7919 % 1009}th lantern of street {address['chat']}"


def expected(address: dict[str, Any], turns: int) -> list[str]:
    return [text for turn in range(turns) for text in (message_of(address, turn), f"Noted: {turn}.")]


def talk(house: House, address: dict[str, Any], turns: int, calls: Calls) -> None:
    """One turn after another, each until it is acknowledged."""
    for turn in range(turns):
        body = {"address": address, "user": message_of(address, turn), "assistant": f"Noted: {turn}."}
        begun = time.monotonic()
        key = {"Idempotency-Key": message_of(address, turn)}
        while not calls.is_over and (status := house.post("turns", body, **key).status) != 201:
            calls.refused[status] += 1
            time.sleep(0.1)
        calls.seconds.append(time.monotonic() - begun)


def history(house: House, address: dict[str, Any]) -> list[str]:
    """The messages of a chat's open conversation, in the order of its log."""
    return house.ask(
        "SELECT e.content FROM sessions_app_sessionevent e JOIN sessions_app_session s ON s.id = e.session_id"
        " WHERE s.account = %s AND s.chat_id = %s ORDER BY e.conversation, e.position",
        address["account"],
        address["chat"],
    )


def group(house: House, people: int, rounds: int) -> list[str]:
    """Many at once in one chat: nobody's turns are torn, and each one's stand in the order they were sent."""
    place = {"platform": "telegram", "account": "bench", "chat": "the square", "is_group": True}
    members = [{**place, "peer": f"m{n}"} for n in range(people)]
    with talking(house, members, rounds, f"{people} people in one group"):
        pass
    log = history(house, place)
    return torn(log) + unlike(log, members, rounds)


def torn(log: list[str]) -> list[str]:
    """Turns whose answer is not the one that belongs to them."""
    pairs = zip(log[::2], log[1::2], strict=True)
    return [one for one, answer in pairs if f"number {answer.removeprefix('Noted: ').rstrip('.')}:" not in one]


def unlike(log: list[str], members: list[dict[str, Any]], rounds: int) -> list[str]:
    """Members whose turns do not stand in the order they were sent."""
    wrong: list[str] = []
    for member in members:
        texts = [text for text in log if text.startswith(f"{member['peer']} ")]
        if texts != [message_of(member, turn) for turn in range(rounds)]:
            wrong.append(str(member["peer"]))
    return wrong


def beside_a_stuck_one(house: House, chats: int, turns: int) -> list[str]:
    """One session waits for nobody: ten chats are as fast while nothing moves in an eleventh."""
    stuck = direct(999)
    house.post("turns", {"address": stuck, "user": "first", "assistant": "ok"})
    alone, beside = ([direct(first + n) for n in range(chats)] for first in (1_000, 2_000))
    with talking(house, alone, turns, "ten chats alone"):
        pass
    end, refused = threading.Event(), Counter[int]()
    with ThreadPoolExecutor(4) as crowd, psycopg.connect(postgres.url(house.data)) as holder:
        holder.execute("SELECT 1 FROM sessions_app_session WHERE chat_id = %s FOR UPDATE", [stuck["chat"]])
        for _ in range(4):
            crowd.submit(push, house, stuck, end, refused)
        with talking(house, beside, turns, "beside a stuck session"):
            pass
        end.set()
        holder.rollback()
    print(f"meanwhile the stuck session answered {dict(refused)}")
    return changed(house, alone, turns) + changed(house, beside, turns)


def push(house: House, address: dict[str, Any], end: threading.Event, refused: Counter[int]) -> None:
    """Somebody who wants to say something where nothing moves."""
    while not end.is_set():
        answer = house.post("turns", {"address": address, "user": "and now?", "assistant": "ok"})
        refused[answer.status] += 1
        time.sleep(0.2)
