"""The embedded database in a folder of its own, and back from it, with the package's programs."""

import json
import shutil
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.core.management import CommandError, call_command

from memories.audit.models import AuditRecord
from memplatform import postgres
from memplatform.postgres import programs
from memplatform.postgres.__main__ import main
from memplatform.postgres.place import PostgresError
from tests.conftest import NOW
from tests.system.conftest import remove


@pytest.fixture
def other(data: Path) -> Iterator[Path]:
    """A second data folder, in which nothing ran yet."""
    other = data.parent / "other"
    yield other
    remove(other)


@pytest.fixture
def filled_folder(used: Path) -> Path:
    """A data folder with a table, a role that may read it, an extension and credentials."""
    with postgres.lease(used) as url, psycopg.connect(url) as connection:
        connection.execute("CREATE EXTENSION vector")
        connection.execute("CREATE TABLE notes (words text, at vector(2))")
        connection.execute("INSERT INTO notes SELECT '花生 ' || n, '[1,2]' FROM generate_series(1, 1000) n")
        connection.execute("CREATE ROLE reader NOLOGIN")
        connection.execute("GRANT SELECT ON notes TO reader")
    (used / "credentials").mkdir(mode=0o700)
    (used / "credentials" / "secret-key").write_text("a key")
    return used


def rows(data: Path) -> list[tuple[str, str]]:
    with postgres.lease(data) as url, psycopg.connect(url) as connection:
        connection.execute("SET ROLE reader")
        return connection.execute("SELECT words, at::text FROM notes ORDER BY words").fetchall()


def test_what_is_backed_up_stands_in_another_folder_after_restoring(filled_folder: Path, other: Path) -> None:
    before = rows(filled_folder)
    postgres.backup(filled_folder, filled_folder.parent / "a backup")
    postgres.restore(other, filled_folder.parent / "a backup")
    assert len(before) == 1000
    assert rows(other) == before
    assert (other / "credentials" / "secret-key").read_text() == "a key"


def test_the_files_of_markdown_are_part_of_it(filled_folder: Path, other: Path) -> None:
    day = filled_folder / "files" / "alice-s" / "memory" / "2026-11-23.md"
    day.parent.mkdir(parents=True)
    day.write_text("- 买牛奶\n")
    (day.parent / "link.md").symlink_to("/etc/passwd")
    postgres.backup(filled_folder, filled_folder.parent / "backup")
    postgres.restore(other, filled_folder.parent / "backup")
    copy = other / day.relative_to(filled_folder)
    assert (copy.read_text(), copy.stat().st_mtime_ns) == ("- 买牛奶\n", day.stat().st_mtime_ns)
    assert (copy.parent / "link.md").is_symlink()


def test_a_file_that_vanishes_meanwhile_costs_no_backup(
    filled_folder: Path, other: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (filled_folder / "files").mkdir()
    for name in ("MEMORY.md", "gone.md"):
        (filled_folder / "files" / name).write_text(name)
    copy = shutil.copy2

    def slow(source: str, target: str, **how: bool) -> None:
        if source.endswith("gone.md"):
            Path(source).unlink()
        copy(source, target, **how)

    monkeypatch.setattr(shutil, "copy2", slow)
    postgres.backup(filled_folder, filled_folder.parent / "backup")
    assert [file.name for file in (filled_folder.parent / "backup" / "files").iterdir()] == ["MEMORY.md"]


def test_a_backup_is_for_its_owner_alone(filled_folder: Path) -> None:
    postgres.backup(filled_folder, filled_folder.parent / "backup")
    folder = filled_folder.parent / "backup"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {file.stat().st_mode & 0o777 for file in folder.iterdir() if file.is_file()} == {0o600}


def test_a_backup_takes_no_place_that_is_taken(filled_folder: Path) -> None:
    (filled_folder.parent / "backup").mkdir()
    with pytest.raises(PostgresError, match="is there already"):
        postgres.backup(filled_folder, filled_folder.parent / "backup")


def test_a_backup_that_fails_leaves_no_folder_of_its_name(filled_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "folder", lambda place: Path("/bin"))  # other programs: they fail
    shutil.rmtree(filled_folder.parent / "backup", ignore_errors=True)
    with pytest.raises((FileNotFoundError, postgres.PostgresError)):
        postgres.backup(filled_folder, filled_folder.parent / "backup")
    assert not (filled_folder.parent / "backup").exists()


def test_nothing_is_restored_over_a_database(filled_folder: Path, other: Path) -> None:
    postgres.backup(filled_folder, filled_folder.parent / "backup")
    with pytest.raises(PostgresError, match="There is a database in"):
        postgres.restore(filled_folder, filled_folder.parent / "backup")
    assert len(rows(filled_folder)) == 1000


def test_half_a_backup_is_refused_and_a_damaged_one_leaves_nothing_behind(filled_folder: Path, other: Path) -> None:
    folder = filled_folder.parent / "backup"
    postgres.backup(filled_folder, folder)
    dump = (folder / "database.dump").read_bytes()
    (folder / "database.dump").write_bytes(dump[: len(dump) // 2])
    with pytest.raises(PostgresError, match="could not be taken in"):
        postgres.restore(other, folder)
    (folder / "database.dump").write_bytes(dump)
    postgres.restore(other, folder)
    assert len(rows(other)) == 1000
    (folder / "roles.sql").unlink()
    with pytest.raises(PostgresError, match="no whole backup"):
        postgres.restore(other, folder)


def test_by_hand_it_is_one_word_each_and_one_sentence_when_it_fails(
    filled_folder: Path, other: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = str(filled_folder.parent / "backup")
    assert main(["backup", str(filled_folder), target]) == 0
    assert main(["restore", str(other), target]) == 0
    assert main(["backup", str(filled_folder), target]) == 1
    assert capsys.readouterr().err == f"{target} is there already; name a folder that is not.\n"
    assert main(["backup", str(filled_folder)]) == 2


def test_a_backup_is_tried_in_an_empty_folder_and_compared_table_by_table(
    filled_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = filled_folder.parent / "backup"
    postgres.backup(filled_folder, folder)
    with postgres.lease(filled_folder) as url, psycopg.connect(url) as connection:
        connection.execute("DELETE FROM notes")  # what came later is not part of it
    assert main(["verify", str(folder)]) == 0
    assert capsys.readouterr().out == "1 tables with 1000 rows are as they were backed up.\n"
    assert [path.name for path in filled_folder.parent.iterdir() if "trial" in path.name] == []
    fingerprints = json.loads((folder / "tables.json").read_text())
    (folder / "tables.json").write_text(json.dumps({"public.notes": [fingerprints["public.notes"][0], "0"]}))
    assert main(["verify", str(folder)]) == 1
    assert "differs from what was backed up in: public.notes" in capsys.readouterr().err
    assert [path.name for path in filled_folder.parent.iterdir() if "trial" in path.name] == []


@pytest.mark.django_db
def test_manage_py_backs_up_tries_and_restores(
    filled_folder: Path, other: Path, settings: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("DATABASE_URL", raising=False)
    settings.DATA_DIR = filled_folder
    backup = str(filled_folder.parent / "backup")
    call_command("backup", backup)
    call_command("verify_backup", backup)
    with pytest.raises(CommandError, match="already"):
        call_command("restore_backup", backup)
    settings.DATA_DIR = other
    call_command("restore_backup", backup)
    assert rows(other) == rows(filled_folder)
    assert AuditRecord.objects.filter(actor__startswith="command:").count() == 2
    assert "1 tables with 1000 rows are as they were backed up." in capsys.readouterr().out
    monkeypatch.setenv("DATABASE_URL", "postgres://elsewhere/mine")
    with pytest.raises(CommandError, match="DATABASE_URL"):
        call_command("backup", backup + "2")


def test_a_start_that_changes_tables_backs_them_up_and_keeps_the_newest_three(filled_folder: Path, other: Path) -> None:
    before = rows(filled_folder)
    (filled_folder / "backups").mkdir()
    (filled_folder / "backups" / "before-upgrade-2026-01-01T000000Z.unfinished").mkdir()  # it was killed
    written = []
    for day in range(4):
        written.append(postgres.backup_before_upgrade(filled_folder, now=NOW + timedelta(days=day)))
        postgres.upgrade_is_done(filled_folder)
    kept = sorted((filled_folder / "backups").iterdir())
    assert kept == written[1:]
    postgres.restore(other, kept[-1])
    assert rows(other) == before


def test_starts_that_are_killed_while_tables_change_keep_the_backup_the_upgrade_began_with(filled_folder: Path) -> None:
    began_with = postgres.backup_before_upgrade(filled_folder, now=NOW)
    for day in range(1, 5):
        assert postgres.backup_before_upgrade(filled_folder, now=NOW + timedelta(days=day)) == began_with
    assert list((filled_folder / "backups").glob("before-*")) == [began_with]
    shutil.rmtree(began_with)  # somebody made room
    assert postgres.backup_before_upgrade(filled_folder, now=NOW + timedelta(days=9)).is_dir()


def test_without_room_for_a_backup_nothing_is_changed_and_it_says_how_much_is_missing(
    filled_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = shutil._ntuple_diskusage(1 << 40, 1 << 40, 150_000_000)  # type: ignore[attr-defined]
    monkeypatch.setattr(shutil, "disk_usage", lambda _place: free)
    with pytest.raises(PostgresError, match=r"[2-9]\d\d MB are needed, 150 MB are free. Nothing was changed"):
        postgres.backup_before_upgrade(filled_folder, now=NOW)
    assert not (filled_folder / "backups").exists()
