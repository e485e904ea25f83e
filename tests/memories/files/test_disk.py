"""Files on the disk: what is added, rewritten and read, and what others do to them meanwhile (C1, C2)."""

import fcntl
import hashlib
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from memories.exceptions import FileBusy, FileUnreadable, FileUnwritable, PathNotAllowed
from memories.files import disk
from memories.files.layout import ScopeFolder
from memories.files.markdown import blocks
from tests.memories.files.conftest import write

NOTE = "memory/2026-11-23.md"
BOM = b"\xef\xbb\xbf"


def content(folder: ScopeFolder, path: str = NOTE) -> bytes:
    return (folder.workspace / path).read_bytes()


def test_a_new_file_begins_with_its_first_line(main: ScopeFolder) -> None:
    assert disk.append(main, NOTE, "- 今天 deploy", first_line="# 2026-11-23") == 3
    assert disk.append(main, NOTE, "- second\n- third\n", first_line="# 2026-11-23") == 4
    assert content(main).decode() == "# 2026-11-23\n\n- 今天 deploy\n- second\n- third\n"


def test_files_and_folders_are_for_the_platforms_account_alone(main: ScopeFolder) -> None:
    disk.append(main, "memory/a/b.md", "- a")
    modes = {place.name: place.stat().st_mode & 0o777 for place in main.workspace.rglob("*")}
    assert modes == {"memory": 0o700, "a": 0o700, "b.md": 0o600}


@pytest.mark.parametrize(
    ("before", "after", "line"),
    [
        (b"", b"- new\n", 1),
        (b"- a", b"- a\n- new\n", 2),
        (b"- a\n", b"- a\n- new\n", 2),
        (b"- a\n\n\n", b"- a\n\n\n- new\n", 4),
        (b"- a\r\n- b\r\n", b"- a\r\n- b\r\n- new\r\n", 3),
        (b"- a\r\n- b", b"- a\r\n- b\r\n- new\r\n", 3),
        (b"- a\r- b\r", b"- a\r- b\r- new\n", 3),
        (BOM, BOM + b"- new\n", 1),
        (BOM + b"- a", BOM + b"- a\n- new\n", 2),
        ("- 甲\u2028乙\x0c\n".encode(), "- 甲\u2028乙\x0c\n- new\n".encode(), 2),
        (b"- \xff\n", b"- \xff\n- new\n", 2),
    ],
)
def test_a_line_is_added_as_the_file_is_written(main: ScopeFolder, before: bytes, after: bytes, line: int) -> None:
    write(main, NOTE, before)
    assert disk.append(main, NOTE, "- new") == line
    assert content(main) == after


@pytest.mark.parametrize(
    "before",
    [
        *(
            "```sh\nmake",
            "~~~~\nmake\n",
            "text\n\n```\na\n```\n\n````md\n```\nb\n```\n",
            "<!-- a comment\n",
            "- a <!-- b\n",
        ),
        *("<div>\nhello\n", "> ```\n> quoted\n", "- item\n  ```\n  open\n", "| a |\n|---|\n| b |\n", "a\n<details>"),
        *("# heading", "paragraph", "> quote", "    code", "- [ ] task", "[a]: http://b", "---\nfront: matter"),
    ],
)
def test_what_was_left_open_takes_in_nothing_that_is_added(main: ScopeFolder, before: str) -> None:
    write(main, NOTE, before)
    texts = [block.text for block in blocks(before)]
    line = disk.append(main, NOTE, "- new")
    read = disk.read(main, NOTE)
    assert read is not None
    result = blocks(read.text)
    assert (result[-1].text, result[-1].line_from) == ("new", line)
    assert [block.text for block in result[:-1]] == texts
    assert read.text.startswith(before)


def test_a_file_is_read_without_its_bom_and_with_its_line_ends(main: ScopeFolder) -> None:
    place = write(main, NOTE, BOM + "- 甲\r\n- b\n".encode())
    read = disk.read(main, NOTE)
    assert read is not None
    assert read.text == "- 甲\r\n- b\n"
    result = place.stat()
    assert (read.size, read.changed_ns) == (result.st_size, max(result.st_mtime_ns, result.st_ctime_ns))
    assert read.sha256 == hashlib.sha256(place.read_bytes()).hexdigest()


def test_a_file_that_is_not_there_is_none(main: ScopeFolder) -> None:
    assert disk.read(main, NOTE) is None
    write(main, "memory/other.md", "- a")
    assert disk.read(main, NOTE) is None
    assert disk.read_lines(main, NOTE, 1, 9) == ([], False)


def test_what_is_not_utf_8_is_named_by_its_line(main: ScopeFolder) -> None:
    write(main, NOTE, BOM + "- 甲\r\n- b\r\n- ".encode() + "乙".encode("gb18030") + b"\n")
    with pytest.raises(FileUnreadable, match="Line 3 "):
        disk.read(main, NOTE)
    with pytest.raises(FileUnreadable, match="Line 3 "):
        disk.rewrite(main, NOTE, str.upper)
    assert disk.read_lines(main, NOTE, 2, 1) == (["- b"], True)


def test_a_file_that_is_too_large_is_not_read_as_a_whole_and_still_by_lines(main: ScopeFolder, settings: Any) -> None:
    settings.MEMORY_FILE_MAX_BYTES = 1_000
    write(main, NOTE, "".join(f"- line {n}\n" for n in range(1, 1001)))
    with pytest.raises(FileUnreadable, match="1000 "):
        disk.read(main, NOTE)
    with pytest.raises(FileUnreadable):
        disk.rewrite(main, NOTE, str.upper)
    assert disk.read_lines(main, NOTE, 999, 2) == (["- line 999", "- line 1000"], False)
    assert disk.append(main, NOTE, "- new") == 1001


def test_lines_are_read_from_where_they_are_asked_for(main: ScopeFolder) -> None:
    write(main, NOTE, BOM + b"one\r\ntwo\rthree\nfour")
    assert disk.read_lines(main, NOTE, 1, 2) == (["one", "two"], True)
    assert disk.read_lines(main, NOTE, 3, 40) == (["three", "four"], False)
    assert disk.read_lines(main, NOTE, 5, 40) == ([], False)


def test_of_a_very_long_line_the_beginning_is_shown(main: ScopeFolder) -> None:
    write(main, NOTE, "甲" * 5_000_000 + "\nlast\n")
    (long, last), more = disk.read_lines(main, NOTE, 1, 40)
    assert long == "甲" * disk.LINE_CHARS + "…"
    assert (last, more) == ("last", False)


def test_a_rewrite_keeps_bom_line_ends_and_mode(main: ScopeFolder) -> None:
    place = write(main, NOTE, BOM + b"- a\r\n- b\r\n")
    place.chmod(0o640)
    disk.rewrite(main, NOTE, lambda text: text.replace("- b", "- b\n- c"))
    assert content(main) == BOM + b"- a\r\n- b\r\n- c\r\n"
    assert place.stat().st_mode & 0o777 == 0o640
    assert [path.name for path in place.parent.iterdir()] == ["2026-11-23.md"]


def test_mixed_line_ends_stay_as_they_are(main: ScopeFolder) -> None:
    write(main, NOTE, b"- a\r\n- b\n- c\r")
    disk.rewrite(main, NOTE, lambda text: text.replace("- b", "- B"))
    assert content(main) == b"- a\r\n- B\n- c\r"


def test_a_rewrite_that_changes_nothing_leaves_the_file_alone(main: ScopeFolder) -> None:
    before = write(main, NOTE, "- a\n").stat()
    disk.rewrite(main, NOTE, lambda text: text)
    after = (main.workspace / NOTE).stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


def test_a_file_that_is_not_there_is_rewritten_from_nothing(main: ScopeFolder) -> None:
    disk.rewrite(main, NOTE, lambda text: text)
    assert not (main.workspace / NOTE).exists()
    disk.rewrite(main, NOTE, lambda text: text + "- a\n")
    assert content(main) == b"- a\n"


class Refused(Exception):
    """What a change may raise."""


def test_a_change_that_fails_leaves_the_file_as_it_was(main: ScopeFolder) -> None:
    place = write(main, NOTE, "- a\n")

    def refuse(text: str) -> str:
        raise Refused

    with pytest.raises(Refused):
        disk.rewrite(main, NOTE, refuse)
    assert content(main) == b"- a\n"
    assert disk.append(main, NOTE, "- b") == 2
    assert [path.name for path in place.parent.iterdir()] == ["2026-11-23.md"]


def test_what_a_killed_rewrite_left_is_removed_by_the_next(main: ScopeFolder) -> None:
    place = write(main, NOTE, "- a\n")
    mark = hashlib.sha256(place.name.encode()).hexdigest()[:16]
    left = place.with_name(f".rewrite-{mark}-00000000.tmp")
    left.write_text("half")
    assert [file.path for file in main.files()] == [NOTE]
    disk.rewrite(main, NOTE, str.upper)
    assert not left.exists()


def test_what_an_editor_saves_during_a_rewrite_is_not_lost(main: ScopeFolder) -> None:
    """By writing into the file, and by putting another in its place."""
    place = write(main, NOTE, "- a\n")
    saved: list[str] = []

    def change(text: str) -> str:
        if not saved:
            place.write_text("- a\n- by hand, in place\n")
        elif len(saved) == 1:
            other = place.with_name("other~")
            other.write_text(text + "- by hand, renamed\n")
            other.rename(place)
        saved.append(text)
        return text.replace("- a", "- changed")

    disk.rewrite(main, NOTE, change)
    assert content(main).decode() == "- changed\n- by hand, in place\n- by hand, renamed\n"


def test_what_is_saved_again_and_again_is_left_to_whoever_saves(main: ScopeFolder) -> None:
    place = write(main, NOTE, "- a\n")

    def change(text: str) -> str:
        place.write_text(text + "- again\n")
        return text.replace("- a", "- changed")

    with pytest.raises(FileBusy):
        disk.rewrite(main, NOTE, change)
    assert "changed" not in content(main).decode()


def test_whoever_waits_for_a_file_that_is_replaced_writes_to_the_new_one(main: ScopeFolder) -> None:
    place = write(main, NOTE, "- a\n")
    with place.open("r+") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        waiting = threading.Thread(target=disk.append, args=(main, NOTE, "- c"))
        waiting.start()
        other = place.with_name("other~")
        other.write_text("- a\n- b\n")
        other.rename(place)
    waiting.join(10)
    assert content(main) == b"- a\n- b\n- c\n"


def test_a_lock_is_not_waited_for_for_ever(main: ScopeFolder, settings: Any) -> None:
    settings.MEMORY_FILE_LOCK_SECONDS = 0.05
    with write(main, NOTE, "- a\n").open("r+") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(FileBusy):
            disk.append(main, NOTE, "- b")
        with pytest.raises(FileBusy):
            disk.rewrite(main, NOTE, str.upper)
        read = disk.read(main, NOTE)
    assert read is not None and read.text == "- a\n"


def test_a_folder_that_becomes_a_link_after_the_look_is_not_entered(main: ScopeFolder, tmp_path: Path) -> None:
    """The path was looked at while all was well."""
    place = write(main, "memory/a/b.md", "- mine\n")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "b.md").write_text("- secret\n")
    place.unlink()
    place.parent.rmdir()
    place.parent.symlink_to(outside)
    for attempt in (
        lambda: disk.read(main, "memory/a/b.md"),
        lambda: disk.read_lines(main, "memory/a/b.md", 1, 9),
        lambda: disk.append(main, "memory/a/b.md", "- b"),
        lambda: disk.rewrite(main, "memory/a/b.md", str.upper),
    ):
        with pytest.raises(PathNotAllowed):
            attempt()
    assert (outside / "b.md").read_text() == "- secret\n"


def test_a_full_disk_leaves_no_half_line(main: ScopeFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    write(main, NOTE, "- a\n")
    real, calls = os.write, [0]

    def full(fd: int, data: Any) -> int:
        calls[0] += 1
        if calls[0] > 1:
            raise OSError(28, "No space left on device")
        return real(fd, bytes(data[:3]))

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(FileUnwritable, match="No space left"):
        disk.append(main, NOTE, "- a long line")
    calls[0] = 0
    with pytest.raises(FileUnwritable):
        disk.rewrite(main, NOTE, str.upper)
    assert content(main) == b"- a\n"
    assert [path.name for path in (main.workspace / "memory").iterdir()] == ["2026-11-23.md"]
