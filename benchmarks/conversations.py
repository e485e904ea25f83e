#!/usr/bin/env python3
"""Do many conversations at once stay whole and in order? Part of `make bench`, about two minutes.

Starts a platform of its own in a temporary folder. Fifty chats of forty turns each are told over HTTP, each turn sent
again with its Idempotency-Key until it is acknowledged; meanwhile a web worker, the worker, the embedder and the
database are killed with -9, one after another. Then the history of every chat is asked for and compared with what was
said, message by message. Then twenty people speak in one group at once. Then ten chats are told while the session of an
eleventh is held by somebody who never comes to an end, and a crowd stands in line for it. Exits with 1 when anything is
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
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import psycopg

from benchmarks.soak import running
from memplatform import postgres
from tests.support.house import House


@dataclass
class Told:
    """What became of calls: seconds of those that were acknowledged, and how often others were refused."""

    seconds: list[float] = field(default_factory=list)
    refused: Counter[int] = field(default_factory=Counter)

    def report(self, name: str, took: float) -> None:
        cuts = statistics.quantiles([seconds * 1000 for seconds in self.seconds], n=20)
        print(f"{name}: {len(self.seconds)} turns in {took:.0f} s, {len(self.seconds) / took:.1f} a second;", end=" ")
        print(f"p50 {cuts[9]:.0f} ms, p95 {cuts[18]:.0f} ms; not acknowledged at first: {dict(self.refused)}")


def main() -> None:
    options = arguments()
    signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))
    with running() as house:
        print(f"{os.cpu_count()} processors, load average {os.getloadavg()[0]:.1f} before")
        wrong = chats(house, options.chats, options.turns) + group(house, options.people, options.rounds)
        wrong += beside_a_stuck_one(house, chats=10, turns=30)
        print(f"load average {os.getloadavg()[0]:.1f} after; {len(wrong)} conversations were not as they were told")
    sys.exit(1 if wrong else 0)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chats", type=int, default=50)
    parser.add_argument("--turns", type=int, default=40)
    parser.add_argument("--people", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3, help="turns of each of them in the group")
    return parser.parse_args()


def chats(house: House, count: int, turns: int) -> list[str]:
    """The chats whose history is not what was said in them."""
    told, began = Told(), time.monotonic()
    threads = [threading.Thread(target=talk, args=(house, direct(n), turns, told)) for n in range(count)]
    for thread in threads:
        thread.start()
    for name in ("web", "worker", "embedder", "the database"):
        time.sleep(6)
        pid = house.database_pid() if name == "the database" else min(house.pids(name), default=None)
        if pid:
            os.kill(pid, signal.SIGKILL)
    for thread in threads:
        thread.join()
    told.report(f"{count} chats, four processes killed", time.monotonic() - began)
    return [address["chat"] for n in range(count) if said_in(house, address := direct(n)) != expected(address, turns)]


def direct(number: int) -> dict[str, Any]:
    return {"platform": "telegram", "account": "bench", "peer": f"u{number}", "chat": f"chat {number}"}


def said(address: dict[str, Any], turn: int) -> str:
    return f"{address['peer']} says number {turn}: the {turn * 7919 % 1009}th lantern of street {address['chat']}"


def expected(address: dict[str, Any], turns: int) -> list[str]:
    return [text for turn in range(turns) for text in (said(address, turn), f"Noted: {turn}.")]


def talk(house: House, address: dict[str, Any], turns: int, told: Told) -> None:
    """One turn after another, each until it is acknowledged."""
    for turn in range(turns):
        body = {"address": address, "user": said(address, turn), "assistant": f"Noted: {turn}."}
        begun = time.monotonic()
        while (status := house.post("turns", body, **{"Idempotency-Key": said(address, turn)}).status) != 201:
            told.refused[status] += 1
            time.sleep(0.1)
        told.seconds.append(time.monotonic() - begun)


def said_in(house: House, address: dict[str, Any]) -> list[str]:
    """The messages of a chat's open conversation, in the order of its log."""
    return house.ask(
        "SELECT e.content FROM sessions_app_sessionevent e JOIN sessions_app_session s ON s.id = e.session_id"
        " WHERE s.account = %s AND s.chat_id = %s ORDER BY e.conversation, e.position",
        address["account"],
        address["chat"],
    )


def group(house: House, people: int, rounds: int) -> list[str]:
    """Many at once in one chat: nobody's turns are torn, and each one's stand in the order they were said."""
    place = {"platform": "telegram", "account": "bench", "chat": "the square", "is_group": True}
    told, began = Told(), time.monotonic()
    members = [{**place, "peer": f"m{n}"} for n in range(people)]
    threads = [threading.Thread(target=talk, args=(house, member, rounds, told)) for member in members]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    told.report(f"{people} people in one group", time.monotonic() - began)
    return torn(said_in(house, place)) + unlike(said_in(house, place), members, rounds)


def torn(log: list[str]) -> list[str]:
    """Turns whose answer is not the one that belongs to them."""
    pairs = zip(log[::2], log[1::2], strict=True)
    return [one for one, answer in pairs if f"number {answer.removeprefix('Noted: ').rstrip('.')}:" not in one]


def unlike(log: list[str], members: list[dict[str, Any]], rounds: int) -> list[str]:
    """Members whose turns do not stand in the order they were said."""
    wrong: list[str] = []
    for member in members:
        heard = [text for text in log if text.startswith(f"{member['peer']} ")]
        if heard != [said(member, turn) for turn in range(rounds)]:
            wrong.append(str(member["peer"]))
    return wrong


def beside_a_stuck_one(house: House, chats: int, turns: int) -> list[str]:
    """One session waits for nobody: ten chats are as fast while nothing moves in an eleventh."""
    stuck = direct(999)
    house.post("turns", {"address": stuck, "user": "first", "assistant": "ok"})
    free, beside = Told(), Told()
    wrong = at_once(house, [direct(1_000 + n) for n in range(chats)], turns, free, "ten chats alone")
    ended, refused = threading.Event(), Counter[int]()
    crowd = [threading.Thread(target=push, args=(house, stuck, ended, refused)) for _ in range(4)]
    with psycopg.connect(postgres.url(house.data)) as holder:
        holder.execute("SELECT 1 FROM sessions_app_session WHERE chat_id = %s FOR UPDATE", [stuck["chat"]])
        for thread in crowd:
            thread.start()
        wrong += at_once(house, [direct(2_000 + n) for n in range(chats)], turns, beside, "beside a stuck session")
        ended.set()
    for thread in crowd:
        thread.join()
    print(f"meanwhile the stuck session answered {dict(refused)}")
    return wrong


def at_once(house: House, places: list[dict[str, Any]], turns: int, told: Told, name: str) -> list[str]:
    """The chats whose history is not what was said in them."""
    began = time.monotonic()
    threads = [threading.Thread(target=talk, args=(house, address, turns, told)) for address in places]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    told.report(name, time.monotonic() - began)
    return [address["chat"] for address in places if said_in(house, address) != expected(address, turns)]


def push(house: House, address: dict[str, Any], ended: threading.Event, refused: Counter[int]) -> None:
    """Somebody who wants to say something where nothing moves."""
    while not ended.is_set():
        answer = house.post("turns", {"address": address, "user": "and now?", "assistant": "ok"})
        refused[answer.status] += 1
        time.sleep(0.2)


if __name__ == "__main__":
    main()
