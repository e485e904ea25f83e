"""How long until a platform is ready, and how much memory does it hold? Part of `make bench`, about two minutes.

Starts a platform of its own several times in one folder. The first start makes the database; the figures are of those
after it: seconds until it greets, and seconds of the processor all its processes needed until then, which other work on
the machine changes less. Then it stands idle, and the memory of each of its processes is added up: shared pages count
in parts (PSS), so the sum is what the platform takes of the machine.
"""

import argparse
import os
import signal
import statistics
import time
from collections import defaultdict
from pathlib import Path

import psutil

from memplatform.postgres import place
from memplatform.postgres.server import find_postmaster
from tests.support.house import House, free_port

MEGABYTE = 1 << 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--starts", type=int, default=5, help="after the first")
    parser.add_argument("--idle", type=float, default=20.0, help="seconds before memory is looked at")


def main(data: Path, options: argparse.Namespace) -> None:
    House(data, free_port()).greets().end(signal.SIGINT)
    took, processor_times = [], []
    for start in range(options.starts):
        began = time.monotonic()
        house = House(data, free_port()).greets()
        took.append(time.monotonic() - began)
        processor_times.append(sum(processor_seconds(process) for process in processes(house)))
        if start == options.starts - 1:
            time.sleep(options.idle)
            report_memory(house)
        house.end(signal.SIGINT)
    print(f"ready after {min(took):.1f} s at best, {statistics.median(took):.1f} s in the middle", end="; ")
    print(f"{statistics.median(processor_times):.1f} s of the processor; load average {os.getloadavg()[0]:.1f} after")


def processes(house: House) -> list[psutil.Process]:
    """The supervisor, its descendants, and the database's."""
    roots = [psutil.Process(house.process.pid)]
    if server := find_postmaster(place.locate(house.data).cluster):
        roots.append(psutil.Process(server.pid))
    return list({one.pid: one for root in roots for one in (root, *root.children(recursive=True))}.values())


def processor_seconds(process: psutil.Process) -> float:
    try:
        times = process.cpu_times()
    except psutil.NoSuchProcess:
        return 0.0
    return float(times.user + times.system)


def report_memory(house: House) -> None:
    """PSS by the names the processes give themselves, in megabytes; the web's largest worker alone."""
    result: dict[str, list[float]] = defaultdict(list)
    for process in processes(house):
        try:
            name = "postgres" if "postgres" in process.name() else process.name()
            result[name].append(process.memory_full_info().pss / MEGABYTE)
        except psutil.NoSuchProcess:
            continue
    for name, sizes in sorted(result.items()):
        print(f"{name:14}{sum(sizes):7.0f} MB in {len(sizes)} processes, the largest {max(sizes):.0f} MB")
    print(f"{'together':14}{sum(map(sum, result.values())):7.0f} MB (PSS)")
