"""A PostgreSQL of one's own, with an ordinary user and passwords: what the how-to says works as it stands."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest

from memplatform import postgres
from memplatform.database.roles import PROCESSES
from memplatform.postgres import place, programs
from tests import ROOT
from tests.support.house import House, free_port, until
from tests.system.conftest import remove

HOW_TO = (ROOT / "docs" / "howto" / "use-your-own-postgresql.md").read_text()
#: As the how-to said it before, and as many an installation was made.
FORMERLY = r"""
CREATE USER memplatform PASSWORD 'secret';
CREATE ROLE memplatform_web NOLOGIN;
GRANT memplatform_web TO memplatform;
CREATE DATABASE memplatform OWNER memplatform ENCODING 'UTF8' TEMPLATE template0;
\c memplatform
CREATE EXTENSION vector;
"""
WITHOUT_ROLES = FORMERLY.replace("CREATE ROLE memplatform_web NOLOGIN;\nGRANT memplatform_web TO memplatform;\n", "")
A_SECOND = (
    FORMERLY.replace("CREATE ROLE memplatform_web NOLOGIN;\nGRANT memplatform_web TO memplatform;\n", "")
    .replace("CREATE USER memplatform PASSWORD 'secret'", "CREATE USER second PASSWORD 'another' CREATEROLE")
    .replace("memplatform", "second")
)


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", HOW_TO, re.DOTALL)


@dataclass(frozen=True)
class Server:
    """Nobody but its administrator gets in without a password."""

    data: Path

    def psql(self, script: str) -> None:
        """As its administrator, word for word."""
        where = place.locate(self.data)
        result = subprocess.run(
            [programs.folder(where) / "psql", "-X", "-v", "ON_ERROR_STOP=1", "-U", "postgres", "-h", where.sockets],
            input=script,
            capture_output=True,
            text=True,
            check=False,
        )
        assert result.returncode == 0, result.stderr

    def address(self, url: str) -> str:
        """An address of the how-to, on this server."""
        return f"{url.replace('db.internal:5432', '')}?host={quote(str(place.locate(self.data).sockets), safe='')}"

    def who(self, database: str = "memplatform") -> set[str]:
        """Who is logged in to this database."""
        with psycopg.connect(postgres.url(self.data)) as connection:
            result = connection.execute("SELECT usename FROM pg_stat_activity WHERE datname = %s", [database])
            return {row[0] for row in result}


@pytest.fixture
def server(used: Path) -> Iterator[Server]:
    (used / "postgres" / "pg_hba.conf").write_text("local all postgres trust\nlocal all all scram-sha-256\n")
    postgres.up(used, postgres.THROWAWAY)
    yield Server(used)
    remove(used)


@pytest.fixture
def houses(tmp_path: Path) -> Iterator[list[House]]:
    open_now: list[House] = []
    yield open_now
    for house in open_now:
        house.end(signal.SIGTERM)


def begin(houses: list[House], data: Path, **environment: str) -> House:
    house = House(data, free_port(), MEMORY_EMBEDDERS="", **environment)
    houses.append(house)
    house.greets()
    until(lambda: house.status_of("/readyz") == 200, 30)
    return house


def manage(data: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "manage.py", *words],
        cwd=ROOT,
        env={**os.environ, "MEMPLATFORM_DATA": str(data), **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def remembers(house: House) -> None:
    turn = {"address": {"platform": "cli"}, "user": "I moved to Hangzhou", "assistant": "Noted."}
    assert house.post("turns", turn).status == 201
    answer = house.post("recall", {"address": {"platform": "cli"}, "message": "did I move to Hangzhou?"}).json()
    assert any("Hangzhou" in memory["content"] for memory in answer["memories"])


def told_url() -> str:
    url, *_of_a_pooler = re.findall(r"export DATABASE_URL='(.*)'", HOW_TO)
    return str(url)


def test_set_up_as_the_how_to_says_it_becomes_ready(server: Server, houses: list[House], tmp_path: Path) -> None:
    server.psql(blocks("sql")[0])
    house = begin(houses, tmp_path / "data", DATABASE_URL=server.address(told_url()))
    remembers(house)
    assert {f"memplatform_{process}" for process in PROCESSES} <= server.who()
    assert not any("database role" in line for line in house.output), house.output
    checked = manage(tmp_path / "data", "check", "--database", "default", DATABASE_URL=server.address(told_url()))
    assert "no issues" in checked.stdout, checked.stdout + checked.stderr


def test_with_roles_an_administrator_made_it_becomes_ready(server: Server, houses: list[House], tmp_path: Path) -> None:
    server.psql(blocks("sql")[1])
    addresses = dict(re.findall(r"export (MEMPLATFORM_\w+_DATABASE_URL)='(.*)'", HOW_TO))
    assert len(addresses) == 4
    urls = {name: server.address(url) for name, url in addresses.items()}
    house = begin(houses, tmp_path / "data", DATABASE_URL=server.address(told_url()), **urls)
    remembers(house)
    assert {f"memplatform_{process}" for process in PROCESSES} <= server.who()
    assert not any("database role" in line for line in house.output), house.output


def test_set_up_as_it_was_told_before_it_becomes_ready_and_says_what_is_missing(
    server: Server, houses: list[House], tmp_path: Path
) -> None:
    server.psql(FORMERLY)
    house = begin(houses, tmp_path / "data", DATABASE_URL=server.address(told_url()))
    remembers(house)
    lines = [line for line in house.output if "database role" in line]
    assert lines[0].startswith("The web takes on the database role memplatform_web with the owner's login")
    assert lines[1].startswith("No database role of its own lets in: worker, embedder, channels;")


def test_a_user_who_may_make_no_roles_works_without_the_second_wall_and_is_told(
    server: Server, houses: list[House], tmp_path: Path
) -> None:
    server.psql(WITHOUT_ROLES)
    house = begin(houses, tmp_path / "data", DATABASE_URL=server.address(told_url()))
    remembers(house)
    assert any(
        line.startswith("No database role of its own lets in: web, worker, embedder, channels;")
        for line in house.output
    )
    checked = manage(tmp_path / "data", "check", "--database", "default", DATABASE_URL=server.address(told_url()))
    assert (checked.returncode, "memplatform.W009" in checked.stderr) == (0, True), checked.stderr


def test_a_second_database_on_one_server_has_roles_of_its_own(
    server: Server, houses: list[House], tmp_path: Path
) -> None:
    server.psql(blocks("sql")[0])
    server.psql(A_SECOND)
    first, second = server.address(told_url()), server.address("postgresql://second:another@db.internal:5432/second")
    assert manage(tmp_path / "first", "migrate", "-v0", DATABASE_URL=first).returncode == 0
    house = begin(houses, tmp_path / "second", DATABASE_URL=second)
    remembers(house)
    assert {f"memplatform_{process}_second" for process in PROCESSES} <= server.who("second")
    checked = manage(tmp_path / "first", "check", "--database", "default", DATABASE_URL=first)
    assert "memplatform.W009" in checked.stderr  # no password was given yet: that is done when it starts


def test_a_server_that_only_follows_another_is_taken_for_away(used: Path, tmp_path: Path) -> None:
    (used / "postgres" / "standby.signal").touch()  # it recovers from its own log, without an end
    url = postgres.up(used, postgres.THROWAWAY)
    asked = ("shell", "-v0", "-c", "from django.db import connection; connection.ensure_connection()")
    refused = manage(tmp_path / "data", *asked, DATABASE_URL=url)
    assert refused.returncode == 1 and "standby" in refused.stderr, refused.stderr
    chosen = manage(tmp_path / "data", *asked, DATABASE_URL=f"{url}&target_session_attrs=any")
    assert chosen.returncode == 0, chosen.stderr
