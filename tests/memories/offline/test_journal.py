"""What the journal accepted is on the disk, whole, once and in order."""

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from memories.models.ids import uuid7
from memories.offline import journal
from memories.offline.journal import KeyReused, Line, Record, Stream
from tests import ROOT

STREAM = Stream(7, "telegram", "mybot")


@pytest.fixture(autouse=True)
def place(tmp_path: Path, settings: Any) -> Path:
    settings.MEMORY_OFFLINE_ROOT = tmp_path
    return tmp_path


def record(content: str, **more: Any) -> Record:
    return Record(uid=uuid7(), kind="turn", accepted_at="2026-03-01T09:00:00+00:00", body={"user": content}, **more)


def messages_in(stream: Stream = STREAM) -> list[str]:
    return [line.record.body["user"] if line.record else "damaged" for line in journal.read(stream)]


def segments(stream: Stream = STREAM) -> list[Path]:
    return sorted(stream.folder.glob("*.jsonl"))


def test_calls_are_read_in_the_order_they_were_accepted_in() -> None:
    results = ["first", "第二句：我养了一只猫\n叫麻薯", "third"]
    for text in results:
        assert journal.append(STREAM, record(text))
    assert messages_in() == results
    assert journal.streams() == [STREAM] and journal.streams(8) == []


def test_channels_and_workspaces_have_streams_of_their_own() -> None:
    others = [Stream(8, "telegram", "mybot"), Stream(7, "telegram", ""), Stream(7, "lark", "mybot")]
    for n, stream in enumerate([STREAM, *others]):
        journal.append(stream, record(str(n)))
    assert [messages_in(stream) for stream in [STREAM, *others]] == [["0"], ["1"], ["2"], ["3"]]
    assert len(journal.streams()) == 4


def test_only_this_account_reads_it() -> None:
    journal.append(STREAM, record("a secret"))
    assert {path.stat().st_mode & 0o777 for path in segments()} == {0o600}
    assert STREAM.folder.parent.stat().st_mode & 0o777 == 0o700


def test_a_line_cut_short_is_passed_over_and_repaired_by_the_next() -> None:
    for text in ("kept", "cut"):
        journal.append(STREAM, record(text))
    (path,) = segments()
    os.truncate(path, path.stat().st_size - 9)
    assert messages_in() == ["kept"]
    journal.append(STREAM, record("after"))
    assert messages_in() == ["kept", "after"]
    assert path.read_bytes().count(b"\n") == 2


def test_a_line_without_any_whole_one_before_it_is_repaired_too() -> None:
    journal.append(STREAM, record("cut"))
    (path,) = segments()
    os.truncate(path, 5)
    assert messages_in() == []
    journal.append(STREAM, record("after"))
    assert messages_in() == ["after"]


def test_a_damaged_line_in_the_middle_is_handed_out_and_hides_no_other() -> None:
    for text in ("one", "two", "three"):
        journal.append(STREAM, record(text))
    (path,) = segments()
    path.write_bytes(path.read_bytes().replace(b'"two"', b'"tw0"'))
    assert messages_in() == ["one", "damaged", "three"]


def test_the_same_idempotency_key_is_the_same_call() -> None:
    first = journal.append(STREAM, record("once", bot_id=1, repeat_key="k", fingerprint="f"))
    assert first
    again = journal.append(STREAM, record("once", bot_id=1, repeat_key="k", fingerprint="f"))
    assert again and again.uid == first.uid
    journal.append(STREAM, record("another bot's", bot_id=2, repeat_key="k", fingerprint="g"))
    journal.append(STREAM, record("without a key"))
    journal.append(STREAM, record("without a key"))
    assert messages_in() == ["once", "another bot's", "without a key", "without a key"]
    with pytest.raises(KeyReused):
        journal.append(STREAM, record("another call", bot_id=1, repeat_key="k", fingerprint="other"))


def test_a_key_another_process_accepted_is_known_here() -> None:
    journal.append(STREAM, record("here", bot_id=1, repeat_key="here", fingerprint="f"))
    journal._read_keys.clear()  # as in a process that has read nothing yet
    first = journal.append(STREAM, record("here", bot_id=1, repeat_key="here", fingerprint="f"))
    assert messages_in() == ["here"] and first


def test_an_empty_stream_takes_nothing_that_the_database_can_take() -> None:
    assert journal.append(STREAM, record("now"), only_if_pending=True) is None
    journal.append(STREAM, record("while it is away"))
    assert journal.append(STREAM, record("and behind it"), only_if_pending=True)
    assert messages_in() == ["while it is away", "and behind it"]


def test_what_was_drained_is_removed_and_what_came_meanwhile_stays() -> None:
    for text in ("one", "two"):
        journal.append(STREAM, record(text, bot_id=1, repeat_key=text, fingerprint="f"))
    *_lines, last = journal.read(STREAM)
    journal.append(STREAM, record("meanwhile"))
    with journal.locked(STREAM):
        assert not journal.remove_up_to(STREAM, last.end)
    assert [line.record.body["user"] for line in journal.read(STREAM, last.end) if line.record] == ["meanwhile"]
    *_lines, last = journal.read(STREAM)
    with journal.locked(STREAM):
        assert journal.remove_up_to(STREAM, last.end)
    assert not journal.is_pending(STREAM) and journal.streams() == []
    journal.append(STREAM, record("one", bot_id=1, repeat_key="one", fingerprint="new"))  # that key is in the database
    assert messages_in() == ["one"]


def test_a_long_stream_is_several_files_and_each_goes_when_it_is_drained(monkeypatch: Any) -> None:
    monkeypatch.setattr(journal, "SEGMENT_BYTES", 500)
    results = [f"message {n}" for n in range(20)]
    for text in results:
        journal.append(STREAM, record(text))
    assert messages_in() == results and len(segments()) > 3
    middle = list(journal.read(STREAM))[10]
    with journal.locked(STREAM):
        journal.remove_up_to(STREAM, middle.end)
    left = [line.record.body["user"] for line in journal.read(STREAM, middle.end) if line.record]
    assert left == results[11:] and len(segments()) > 1


def test_a_full_disk_accepts_nothing_and_leaves_nothing_behind(monkeypatch: Any) -> None:
    journal.append(STREAM, record("kept"))
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", lambda _file: (_ for _ in ()).throw(OSError("No space left on device")))
        with pytest.raises(OSError, match="No space"):
            journal.append(STREAM, record("refused"))
    journal.append(STREAM, record("after"))
    assert messages_in() == ["kept", "after"]


def test_a_removal_that_is_killed_leaves_a_stream_that_goes_on(monkeypatch: Any) -> None:
    for text in ("我养了一只猫", "say no more", "kept"):
        journal.append(STREAM, record(text))

    def is_erased(line: Line) -> bool:
        return line.record is not None and line.record.body["user"] == "say no more"

    def killed(_path: Path, _to: Path) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", killed)
        with pytest.raises(KeyboardInterrupt):
            journal.remove(STREAM, is_erased)
    assert journal.is_pending(STREAM) and journal.streams() == [STREAM]
    journal.append(STREAM, record("after it"))
    assert messages_in() == ["我养了一只猫", "say no more", "kept", "after it"]
    assert journal.remove(STREAM, is_erased) == 1
    assert messages_in() == ["我养了一只猫", "kept", "after it"]
    assert not [path for path in STREAM.folder.iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize("name", [".{path.name}", ".{path.stem}.draft"])  # as it was named once, and as it is
def test_a_draft_that_was_left_is_no_call_and_goes_with_the_calls(name: str) -> None:
    journal.append(STREAM, record("one"))
    (path,) = segments()
    draft = path.with_name(name.format(path=path))
    draft.write_bytes(path.read_bytes())
    assert messages_in() == ["one"] and journal.end(STREAM).offset == path.stat().st_size
    with journal.locked(STREAM):
        assert journal.remove_up_to(STREAM, journal.end(STREAM))
    assert not draft.exists() and not journal.is_pending(STREAM) and journal.streams() == []


@pytest.mark.thorough
def test_threads_and_processes_that_append_at_once_lose_nothing(place: Path) -> None:
    program = (
        "import django; django.setup()\n"
        "from tests.memories.offline.test_journal import STREAM, record\n"
        "from memories.offline import journal\n"
        "for n in range(100): journal.append(STREAM, record(f'process {n}'))\n"
    )
    data = {**os.environ, "DJANGO_SETTINGS_MODULE": "memplatform.settings", "MEMORY_OFFLINE_ROOT": str(place)}
    other = subprocess.Popen([sys.executable, "-c", program], cwd=ROOT, env=data)

    def write(thread: int) -> None:
        for n in range(50):
            journal.append(STREAM, record(f"thread {thread}: {n}"))

    threads = [threading.Thread(target=write, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert other.wait(timeout=60) == 0
    result = messages_in()
    assert len(result) == len(set(result)) == 300
    for thread in range(4):
        assert [text for text in result if text.startswith(f"thread {thread}:")] == [
            f"thread {thread}: {n}" for n in range(50)
        ]
    assert [text for text in result if text.startswith("process")] == [f"process {n}" for n in range(100)]
