"""memory_forget and memory_restore: what could be read here goes out of use and comes back, in its file as well."""

from pathlib import Path
from typing import Any

import pytest

from channels_app.api.tools import SHAPES
from memories.choices import Source
from memories.entries import daily_events
from memories.entries.daily_events import EventDraft
from memories.files.layout import ScopeFolder
from memories.models import Batch, DailyEvent, Entry, Workspace
from tests.channels_app.doors.tools.asking import by_model, text_of, tool
from tests.channels_app.doors.tools.reading import DAILY, NOBODY, OWN
from tests.conftest import GROUP, NOW, TELEGRAM, Api, make_key, make_scope
from tests.sessions_app.conftest import Talk
from tests.support.outage import database_away

pytestmark = pytest.mark.django_db


def test_a_note_is_forgotten_by_its_line_and_restored_by_the_path_that_was_told(
    talk: Talk, folder: ScopeFolder
) -> None:
    saved = tool(talk, "memory_save", status=201, content="The boat is blue")
    result = by_model(talk, "memory_forget", {"path": f"{saved['path']}:{saved['line']}"})
    assert "«The boat is blue»" in text_of(result["message"]) and "can be restored" in text_of(result["message"])
    assert tool(talk, "memory_search", query="which colour has the boat?")["results"] == []
    assert "- The boat is blue" not in (folder.workspace / DAILY).read_text().splitlines()
    back = by_model(talk, "memory_restore", {"path": result["result"]["path"]})
    assert back["result"]["outcome"] == "restored"
    assert "blue" in tool(talk, "memory_search", query="which colour has the boat?")["text"]
    assert Entry.objects.live().filter(content="The boat is blue").count() == 1


@pytest.mark.parametrize(
    ("turn", "note", "beside"),
    [
        ("I have a cat named Mochi", "The user has a cat named Mochi", "I sing in a choir on Mondays"),
        ("我养了一只叫麻薯的猫", "用户养了一只叫麻薯的猫", "我周一去合唱团唱歌"),
    ],
)
def test_it_names_what_says_the_same_and_is_in_use_still(talk: Talk, turn: str, note: str, beside: str) -> None:
    talk.say(turn)
    talk.say(beside)
    saved = tool(talk, "memory_save", status=201, content=note)
    result = by_model(talk, "memory_forget", {"path": f"{saved['path']}:{saved['line']}"})
    (other,) = result["result"]["similar"]
    assert turn in other["content"] and other["path"] in text_of(result["message"])
    again = by_model(talk, "memory_forget", {"path": other["path"]})
    assert again["result"]["similar"] == [] and "still" not in text_of(again["message"]).lower()
    assert turn not in tool(talk, "memory_search", query=turn)["text"]


@pytest.mark.parametrize("name", ["memory_forget", "memory_restore"])
@pytest.mark.parametrize(
    "path", ["MEMORY.md", "MEMORY.md:9", f"entries/{NOBODY}", NOBODY, f"daily_events/{NOBODY}", "x"]
)
def test_what_is_no_memory_of_this_place_is_refused_in_the_same_words(talk: Talk, name: str, path: str) -> None:
    result = by_model(talk, name, {"path": path})
    assert [error["code"] for error in result["errors"]] == ["path_not_allowed"]


def test_what_another_place_remembers_is_neither_forgotten_nor_restored(talk: Talk, workspace: Workspace) -> None:
    talk.say("my violin teacher is called Rosa")
    entry = Entry.objects.get()
    path = {"path": f"entries/{entry.uid}"}
    for at in (GROUP, {**TELEGRAM, "peer": "u43", "chat": "c8"}):
        assert by_model(talk, "memory_forget", path, at=at)["is_error"]
    assert not by_model(talk, "memory_forget", path)["is_error"]
    for at in (GROUP, {**TELEGRAM, "peer": "u43", "chat": "c8"}):
        assert by_model(talk, "memory_restore", path, at=at)["is_error"]
    entry.refresh_from_db()
    assert entry.expired_at


def test_the_event_of_a_day_is_forgotten_and_restored_each_as_a_batch_that_can_be_undone(
    talk: Talk, workspace: Workspace
) -> None:
    scope = make_scope(workspace, OWN)
    drafts = [EventDraft(scope=scope, local_date=NOW.date(), content="Rosa tuned the violin", source=Source.TOOL)]
    (day,) = daily_events.write(drafts, now=NOW, actor="bot:ann")
    path = {"path": f"daily_events/{day.uid}"}
    for at in (GROUP, {**TELEGRAM, "peer": "u43", "chat": "c8"}):
        assert by_model(talk, "memory_forget", path, at=at)["is_error"]
    result = by_model(talk, "memory_forget", path)
    assert "«Rosa tuned the violin»" in text_of(result["message"]) and "can be restored" in text_of(result["message"])
    assert DailyEvent.objects.in_use().count() == 0 and by_model(talk, "memory_forget", path)["is_error"]
    assert by_model(talk, "memory_restore", path, at=GROUP)["is_error"]
    assert by_model(talk, "memory_restore", path)["result"]["outcome"] == "restored"
    assert DailyEvent.objects.in_use().count() == 1
    restored, forgotten = Batch.objects.order_by("-pk")
    for batch, count in ((restored, 0), (forgotten, 1)):
        assert talk.post(f"batches/{batch.uid}/undo").status_code == 201
        assert DailyEvent.objects.in_use().count() == count
        assert talk.get(f"batches/{batch.uid}").status_code == 200


def test_a_key_that_may_only_read_forgets_nothing(workspace: Workspace) -> None:
    reader = Api(make_key(workspace, permissions=["read"]))
    call = {"type": "tool_use", "id": "1", "name": "memory_forget", "input": {"path": f"entries/{NOBODY}"}}
    assert reader.post("tools/call", {"address": TELEGRAM, "call": call}).status_code == 403


def test_while_only_files_answer_it_is_said_and_nothing_forgotten(talk: Talk, settings: Any, tmp_path: Path) -> None:
    settings.MEMORY_OFFLINE_ROOT = tmp_path / "offline"
    saved = tool(talk, "memory_save", status=201, content="The boat is blue")
    for name in ("memory_forget", "memory_restore"):
        with database_away():
            result = by_model(talk, name, {"path": f"{saved['path']}:{saved['line']}"})
        assert result["is_error"] and "try again later" in text_of(result["message"])
    assert Entry.objects.live().count() == 1


def test_only_mcp_offers_it(api: Api) -> None:
    offered = {form: str(api.get("tools", form=form).json()["tools"]) for form in ("openai", "anthropic", "mcp")}
    assert {form for form, tools in offered.items() if "memory_forget" in tools} == {"mcp"}
    data = {tool["name"]: tool["annotations"] for tool in api.get("tools", form="mcp").json()["tools"]}
    assert list(data) == list(SHAPES)
    assert [name for name, hints in data.items() if hints["destructiveHint"]] == ["memory_update", "memory_forget"]
    assert [name for name, hints in data.items() if not hints["readOnlyHint"]] == [
        "memory_save",
        "memory_append",
        "memory_update",
        "memory_forget",
        "memory_restore",
    ]
