"""Superusers read the platform's own log in the admin, from the ends of its files, and nobody else does."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from memories.staff.roles import Role
from memplatform.operations.models import Heartbeat
from memplatform.site import log
from tests.memories.admin.conftest import House, enter, make_user
from tests.support.hosts import make_host

pytestmark = pytest.mark.django_db
ID = "3f2a" * 8
WEB = f"""\
2026-03-01T09:00:00.100000Z INFO memplatform.http.middleware request method=GET route=readyz request_id=other
2026-03-01T09:00:02.200000Z ERROR django.request Internal Server Error: api/v1/turns request_id={ID}
Traceback (most recent call last):
  File "turns.py", line 7, in take_turn
ZeroDivisionError: division by zero
2026-03-01T09:00:04.300000Z WARNING memories.recall recall.degraded without=vectors
"""
WORKER = [
    {"event": "task.begun", "request_id": ID, "level": "info", "logger": "memplatform.processes.cluster",
     "timestamp": "2026-03-01T09:00:03Z"},
    {"event": "task.failed", "level": "error", "logger": "django-q", "timestamp": "2026-03-01T09:00:05Z",
     "exception": "Traceback …\nValueError: no such day"},
]  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path, settings: Any) -> Path:
    """The logs of a host whose supervisor started a web, which writes plain lines, and a worker, which writes JSON."""
    settings.DATA_DIR = tmp_path
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / "web.log").write_text(WEB)
    (logs / "worker.log").write_text("".join(json.dumps(line) + "\n" for line in WORKER))
    (logs / "postgres.log").write_text("DETAIL: Failing row contains (a secret).\n")
    return logs


@contextmanager
def supervised(folder: Path) -> Iterator[None]:
    """This web writes to its file, as one that a supervisor started."""
    kept = os.dup(2)
    with (folder / "web.log").open("ab") as file:
        os.dup2(file.fileno(), 2)
    yield
    os.dup2(kept, 2)
    os.close(kept)


def shown(client: Client, **asked: str) -> list[str]:
    """The events of the page: the process and the words of each."""
    return [f"{event.process} {event.words}".split(" request_id")[0] for event in opened(client, **asked)["events"]]


def opened(client: Client, **asked: str) -> Any:
    return client.get(reverse("log"), asked).context


def test_the_lines_of_all_processes_stand_in_one_order_newest_first(owner: Client, folder: Path) -> None:
    assert shown(owner) == [
        "worker task.failed", "web recall.degraded without=vectors", "worker task.begun",
        "web Internal Server Error: api/v1/turns", "web request method=GET route=readyz",
    ]  # fmt: skip


def test_a_traceback_stands_with_its_event_in_its_order_in_both_forms(owner: Client, folder: Path) -> None:
    traces = [event.trace for event in opened(owner, level="ERROR")["events"]]
    assert traces == [
        "Traceback …\nValueError: no such day",
        'Traceback (most recent call last):\n  File "turns.py", line 7, in take_turn\n'
        "ZeroDivisionError: division by zero",
    ]


@pytest.mark.parametrize(
    ("asked", "count"),
    [
        ({"level": "WARNING"}, 3), ({"process": "worker"}, 2), ({"q": "zerodivision TURNS"}, 1), ({"q": "nowhere"}, 0),
        ({"request_id": ID}, 2), ({"request_id": ID[:8]}, 0), ({"process": "../credentials", "level": "X"}, 5),
    ],
)  # fmt: skip
def test_it_is_narrowed_by_level_process_words_and_request(
    asked: dict[str, str], count: int, owner: Client, folder: Path
) -> None:
    assert len(shown(owner, **asked)) == count


def test_of_a_large_file_only_the_end_is_read_and_500_events_shown(
    owner: Client, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = "2026-03-01T10:00:{:02d}Z INFO web number={}\n"
    (folder / "web.log").write_text("".join(line.format(n // 100, n) for n in range(5_000)))
    events = opened(owner, process="web")["events"]
    assert [events[0].words, events[-1].words, len(events)] == ["number=4999", "number=4500", log.MOST]
    assert shown(owner, q="number=1717") == ["web number=1717"]
    monkeypatch.setattr(log, "LOOKED_AT", 20_000)
    monkeypatch.setattr(log, "BLOCK", 999)  # lines are cut anywhere
    read = [event.words for event in log.events("web", folder / "web.log")]
    assert read == [f"number={n}" for n in range(4_999, 4_999 - len(read), -1)] and 400 < len(read) < 500
    assert shown(owner, q="number=1717") == []


def test_a_key_that_another_program_wrote_is_not_shown(owner: Client, folder: Path) -> None:
    (folder / "web.log").write_text("Authorization: Bearer mp_abcdefgh12345678 was refused\n")
    page = owner.get(reverse("log")).content.decode()
    assert "was refused" in page and "abcdefgh" not in page and "Failing row" not in page


@pytest.mark.parametrize("role", Role)
def test_no_role_of_a_workspace_opens_it_or_is_led_there(role: Role, mine: House, folder: Path) -> None:
    client = enter(make_user(role, workspace=mine.workspace, role=role, is_staff=True))
    assert client.get(reverse("log")).status_code == 403
    assert reverse("log") not in client.get(reverse("admin:index")).content.decode()
    palette = client.get(reverse("admin:search"), {"s": "log", "extended": "1"}).content.decode()
    assert f'"{reverse("log")}"' not in palette


def test_superusers_are_led_there_by_side_bar_and_palette(owner: Client) -> None:
    assert f'"{reverse("log")}"' in owner.get(reverse("admin:index")).content.decode()
    assert f'"{reverse("log")}"' in owner.get(reverse("admin:search"), {"s": "log", "extended": "1"}).content.decode()


@pytest.mark.parametrize(
    ("language", "here", "nowhere"),
    [("en", "started by itself and writes elsewhere", "kubectl logs"), ("zh-hans", "日志写在别处", "在容器中：")],
)
def test_where_the_lines_go_elsewhere_it_says_where_to_look(
    language: str, here: str, nowhere: str, owner: Client, folder: Path
) -> None:
    page = owner.get(reverse("log"), headers={"accept-language": language}).content.decode()
    assert here in page and nowhere not in page  # the files of a supervisor of before
    for file in folder.iterdir():
        file.unlink()
    page = owner.get(reverse("log"), headers={"accept-language": language}).content.decode()
    assert nowhere in page and here not in page


def test_a_web_that_writes_to_its_file_says_nothing_of_elsewhere(owner: Client, folder: Path) -> None:
    with supervised(folder):
        assert not opened(owner)["is_elsewhere"]
        for file in folder.iterdir():
            file.write_text("")
        assert "each request leaves a line" in owner.get(reverse("log")).content.decode()


def test_heartbeats_and_hosts_lead_to_the_log_of_this_host_alone(admin_client: Client, settings: Any) -> None:
    for name in (settings.HOST_NAME, "elsewhere"):
        make_host(name, timezone.now())
        Heartbeat.objects.create(host=name, name="worker", pid=7, started_at=timezone.now(), beat_at=timezone.now())
    beats = admin_client.get(reverse("admin:operations_heartbeat_changelist")).content.decode()
    hosts = admin_client.get(reverse("admin:operations_host_changelist")).content.decode()
    assert beats.count('href="/admin/log/?process=worker"') == 1 and "on that host" in beats
    assert hosts.count('<a href="/admin/log/">Log</a>') == 1 and "on that host" in hosts
