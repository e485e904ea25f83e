"""Which hosts may work with one database together, and what one that may not is answered."""

import os
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from memplatform.operations import hosts
from memplatform.operations.hosts import HostRefused, Identity
from memplatform.operations.models import Heartbeat, Host
from memplatform.processes.supervisor import Supervisor
from tests.conftest import NOW

pytestmark = pytest.mark.django_db
FOLDER = uuid4()


def host(name: str, **more: Any) -> Identity:
    columns: dict[str, Any] = {
        "uid": uuid4(),
        "parts": ("web",),
        "folder": FOLDER,
        "folder_path": f"/srv/{name}",
        "signing_keys": ("old",),
        "sealing_keys": ("old",),
    }
    return Identity(name=name, **columns | more)


def test_hosts_that_share_keys_and_folder_work_together() -> None:
    hosts.join(host("a"), now=NOW)
    hosts.join(host("b", parts=("worker", "embedder")), now=NOW)
    assert [(row.name, row.parts) for row in Host.objects.order_by("name")] == [
        ("a", ["web"]), ("b", ["worker", "embedder"]),
    ]  # fmt: skip


@pytest.mark.parametrize("keys", ["signing_keys", "sealing_keys"])
def test_a_key_is_changed_host_by_host_and_never_at_once(keys: str) -> None:
    steps = [("old",), ("old", "new"), ("new", "old"), ("new",)]
    for before, after in zip(steps, steps[1:], strict=False):
        Host.objects.all().delete()
        hosts.join(host("a", **{keys: before}), now=NOW)
        hosts.join(host("b", **{keys: after}), now=NOW)
    Host.objects.all().delete()
    hosts.join(host("a", **{keys: ("old",)}), now=NOW)
    with pytest.raises(HostRefused, match="is not the one of the host a"):
        hosts.join(host("b", **{keys: ("new", "old")}), now=NOW)  # a could not read what b writes


def test_a_host_that_stopped_has_no_say_about_keys_but_its_folder_stays() -> None:
    hosts.join(host("a"), now=NOW)
    Host.objects.update(stopped_at=NOW)
    hosts.join(host("b", signing_keys=("new",), sealing_keys=("new",)), now=NOW)
    with pytest.raises(HostRefused, match="/srv/c, is not the one of the host"):
        hosts.join(host("c", signing_keys=("new",), sealing_keys=("new",), folder=uuid4()), now=NOW)


def test_a_host_that_is_forgotten_claims_nothing() -> None:
    hosts.join(host("a"), now=NOW)
    with pytest.raises(HostRefused):
        hosts.join(host("b", folder=uuid4()), now=NOW)
    call_command("hosts", "--forget", "a")
    hosts.join(host("b", folder=uuid4()), now=NOW)


def test_a_host_that_runs_is_not_forgotten_nor_one_that_was_never_there() -> None:
    hosts.join(host("a"), now=timezone.now())
    with pytest.raises(CommandError, match="The host a runs; stop it first."):
        call_command("hosts", "--forget", "a")
    with pytest.raises(CommandError, match="There is no host b."):
        call_command("hosts", "--forget", "b")


def test_after_a_month_a_host_is_forgotten() -> None:
    hosts.join(host("a"), now=NOW)
    hosts.join(host("b", folder=uuid4()), now=NOW + timedelta(days=31))
    assert [row.name for row in Host.objects.all()] == ["b"]


def test_a_name_is_taken_while_its_host_runs() -> None:
    first, twin = host("a"), host("a")
    hosts.join(first, now=NOW)
    hosts.join(first, now=NOW)  # started again
    with pytest.raises(HostRefused, match=r"seen 9 s ago.*MEMPLATFORM_HOST_NAME"):
        hosts.join(twin, now=NOW + timedelta(seconds=9))
    hosts.join(twin, now=NOW + timedelta(seconds=31))


def test_a_database_nobody_else_reaches_takes_whatever_was_restored_into_it() -> None:
    hosts.join(host("a"), now=NOW)
    hosts.join(host("b", signing_keys=("new",), sealing_keys=("new",), folder=uuid4()), now=NOW, is_alone=True)
    assert [row.name for row in Host.objects.all()] == ["b"]


def test_a_folder_is_known_by_its_id_wherever_it_is_mounted(tmp_path: Path, settings: Any) -> None:
    settings.MEMORY_FILES_ROOT = str(tmp_path / "files")
    first = hosts.identity(tmp_path / "one", ["web"])
    (tmp_path / "files").rename(tmp_path / "mounted")
    settings.MEMORY_FILES_ROOT = str(tmp_path / "mounted")
    second = hosts.identity(tmp_path / "two", ["worker"])
    assert first.folder == second.folder and first.uid != second.uid
    assert hosts.identity(tmp_path / "two", ["mcp"]).folder is None


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path, settings: Any) -> None:
    (tmp_path / "file").touch()
    settings.MEMORY_FILES_ROOT = str(tmp_path / "file" / "below")
    with pytest.raises(HostRefused, match=r"file/below.*cannot be read or written"):
        hosts.identity(tmp_path / "data", ["web"])


def test_a_supervisor_minds_the_processes_of_its_own_host(settings: Any) -> None:
    """Another host may have a process of the same number."""
    now = timezone.now()
    for name in ("here", "there"):
        Heartbeat.objects.create(host=name, name="web", pid=7, started_at=now, beat_at=now)
    settings.HOST_NAME = "here"
    Supervisor([], None, print).start()
    assert [beat.host for beat in Heartbeat.objects.all()] == ["there"]


@pytest.mark.parametrize(
    ("words", "address", "sentence"),
    [
        ("web", "", "let DATABASE_URL name one that all hosts reach"),
        ("web,cook", "postgresql://a@b/c", "--only names cook; there are web, embedder, worker, channels, mcp."),
        ("mcp", "postgresql://a@b/c", "let MEMPLATFORM_API_URL name where it answers"),
    ],
)
def test_parts_that_do_not_go_together_are_refused_before_anything_starts(
    words: str, address: str, sentence: str, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", address)
    monkeypatch.setenv("MEMPLATFORM_ONLY", "")  # put back at the end
    monkeypatch.delenv("MEMPLATFORM_API_URL", raising=False)
    settings.ONLY, settings.PARTS, settings.MCP = [], list(settings.PARTS), settings.MCP
    with pytest.raises(SystemExit, match=sentence):
        call_command("up", "--only", words)
    assert os.environ["MEMPLATFORM_ONLY"] in ("", words)
