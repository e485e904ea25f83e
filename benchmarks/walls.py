"""What do the row-level wall and the history triggers cost a call? Part of `make bench`, about two minutes.

POST /turns and POST /recall are called in this process, in rounds: as every web process does it, without the wall (as
the owner of the tables, with no workspace set), and without the triggers that write history. The order changes from
round to round. Two ratios are reported: of the processor's time this process and its database session took in all,
which other work on the machine hardly touches, and of the time that passed, as the median of the rounds' ratios.
Texts are embedded by hashing
words, which takes no time worth naming: with a real model the shares in a recall are smaller still.
"""

import argparse
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any
from unittest import mock

import psutil
from django.db import connection
from django.test import Client

from benchmarks.ground import seconds, sql
from memories.choices import Permission
from memories.index import worker
from memories.models import Bot, BotKey, Workspace
from memories.tenancy import row_level_security
from tests.support.load import turn, words

USUAL, NO_WALL, NO_HISTORY = "as it is", "without the wall", "without the triggers"
WARM = 2  # calls after every change of the ground that are not counted
Call = Callable[[random.Random], None]


@dataclass
class Taken:
    """What calls on one ground took: of each round the median milliseconds, and the processor's seconds of all."""

    elapsed: list[float] = field(default_factory=list)
    processor: float = 0.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--entries", type=int, default=300, help="in the scope before anything is measured")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--calls", type=int, default=10, help="of each kind in each round")


def main(options: argparse.Namespace) -> None:
    calls = {"POST /turns": take_turn(), "POST /recall": recall()}
    fill(calls["POST /turns"], options.entries)
    for name, call in calls.items():
        report(name, measure(call, options.rounds, options.calls), options.calls)


# the calls


def client(name: str = "bench") -> Callable[[str, dict[str, Any]], None]:
    """A bot of that workspace, through Django's test client; an answer of an error ends the measurement."""
    workspace, _made = Workspace.objects.get_or_create(name=name)
    bot, _made = Bot.objects.get_or_create(workspace=workspace, name="bench")
    _key, token = BotKey.issue(bot, permissions=list(Permission.values))
    wire = Client(SERVER_NAME="localhost", headers={"Authorization": f"Bearer {token}"})

    def post(path: str, body: dict[str, Any]) -> None:
        answer = wire.post(f"/api/v1/{path}", body, content_type="application/json")
        if answer.status_code not in (200, 201):
            sys.exit(f"{path} answered {answer.status_code}: {answer.content.decode()}")

    return post


def take_turn() -> Call:
    post = client()
    return lambda pick: post("turns", turn("u1", words(pick)))


def recall() -> Call:
    post = client()
    address = turn("u1", "")["address"]
    return lambda pick: post("recall", {"address": address, "message": words(pick), "need": "off"})


def fill(say: Call, entries: int) -> None:
    pick = random.Random(0)
    for _ in range(entries):
        say(pick)
    worker.drain(now=datetime.now(UTC))
    sql("ANALYZE")


# the ground they stand on


@contextmanager
def ground(kind: str) -> Iterator[None]:
    """Every request enters the wall; without it, the request only believes so."""
    if kind == NO_WALL:
        with mock.patch.object(row_level_security, "_set"):
            yield
        return
    if kind == NO_HISTORY:
        switch_triggers("DISABLE")
    sql(f"SET ROLE {row_level_security.WEB_ROLE}")
    yield
    sql("RESET ROLE")
    if kind == NO_HISTORY:
        switch_triggers("ENABLE")


def switch_triggers(word: str) -> None:
    """All of history at once: those that record, and the one that raises the version."""
    triggers = sql(
        "SELECT tgrelid::regclass::text, tgname FROM pg_trigger"
        " WHERE tgname ~ '^pgtrigger_(record_insert|record_update|record_delete|raise_version)_'"
    )
    if not triggers:
        sys.exit("No history triggers were found: their names have changed.")
    for table, name in triggers:
        sql(f'ALTER TABLE {table} {word} TRIGGER "{name}"')


# the figures


def measure(call: Call, rounds: int, calls: int) -> dict[str, Taken]:
    """By kind of ground."""
    pick = random.Random(1)
    times = {kind: Taken() for kind in (USUAL, NO_WALL, NO_HISTORY)}
    for _ in range(rounds):
        for kind in pick.sample(list(times), len(times)):
            with ground(kind):
                for _ in range(WARM):
                    call(pick)
                before = processor_seconds()
                times[kind].elapsed.append(
                    statistics.median([seconds(partial(call, pick)) * 1000 for _ in range(calls)])
                )
                times[kind].processor += processor_seconds() - before
        worker.drain(now=datetime.now(UTC))
    return times


def processor_seconds() -> float:
    """Of this process and of the one the database has for it."""
    session = psutil.Process(connection.connection.info.backend_pid).cpu_times()
    return time.process_time() + session.user + session.system


def report(name: str, times: dict[str, Taken], calls: int) -> None:
    usual = times[USUAL]
    each = usual.processor * 1000 / (len(usual.elapsed) * calls)
    print(f"{name}: {statistics.median(usual.elapsed):.1f} ms as it is, {each:.1f} ms of the processor")
    for kind in (NO_WALL, NO_HISTORY):
        ratios = [one / other for one, other in zip(usual.elapsed, times[kind].elapsed, strict=True)]
        low, middle, high = statistics.quantiles(ratios, n=4)
        of_processor = usual.processor / times[kind].processor
        print(f"  {of_processor:.3f} times the processor's time {kind};", end=" ")
        print(f"{middle:.2f} times the time that passed (middle half of the rounds: {low:.2f} to {high:.2f})")
