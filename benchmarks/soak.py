"""Is what was acknowledged there, once, when parts are killed? `make soak`, about two minutes.

Starts a platform of its own on a free port in a temporary folder. Writers send turns of which no two are alike, again
and again until each is acknowledged; readers recall; meanwhile a web worker, the embedder and the database are killed
with -9, one after another. Then every acknowledged turn is looked for in the database. Exits with 1 when one is
missing, or is there twice.
"""

import argparse
import os
import random
import signal
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor

from tests.support.house import Answer, House, until
from tests.support.load import Load, turn, words

WAKE_SECONDS = 60.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--writers", type=int, default=8)
    parser.add_argument("--readers", type=int, default=4)


def main(house: House, options: argparse.Namespace) -> None:
    load = Load(house, patient=True)
    recalls: list[tuple[Answer, float]] = []
    began = time.monotonic()
    with ThreadPoolExecutor(options.readers) as readers, load.running(options.writers):
        asking = [readers.submit(ask_on, house, n, recalls, load) for n in range(options.readers)]
        kills = kill_one_after_another(house, options.seconds, began)
    for reader in asking:
        reader.result()
    took = time.monotonic() - began
    until(lambda: house.status_of("/readyz") == 200, WAKE_SECONDS)
    print(f"{took:.0f} s, {options.writers} writers, {options.readers} readers; killed with -9: {kills};", end=" ")
    print(f"load average {os.getloadavg()[0]:.1f} after")
    report_calls("turns", [(call.answer, call.seconds) for call in load.sent])
    report_calls("recall", recalls)
    sys.exit(1 if lost_or_torn(load) else 0)


def ask_on(house: House, number: int, recalls: list[tuple[Answer, float]], load: Load) -> None:
    """Ask with some of the words a writer used, until the load stops."""
    pick = random.Random(number)
    while not load.stopping.is_set():
        message = pick.choice(load.acknowledged[-50:]).sentence if load.acknowledged else words(pick)
        body = {**turn(f"writer{pick.randrange(8)}", ""), "message": f"what was it about {message[:40]}?"}
        begun = time.monotonic()
        answer = house.post("recall", {name: body[name] for name in ("address", "message")})
        recalls.append((answer, time.monotonic() - begun))
        if answer.status == 0:
            time.sleep(0.05)


def kill_one_after_another(house: House, seconds: float, began: float) -> str:
    """At a quarter, a half and three quarters of the time."""
    victims: list[tuple[str, Callable[[], int]]] = [
        ("a web worker", lambda: min(house.pids("web"))),
        ("the embedder", lambda: min(house.pids("embedder"))),
        ("the database", lambda: house.database_pid() or 0),
    ]
    for n, (_name, pid_of) in enumerate(victims, 1):
        time.sleep(max(0.0, began + seconds * n / 4 - time.monotonic()))
        pid = pid_of()
        assert pid, "nothing to kill"
        os.kill(pid, signal.SIGKILL)
    time.sleep(max(0.0, began + seconds - time.monotonic()))
    return ", ".join(name for name, _pid_of in victims)


def report_calls(name: str, calls: Iterable[tuple[Answer, float]]) -> None:
    calls = list(calls)
    good = sorted(seconds * 1000 for answer, seconds in calls if answer.status in (200, 201))
    cuts = statistics.quantiles(good, n=20)
    print(f"{name}: {len(good)} answered, p50 {cuts[9]:.0f} ms, p95 {cuts[18]:.0f} ms, longest {good[-1]:.0f} ms")
    for kind, count in Counter(kind_of(answer) for answer, _ in calls if answer.status not in (200, 201)).items():
        print(f"  {count} × {kind}")


def kind_of(answer: Answer) -> str:
    if answer.status == 0:
        return f"no answer ({answer.body.decode()})"
    return f"{answer.status} {answer.json()['errors'][0]['code']}"


def lost_or_torn(load: Load) -> list[str]:
    """Acknowledged turns that are not stored once, and others that are stored in part: there should be none."""
    counts = load.stored()
    acknowledged = {call.sentence for call in load.acknowledged}
    wrong = [message for message in acknowledged if counts[message] != (1, 1)]
    torn = [message for message in counts.keys() - acknowledged if counts[message] not in ((0, 0), (1, 1))]
    print(f"acknowledged turns: {len(acknowledged)}; stored exactly once: {len(acknowledged) - len(wrong)}")
    print(f"never acknowledged: {len(counts) - len(acknowledged)}; of these half-written: {len(torn)}")
    return wrong + torn
