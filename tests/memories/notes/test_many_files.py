"""Many files at once: they are indexed together, nobody waits behind them, and a search says what it could not see."""

import os
from dataclasses import replace
from datetime import tzinfo
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memories.entries.changes import FileLine
from memories.files.disk import FileText
from memories.index.worker import drain
from memories.models import Entry, EntryVector, FileState, Scope
from memories.notes import freshness, index
from memories.notes.freshness import FileIndexer, sync_before_search
from memories.notes.index import sync_scope
from tests.conftest import NOW, TELEGRAM, Api, make_scope
from tests.memories.notes.test_index import DAY, lines, write

MINE, HERS = "memory/scopes/telegram+direct_u42", "memory/scopes/telegram+direct_u7"


def write_many(files: Path, folder: str, count: int) -> None:
    for n in range(count):
        write(files, f"{folder}/order{n:04}.md", f"- 第{n}号订单是 crate{n}\n")


def test_a_thousand_short_files_take_few_statements(files: Path, scope: Scope) -> None:
    write_many(files, MINE, 1_000)
    with CaptureQueriesContext(connection) as asked:
        report = sync_scope(scope, now=NOW)
    assert (report.files, report.created, report.is_complete) == (1_000, 1_000, True)
    assert Entry.objects.in_scope(scope).live().count() == FileState.objects.count() == 1_000
    assert len(asked) < 400
    assert sync_scope(scope, now=NOW).files == 0


def test_a_long_file_among_short_ones_is_indexed_whole(files: Path, scope: Scope) -> None:
    write_many(files, MINE, 5)
    write(files, DAY, "".join(f"- line {n} of the long one\n" for n in range(1_200)))
    report = sync_scope(scope, now=NOW)
    assert (report.files, report.created) == (6, 1_205) and len(lines(scope)) == 1_200
    for path in files.rglob("*.md"):
        path.unlink()
    report = sync_scope(scope, now=NOW)
    assert (report.files, report.ended) == (6, 1_205) and not FileState.objects.exists()


def test_a_file_that_cannot_be_read_keeps_none_of_the_others(files: Path, scope: Scope) -> None:
    write_many(files, MINE, 3)
    (files / MINE / "order0001b.md").write_bytes(b"\xff\xfe not UTF-8")
    report = sync_scope(scope, now=NOW)
    assert report.created == 3 and list(report.problems) == [f"{MINE}/order0001b.md"]


def test_a_file_with_a_line_that_cannot_be_stored_keeps_none_of_the_others(
    files: Path, scope: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_many(files, MINE, 5)
    bad_path, lines_in = f"{MINE}/order0002.md", index.lines_in

    def with_an_empty_line(file: FileText, path: str, zone: tzinfo) -> list[FileLine]:
        every = lines_in(file, path, zone)
        return [replace(line, content="") for line in every] if path == bad_path else every

    with monkeypatch.context() as patch:
        patch.setattr(index, "lines_in", with_an_empty_line)
        reports = [sync_scope(scope, now=NOW, seconds=0.0) for _ in range(5)]
        assert sum(report.created for report in reports) == 4 and reports[-1].is_complete
        assert {bad_path: "unreadable"} in [report.problems for report in reports]
        assert sync_scope(scope, now=NOW).files == 0  # it waits until it changes
    assert FileState.objects.get(path=bad_path).detail == "An empty memory says nothing."
    write(files, bad_path, "- 第二号订单是 crate2\n- and another\n")
    assert sync_scope(scope, now=NOW).created == 2
    assert not FileState.objects.exclude(problem="").exists()


def test_few_changes_do_not_wait_behind_many(files: Path, scope: Scope, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(freshness, "WORK_SECONDS", 0.0)  # one step at a time
    write_many(files, MINE, 400)
    other = make_scope(scope.workspace, "telegram:direct_u7")
    write(files, f"{HERS}/LONG_TERM.md", "- Lena's boat is blue\n")
    work = FileIndexer()
    for _ in range(3):
        work(now=NOW)
    assert Entry.objects.in_scope(other).count() == 1
    assert Entry.objects.in_scope(scope).count() < 400


def test_a_search_says_when_files_of_what_it_asks_are_not_indexed(
    files: Path, scope: Scope, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert api.post("turns", {"address": TELEGRAM, "user": "hello there", "assistant": "hi"}).status_code == 201
    data = {"address": TELEGRAM, "message": "which crate is order 7 in?", "need": "off"}
    assert "index_pending" not in api.post("recall", data).json()["degraded"]
    monkeypatch.setattr(freshness, "SEARCH_SECONDS", 0.0)
    write_many(files, MINE, 250)  # since the look a moment ago
    answers = [api.post("recall", data).json()["degraded"] for _ in range(4)]
    searched = api.post("tools/memory_search", {"address": TELEGRAM, "query": "crate7"}).json()
    assert [("index_pending" in degraded) for degraded in answers] == [True, True, False, False]
    assert "index_pending" not in searched["degraded"] and "crate7" in str(searched["results"][0])


def test_a_scope_that_was_looked_at_is_not_read_again(files: Path, scope: Scope) -> None:
    write(files, DAY, "- one\n")
    caller = scope.workspace.caller("bot:x")
    assert not sync_before_search(caller, [scope.key], now=NOW)
    with CaptureQueriesContext(connection) as asked:
        assert not sync_before_search(caller, [scope.key], now=NOW)
    assert len(asked) == 0


def test_other_bytes_under_the_same_time_and_size_are_noticed(files: Path, scope: Scope) -> None:
    write(files, DAY, "- the port is 8080\n")
    sync_scope(scope, now=NOW)
    before = (files / DAY).stat()
    write(files, DAY, "- the port is 9090\n")
    os.utime(files / DAY, ns=(before.st_atime_ns, before.st_mtime_ns))  # as rsync -t does
    sync_scope(scope, now=NOW)
    assert lines(scope) == [(1, "the port is 9090")]


def test_other_bytes_that_nothing_shows_are_noticed_by_and_by(files: Path, scope: Scope) -> None:
    write(files, DAY, "- the port is 8080\n")
    sync_scope(scope, now=NOW)
    work: Any = FileIndexer()
    work(now=NOW)
    write(files, DAY, "- the port is 9090\n")
    result = (files / DAY).stat()
    FileState.objects.update(modified_ns=max(result.st_mtime_ns, result.st_ctime_ns))  # a disk that was put back
    sync_scope(scope, now=NOW)
    assert lines(scope) == [(1, "the port is 8080")]
    work._changes, work._compare_at = iter(()), 0.0
    work(now=NOW)
    work(now=NOW)
    assert lines(scope) == [(1, "the port is 9090")]


def test_what_went_out_of_use_before_it_had_a_vector_gets_none(files: Path, scope: Scope) -> None:
    write(files, DAY, "- Nina plays the cello\n- 妮娜会拉大提琴\n")
    sync_scope(scope, now=NOW)
    write(files, DAY, "- 妮娜会拉大提琴\n")
    sync_scope(scope, now=NOW)
    drain(now=NOW)
    entry = Entry.objects.in_scope(scope).live().get()
    assert list(EntryVector.objects.values_list("entry", flat=True)) == [entry.pk]
