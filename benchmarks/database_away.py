"""PostgreSQL is killed in the middle of calls, with the web's workers, and comes back: what was acknowledged, counted.

Bots talk in sessions of their own; every second one sends again what was not acknowledged, under its Idempotency-Key.
Printed: what was acknowledged, how much of it without the database, what is lost, twice or out of order, how long the
longest call took, and how long after its return the database held everything.
"""

import argparse
from dataclasses import asdict
from pathlib import Path

from benchmarks.ground import percentile
from tests.support.own_database import apart, database_goes_away


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--calls", type=int, default=2_000)
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--away", type=float, default=20.0, help="seconds")
    parser.add_argument("--accepted", type=int, default=0, help="calls taken in before the web's workers are killed")


def main(data: Path, options: argparse.Namespace) -> None:
    places = data, data.parent / "database"
    for place in places:
        place.mkdir(mode=0o755, exist_ok=True)
    with apart(*places, MEMORY_CALLS_PER_MINUTE="1000000") as house:
        talk, report = database_goes_away(
            house, clients=options.clients, calls=options.calls, away=options.away, accepted=options.accepted
        )
    for name, value in asdict(report).items():
        print(f"{name:16} {len(value) if isinstance(value, list) else value}")
    for name, calls in (
        ("with database", [c for c in talk.acknowledged if not c.degraded]),
        ("without", talk.degraded),
    ):
        times = [call.seconds * 1000 for call in calls]
        print(f"{name:16} {len(times)} calls, p50 {percentile(times, 50)} ms, p95 {percentile(times, 95)} ms")
