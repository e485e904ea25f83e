#!/usr/bin/env python3
"""Is what was acknowledged there, once, when parts are killed? `make soak`, about two minutes.

Starts a platform of its own on a free port in a temporary folder. Writers send turns of which no two are alike, again
and again until each is acknowledged; readers recall; meanwhile a web worker, the embedder and the database are killed
with -9, one after another. Then every acknowledged turn is looked for in the database. Exits with 1 when one is
missing, or is there twice.
"""

import argparse
import os
import random
import shutil
import signal
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from memplatform import postgres
from tests.support.house import Answer, House, free_port, until
from tests.support.load import Load, turn, words

WAKE_SECONDS = 60.0


def main() -> None:
    options = arguments()
    signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))
    with running() as house:
        load = Load(house, patient=True)
        recalls: list[tuple[Answer, float]] = []
        began, before = time.monotonic(), os.getloadavg()[0]
        with readers(house, options.readers, recalls, load), load.running(options.writers):
            killed = kill_one_after_another(house, options.seconds, began)
        took = time.monotonic() - began
        until(lambda: house.status_of("/readyz") == 200, WAKE_SECONDS)
        print(f"{took:.0f} s, {options.writers} writers, {options.readers} readers; {os.cpu_count()} processors,")
        print(f"load average {before:.1f} before and {os.getloadavg()[0]:.1f} after; killed with -9: {killed}")
        tell_calls("turns", [(sent.answer, sent.seconds) for sent in load.sent])
        tell_calls("recall", recalls)
        wrong = tell_storage(load)
    sys.exit(1 if wrong else 0)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--writers", type=int, default=8)
    parser.add_argument("--readers", type=int, default=4)
    return parser.parse_args()


@contextmanager
def running() -> Iterator[House]:
    top = Path(tempfile.mkdtemp(prefix="memplatform-soak-"))
    top.chmod(0o755)  # started as root, the database's account has to enter
    data = top / "data"
    house = House(data, free_port(), MEMORY_CALLS_PER_MINUTE="1000000")  # the limit of calls is not what is tried
    try:
        yield house.greets()
    finally:
        house.end(signal.SIGINT)
        postgres.down(data)
        shutil.rmtree(top)


@contextmanager
def readers(house: House, count: int, recalls: list[tuple[Answer, float]], load: Load) -> Iterator[None]:
    """They ask, with some of the words a writer used, until the load stops."""
    threads = [threading.Thread(target=partial(ask_on, house, n, recalls, load)) for n in range(count)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        for thread in threads:
            thread.join()


def ask_on(house: House, number: int, recalls: list[tuple[Answer, float]], load: Load) -> None:
    pick = random.Random(number)
    while not load.stopping.is_set():
        known = pick.choice(load.acknowledged[-50:]).said if load.acknowledged else words(pick)
        body = {**turn(f"writer{pick.randrange(8)}", ""), "message": f"what was it about {known[:40]}?"}
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


def tell_calls(name: str, calls: Iterable[tuple[Answer, float]]) -> None:
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


def tell_storage(load: Load) -> list[str]:
    """What is wrong, which is nothing."""
    stored = load.stored()
    acknowledged = {sent.said for sent in load.acknowledged}
    wrong = [said for said in acknowledged if stored[said] != (1, 1)]
    torn = [said for said in stored.keys() - acknowledged if stored[said] not in ((0, 0), (1, 1))]
    print(f"acknowledged turns: {len(acknowledged)}; stored exactly once: {len(acknowledged) - len(wrong)}")
    print(f"never acknowledged: {len(stored) - len(acknowledged)}; of these half-written: {len(torn)}")
    return wrong + torn


if __name__ == "__main__":
    main()
