"""A line that is saved stands in its file and is remembered when the call returns (C2, E3)."""

from datetime import timedelta
from pathlib import Path

import pytest

from memories import entries
from memories.conf import conf
from memories.entries.files import folder_of
from memories.exceptions import FileUnreadable, InvalidDraft, ScopeFrozen
from memories.models import Entry, Scope, Workspace
from memories.notes.freshness import sync_before_search, sync_workspace
from memories.notes.index import drop_index
from memories.notes.save import Target, path_of, save_note
from memories.recall import Query, SearchScope, recall
from memories.tenancy.resolver import ScopeRef
from tests.conftest import NOW, Api, make_scope
from tests.memories.notes.test_index import DAY, LONG_TERM, lines, write

TODAY = "memory/scopes/telegram+direct_u42/2026-03-01.md"


def save(scope: Scope, content: str, target: Target = Target.DAILY):  # type: ignore[no-untyped-def]
    path = path_of(folder_of(scope), target, now=NOW, zone=scope.workspace.zone())
    return save_note(scope, path, content, now=NOW, session="telegram-3f")


def found(scope: Scope, message: str) -> list[str]:
    scope = Scope.objects.get(pk=scope.pk)  # as a call reads it
    places = [SearchScope(scope, ScopeRef(key=scope.key, kind=scope.kind))]
    query = Query(workspace_id=scope.workspace_id, bot_id=None, places=places, message=message, need="off", limit=5)
    return [item.entry.content for item in recall(query, now=NOW).served]


def test_a_saved_line_is_in_the_file_and_an_entry_of_it(files: Path, scope: Scope) -> None:
    saved = save(scope, "Nina is allergic to peanuts")
    assert (saved.path, saved.line) == (TODAY, 3)
    text = (files / TODAY).read_text()
    assert text == (
        "# 2026-03-01\n\n- Nina is allergic to peanuts <!-- ^tb7qc0.j56yl60e -->\n"
        "<!-- ^j56yl60e: session=telegram-3f scope=telegram:direct_u42 -->\n"
    )
    assert saved.entry == Entry.objects.get()
    assert (saved.entry.content, saved.entry.created_at) == ("Nina is allergic to peanuts", NOW)
    assert found(scope, "what is Nina allergic to?") == ["Nina is allergic to peanuts"]


def test_what_stays_is_saved_to_the_long_term_file(files: Path, scope: Scope) -> None:
    assert save(scope, "妹妹叫小雨", Target.LONG_TERM).path == "memory/scopes/telegram+direct_u42/LONG_TERM.md"


def test_the_day_is_that_of_the_workspace(files: Path, scope: Scope) -> None:
    Workspace.objects.update(time_zone="Asia/Shanghai")
    scope.refresh_from_db()
    zone = scope.workspace.zone()
    late = NOW.replace(hour=20)
    assert path_of(folder_of(scope), Target.DAILY, now=late, zone=zone).endswith("2026-03-02.md")


def test_saving_on_purpose_brings_back_what_was_taken_out(files: Path, scope: Scope) -> None:
    first = save(scope, "the spare key is under the mat")
    entries.expire(first.entry, now=NOW, actor="user:op")  # type: ignore[arg-type]
    again = save(scope, "the spare key is under the mat")
    assert again.ended_suppression
    assert found(scope, "where is the spare key?") == ["the spare key is under the mat"]


def test_a_frozen_scope_takes_no_line(files: Path, scope: Scope) -> None:
    scope.frozen = True
    with pytest.raises(ScopeFrozen):
        save(scope, "anything")
    assert not (files / TODAY).exists()


def test_an_empty_line_is_refused_before_anything_is_written(files: Path, scope: Scope) -> None:
    with pytest.raises(InvalidDraft):
        save(scope, "  \n ")
    assert not files.exists()


def test_lines_nobody_sees_are_left_out_of_what_is_saved(files: Path, scope: Scope) -> None:
    saved = save(scope, "Milk\n\u200b\n鸡蛋\n\u2800")
    assert saved.entry is not None and saved.entry.content == "Milk"
    assert [content for _line, content in lines(scope, TODAY)] == ["Milk", "鸡蛋"]
    assert (files / TODAY).read_text().count("\n- ") == 2


@pytest.mark.parametrize("content", ["- \u200b\n- \ufeff", "- \u200e", "1. \u200b\n\n\u2800"])
def test_items_nobody_sees_are_refused_before_anything_is_written(content: str, files: Path, scope: Scope) -> None:
    with pytest.raises(InvalidDraft):
        save(scope, content)
    assert not files.exists()


def test_a_line_is_not_saved_where_nobody_would_find_it(
    files: Path, scope: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(files, LONG_TERM, "")
    for content in (b"- caf\xe9\n", "- 很长的一行\n".encode() * 600, b"- almost full\n" * 7):
        (files / LONG_TERM).write_bytes(content)
        monkeypatch.setattr(conf, "FILE_MAX_BYTES", 100)
        with pytest.raises(FileUnreadable):
            save(scope, "Nina is allergic to peanuts", Target.LONG_TERM)
        assert (files / LONG_TERM).read_bytes() == content
    assert not Entry.objects.exists()


def test_a_line_is_found_by_the_heading_it_stands_under(files: Path, scope: Scope) -> None:
    write(files, DAY, "# Kitchen\n\n- The fuse is the third from the left\n\n# Garage\n\n- The fuse is the first one\n")
    write(files, "memory/scopes/telegram+direct_u42/boats/mermaid.md", "- Her berth is number 12\n- 船东是老李\n")
    sync_workspace(scope.workspace, now=NOW)
    assert found(scope, "Which fuse belongs to the garage?")[0] == "The fuse is the first one"
    assert found(scope, "mermaid berth")[0] == "Her berth is number 12"


def test_a_file_is_looked_at_before_a_search(files: Path, scope: Scope) -> None:
    write(files, DAY, "- Kuno bought a kayak\n")
    caller = scope.workspace.caller("bot:x")
    sync_before_search(caller, [scope.key], now=NOW)
    assert found(scope, "what did Kuno buy?") == ["Kuno bought a kayak"]


def test_a_folder_somebody_made_begins_a_scope_only_under_a_name_the_platform_gives(
    files: Path,
    scope: Scope,
) -> None:
    write(files, "memory/scopes/lark:direct_ou7/LONG_TERM.md", "- 喜欢喝茶\n")
    write(files, "memory/scopes/My Notes/LONG_TERM.md", "- nobody's\n")
    write(files, "MEMORY.md", "- the owner's\n")
    sync_workspace(scope.workspace, now=NOW)
    keys = set(Scope.objects.values_list("key", flat=True))
    assert keys == {"telegram:direct_u42", "lark:direct_ou7", "main"}


def test_an_index_that_was_dropped_answers_as_before(files: Path, scope: Scope) -> None:
    write(files, DAY, "# Kitchen\n\n- The fuse is the third from the left\n- 厨房的灯坏了\n")
    save(scope, "Nina is allergic to peanuts")
    sync_workspace(scope.workspace, now=NOW)
    questions = ["fuse", "厨房的灯怎么了？", "what is Nina allergic to?"]
    before = [found(scope, question) for question in questions]
    assert all(before)
    assert drop_index(scope.workspace) == 3
    sync_workspace(scope.workspace, now=NOW + timedelta(hours=1), force=True)
    assert [found(scope, question) for question in questions] == before


def test_files_of_another_workspace_are_not_indexed_here(files: Path, scope: Scope, stranger: Workspace) -> None:
    other = make_scope(stranger, scope.key)
    write(files, DAY, "- ours\n")
    sync_workspace(stranger, now=NOW)
    assert not lines(other)


def test_a_model_is_told_where_a_line_stands_and_no_day_that_nobody_wrote_down(
    files: Path, api: Api, scope: Scope
) -> None:
    write(files, DAY, "# Kitchen\n\n- The fuse is the third from the left\n")
    write(files, LONG_TERM, "- 厨房的保险丝是十安培的\n")
    answer = api.post(
        "recall", {"scope": scope.key, "message": "the fuse of the kitchen 厨房的保险丝", "need": "off"}
    ).json()
    assert set(answer["context"].splitlines()[1:]) == {
        f"- [2026-02-28] (Kitchen) The fuse is the third from the left [{DAY}:3]",
        f"- 厨房的保险丝是十安培的 [{LONG_TERM}:1]",
    }
    entry = api.get("entries", scope=scope.key, q="fuse").json()["results"][0]
    assert (entry["path"], entry["line_from"], entry["line_to"], entry["heading"]) == (DAY, 3, 3, "Kitchen")
