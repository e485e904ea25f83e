"""Faults under load, round by round: what clients saw is kept and judged, and silence is measured."""

import json
import os
import platform
import random
import statistics
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cluster import database, faults, hosts, product
from cluster.checker import Kind, Report, check, longest_silence
from cluster.clients import Client
from cluster.faults import Fault
from cluster.history import READS, Call, Stored, What, Writer, calls_of, stored_of, write_rows
from cluster.wire import Api

CLIENTS, ASKERS = 4, 2  # of which the latter do nothing but recall, so that a silence shows
ASK_SECONDS = 0.15  # between two questions
CALM, AFTER = 3.0, 2.0  # seconds before the first fault, and after all is whole again
WHOLE_SECONDS, SETTLE_SECONDS, LOAD_SECONDS = 120, 60, 240
WRITES = set(What) - READS - {What.TURN}
HISTORY, STORED, REPORT = "history.jsonl", "stored.jsonl", "report.json"


@dataclass
class Round:
    """One or two faults, what was found, and how long it was silent."""

    number: int
    faults: list[Fault]
    is_majority: bool
    #: When the load began, the faults struck and were taken back, and all was whole, on the clock of the history.
    moments: dict[str, float] = field(default_factory=dict)
    calls: int = 0
    unknown: int = 0
    deferred: int = 0  # writes and answers without the database
    findings: dict[str, int] = field(default_factory=dict)
    says: list[str] = field(default_factory=list)
    #: The longest time without an answer, in seconds: turns of any kind, other writes (which need the database),
    #: recall of any kind, and recall that was answered from the database.
    silence: dict[str, float] = field(default_factory=dict)
    calm: dict[str, float] = field(default_factory=dict)  # the same before the fault
    whole_after: float | None = None  # seconds from when the faults were taken back; None: it was not whole in time
    settled_after: float | None = None  # until nothing more was missing

    @property
    def name(self) -> str:
        return " + ".join(fault.name for fault in self.faults)


def run_load(first: int, folder: Path, seconds: float, pause: float) -> None:
    """On the load host: clients of both workspaces until time is up or a signal comes; appends to the history.

    `first` is the number of the first client; none may come again while the cluster stands.
    """
    api_keys, end = product.keys(), time.monotonic() + seconds
    fronts = [(web.address, product.FRONT) for web in hosts.WEBS]
    import signal
    import threading

    stopping = threading.Event()
    signal.signal(signal.SIGTERM, lambda _number, _frame: stopping.set())

    def live(index: int, note: Any) -> None:
        pick = random.Random(first + index)
        workspace = product.WORKSPACES[index % len(product.WORKSPACES)]
        server = Api(fronts if index // 2 % 2 else fronts[::-1], api_keys)
        client = Client(first + index, workspace, server, time.monotonic, note, pick, time.sleep)
        asks = index >= CLIENTS
        while not stopping.wait(ASK_SECONDS if asks else pick.uniform(0.5, 1.5) * pause) and time.monotonic() < end:
            step = client.step if not asks else client.ask if client.turns else client.say
            step()

    with (folder / HISTORY).open("a") as file:
        writer = Writer(file)
        threads = [threading.Thread(target=live, args=(index, writer.add)) for index in range(CLIENTS + ASKERS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def try_faults(round_faults: list[Fault], number: int, folder: Path, pick: random.Random, pause: float) -> Round:
    """One round, with a history of its own; the cluster is whole before and, as far as it can be, after."""
    folder.mkdir(parents=True)
    result = Round(number, round_faults, faults.leaves_a_majority(round_faults))
    with under_load(folder, pause, LOAD_SECONDS):
        begun = time.monotonic()
        time.sleep(CALM)
        struck = time.monotonic()
        waiting = [(struck + (pick.uniform(0, 3) if n else 0), fault) for n, fault in enumerate(round_faults)]
        _strike(waiting)
        healed = time.monotonic()
        with suppress(TimeoutError):
            hosts.until(faults.is_whole, WHOLE_SECONDS)
            result.whole_after = round(time.monotonic() - healed, 1)
        whole = time.monotonic()
        time.sleep(AFTER)
    if result.whole_after is None:
        faults.restore()
    result.moments = {"began": begun, "struck": struck, "healed": healed, "whole": whole}
    calls = calls_of(folder / HISTORY)
    result.calm, result.silence = silences(calls, begun, struck), silences(calls, struck, whole)
    report = settled(calls, folder, result)
    result.calls = len(calls)
    result.unknown = sum(count["unknown"] for count in report.counts.values())
    result.deferred = sum(count["degraded"] for count in report.counts.values())
    result.findings = {str(kind): count for kind, count in report.by_kind().items() if count}
    result.says = [f"{finding.kind}: {finding.says} ({', '.join(finding.calls)})" for finding in report.findings]
    return result


@contextmanager
def under_load(folder: Path, pause: float, seconds: float) -> Iterator[None]:
    """The clients of the load, from the first calls in the history of this folder on."""
    command = [sys.executable, "-m", "cluster", "load", str(_new_clients()), str(folder), "--pause", str(pause)]
    command += ["--seconds", str(seconds)]
    load = subprocess.Popen(["ip", "netns", "exec", hosts.LOAD.name, *command], cwd=hosts.ROOT)
    try:
        hosts.until(lambda: (folder / HISTORY).exists() and len((folder / HISTORY).read_text()) > 500, 30, "a load")
        yield
    finally:
        load.terminate()
        load.wait(60)


def _new_clients() -> int:
    """The number of the first client of a round: in this cluster nobody has had it, or those behind it."""
    path = hosts.STATE / "clients"
    first = int(path.read_text()) if path.exists() else 0
    path.write_text(str(first + CLIENTS + ASKERS))
    return first


def _leave_out_clients(count: int) -> None:
    """Those of a trial that is gone on with, in a cluster that was built anew."""
    path = hosts.STATE / "clients"
    path.write_text(str(max(count, int(path.read_text()) if path.exists() else 0)))


def _strike(waiting: list[tuple[float, Fault]]) -> None:
    """Inject each fault at its moment, and take it back when its time is over."""
    steps = sorted(
        [(moment, 0, n) for n, (moment, _fault) in enumerate(waiting)]
        + [(moment + fault.hold, 1, n) for n, (moment, fault) in enumerate(waiting)]
    )
    for moment, step, n in steps:
        time.sleep(max(0.0, moment - time.monotonic()))
        fault = waiting[n][1]
        (fault.heal if step else fault.inject)()


def silences(calls: list[Call], since: float, until: float) -> dict[str, float]:
    kinds = {"turns": {What.TURN}, "writes": WRITES, "recall": {What.RECALL}}
    result = {name: longest_silence(calls, what, since, until) for name, what in kinds.items()}
    result["recall_database"] = longest_silence(calls, {What.RECALL}, since, until, from_database=True)
    return {name: round(seconds, 1) for name, seconds in result.items()}


def settled(calls: list[Call], folder: Path, result: Round) -> Report:
    """The report once nothing is missing any more, or when that took too long."""
    api = Api([(web.address, product.FRONT) for web in hosts.WEBS], product.keys())
    people = sorted({(call.workspace, call.peer) for call in calls})
    begun, rows = time.monotonic(), list[Stored]()
    report = check(calls, rows)
    while time.monotonic() - begun < (SETTLE_SECONDS if rows else 4 * SETTLE_SECONDS):  # unread is not lost
        with suppress(OSError):
            rows = list(api.stored(people))
            report = check(calls, rows)
            if not report.by_kind()[Kind.LOST]:
                result.settled_after = round(time.monotonic() - begun, 1)
                break
        time.sleep(1.0)
    write_rows(folder / STORED, rows)
    return report


@dataclass(frozen=True)
class Plan:
    """What is to be tried: so many faults, from these; no round begins once time is up."""

    count: int
    seed: int
    minutes: float
    pause: float = 0.25
    only: tuple[str, ...] = ()  # names of faults; any without
    singles: bool = False  # never two at once


def run(folder: Path, plan: Plan) -> list[Round]:
    """Rounds until so many faults were tried, every second one of two; a folder that is there is gone on with.

    It ends before its time, between two rounds, once there is a file `stop` in the folder.
    """
    folder.mkdir(parents=True, exist_ok=True)
    rounds, end = rounds_of(folder), time.monotonic() + plan.minutes * 60
    number = max((int(path.name) for path in folder.glob("[0-9]*")), default=0)
    _leave_out_clients(number * (CLIENTS + ASKERS))
    while sum(len(one.faults) for one in rounds) < plan.count and time.monotonic() < end:
        if (folder / "stop").exists():
            break
        primary = database.primary()
        if primary is None or not faults.is_whole():
            faults.restore()
            hosts.until(faults.is_whole, WHOLE_SECONDS, "a whole cluster")
            continue
        faults_left = plan.count - sum(len(one.faults) for one in rounds)
        number += 1
        pick = random.Random(f"{plan.seed} {number}")
        most = 1 if plan.singles else min(1 + len(rounds) % 2, faults_left)
        round_faults = faults.drawn_together(pick, primary, most, plan.only)
        try:
            result = try_faults(round_faults, number, folder / f"{number:03}", pick, plan.pause)
        except TimeoutError as problem:  # a machine that is too busy to begin
            print(f"{number:3} {problem}", flush=True)
            faults.restore()
            continue
        rounds.append(result)
        print(row_of(result), flush=True)
        write_report(folder, rounds, plan.seed)
    return rounds


def rounds_of(folder: Path) -> list[Round]:
    """Those that were tried before, as the report keeps them."""
    path = folder / REPORT
    rows = json.loads(path.read_text())["rounds"] if path.exists() else []
    names = {field.name for field in fields(Round)}
    return [
        Round(**{**{k: v for k, v in row.items() if k in names}, "faults": [Fault(**one) for one in row["faults"]]})
        for row in rows
    ]


def row_of(one: Round) -> str:
    losses = ", ".join(f"{count} {kind}" for kind, count in one.findings.items()) or "nothing lost"
    silence = ", ".join(f"{name} {seconds}" for name, seconds in one.silence.items())
    calls = f"{one.calls} calls, {one.unknown} unknown"
    return f"{one.number:3} {one.name} ({calls}): {losses}; silent s: {silence}; whole after {one.whole_after} s"


def judge_all(folder: Path) -> Report:
    """All rounds as one history, by what each found at its end."""
    rounds = sorted(path.parent for path in folder.glob(f"*/{STORED}"))
    calls = [call for path in rounds for call in calls_of(path / HISTORY)]
    return check(calls, [row for path in rounds for row in stored_of(path / STORED)])


def write_report(folder: Path, rounds: list[Round], seed: int) -> None:
    """report.json for programs, report.md for people."""
    facts = {"seed": seed, **about()}
    rows = [{**asdict(one), "name": one.name} for one in rounds]
    (folder / REPORT).write_text(json.dumps({"about": facts, "rounds": rows}, indent=1))
    (folder / "report.md").write_text(page_of(rounds, facts))


def about() -> dict[str, Any]:
    """When, and on what."""
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "machine": f"{os.cpu_count()} processors, Linux {platform.release()}",
        "load_average": round(os.getloadavg()[0], 1),
        **database.modes(),
    }


def page_of(rounds: list[Round], about: dict[str, Any]) -> str:
    singles = [one for one in rounds if len(one.faults) == 1]
    pairs = [one for one in rounds if len(one.faults) == 2]
    counts = Counter[str]()
    for one in rounds:
        counts.update(one.findings)
    lines = [
        f"{sum(len(one.faults) for one in rounds)} faults in {len(rounds)} rounds ({len(singles)} single, {len(pairs)} "
        f"of two), {sum(one.calls for one in rounds)} calls; seed {about['seed']}, {about['date']}, {about['machine']},"
        f" load average {about['load_average']}; synchronous_mode {about['synchronous']}, pool_mode {about['pool']}.",
        "",
        "| found | times |",
        "|---|---|",
        *(f"| {kind} | {counts[kind]} |" for kind in Kind),
        "",
        "| single fault | times | found | no turn | no other write | no recall | no recall from the database |",
        "|---|---|---|---|---|---|---|",
        *_rows(singles),
        "",
        "| pairs | times | found | no turn | no other write | no recall | no recall from the database |",
        "|---|---|---|---|---|---|---|",
        *_rows(pairs, by_majority=True),
        "",
        "Seconds without an answer to any client: median, longest.",
    ]
    return "\n".join(lines) + "\n"


def _rows(rounds: Iterable[Round], *, by_majority: bool = False) -> list[str]:
    groups: dict[str, list[Round]] = defaultdict(list)
    for one in rounds:
        majority = "two database hosts are left" if one.is_majority else "one database host is left"
        groups[majority if by_majority else one.name].append(one)
    result = []
    for name, group in sorted(groups.items()):
        finding_count = sum(sum(one.findings.values()) for one in group)
        cells = []
        for what in ("turns", "writes", "recall", "recall_database"):
            seconds = [one.silence[what] for one in group]
            cells.append(f"{statistics.median(seconds):.1f}, {max(seconds):.1f}")
        result.append(f"| {name} | {len(group)} | {finding_count} | {' | '.join(cells)} |")
    return result
