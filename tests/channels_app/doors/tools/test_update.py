"""memory_update: a line of a note, or a saved memory, is corrected where it stands, and can be put back (C2)."""

import json
import os
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from memories.files.layout import ScopeFolder, scope_folder
from memories.models import Batch, Entry, Scope, Workspace
from tests.channels_app.doors.tools.asking import FORMS, by_model, text_of, tool
from tests.channels_app.doors.tools.reading import CHAT, DAILY, NOBODY, OTHERS, OWN, REFUSED, written
from tests.channels_app.doors.tools.test_walls import listen
from tests.conftest import GROUP, Api, make_key
from tests.memories.files.test_paths import HOSTILE, IN_A_SCOPE
from tests.sessions_app.conftest import Talk
from tests.support.outage import database_away

pytestmark = pytest.mark.django_db


def text_at(folder: ScopeFolder, path: str) -> str:
    return (folder.workspace / path).read_text()


def test_a_line_is_corrected_where_it_stands_and_found_by_its_new_words(talk: Talk, folder: ScopeFolder) -> None:
    saved = tool(talk, "memory_save", status=201, content="The boat is blue", target="daily")
    answer = tool(talk, "memory_update", path=f"{saved['path']}:{saved['line']}", content="The boat is green")
    assert (answer["path"], answer["line"], answer["entry"]) == (DAILY, saved["line"], saved["entry"])
    assert (answer["before"], answer["content"], answer["outcome"]) == (
        "The boat is blue",
        "The boat is green",
        "updated",
    )
    text = text_at(folder, DAILY)
    assert "- The boat is green <!-- ^" in text and "blue" not in text
    results = tool(talk, "memory_search", query="which colour has the boat?")["results"]
    assert [result["snippet"] for result in results] == ["The boat is green"]
    history = talk.get(f"entries/{saved['entry']}/history").json()["results"]
    assert "The boat is blue" in str(history)


@pytest.mark.parametrize("form", FORMS)
def test_a_model_corrects_a_memory_by_its_id_in_either_language(talk: Talk, workspace: Workspace, form: str) -> None:
    Workspace.objects.filter(pk=workspace.pk).update(language="zh-hans")
    saved = tool(talk, "memory_save", status=201, content="我住在成都", target="long-term")
    for path in (saved["entry"], f"[entries/{saved['entry']}]"):
        result = by_model(talk, "memory_update", {"path": path, "content": f"我住在杭州（{len(path)}）"}, form=form)
        assert "已更正" in text_of(result["message"]) and "我住在杭州" in result["result"]["content"]
    assert Entry.objects.live().get().content.startswith("我住在杭州")


def test_a_correction_is_a_batch_whose_undo_puts_the_line_back(talk: Talk, folder: ScopeFolder) -> None:
    saved = tool(talk, "memory_save", status=201, content="The boat is blue", target="daily")
    before = text_at(folder, DAILY)
    answer = tool(talk, "memory_update", path=f"{DAILY}:{saved['line']}", content="The boat is green\n\nand new")
    batch = Batch.objects.get(uid=answer["batch"])
    assert talk.post(f"batches/{batch.uid}/undo").status_code == 201
    assert text_at(folder, DAILY) == before
    assert Entry.objects.live().get().content == "The boat is blue"


def test_a_line_is_the_one_that_stands_there_now(talk: Talk, folder: ScopeFolder) -> None:
    path = f"{folder.base}/boat.md"
    written(folder, path, "- The hull is red", "- The sail is white")
    tool(talk, "memory_search", query="boat")
    written(folder, path, "# Boat", "", "- The hull is red", "- The sail is white")
    assert tool(talk, "memory_update", path=f"{path}:4", content="The sail is brown")["before"] == "The sail is white"
    assert text_at(folder, path) == "# Boat\n\n- The hull is red\n- The sail is brown\n"


def test_the_same_words_change_nothing_and_a_place_without_a_memory_is_told(talk: Talk, folder: ScopeFolder) -> None:
    path = f"{folder.base}/boat.md"
    written(folder, path, "# Boat", "", "- The hull is red")
    same = tool(talk, "memory_update", path=f"{path}:3", content=" The hull is red ")
    assert (same["outcome"], same["batch"], Batch.objects.count()) == ("unchanged", None, 0)
    for place in (f"{path}:1", f"{path}:2", f"{path}:99", path, f"{folder.base}/none.md:1"):
        (error,) = tool(talk, "memory_update", path=place, content="x", status=400)["errors"]
        assert (error["attr"], "memory_get numbers it" in error["detail"]) == ("path", True)
    for content in ("", "  "):
        tool(talk, "memory_update", path=f"{path}:3", content=content, status=400)
    assert text_at(folder, path) == "# Boat\n\n- The hull is red\n"


def test_a_memory_that_is_in_no_file_is_corrected_and_what_was_said_is_not(talk: Talk) -> None:
    fact = talk.post("entries", {"scope": OWN, "content": "Mia lives in Porto", "type": "fact"}).json()["id"]
    answer = tool(talk, "memory_update", path=f"entries/{fact}", content="Mia lives in Bergen")
    assert (answer["path"], answer["line"], answer["content"]) == (f"entries/{fact}", None, "Mia lives in Bergen")
    talk.say("my violin teacher is called Rosa")
    turn = Entry.objects.get(type="chat_turn")
    result = by_model(talk, "memory_update", {"path": f"entries/{turn.uid}", "content": "x"})
    assert result["is_error"] and "memory_save" in text_of(result["message"])


@pytest.mark.parametrize("path", ["MEMORY.md:1", f"entries/{NOBODY}", NOBODY, f"daily_events/{NOBODY}", "../x.md:1"])
def test_what_cannot_be_read_here_cannot_be_corrected(talk: Talk, path: str) -> None:
    assert tool(talk, "memory_update", path=path, content="x", status=403)["errors"][0]["code"] == "path_not_allowed"


@pytest.mark.thorough
@pytest.mark.parametrize("path", [*HOSTILE, *IN_A_SCOPE])
def test_nothing_is_corrected_along_a_hostile_path(talk: Talk, workspace: Workspace, path: str) -> None:
    others = scope_folder(workspace.folder, OTHERS)
    written(others, others.long_term, "- hers")
    result = by_model(talk, "memory_update", json.dumps({"path": f"{path}:1", "content": "x"}))
    assert result["is_error"] and text_at(others, others.long_term) == "- hers\n"


@pytest.mark.parametrize(("rule", "status"), [("none", 403), ("same_chat", 403), ("all", 200)])
def test_a_group_corrects_its_own_lines_and_a_persons_only_where_it_may_hear_all(
    talk: Talk, workspace: Workspace, folder: ScopeFolder, rule: str, status: int
) -> None:
    listen(workspace, rule)
    written(folder, DAILY, "- The boat is blue")
    chat = scope_folder(workspace.folder, CHAT)
    written(chat, chat.long_term, "- We meet on Thursdays")
    tool(talk, "memory_update", path=f"{DAILY}:1", content="The boat is green", at=GROUP, status=status)
    assert ("green" in text_at(folder, DAILY)) == (status == 200)
    tool(talk, "memory_update", path=f"{chat.long_term}:1", content="We meet on Fridays", at=GROUP)
    assert tool(talk, "memory_update", path=f"{chat.long_term}:1", content="x", status=403)["errors"] == [REFUSED]
    assert text_at(chat, chat.long_term) == "- We meet on Fridays\n"


def test_neither_a_key_that_reads_nor_another_workspace_nor_a_frozen_scope_changes_a_line(
    talk: Talk, workspace: Workspace, stranger: Workspace, folder: ScopeFolder
) -> None:
    saved = tool(talk, "memory_save", status=201, content="The boat is blue", target="daily")
    path, before = {"path": f"{DAILY}:{saved['line']}", "content": "x"}, text_at(folder, DAILY)
    reader = Api(make_key(workspace, permissions=["read"]))
    assert reader.post("tools/memory_update", {"scope": OWN, **path}).status_code == 403
    hers = Talk(make_key(stranger))
    tool(hers, "memory_update", path=f"entries/{saved['entry']}", content="x", status=403)
    Scope.objects.filter(key=OWN).update(frozen=True)
    tool(talk, "memory_update", **path, status=409)
    assert text_at(folder, DAILY) == before and Entry.objects.live().get().content == "The boat is blue"


def test_while_only_files_answer_nothing_is_corrected_and_it_is_said(
    talk: Talk, folder: ScopeFolder, settings: Any, tmp_path: Path
) -> None:
    settings.MEMORY_OFFLINE_ROOT = tmp_path / "offline"
    saved = tool(talk, "memory_save", status=201, content="The boat is blue", target="daily")
    with database_away():
        result = by_model(talk, "memory_update", {"path": f"{DAILY}:{saved['line']}", "content": "x"})
        listed = tool(talk, "memory_list")
    assert result["is_error"] and "try again later" in text_of(result["message"])
    assert ([file["path"] for file in listed["files"]], listed["degraded"]) == ([DAILY], ["database"])


# memory_list


def test_the_files_of_a_place_are_listed_those_changed_last_first(talk: Talk, folder: ScopeFolder) -> None:
    assert tool(talk, "memory_list")["files"] == []
    for n, path in enumerate((folder.long_term, DAILY, f"{folder.base}/项目/船.md")):
        written(folder, path, f"- line {n}")
        os.utime(folder.workspace / path, (1_770_000_000 + n, 1_770_000_000 + n))
    answer = tool(talk, "memory_list")
    assert [file["path"] for file in answer["files"]] == [f"{folder.base}/项目/船.md", DAILY, folder.long_term]
    assert answer["files"][0] == {
        "path": f"{folder.base}/项目/船.md",
        "kind": "note",
        "scope": OWN,
        "bytes": 9,
        "at": "2026-02-02T02:40:02Z",
    }
    result = by_model(talk, "memory_list", {})
    assert f"[{DAILY}]" in text_of(result["message"]) and "1 to 3 of 3" in text_of(result["message"])


def test_a_long_list_comes_in_parts(talk: Talk, folder: ScopeFolder) -> None:
    for n in range(105):
        written(folder, f"{folder.base}/{n}.md", "- x")
    first = tool(talk, "memory_list")
    last = tool(talk, "memory_list", **{"from": first["next"]})
    assert (len(first["files"]), first["total"], first["next"]) == (100, 105, 101)
    assert (len(last["files"]), last["next"]) == (5, None)
    assert len({file["path"] for file in first["files"] + last["files"]}) == 105


def test_no_list_names_the_files_of_another_place(talk: Talk, workspace: Workspace, folder: ScopeFolder) -> None:
    written(folder, DAILY, "- mine")
    chat = scope_folder(workspace.folder, CHAT)
    written(chat, chat.long_term, "- ours")
    theirs = scope_folder(workspace.folder, OTHERS)
    written(theirs, theirs.long_term, "- hers")
    assert [file["path"] for file in tool(talk, "memory_list")["files"]] == [DAILY]
    assert [file["path"] for file in tool(talk, "memory_list", at=GROUP)["files"]] == [chat.long_term]
    listen(workspace, "all")
    assert {file["scope"] for file in tool(talk, "memory_list", at=GROUP)["files"]} == {CHAT, OWN}


# hard links


def test_a_file_with_a_second_name_is_neither_read_nor_added_to_nor_listed(
    talk: Talk, workspace: Workspace, folder: ScopeFolder
) -> None:
    others = scope_folder(workspace.folder, OTHERS)
    written(others, others.long_term, "- Rosa has the key of the boathouse")
    (folder.workspace / folder.base).mkdir(parents=True)
    link = f"{folder.base}/link.md"
    os.link(others.workspace / others.long_term, folder.workspace / link)
    assert tool(talk, "memory_get", path=link, status=403)["errors"] == [REFUSED]
    assert tool(talk, "memory_append", path=link, content="x", status=403)["errors"] == [REFUSED]
    assert tool(talk, "memory_update", path=f"{link}:1", content="x", status=403)["errors"] == [REFUSED]
    assert tool(talk, "memory_list")["files"] == []
    assert "boathouse" not in str(tool(talk, "memory_search", query="who has the key of the boathouse?"))
    assert text_at(others, others.long_term) == "- Rosa has the key of the boathouse\n"


def test_a_note_that_gets_a_second_name_keeps_what_was_indexed_of_it_until_it_has_one_again(
    talk: Talk, folder: ScopeFolder, settings: Any, tmp_path: Path
) -> None:
    settings.MEMORY_SYNC_MIN_INTERVAL = timedelta(0)
    saved = tool(talk, "memory_save", status=201, content="The boat is blue", target="daily")
    os.link(folder.workspace / DAILY, tmp_path / "copy.md")
    assert tool(talk, "memory_search", query="which colour has the boat?")["results"][0]["line"] == saved["line"]
    (tmp_path / "copy.md").unlink()
    written(folder, DAILY, "- The boat is green")
    assert "green" in tool(talk, "memory_search", query="which colour has the boat?")["text"]
