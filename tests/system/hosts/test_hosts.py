"""Several hosts work with one database: what one is told the others know, and any of them may be killed."""

import os
import signal
import time
from pathlib import Path

import pytest

from memplatform import postgres
from memplatform.postgres import place
from memplatform.postgres.server import find_postmaster
from tests.support.house import until
from tests.system.hosts.conftest import Fleet, OneHost

ADDRESS = {"platform": "cli"}


@pytest.fixture(scope="module")
def first(fleet: Fleet) -> OneHost:
    return fleet.start("web-1", "web").greets()  # type: ignore[return-value]


@pytest.fixture(scope="module")
def second(fleet: Fleet, first: OneHost) -> OneHost:
    return fleet.start("web-2", "web").greets()  # type: ignore[return-value]


@pytest.fixture(scope="module")
def worker(fleet: Fleet, first: OneHost) -> OneHost:
    return fleet.start("worker-1", "worker,embedder", "channels").greets()  # type: ignore[return-value]


def turn(text: str) -> dict[str, object]:
    return {"address": ADDRESS, "user": text, "assistant": "Noted."}


def recalled(host: OneHost, question: str) -> str:
    answer = host.post("recall", {"address": ADDRESS, "message": question})
    assert answer.status == 200, answer
    return str(answer.json()["memories"])


def test_a_web_host_is_ready_before_any_other_host_is(first: OneHost) -> None:
    assert first.status_of("/readyz") == 200  # what the others are to do is behind
    assert first.post("turns", turn("My sister's dog is called Bramble")).status == 201
    assert "Bramble" in recalled(first, "What is my sister's dog called?")


def test_each_host_runs_its_parts_and_no_others(fleet: Fleet, first: OneHost, second: OneHost, worker: OneHost) -> None:
    until(lambda: _parts_heard(fleet) == {"web-1 web", "web-2 web", *(f"worker-1 {part}" for part in worker_parts)}, 30)
    assert fleet.ask("SELECT name FROM operations_host WHERE stopped_at IS NULL ORDER BY 1") == [
        "web-1", "web-2", "worker-1",
    ]  # fmt: skip
    assert "worker-1" in fleet.manage("hosts").stdout


worker_parts = ("worker", "embedder", "channels")


def _parts_heard(fleet: Fleet) -> set[str]:
    return set(
        fleet.ask("SELECT host || ' ' || name FROM operations_heartbeat WHERE beat_at > now() - '30 s'::interval")
    )


def test_what_one_host_is_told_another_recalls(first: OneHost, second: OneHost, worker: OneHost) -> None:
    assert first.post("turns", turn("I keep the spare key under the blue flowerpot")).status == 201
    assert "flowerpot" in recalled(second, "Where is the spare key?")
    stale = "SELECT count(*) FROM memories_indexqueueitem"
    until(lambda: worker.ask(stale) == [0], 30)  # embedded by the third


def test_only_the_first_web_host_makes_a_key(fleet: Fleet, first: OneHost, second: OneHost, worker: OneHost) -> None:
    assert [file.parent.parent.name for file in fleet.top.glob("*/credentials/bot-key")] == ["web-1"]
    assert fleet.ask("SELECT count(*) FROM memories_botkey") == [1]


@pytest.mark.parametrize(
    ("more", "name"),
    [
        ({"SECRET_KEY": "another key, which nobody else in this fleet has ever heard of"}, "SECRET_KEY"),
        ({"MEMPLATFORM_SECRETS_KEY": "a key of its own for secrets"}, "MEMPLATFORM_SECRETS_KEY"),
    ],
)
def test_a_host_with_another_key_is_refused(fleet: Fleet, second: OneHost, more: dict[str, str], name: str) -> None:
    code, words = fleet.start("stranger", "web", **more).ended()
    assert code == 1 and f"{name} is not the one of the host" in words and "Give all hosts the same" in words
    assert second.status_of("/readyz") == 200 and "flowerpot" in recalled(second, "Where is the spare key?")
    assert "stranger" not in fleet.ask("SELECT name FROM operations_host")


def test_a_host_with_another_folder_of_files_is_refused(fleet: Fleet, first: OneHost, tmp_path: Path) -> None:
    code, words = fleet.start("stranger", "worker", MEMORY_FILES_ROOT=str(tmp_path)).ended()
    assert code == 1 and str(tmp_path) in words and str(fleet.top / "shared") in words
    assert "All hosts share one folder" in words and "manage.py hosts --forget" in words


def test_a_host_that_opens_no_file_needs_no_folder(fleet: Fleet, first: OneHost, tmp_path: Path) -> None:
    api = f"http://127.0.0.1:{first.port}"
    host = fleet.start("mcp-1", "mcp", MEMORY_FILES_ROOT=str(tmp_path), MEMPLATFORM_API_URL=api).greets()
    assert fleet.ask("SELECT parts::text FROM operations_host WHERE name = 'mcp-1'") == ["{mcp}"]
    host.end(signal.SIGTERM)
    assert list(tmp_path.iterdir()) == []


def test_two_hosts_of_one_name_are_told_apart(fleet: Fleet, first: OneHost) -> None:
    (fleet.top / "twin").mkdir()
    more = {"MEMPLATFORM_HOST_NAME": "web-1", "MEMPLATFORM_DATA": str(fleet.top / "twin")}
    code, words = fleet.start("twin", "web", **more).ended()
    assert code == 1 and "A host called web-1 works with this database already" in words
    assert "MEMPLATFORM_HOST_NAME" in words


def test_what_a_host_took_while_the_database_was_away_it_brings_in_itself(fleet: Fleet, second: OneHost) -> None:
    """No embedder and no worker has a look at the journal on the disk of another host."""
    assert second.post("turns", turn("before")).status == 201
    server = find_postmaster(place.locate(fleet.top / "database").cluster)
    assert server
    os.kill(server.pid, signal.SIGKILL)
    sentence = "The night train to Trieste leaves from platform nine"
    turned = turn(sentence)
    until(lambda: second.post("turns", turned).status == 201, 20)
    assert second.waiting_calls() > 0
    postgres.up(fleet.top / "database", postgres.THROWAWAY)
    until(lambda: second.waiting_calls() == 0, 40)
    assert fleet.ask("SELECT count(*) FROM sessions_app_sessionevent WHERE content = %s", sentence) == [1]


def test_hosts_that_are_killed_leave_the_others_at_work_and_come_back(
    fleet: Fleet, first: OneHost, second: OneHost, worker: OneHost
) -> None:
    until(lambda: second.status_of("/readyz") == 200, 40)
    for host in (first, worker):
        os.kill(host.process.pid, signal.SIGKILL)
        host.process.wait()
    assert second.post("turns", turn("The allotment gate code is 4417")).status == 201
    assert "4417" in recalled(second, "What is the code of the allotment gate?")
    time.sleep(6)  # their children end
    assert second.status_of("/readyz") == 200
    again = fleet.start("worker-1", "worker,embedder,channels").greets()
    back = fleet.start("web-1", "web").greets()
    assert "4417" in recalled(back, "What is the code of the allotment gate?")  # type: ignore[arg-type]
    until(lambda: again.ask("SELECT count(*) FROM memories_indexqueueitem") == [0], 80)  # a lease, and the work
    assert fleet.ask("SELECT count(*) FROM operations_host WHERE name IN ('web-1', 'worker-1')") == [2]


def test_a_second_worker_host_runs_no_job_twice(fleet: Fleet, second: OneHost) -> None:
    fleet.start("worker-2", "worker,embedder").greets()
    task = "SELECT count(*) FROM django_q_task WHERE name IS NOT NULL"
    schedules = "SELECT count(*) - count(DISTINCT name) FROM django_q_schedule"
    before = fleet.ask(task)
    until(lambda: fleet.ask(task) > before, 90)
    assert fleet.ask(schedules) == [0]
    minute = (
        "SELECT count(*) FROM django_q_task WHERE \"group\" = 'mem:tick'"
        " GROUP BY date_trunc('minute', started) HAVING count(*) > 1"
    )
    assert fleet.ask(minute) == []
    assert second.post("turns", turn("Hello")).status == 201
