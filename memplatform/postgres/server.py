"""The embedded server of a data folder: started, stopped and leased; callers come, and are killed, at any moment.

The pid file of its postmaster alone lies: pids are used again, and zombies answer.
"""

import fcntl
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import psutil

from memplatform.postgres import cluster, programs
from memplatform.postgres.place import (
    PORT,
    Place,
    PostgresError,
    can_enter,
    disk_full,
    explain_os_errors,
    locate,
    prepare,
)
from memplatform.setup import installation


@dataclass(frozen=True)
class Postmaster:
    pid: int
    status: str  # what it last wrote of itself: starting, ready, stopping …


def find_postmaster(cluster: Path) -> Postmaster | None:
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


def _serves(pid: int, cluster: Path) -> bool:
    try:
        process = psutil.Process(pid)
        return process.status() != psutil.STATUS_ZOMBIE and str(cluster) in process.cmdline()
    except (psutil.NoSuchProcess, psutil.AccessDenied):  # a stranger's process is not our server
        return False


_RECOVERY_SECONDS = 300  # after a crash the server replays its log before it answers
_ATTEMPTS = 20  # a killed server's children may hold its memory for a moment
_FAST_SECONDS = 18
_IMMEDIATE_SECONDS = 4


def url(data: Path) -> str:
    """The address of the server at home in this data folder, running or not."""
    return locate(data).url


def up(data: Path, conf: cluster.Conf | None = None) -> str:
    """Make it run and answer; returns the address. A running server keeps the configuration it has."""
    place = locate(data)
    if complaint := installation.unsupported_reason():
        raise PostgresError(complaint)
    with _alone(place):
        programs.folder(place)  # raises where there is none, before anything is made
        cluster.ensure(place, conf)
        if place.account and not can_enter(place.account, place.cluster):
            raise PostgresError(f"The database's account can no longer enter {place.cluster}.")
        end = time.monotonic() + _RECOVERY_SECONDS
        started: int | None = None
        attempts = 0
        while not _answers(place):
            if time.monotonic() > end:
                raise PostgresError(f"The database server does not answer; see {place.log}.")
            server = find_postmaster(place.cluster)
            if server:
                # One that is stopping, or whose socket was swept away, has to end before a new one can start
                if server.status == "stopping" or (server.status == "ready" and not place.socket.exists()):
                    send(server, signal.SIGINT)
            elif started is None or not is_alive(started):
                if started and not _may_pass(place, attempts):
                    raise PostgresError(f"The database did not start: {_last_words(place)} (see {place.log})")
                attempts += 1
                # Start a server that outlives the caller; returns its pid
                cluster.configure(place, conf)
                for stale_file in (place.cluster / "postmaster.pid", place.socket, Path(f"{place.socket}.lock")):
                    stale_file.unlink(missing_ok=True)  # their pid may belong to another process by now
                with explain_os_errors(place.log.parent):
                    programs.open_log(place.log).close()
                    place.give(place.log)
                script = 'log=$1; shift; "$@" >>"$log" 2>&1 & echo $!'  # paths are words, never text: any is safe
                postgres = programs.folder(place) / "postgres"
                begun = programs.run(place, "/bin/sh", "-c", script, "sh", place.log, postgres, "-D", place.cluster)
                if not begun.stdout.strip().isdigit():
                    raise PostgresError(f"The database server did not start: {begun.stdout.strip()}")
                started = int(begun.stdout)
            time.sleep(0.05 if attempts < 2 else 0.5)
    return place.url


def down(data: Path) -> None:
    """Stop it, whoever started it, with everything committed on disk; nothing happens when none runs."""
    place = locate(data)
    if not place.cluster.exists():
        return
    with _alone(place), explain_os_errors(place.home):
        server = find_postmaster(place.cluster)
        if server is None:
            return
        for number, seconds in (
            (signal.SIGINT, _FAST_SECONDS),
            (signal.SIGQUIT, _IMMEDIATE_SECONDS),
            (signal.SIGKILL, _IMMEDIATE_SECONDS),
        ):
            send(server, number)
            end = time.monotonic() + seconds
            while _serves(server.pid, place.cluster):
                if time.monotonic() > end:
                    break
                time.sleep(0.02)
            else:
                return
        raise PostgresError(f"The database server (process {server.pid}) does not stop.")


def is_up(data: Path) -> bool:
    """Whether its process lives: cheap, for watching; it may still be recovering."""
    return find_postmaster(locate(data).cluster) is not None


@contextmanager
def lease(data: Path, conf: cluster.Conf | None = None) -> Iterator[str]:
    """The server's address, valid inside. A killed holder leaves it running, and the next one adopts it."""
    with lock_file(locate(data), "lease.lock") as lock:
        fcntl.flock(lock, fcntl.LOCK_SH)  # waits while the last holder is just stopping it
        try:
            yield up(data, conf)
        finally:
            # Of two that leave together, one at least finds that nobody else has the lease
            fcntl.flock(lock, fcntl.LOCK_UN)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                pass
            else:
                down(data)


@contextmanager
def lock_file(place: Place, name: str) -> Iterator[IO[str]]:
    """Opened for flock; not inherited by programs started meanwhile."""
    prepare(place)
    with explain_os_errors(place.home), (place.home / name).open("a") as file:
        place.give(place.home / name)
        yield file


@contextmanager
def _alone(place: Place) -> Iterator[None]:
    with lock_file(place, "start.lock") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _answers(place: Place) -> bool:
    if not place.socket.exists():
        return False
    return programs.run(place, "pg_isready", "-q", "-h", place.sockets, "-p", str(PORT)).returncode == 0


def _may_pass(place: Place, attempts: int) -> bool:
    """Whether trying again helps: it does while a killed server's children end."""
    words = _last_words(place)
    if "No space left" in words:
        raise disk_full(place.home)
    return attempts < _ATTEMPTS and ("shared memory block" in words or "lock file" in words)


def _last_words(place: Place) -> str:
    lines = place.log.read_text(errors="replace").splitlines()
    fatal = [line for line in lines[-40:] if "FATAL" in line or "PANIC" in line or "error" in line]
    return (fatal or lines or ["nothing in its log"])[-1]
