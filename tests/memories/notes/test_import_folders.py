"""What may lie in a folder that is imported, and what is refused or left out, in a sentence (D8)."""

import os
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError
from django.utils import translation

from memories.choices import BatchState
from memories.models import Batch, Entry, Scope, Workspace
from tests.conftest import make_scope
from tests.memories.notes.conftest import days, facts, import_output, imported, write

pytestmark = pytest.mark.django_db


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("files", "left_out"),
    [
        ({"MEMORY.md": b"\xef\xbb\xbf- one\r\n- two\r\n"}, []),
        ({"MEMORY.md": "one\r\rtwo"}, []),
        ({"memory/MEMORY.md": "- one\n- two\n"}, []),
        ({"MEMORY.md": "- one\n- two\n", "memory/MEMORY.md": "- one\n"}, []),
        ({"MEMORY.md": "- one\n\n- two", "2026-02-30.md": "no day"}, [("2026-02-30.md", "no_day")]),
        ({"MEMORY.md": "- one\n- two", "notes.md": "x", "a.txt": "y"}, [("notes.md", "name")]),
        ({"MEMORY.md": "- one\n- two", "2026-01-01.md": b"\xff\xfe"}, [("2026-01-01.md", "no_text")]),
        ({"MEMORY.md": "- one\n- two", "2026-01-01.md": b"a\0b"}, [("2026-01-01.md", "no_text")]),
        ({"MEMORY.md": "- one\n- two", "2026-01-01.md": " \n\n"}, [("2026-01-01.md", "empty")]),
        ({"MEMORY.md": "- one\n- two", "2026-01-01.md/x": "a folder"}, [("2026-01-01.md", "no_file")]),
    ],
)
def test_whatever_lies_in_a_folder_the_lines_are_read(
    files: dict[str, str | bytes], left_out: list[tuple[str, str]], tmp_path: Path, scope: Scope
) -> None:
    counts = imported(write(tmp_path, files))
    assert facts(scope) == ["one", "two"]
    assert [(row["path"], row["reason"]) for row in counts["left_out"]] == left_out


def test_links_are_not_followed(tmp_path: Path, scope: Scope) -> None:
    write(tmp_path / "secret", {"MEMORY.md": "- the root password", "2026-01-01.md": "hidden"})
    folder = write(tmp_path / "claw", {"2026-01-02.md": "seen"})
    (folder / "MEMORY.md").symlink_to(tmp_path / "secret/MEMORY.md")
    (folder / "memory").symlink_to(tmp_path / "secret")
    counts = imported(folder)
    assert {(row["path"], row["reason"]) for row in counts["left_out"]} == {("MEMORY.md", "link"), ("memory", "link")}
    assert (facts(scope), days(scope)) == ([], [("2026-01-02", "seen")])


def test_names_of_strange_bytes_are_shown_as_far_as_they_can_be_read(tmp_path: Path, scope: Scope) -> None:
    folder = os.fsencode(tmp_path) + b"/\xff\xfe claw"
    os.mkdir(folder)
    for name in (b"MEMORY.md", b"\xff.md", "笔记.md".encode()):
        Path(os.fsdecode(folder + b"/" + name)).write_text("- one")
    shown = import_output(Path(os.fsdecode(folder)))
    assert "\ufffd.md: it is neither" in shown and "笔记.md: it is neither" in shown
    assert facts(scope) == ["one"] and Batch.objects.get().reason == "\ufffd\ufffd claw"


def test_a_huge_or_unreadable_file_or_a_pipe_is_left_out(tmp_path: Path, scope: Scope) -> None:
    folder = write(tmp_path, {"MEMORY.md": "- one", "2026-01-01.md": "x"})
    os.truncate(folder / "2026-01-01.md", 10_000_001)
    os.mkfifo(folder / "2026-01-02.md")
    counts = imported(folder)
    assert [row["reason"] for row in counts["left_out"]] == ["no_file", "too_large"]
    assert facts(scope) == ["one"]


def test_a_file_that_vanishes_or_may_not_be_read_is_left_out(
    folder: Path, scope: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = os.open

    def refuse(path: Any, *args: Any, **options: Any) -> int:
        if str(path).endswith("2026-01-30.md"):
            raise PermissionError(13, "no")
        if str(path).endswith("2026-01-31.md"):
            raise FileNotFoundError(2, "gone")
        return opened(path, *args, **options)

    monkeypatch.setattr(os, "open", refuse)
    counts = imported(folder)
    assert [row["reason"] for row in counts["left_out"]] == ["unreadable", "unreadable"]
    assert (counts["facts"], counts["events"]) == (3, 1)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nowhere", "There is no folder “.*nowhere”"),
        ("claw/MEMORY.md", "of no format that is known"),
        ("empty", "Nothing to import in"),
    ],
)
def test_a_folder_that_cannot_be_imported_is_told_in_a_sentence(
    name: str, words: str, folder: Path, scope: Scope
) -> None:
    (folder.parent / "empty").mkdir()
    with pytest.raises(CommandError, match=words):
        imported(folder.parent / name)


@pytest.mark.parametrize("name", [".", "alice-s", "alice-s/memory", "link"])
def test_the_platform_s_own_files_are_indexed_and_never_imported(
    name: str, folder: Path, scope: Scope, settings: Any
) -> None:
    settings.MEMORY_FILES_ROOT = root = folder.parent / "files"
    write(root / "alice-s", {"MEMORY.md": "- one", "memory/2026-01-01.md": "x"})
    (root / "link").symlink_to(root / "alice-s")
    with pytest.raises(CommandError, match="among the platform's own files"):
        imported(root / name)
    assert imported(folder)["facts"] == 3


def test_a_scope_that_is_not_there_is_frozen_or_not_the_only_one_is_told_in_a_sentence(
    folder: Path, scope: Scope, stranger: Workspace
) -> None:
    with pytest.raises(CommandError, match="There is no scope “nobody”"):
        imported(folder, into="nobody")
    theirs = make_scope(stranger)
    with pytest.raises(CommandError, match="name one by --workspace: Alice's, Charlie's"):
        imported(folder)
    assert imported(folder, "--workspace", "Charlie's")["facts"] == 3
    assert imported(folder, into=str(scope.uid))["facts"] == 3
    assert facts(scope) == facts(theirs)
    Scope.objects.update(frozen=True)
    for words in ([], ["--dry-run"]):
        with pytest.raises(CommandError, match="frozen"):
            imported(folder, "--workspace", "Charlie's", *words)


@pytest.mark.parametrize(
    ("language", "words"),
    [
        (
            "en",
            ["Memories written: 3, daily events: 3.", "Left out: 1.", "notes.md: it is neither", "undo"],
        ),
        ("zh-hans", ["已写入记忆 3 条", "每日事件 3 条", "未导入 1 项", "notes.md：", "manage.py batch undo"]),
    ],
)
def test_the_report_is_told_in_sentences(language: str, words: list[str], folder: Path, scope: Scope) -> None:
    write(folder, {"notes.md": "x"})
    with translation.override(language):
        shown = import_output(folder)
    assert [word for word in words if word not in shown] == []


def test_files_and_lines_nobody_sees_are_no_memories_and_stop_no_import(tmp_path: Path, scope: Scope) -> None:
    unseen = {"2026-01-01.md": "\u200b\n", "2026-01-02.md": "\ufeff\ufeff\n", "memory/2026-01-03.md": "\u2800"}
    folder = write(tmp_path, {"MEMORY.md": "- one\n- \u200b\n- 二\n", "2026-01-04.md": "- 三\n\u200b\n", **unseen})
    counts = imported(folder)
    assert {row["path"]: row["reason"] for row in counts["left_out"]} == dict.fromkeys(unseen, "empty")
    assert (facts(scope), [on for on, _content in days(scope)]) == (["one", "二"], ["2026-01-04"])
    write(folder, {"2026-01-04.md": "- 三\n\u200b\n\u2800\n"})
    again = imported(folder)
    assert (again["batch"], again["already"]) == (None, 3)
    assert not Batch.objects.exclude(state=BatchState.APPLIED).exists()


def test_what_nobody_sees_is_no_part_of_a_long_day(tmp_path: Path, scope: Scope, settings: Any) -> None:
    settings.MEMORY_CONTENT_MAX_CHARS = 20
    write(tmp_path, {"2026-01-01.md": f"- went to Hamburg\n{chr(0x200B) * 20}\n- 买了新的显示器"})
    imported(tmp_path)
    assert [content for _on, content in days(scope)] == ["- went to Hamburg", "- 买了新的显示器"]


def test_a_note_of_a_subject_with_a_name_of_strange_bytes_is_imported(tmp_path: Path, scope: Scope) -> None:
    folder = write(tmp_path / "claw", {"MEMORY.md": "- one\n", "memory/2026-01-01.md": "x"})
    strange = b"/memory/" + "你".encode("gbk")
    for name, content in ((b".md", "- 二\n- \u200b\n"), (b"2.md", "\u200b"), (b"3.md", "- 二\n- four\n")):
        Path(os.fsdecode(os.fsencode(folder) + strange + name)).write_text(content)
    assert "memory/��2.md: nothing stands in it" in import_output(folder)
    topics = Entry.objects.in_scope(scope).live().filter(tier=2).values_list("content", "topic", "heading")
    assert sorted(topics) == [("four", "��3", "��3"), ("二", "��", "��"), ("二", "��3", "��3")]


def test_a_folder_whose_name_is_of_strange_bytes_is_refused_in_a_sentence(tmp_path: Path, scope: Scope) -> None:
    name = os.fsencode(tmp_path) + b"/\xcf\xee"
    with pytest.raises(CommandError, match="There is no folder “.*��”"):
        imported(Path(os.fsdecode(name)), "--from", "markdown")
    os.mkdir(name)
    with pytest.raises(CommandError, match="Nothing to import in “.*��”"):
        imported(Path(os.fsdecode(name)), "--from", "markdown")
