"""One running `manage.py up` with data and a port of its own, for those who kill parts of it."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Any

import psycopg

from memplatform import postgres
from memplatform.postgres import place
from memplatform.postgres.server import find_postmaster, is_alive
from tests import ROOT


@dataclass(frozen=True)
class Answer:
    """What came over the wire; status 0 when nothing came."""

    status: int
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


class House:
    """Further environment variables may be given by name."""

    words: tuple[str, ...] = ("up",)

    def __init__(self, data: Path, port: int, root: Path = ROOT, /, **more: str) -> None:
        self.data, self.port = data, port
        self.output: list[str] = []
        environment = {name: text for name, text in os.environ.items() if name != "DATABASE_URL"}
        self.process = subprocess.Popen(
            [sys.executable, "manage.py", *self.words],
            cwd=root,
            env={**environment, "MEMPLATFORM_DATA": str(data), "MEMPLATFORM_PORT": str(port), **more},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.reader = threading.Thread(target=self._read)
        self.reader.start()

    def _read(self) -> None:
        assert self.process.stdout
        with self.process.stdout as lines:
            self.output.extend(line.rstrip("\n") for line in lines)

    def greets(self) -> "House":
        try:  # it gives up by itself before that
            until(lambda: self.process.poll() is not None or any("Ctrl-C" in line for line in self.output), 400)
            assert self.process.poll() is None, self.output
        except AssertionError:
            self.end(signal.SIGTERM)
            raise
        return self

    def status_of(self, path: str) -> int:
        return self.fetch(urllib.request.Request(f"http://127.0.0.1:{self.port}{path}")).status

    def post(self, path: str, body: Any, **headers: str) -> Answer:
        """As the bot of the first start."""
        key = (self.data / "credentials" / "bot-key").read_text()
        data = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/api/v1/{path}", json.dumps(body).encode(), {**data, **headers}
        )
        return self.fetch(request, seconds=30)

    @staticmethod
    def fetch(request: urllib.request.Request, seconds: float = 5) -> Answer:
        try:
            with urllib.request.urlopen(request, timeout=seconds) as answer:
                return Answer(answer.status, answer.read())
        except urllib.error.HTTPError as error:
            with error:
                return Answer(error.code, error.read())
        except (OSError, HTTPException) as error:
            return Answer(0, type(error).__name__.encode())

    def pids(self, name: str) -> set[int]:
        """The living processes of this name that have told the database so."""
        rows = self.ask("SELECT pid FROM operations_heartbeat WHERE name = %s", name)
        return {pid for pid in rows if is_alive(pid)}

    def database_pid(self) -> int | None:
        server = find_postmaster(place.locate(self.data).cluster)
        return server.pid if server else None

    def ask(self, question: str, *values: Any) -> list[Any]:
        """The first column; while the database is starting, it is asked again."""
        end = time.monotonic() + 20
        while True:
            try:
                with psycopg.connect(postgres.url(self.data)) as connection:
                    return [row[0] for row in connection.execute(question, values or None).fetchall()]
            except psycopg.OperationalError:
                assert time.monotonic() < end, "the database does not answer"
                time.sleep(0.1)

    def waiting_calls(self) -> int:
        """Calls that were accepted without the database and are not in it yet."""
        segments = (self.data / "offline" / "journal").glob("*/*/*.jsonl")
        return sum(path.read_bytes().count(b"\n") for path in segments)

    def end(self, number: signal.Signals) -> float:
        """How many seconds it took; it stops within 22, and a crowded machine has some more."""
        began = time.monotonic()
        self.process.send_signal(number)
        self.process.wait(timeout=60)
        self.reader.join()
        return time.monotonic() - began


def until(question: Callable[[], object], seconds: float) -> None:
    """Wait for what an idle machine has done in so many seconds; a crowded one has three times as many."""
    end = time.monotonic() + 3 * seconds
    while not question():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.05)


def free_port() -> int:
    with socket.socket() as trial:
        trial.bind(("127.0.0.1", 0))
        return int(trial.getsockname()[1])
