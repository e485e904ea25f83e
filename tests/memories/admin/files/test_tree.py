"""The files of a scope: what lies there, what is out of step and why, «index now», and who sees it (C2, C12)."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from memories import entries
from memories.entries.files import folder_of
from memories.files.layout import changed_ns
from memories.models import Entry, FileState
from memories.tasks import index_files
from tests.memories.admin.conftest import House
from tests.memories.admin.files.conftest import (
    TEXT,
    Write,
    entry,
    index,
    index_now,
    on_disk,
    overview,
    page,
    shown,
    tree,
)

pytestmark = pytest.mark.django_db


def test_a_workspace_shows_its_scopes_and_what_is_out_of_step(alice: Client, mine: House, write: Write) -> None:
    write("2026-02-28.md", TEXT)
    rows = alice.get(overview()).context["overview"].rows
    assert [(row.scope, len(row.files), row.out_of_step) for row in rows] == [(mine.scope, 1, 1)]
    index(mine.scope)
    (row,) = alice.get(overview()).context["overview"].rows
    assert (row.lines, row.entries, row.out_of_step) == (6, 3, 0)


def test_a_scope_shows_what_stays_then_days_newest_first_then_folders(alice: Client, mine: House, write: Write) -> None:
    for name in ("LONG_TERM.md", "2026-01-31.md", "2026-02-27.md", "2026-02-28.md", "plans/夏天.md"):
        write(name, TEXT)
    write("transcripts/2026-02-28.md", "what was said\n")
    found = alice.get(tree(mine.scope)).context["tree"]
    assert [row.name for row in found.long_term] == ["LONG_TERM.md"]
    assert [[row.name for row in month.rows] for month in found.months] == [
        ["2026-02-28.md", "2026-02-27.md"],
        ["2026-01-31.md"],
    ]
    assert [[row.name for row in folder.rows] for folder in found.folders] == [["夏天.md"]]
    assert [row.name for row in found.transcripts] == ["2026-02-28.md"]


def test_each_file_says_why_it_is_out_of_step(alice: Client, mine: House, write: Write) -> None:
    changed, gone = write("2026-01-01.md", TEXT), write("2026-01-02.md", "- gone\n")
    unreadable = write("2026-01-03.md", "- one\n")
    on_disk(mine.scope, unreadable).write_bytes(b"- one\n\xff\n")
    index(mine.scope)
    on_disk(mine.scope, changed).write_text(TEXT + "- one more\n")
    on_disk(mine.scope, gone).unlink()
    new = write("2026-01-04.md", "- new\n")
    found = alice.get(tree(mine.scope)).context["tree"]
    assert {row.path: str(row.why.label) for row in found.out_of_step} == {
        changed: "It was changed since it was indexed.",
        gone: "The file is gone; its lines go out of use when this is indexed.",
        unreadable: "It cannot be read.",
        new: "It is not indexed yet.",
    }
    assert "Line 2 of this file is not UTF-8." in shown(alice, tree(mine.scope))


def test_lines_people_took_out_are_named_by_their_numbers(alice: Client, mine: House, write: Write) -> None:
    path = write("2026-02-28.md", TEXT)
    index(mine.scope)
    entries.expire(entry("Nina"), now=timezone.now(), actor="user:op")
    on_disk(mine.scope, path).write_text(TEXT)  # somebody put the line back by hand
    index(mine.scope)
    (row,) = alice.get(tree(mine.scope)).context["tree"].out_of_step
    assert [number for number, _url in row.lines] == [3]
    text = shown(alice, page(mine.scope), path=path)
    assert "taken out of use by people, and not remembered again" in text


def test_a_folder_that_is_no_scope_s_is_named(alice: Client, mine: House) -> None:
    above = folder_of(mine.scope).workspace / "memory" / "scopes"
    for name in ("telegram:direct_new", "Notes of Bob"):
        (above / name).mkdir(parents=True)
    strange = {item.name: item.may_become for item in alice.get(overview()).context["overview"].strange}
    assert strange == {"telegram:direct_new": True, "Notes of Bob": False}


def test_what_lies_in_the_folder_and_is_not_remembered_is_looked_for_on_demand(
    alice: Client, mine: House, write: Write
) -> None:
    write("memory/todo.txt", "buy milk\n")
    listed = "/admin/memories/filestate/"
    assert "todo.txt" not in alice.get(listed).content.decode()
    page = alice.get(listed, {"passed_over": "1"}).content.decode()
    assert "memory/todo.txt" in page
    assert "Only files whose names end in .md are read." in page


@pytest.mark.thorough
def test_a_thousand_files_cost_as_many_queries_as_one(alice: Client, mine: House, write: Write) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            assert alice.get(tree(mine.scope)).status_code == 200
        return len(captured)

    write("2026-02-28.md", TEXT)
    queries()
    few = queries()
    for n in range(1_000):
        path = write(f"{timezone.now().date() - timedelta(days=n)}.md", "- one\n")
        FileState.objects.create(
            workspace=mine.workspace,
            scope=mine.scope,
            path=path,
            modified_ns=changed_ns(on_disk(mine.scope, path).stat()),
            size=6,
            digest="d",
            indexed_at=timezone.now(),
        )
    assert queries() == few


# index now


def test_index_now_takes_in_one_file_a_scope_or_a_workspace(alice: Client, mine: House, write: Write) -> None:
    first, _second = write("2026-01-01.md", "- first\n"), write("2026-01-02.md", "- second\n")
    assert "1 file indexed: 1 new lines" in index_now(alice, scope=mine.scope.pk, path=first)
    assert not Entry.objects.filter(content="second").exists()
    index_now(alice, scope=mine.scope.pk)
    assert Entry.objects.filter(content="second").exists()
    write("2026-01-03.md", "- third\n")
    index_now(alice, of=mine.workspace.pk)
    assert Entry.objects.filter(content="third").exists()
    assert "Everything is in step already." in index_now(alice, of=mine.workspace.pk)


def test_much_work_is_left_to_the_worker(
    alice: Client, mine: House, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    results: list[tuple[object, ...]] = []
    monkeypatch.setattr("memories.admin.files.async_task", lambda *args, **more: results.append(args))
    write("plans/long.md", "- a line of a long file\n" * 10_000)
    assert "the worker indexes it" in index_now(alice, scope=mine.scope.pk)
    assert results == [("memories.tasks.index_files", mine.workspace.pk, [mine.scope.pk])]
    assert not FileState.objects.exists()


def test_the_worker_indexes_what_it_was_left(mine: House, write: Write) -> None:
    write("2026-01-01.md", "- first\n")
    assert index_files(mine.workspace.pk, [mine.scope.pk])["created"] == 1
    write("2026-01-02.md", "- second\n")
    assert index_files(mine.workspace.pk)["created"] == 1


# the wall


def test_files_of_others_are_not_there(alice: Client, dora: Client, mine: House, theirs: House) -> None:
    folder = folder_of(theirs.scope)
    path = f"{folder.base}/2026-02-28.md"
    (folder.workspace / path).parent.mkdir(parents=True)
    (folder.workspace / path).write_text("- quillfeather\n")
    for client in (alice, dora):
        assert client.get(tree(theirs.scope)).status_code in (403, 404)
        assert client.get(page(theirs.scope), {"path": path}).status_code in (403, 404)
        for asked in (
            {"scope": theirs.scope.pk},
            {"scope": theirs.scope.pk, "path": path},
            {"of": theirs.workspace.pk},
        ):
            assert client.post(reverse("admin:memories_filestate_index"), asked).status_code in (403, 404)
    assert not FileState.objects.exists()
    assert alice.get(page(mine.scope), {"path": path}).status_code == 404


@pytest.mark.parametrize(
    "path", ["", "../x.md", "/etc/passwd", "memory/../MEMORY.md", "MEMORY.md", "a\0.md", "x" * 900]
)
def test_no_path_leads_out_of_the_scope(path: str, alice: Client, mine: House) -> None:
    assert alice.get(page(mine.scope), {"path": path}).status_code == 404
    indexed = alice.post(reverse("admin:memories_filestate_index"), {"scope": mine.scope.pk, "path": path or "x"})
    assert indexed.status_code == 404


def test_the_pages_of_files_speak_chinese(alice: Client, mine: House, write: Write) -> None:
    path = write("2026-02-28.md", TEXT)
    alice.cookies["django_language"] = "zh-hans"
    assert "尚未索引" in shown(alice, tree(mine.scope))
    index(mine.scope)
    for address, asked in ((overview(), {}), (tree(mine.scope), {}), (page(mine.scope), {"path": path})):
        text = shown(alice, address, **asked)
        assert "In step" not in text
        assert "Index now" not in text
