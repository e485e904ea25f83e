"""The postmaster process of a cluster. Its pid file alone lies: pids are used again, and zombies answer."""

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

import psutil


@dataclass(frozen=True)
class Postmaster:
    pid: int
    status: str  # what it last wrote of itself: starting, ready, stopping …


def find(cluster: Path) -> Postmaster | None:
    """The living postmaster of this very cluster, else None."""
    try:
        lines = (cluster / "postmaster.pid").read_text().splitlines()
        pid = int(lines[0])
    except (FileNotFoundError, IndexError, ValueError):
        return None
    if not _serves(pid, cluster):
        return None
    return Postmaster(pid, lines[7].strip() if len(lines) > 7 else "starting")


def is_alive(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def send(server: Postmaster, number: signal.Signals) -> None:
    try:
        os.kill(server.pid, number)
    except ProcessLookupError:
        return


def is_gone_within(server: Postmaster, cluster: Path, seconds: float) -> bool:
    end = time.monotonic() + seconds
    while _serves(server.pid, cluster):
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def _serves(pid: int, cluster: Path) -> bool:
    try:
        process = psutil.Process(pid)
        return process.status() != psutil.STATUS_ZOMBIE and str(cluster) in process.cmdline()
    except (psutil.NoSuchProcess, psutil.AccessDenied):  # a stranger's process is not our server
        return False
