"""A running platform whose PostgreSQL is not its own: it can be killed, stay away and come back."""

import json
import os
import random
import shutil
import signal
import tempfile
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

import psutil
import psycopg

from memplatform import postgres
from memplatform.postgres import place
from memplatform.postgres.server import find_postmaster
from tests.support import migrated, postgres_server
from tests.support.house import Answer, House, free_port, until
from tests.support.load import words


def ask(database: Path, question: str, *values: Any) -> list[Any]:
    """The first column of what the database in this folder answers."""
    with psycopg.connect(postgres.url(database), autocommit=True) as connection:
        cursor = connection.execute(question, values or None)
        return [row[0] for row in cursor.fetchall()] if cursor.description else []


@contextmanager
def hanging(database: Path) -> Iterator[None]:
    """A server is there, with every connection it has, and says nothing: it is stopped, its kernel acknowledges."""
    server = find_postmaster(place.locate(database).cluster)
    assert server
    processes = [psutil.Process(server.pid)]
    try:
        processes[0].suspend()  # first, so that it starts no more
        processes += processes[0].children()
        for process in processes[1:]:
            process.suspend()
        yield
    finally:
        for process in reversed(processes):
            process.resume()


@contextmanager
def migrated_database(prefix: str, *folders: str) -> Iterator[Path]:
    """A folder with a migrated database that runs in `database`, and with other folders beside it, which are empty."""
    top = Path(os.path.realpath(tempfile.mkdtemp(prefix=prefix)))
    top.chmod(0o755)
    for name in ("database", *folders):
        (top / name).mkdir(mode=0o755)
    migrated.copy(migrated.cluster(postgres_server.DATA), top / "database" / "postgres")
    postgres.up(top / "database", postgres.THROWAWAY)
    yield top
    postgres.down(top / "database")
    shutil.rmtree(top)


class HouseApart(House):
    """Its database lives in another folder, and nobody but us starts it again."""

    def __init__(self, data: Path, database: Path, **more: str) -> None:
        self.database = database
        postgres.up(database, postgres.THROWAWAY)
        super().__init__(data, free_port(), DATABASE_URL=postgres.url(database), **more)

    def ask(self, question: str, *values: Any) -> list[Any]:
        """The first column."""
        return ask(self.database, question, *values)

    def kill_database(self) -> None:
        """At once, and everything it was doing."""
        server = find_postmaster(place.locate(self.database).cluster)
        assert server
        os.kill(server.pid, signal.SIGKILL)

    @contextmanager
    def hanging_database(self) -> Iterator[None]:
        """It is there, with every connection it has, and says nothing."""
        with hanging(self.database):
            yield

    def start_database(self) -> None:
        postgres.up(self.database, postgres.THROWAWAY)

    def post_with(self, key: str, path: str, body: Any, **headers: str) -> Answer:
        """As the bot of a key."""
        data = {"Authorization": f"Bearer {key}", "Content-Type": "application/json", **headers}
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/api/v1/{path}", json.dumps(body).encode(), data)
        return self.fetch(request, seconds=30)

    def new_key(self, name: str) -> str:
        """The token of another key of the same bot."""
        token = f"mp_{name}_{random.getrandbits(64):x}"
        digest = sha256(token.encode()).hexdigest()
        self.ask(
            "INSERT INTO memories_botkey (workspace_id, bot_id, label, prefix, digest, permissions, scope_patterns,"
            " created_at) SELECT workspace_id, bot_id, %s, %s, %s, permissions, scope_patterns, now()"
            " FROM memories_botkey ORDER BY id LIMIT 1",
            name,
            token[:10],
            digest,
        )
        return token


@contextmanager
def apart(data: Path, database: Path, **more: str) -> Iterator[HouseApart]:
    """A running one; at the end both are stopped."""
    house = HouseApart(data, database, **more)
    try:
        yield house.greets()  # type: ignore[misc]
    finally:
        if house.process.poll() is None:
            house.end(signal.SIGTERM)
        postgres.down(database)


@dataclass(frozen=True)
class Call:
    """One turn, and how it was answered."""

    peer: str
    sentence: str
    status: int
    degraded: list[str]
    at: float
    seconds: float


@dataclass
class Clients:
    """Bots that go on talking, each in a session of its own; every second one says again what was not acknowledged."""

    house: HouseApart
    seed: int = 0
    calls: list[Call] = field(default_factory=list)

    def talk(self, clients: int, turns: int) -> list[threading.Thread]:
        """Begin to talk: so many turns each."""
        threads = [threading.Thread(target=self._talk, args=(f"client{n}", turns, n % 2 == 0)) for n in range(clients)]
        for thread in threads:
            thread.start()
        return threads

    def _talk(self, peer: str, turns: int, is_patient: bool) -> None:
        mine = random.Random(f"{self.seed} {peer}")
        for number in range(turns):
            text = f"{number:05} {words(mine)}"
            while not self._say(peer, text, is_patient) and is_patient:
                time.sleep(0.05)

    def _say(self, peer: str, statement: str, is_patient: bool) -> bool:
        address = {"platform": "telegram", "account": "load", "peer": peer, "chat": f"chat of {peer}"}
        headers = {"Idempotency-Key": statement} if is_patient else {}
        begun = time.monotonic()
        answer = self.house.post("turns", {"address": address, "user": statement, "assistant": "Noted."}, **headers)
        degraded = answer.json()["degraded"] if answer.status == 201 else []
        self.calls.append(Call(peer, statement, answer.status, degraded, begun, time.monotonic() - begun))
        if answer.status == 0:
            until(lambda: self.house.status_of("/livez") == 200, 120)  # nobody listens
        return answer.status == 201

    @property
    def acknowledged(self) -> list[Call]:
        return [call for call in self.calls if call.status == 201]

    @property
    def degraded(self) -> list[Call]:
        return [call for call in self.acknowledged if call.degraded]


@dataclass(frozen=True)
class Tally:
    """What became of all that was said."""

    acknowledged: int
    degraded: int
    refused: int
    stored: int
    lost: list[str]
    twice: list[str]
    out_of_order: list[str]
    slowest: float  # seconds of one call
    replayed_after: float  # seconds from the return of the database until nothing waited


def tally(clients: Clients, *, replayed_after: float = 0.0) -> Tally:
    """Count what the database holds of what was said, as messages of its session and as memories."""
    rows = clients.house.ask(
        "SELECT s.peer || '|' || e.content FROM sessions_app_sessionevent e JOIN sessions_app_session s"
        " ON s.id = e.session_id WHERE e.kind = 'user' AND s.account = 'load'"
        " ORDER BY e.session_id, e.conversation, e.position"
    )
    stored = Counter(row.split("|", 1)[1] for row in rows)
    contents = clients.house.ask("SELECT content FROM memories_entry WHERE content LIKE 'User: %%'")
    entries = Counter(content.split("\n")[0].removeprefix("User: ") for content in contents)
    results = [call.sentence for call in clients.acknowledged]
    order: dict[str, list[str]] = {}
    for row in rows:
        peer, text = row.split("|", 1)
        order.setdefault(peer, []).append(text)
    return Tally(
        acknowledged=len(results),
        degraded=len(clients.degraded),
        refused=len(clients.calls) - len(results),
        stored=stored.total(),
        lost=[text for text in results if not stored[text] or not entries[text]],
        twice=[text for text, count in (stored | entries).items() if count > 1],
        out_of_order=[peer for peer, texts in order.items() if texts != sorted(texts)],
        slowest=max(call.seconds for call in clients.calls),
        replayed_after=replayed_after,
    )


def database_goes_away(
    house: HouseApart, *, clients: int, calls: int, away: float, before: float = 0.2, accepted: int = 0
) -> tuple[Clients, Tally]:
    """Kill PostgreSQL after a share of the calls, and the web's workers; start PostgreSQL again; count.

    The workers are killed at the same moment, or when so many calls were `accepted` without the database. It stays away
    for so many seconds, and until other workers have accepted calls, too.
    """
    talk = Clients(house)
    threads = talk.talk(clients, calls // clients)
    until(lambda: len(talk.acknowledged) >= calls * before, 120)
    workers, begun = house.pids("web"), time.monotonic()
    house.kill_database()
    until(lambda: len(talk.degraded) >= accepted, 30)
    for pid in workers:
        os.kill(pid, signal.SIGKILL)
    then = time.monotonic()
    until(lambda: any(call.at > then for call in talk.degraded), 60)
    until(lambda: time.monotonic() > begun + away, away + 1)
    house.start_database()
    back = time.monotonic()
    for thread in threads:
        thread.join()
    until(lambda: house.waiting_calls() == 0, 300)
    return talk, tally(talk, replayed_after=round(time.monotonic() - back, 1))
