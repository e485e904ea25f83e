"""Code and tables of two versions: it does not start, and says what to do; calls are told to come again."""

from collections.abc import Callable
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from memplatform.management.commands import up
from tests import ROOT
from tests.conftest import Api

pytestmark = pytest.mark.django_db
LATER = "9999_of_a_later_version"


def apply(name: str) -> None:
    MigrationRecorder(connection).record_applied("memories", name)


def from_the_future() -> None:
    apply(LATER)


def test_it_does_not_start_on_tables_of_a_newer_version(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from_the_future()
    monkeypatch.setattr(up, "call_command", lambda *a, **k: pytest.fail("nothing may be changed"))
    with pytest.raises(SystemExit) as ended:
        up.Command()._seed(tmp_path)
    result = str(ended.value)
    assert f"memories.{LATER}" in result and "newer version" in result and "backup" in result


def lack_a_column() -> None:
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE memories_modelhealth RENAME check_result TO of_another")


@pytest.mark.parametrize("age", [
    partial(apply, "0001_vector_extension"),
    partial(apply, "0002_names_and_reading"),
    lack_a_column,
])  # fmt: skip
def test_tables_of_an_older_version_are_told_to_be_exported_and_stay_as_they_are(
    tmp_path: Path, age: Callable[[], None]
) -> None:
    age()
    with pytest.raises(SystemExit) as start:
        up.Command()._seed(tmp_path)
    with pytest.raises(CommandError) as migrating:
        call_command("migrate", verbosity=0)
    for sentence in (str(start.value), str(migrating.value)):
        assert "older version" in sentence and "export" in sentence and "import" in sentence
        assert (ROOT / "docs/howto/upgrade.md").exists() and "docs/howto/upgrade.md" in sentence
    assert "memories_entry" in connection.introspection.table_names()


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What a start does to the database, in order: nothing of it is done."""
    taken: list[str] = []

    def back_up(data: Path, *, now: datetime) -> Path:
        taken.append("backup")
        return data / "a backup"

    monkeypatch.setattr(up.postgres, "backup_before_upgrade", back_up)
    monkeypatch.setattr(up, "call_command", lambda name, **_options: taken.append(name))
    monkeypatch.setattr(up.first_run, "ensure", lambda *_a, **_k: None)
    return taken


def forget_the_newest() -> None:
    recorder = MigrationRecorder(connection)
    newest = max(name for app, name in recorder.applied_migrations() if app == "sessions_app")
    recorder.record_unapplied("sessions_app", newest)


def test_before_tables_of_an_older_version_change_they_are_backed_up(tmp_path: Path, steps: list[str]) -> None:
    forget_the_newest()
    up.Command()._seed(tmp_path, "postgresql:///own")
    assert steps == ["backup", "migrate"]


def test_tables_of_this_version_are_not_backed_up_at_each_start(tmp_path: Path, steps: list[str]) -> None:
    up.Command()._seed(tmp_path, "postgresql:///own")
    assert "backup" not in steps


def test_a_postgresql_of_ones_own_is_backed_up_by_its_owner(tmp_path: Path, steps: list[str], settings: Any) -> None:
    forget_the_newest()
    up.Command()._seed(tmp_path, None)
    assert steps == ["migrate"]
    settings.BACKUP_BEFORE_UPGRADE = False
    up.Command()._seed(tmp_path, "postgresql:///own")
    assert steps == ["migrate", "migrate"]


TEA = {"scope": "telegram:direct_u42", "type": "fact", "content": "tea"}


@pytest.fixture
def other_tables() -> None:
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE memories_entry RENAME content TO words")


@pytest.mark.usefixtures("other_tables")
def test_a_call_during_an_upgrade_is_told_to_come_again(api: Api) -> None:
    from_the_future()
    answer = api.post("entries", TEA)
    assert (answer.status_code, answer.json()["errors"][0]["code"]) == (503, "database_upgrading"), answer.content
    assert int(answer["Retry-After"]) > 0


@pytest.mark.usefixtures("other_tables")
def test_a_fault_on_tables_of_this_version_stays_a_fault(api: Api) -> None:
    assert api.post("entries", TEA).status_code == 500
