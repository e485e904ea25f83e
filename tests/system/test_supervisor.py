"""`manage.py up` with real processes: what it starts it keeps alive, and it leaves nothing behind."""

import io
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psutil
import pytest
from django.utils.translation import override

from memplatform import postgres
from memplatform.management.commands.up import Command
from memplatform.operations.models import Heartbeat
from memplatform.postgres import place
from memplatform.postgres.server import find_postmaster, is_alive
from memplatform.processes.children import programs
from memplatform.processes.supervisor import Workload, is_silent
from memplatform.setup.first_run import FirstRun
from tests.support.house import House, free_port, until


@pytest.fixture(scope="module")
def data(pattern: Path) -> Iterator[Path]:
    top = Path(tempfile.mkdtemp(prefix="a house "))
    top.chmod(0o755)
    data = Path(os.path.realpath(top)) / ".data"
    data.mkdir()
    subprocess.run(["cp", "-a", str(pattern), str(data / "postgres")], check=True)
    yield data
    postgres.down(data)
    shutil.rmtree(top)


@pytest.fixture(scope="module")
def houses(data: Path) -> Iterator[list[House]]:
    """Those started in the folder, one after the other; the last one may run."""
    houses: list[House] = []
    yield houses
    if houses and houses[-1].process.poll() is None:
        houses[-1].end(signal.SIGTERM)


@pytest.fixture
def house(data: Path, houses: list[House]) -> House:
    if not houses or houses[-1].process.poll() is not None:
        more = {"MEMPLATFORM_MCP": "true", "MEMPLATFORM_MCP_PORT": str(free_port())}
        houses.append(House(data, free_port(), **more).greets())
    return houses[-1]


def test_it_is_ready_when_it_greets(house: House) -> None:
    assert house.status_of("/readyz") == 200
    assert house.status_of("/livez") == 200
    assert any(f"http://127.0.0.1:{house.port}/admin/" in line for line in house.output)


def test_secrets_are_kept_in_files_of_their_owner_alone_and_not_written_into_a_journal(house: House) -> None:
    for name in ("operator-password", "bot-key"):
        file = house.data / "credentials" / name
        assert file.stat().st_mode & 0o777 == 0o600
        assert any(str(file) in line for line in house.output)
        assert not any(file.read_text() in line for line in house.output)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("out", "is_shown"), [(Terminal(), True), (io.StringIO(), False)])
def test_new_secrets_are_shown_once_to_a_person_at_a_terminal(out: io.StringIO, is_shown: bool) -> None:
    command = Command(stdout=out)
    command._greet(FirstRun(Path("password"), Path("key"), new_password="a-password", new_key="a-token"))
    assert ("a-password" in out.getvalue()) == is_shown
    assert ("a-token" in out.getvalue()) == is_shown


@pytest.mark.parametrize(
    ("language", "words"),
    [("en", "What users say plainly of themselves becomes a fact by rules"), ("zh-hans", "按规则成为事实")],
)
def test_the_first_start_says_what_becomes_a_fact_without_a_model(language: str, words: str, settings: Any) -> None:
    def greeting() -> str:
        out = io.StringIO()
        Command(stdout=out)._greet(
            FirstRun(Path("password"), Path("key"), new_password="a-password", new_key="a-token")
        )
        return out.getvalue()

    with override(language):
        assert words in greeting()
        settings.MEMORY_FACTS_IN_OWN_WORDS = False
        assert words not in greeting()


def test_it_says_what_it_is_doing_until_it_greets(house: House) -> None:
    first = [line for line in house.output if line.endswith("…")]
    assert first[:3] == ["Starting the database …", "Bringing the tables up to date …", first[2]]
    assert first[2].startswith("Starting web")


def test_the_curl_line_works_as_pasted(house: House) -> None:
    line = next(line for line in house.output if "curl" in line)
    answer = subprocess.run(["/bin/sh", "-c", line], capture_output=True, text=True)
    assert '"recall_id"' in answer.stdout, answer
    assert '"memories":[]' not in answer.stdout.replace(" ", "")


def test_every_child_beats_and_the_embedder_steps_back(house: House) -> None:
    for name, program in programs("", 0).items():
        until(lambda name=name: house.pids(name), 20)
        for pid in house.pids(name):
            process = psutil.Process(pid)
            assert process.nice() == (program.nice or os.nice(0))  # ours, where it has none of its own


def test_a_killed_embedder_is_started_again(house: House) -> None:
    (before,) = house.pids("embedder")
    os.kill(before, signal.SIGKILL)
    until(lambda: house.pids("embedder") - {before}, 20)
    assert any("embedder has ended and starts again" in line for line in house.output)


def test_a_killed_mcp_is_started_again_and_knows_no_database(house: House) -> None:
    def found() -> list[psutil.Process]:
        children = psutil.Process(house.process.pid).children()
        commands = {child: child.as_dict(["cmdline"])["cmdline"] or () for child in children}  # none: just killed
        return [child for child, command in commands.items() if "memplatform.processes.mcp" in command]

    def status() -> int:
        return house.fetch(urllib.request.Request(url, b"{}")).status

    until(found, 20)
    (before,) = found()
    url = f"http://127.0.0.1:{before.cmdline()[-1]}/mcp"
    until(lambda: status() == 401, 20)
    assert before.environ()["DATABASE_URL"] == ""
    until(lambda: house.pids("mcp") == {before.pid}, 20)  # it is heard all the same
    before.kill()
    until(lambda: found() not in ([], [before]) and status() == 401, 20)


def test_a_killed_web_leader_takes_its_workers_along_and_comes_back(house: House) -> None:
    before = house.pids("web")
    leader = psutil.Process(next(iter(before))).ppid()
    os.kill(leader, signal.SIGKILL)
    until(lambda: house.status_of("/livez") == 200 and house.pids("web") - before, 20)
    assert not any(map(is_alive, before))


def test_a_killed_database_is_started_again_with_every_row(house: House) -> None:
    server = find_postmaster(place.locate(house.data).cluster)
    assert server
    before = _entries(house)
    os.kill(server.pid, signal.SIGKILL)
    until(lambda: find_postmaster(place.locate(house.data).cluster) not in (None, server), 20)
    until(lambda: house.status_of("/readyz") == 200, 30)
    assert _entries(house) == before > 0


def _entries(house: House) -> int:
    return house.ask("SELECT count(*) FROM memories_entry")[0]


def test_a_second_one_in_the_same_folder_is_turned_away(house: House) -> None:
    second = House(house.data, free_port())
    second.process.wait(timeout=20)
    second.reader.join()
    assert second.process.returncode == 1
    assert second.output == [f"It is already running from this folder (process {house.process.pid})."]


def test_a_port_in_use_is_told_before_anything_starts(house: House, tmp_path: Path) -> None:
    other = House(tmp_path / "data", house.port)
    other.process.wait(timeout=20)
    other.reader.join()
    assert other.process.returncode == 1
    (line,) = other.output
    assert line == f"Port {house.port} is in use by another program; set MEMPLATFORM_PORT to a free one."
    assert not (tmp_path / "data" / "postgres").exists()


def test_mcp_and_the_web_are_not_given_one_port(tmp_path: Path) -> None:
    port = free_port()
    other = House(tmp_path / "data", port, MEMPLATFORM_MCP="true", MEMPLATFORM_MCP_PORT=str(port))
    other.process.wait(timeout=20)
    other.reader.join()
    assert other.output == [f"MEMPLATFORM_MCP_PORT is the port of the web server, {port}; name another."]


def test_children_of_a_killed_supervisor_end_and_the_next_start_takes_over(house: House, houses: list[House]) -> None:
    """That second start shows no secret again, and Ctrl-C leaves nothing behind."""
    alive = house.pids("web") | house.pids("embedder")
    house.end(signal.SIGKILL)
    again = House(house.data, house.port)
    houses.append(again)
    again.greets()
    assert again.status_of("/readyz") == 200
    assert not any(map(is_alive, alive))
    secret = (house.data / "credentials" / "bot-key").read_text()
    assert not any(secret in line for line in again.output)
    children = again.pids("web") | again.pids("embedder")
    again.end(signal.SIGINT)
    assert again.process.returncode == 0
    assert not any(map(is_alive, children))
    assert not postgres.is_up(house.data)


NOW = datetime(2026, 3, 1, tzinfo=UTC)


def beat(seconds_ago: float) -> Heartbeat:
    return Heartbeat(name="web", pid=1, started_at=NOW, beat_at=NOW - timedelta(seconds=seconds_ago))


@pytest.mark.parametrize(
    ("beats", "listening", "silent"),
    [
        ([4.0, 2.0], 600, False),
        ([31.0, 2.0], 600, True),  # one of two workers hangs
        ([300.0], 20, False),  # the database has only just come back
        ([300.0], 31, True),
        ([], 50, False),  # still starting
        ([], 61, True),  # never came up
    ],
)
def test_silence_counts_from_when_listening_began(beats: list[float], listening: float, silent: bool) -> None:
    since = NOW - timedelta(seconds=listening)
    assert is_silent([beat(seconds) for seconds in beats], now=NOW, since=since) == silent


@pytest.mark.parametrize(
    ("seconds_ago", "busy", "silent"),
    [
        (31.0, False, True),  # it hangs
        (31.0, True, False),  # a request keeps it busy
        (100.0, True, False),
        (181.0, True, True),  # a loop without end computes, too
    ],
)
def test_one_that_computes_is_given_time(seconds_ago: float, busy: bool, silent: bool) -> None:
    since = NOW - timedelta(seconds=600)
    assert is_silent([beat(seconds_ago)], now=NOW, since=since, busy={1} if busy else set()) == silent


def test_a_process_that_computes_is_told_from_one_that_sleeps() -> None:
    works = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    sleeps = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    try:
        time.sleep(1)  # both have started
        workload = Workload()
        for ticks in (0.0, 1.0):
            busy = {item.pid for item in (works, sleeps) if workload.is_busy(item.pid, ticks)}
            time.sleep(1)
        assert busy == {works.pid}
    finally:
        for one in (works, sleeps):
            one.kill()
            one.wait()
    assert not workload.is_busy(works.pid, 3.0)
