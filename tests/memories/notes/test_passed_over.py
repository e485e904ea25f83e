"""Nothing on the disk is left out in silence: what is passed over is listed, with the reason (C12)."""

import os
from pathlib import Path

import pytest
from django.core.management import call_command

from memories.conf import conf
from memories.models import Scope
from memories.notes.condition import passed_over
from memories.notes.index import sync_scope
from tests.conftest import NOW
from tests.memories.notes.test_index import DAY, write


def reasons(scope: Scope) -> dict[str, str]:
    return {item.path: item.reason.value for item in passed_over(scope.workspace)}


def test_what_is_remembered_is_not_listed_nor_what_is_hidden_or_no_text(files: Path, scope: Scope) -> None:
    write(files, DAY, "- 买了新的显示器\n")
    write(files, "MEMORY.md", "- a\n")
    write(files, "memory/projects/水 电.md", "- b\n")
    write(files, "memory/scopes/telegram+direct_new/LONG_TERM.md", "- c\n")
    write(files, "memory/scopes/main/transcripts/2026-02-28.md", "words\n")
    write(files, ".git/x.md", "x")
    write(files, "memory/.draft.md", "x")
    write(files, "memory/photo.png", "x")
    assert reasons(scope) == {}


def test_names_and_places_that_are_not_read_are_listed(files: Path, scope: Scope) -> None:
    write(files, "README.md", "x")
    write(files, "memory/todo.txt", "x")
    write(files, "memory/2026-02-28.MD", "x")
    write(files, "memory/a:b.md", "x")
    write(files, "memory/ｘ.md", "x")
    write(files, "memory/scopes/main/2026-02-28.md", "x")
    assert reasons(scope) == {
        "README.md": "place",
        "memory/todo.txt": "ending",
        "memory/2026-02-28.MD": "ending",
        "memory/a:b.md": "name",
        "memory/ｘ.md": "name",
        "memory/scopes/main/2026-02-28.md": "place",
    }


def test_a_name_in_another_encoding_is_shown_as_far_as_it_goes(files: Path, scope: Scope) -> None:
    (files / "memory").mkdir(parents=True)
    Path(os.fsdecode(os.fsencode(files / "memory") + b"/\xc4\xe3.md")).write_text("x")
    assert reasons(scope) == {"memory/��.md": "name"}


def test_a_folder_of_no_scope_is_listed_once(files: Path, scope: Scope) -> None:
    write(files, "memory/scopes/My Friends/2026-02-28.md", "x")
    write(files, "memory/scopes/My Friends/2026-03-01.md", "x")
    assert reasons(scope) == {"memory/scopes/My Friends/": "scope"}


def test_of_two_folders_of_a_scope_the_one_of_before_is_listed(files: Path, scope: Scope) -> None:
    write(files, "memory/scopes/telegram:direct_u42/LONG_TERM.md", "- a\n")
    assert reasons(scope) == {}
    write(files, DAY, "- b\n")
    assert reasons(scope) == {"memory/scopes/telegram:direct_u42/": "second"}


def test_links_and_what_is_no_file_are_listed(files: Path, scope: Scope) -> None:
    write(files, "memory/a.md", "x")
    (files / "memory/link.md").symlink_to("a.md")
    (files / "memory/there").symlink_to(files)
    os.mkfifo(files / "memory/pipe.md")
    assert reasons(scope) == {"memory/link.md": "link", "memory/there/": "link", "memory/pipe.md": "no_file"}


def test_what_is_too_large_or_no_utf_8_is_listed_with_the_words_of_the_refusal(
    files: Path, scope: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conf, "FILE_MAX_BYTES", 100)
    write(files, DAY, "- long\n" * 50)
    latin = DAY.replace("28", "27")
    (files / latin).write_bytes(b"- fine\n- caf\xe9\n")
    assert reasons(scope) == {DAY: "too_large"}  # known at once, of the other once it was tried
    sync_scope(scope, now=NOW)
    one, other = passed_over(scope.workspace)
    assert (one.path, one.reason.value) == (latin, "unreadable") and "Line 2" in one.detail
    assert (other.path, other.reason.value) == (DAY, "too_large") and "350 bytes" in other.detail


def test_the_list_ends_somewhere(files: Path, scope: Scope) -> None:
    for n in range(5):
        write(files, f"memory/{n}.txt", "x")
    assert len(passed_over(scope.workspace, most=3)) == 3


def test_the_command_names_them(files: Path, scope: Scope, capsys: pytest.CaptureFixture[str]) -> None:
    write(files, "README.md", "x")
    call_command("reindex")
    assert "README.md: Only MEMORY.md and what lies in the folder memory is read." in capsys.readouterr().out
