"""The tools while the files alone answer: the database is away, or the files were chosen (C11, A4, D9)."""

from pathlib import Path
from typing import Any

import pytest

from channels_app.doors.tools import search
from channels_app.models import Channel
from memories.files.layout import ScopeFolder, scope_folder
from memories.models import Entry, Scope, Workspace
from memories.notes.index import sync_scope
from tests.channels_app.doors.tools.asking import FORMS, by_model, text_of, tool
from tests.channels_app.doors.tools.reading import CHAT, DAILY, OTHERS, OWN, REFUSED, written
from tests.conftest import GROUP, NOW, TELEGRAM, make_key
from tests.sessions_app.conftest import Talk
from tests.support.outage import database_away, forget, lost

pytestmark = pytest.mark.django_db
UID = "019a0000-0000-7000-8000-000000000000"


@pytest.fixture(autouse=True)
def apart(root: Path, settings: Any) -> None:
    settings.MEMORY_OFFLINE_ROOT = root.parent / "offline"


@pytest.fixture
def channel_talk(talk: Talk, folder: ScopeFolder) -> Talk:
    """A bot of a channel the platform knows, and a note."""
    written(folder, DAILY, "# Boats", "", "- The boat is painted on Saturday")
    talk.say("hello", "hi")
    tool(talk, "memory_search", query="anything")
    tool(talk, "memory_search", query="anything", at=GROUP)
    return talk


def test_it_works(channel_talk: Talk, folder: ScopeFolder) -> None:
    with database_away():
        result = tool(channel_talk, "memory_search", query="when is the boat painted?")
        read = tool(channel_talk, "memory_get", path=f"{DAILY}:3")
        saved = tool(channel_talk, "memory_save", content="Lena brings the brushes", target="daily", status=201)
        added = tool(channel_talk, "memory_append", content="and the paint", path=DAILY, status=201)
    first = result["results"][0]
    assert (first["path"], first["line"], first["heading"]) == (DAILY, 3, "Boats")
    assert result["recall_id"] is None and "Only the notes in files" in result["note"]
    assert read["text"] == "- The boat is painted on Saturday"
    assert (saved["path"], saved["line"], saved["entry"], saved["outcome"]) == (DAILY, 4, None, "pending")
    assert added["line"] == 6  # below the line that names the session
    assert {tuple(row["degraded"]) for row in (result, read, saved, added)} == {("database",)}
    assert Entry.objects.filter(type="note", content__contains="Lena").count() == 0
    sync_scope(Scope.objects.get(key=OWN), now=NOW)
    assert Entry.objects.filter(type="note", content="Lena brings the brushes").count() == 1


def test_the_same_sentence_is_known_already(channel_talk: Talk, folder: ScopeFolder) -> None:
    with database_away():
        saved, again = (
            tool(channel_talk, "memory_save", content="The boat is painted on Saturday.", target="daily", status=201)
            for _ in range(2)
        )
    assert (saved["outcome"], saved["line"]) == ("known", 3) == (again["outcome"], again["line"])
    assert (folder.workspace / DAILY).read_text().count("Saturday") == 1


@pytest.mark.parametrize("form", FORMS)
def test_a_model_is_told_what_cannot_be_done_now(channel_talk: Talk, form: str) -> None:
    with database_away():
        nothing = by_model(channel_talk, "memory_search", {"query": "the violin"}, form=form)
        message = by_model(channel_talk, "memory_get", {"path": f"session_events/{UID}/1/event-1"}, form=form)
        saved = by_model(
            channel_talk, "memory_save", {"content": "Lena brings the brushes", "target": "daily"}, form=form
        )
        wrong = by_model(channel_talk, "memory_get", {"path": "../MEMORY.md"}, form=form)
    assert "nothing found" in text_of(nothing["message"]) and "Only the notes in files" in text_of(nothing["message"])
    assert "cannot be read at the moment" in text_of(message["message"]) and not message["is_error"]
    assert text_of(saved["message"]).startswith("Saved")
    assert wrong["is_error"] and wrong["errors"] == [REFUSED]


def test_the_tools_are_told_all_the_same(channel_talk: Talk) -> None:
    with database_away():
        tools = channel_talk.get("tools", form="anthropic").json()["tools"]
    assert len(tools) == 6


def test_the_context_of_files_tells_when_to_use_them(channel_talk: Talk) -> None:
    with database_away():
        answer = channel_talk.post("context", {"address": TELEGRAM, "message": "good morning", "tools": True}).json()
        without = channel_talk.post("context", {"address": TELEGRAM, "message": "good morning"}).json()
    (directive,) = answer["directives"]
    assert directive["kind"] == "memory_tools" and directive["instruction"] in answer["text"]
    assert "painted on Saturday" in answer["text"]
    assert without["directives"] == [] and "memory_search" not in without["text"]


@pytest.mark.usefixtures("channel_talk")
def test_the_walls_hold(talk: Talk, workspace: Workspace) -> None:
    others, chat = scope_folder(workspace.folder, OTHERS), scope_folder(workspace.folder, CHAT)
    written(others, others.long_term, "- The boat is hers")
    written(chat, chat.long_term, "- The group's boat")
    narrow = Talk(make_key(workspace, name="narrow", scope_patterns=["lark:*"]))
    narrow.get("tools")
    with database_away():
        assert tool(talk, "memory_get", path=others.long_term, status=403)["errors"] == [REFUSED]
        assert tool(talk, "memory_get", path=DAILY, at=GROUP, status=403)["errors"] == [REFUSED]
        assert "hers" not in str(tool(talk, "memory_search", query="boat"))
        in_group = tool(talk, "memory_search", query="boat", at=GROUP)["results"]
        assert [row["snippet"] for row in in_group] == ["The group's boat"]
        tool(narrow, "memory_search", query="boat", at=OWN, status=404)
        tool(narrow, "memory_save", content="x", target="daily", at=OWN, status=404)
        tool(talk, "memory_save", content="x", target="daily", at="../other", status=404)
        saved = tool(talk, "memory_save", content="We meet on Thursdays", target="long-term", at=GROUP, status=201)
    assert (saved["scope"], saved["path"]) == (CHAT, chat.long_term)


@pytest.mark.usefixtures("channel_talk")
def test_a_channel_of_files_is_answered_from_them(talk: Talk, folder: ScopeFolder) -> None:
    Channel.objects.update(path_mode="legacy_only")
    result = tool(talk, "memory_search", query="when is the boat painted?")
    assert (result["results"][0]["path"], result["degraded"]) == (DAILY, ["files"])
    saved = tool(talk, "memory_save", content="Lena brings the brushes", target="daily", status=201)
    assert (saved["outcome"], saved["degraded"]) == ("pending", ["files"])
    answer = by_model(talk, "memory_append", {"content": "and the paint", "path": None})
    assert answer["result"]["degraded"] == ["files"]
    assert "and the paint" in (folder.workspace / DAILY).read_text()
    Scope.objects.filter(key=OWN).update(frozen=True)
    assert tool(talk, "memory_save", content="x", target="daily", status=409)["errors"][0]["code"] == "scope_frozen"


@pytest.mark.usefixtures("channel_talk")
def test_a_platform_that_is_switched_off_answers_from_files(talk: Talk, settings: Any) -> None:
    settings.MEMORY_ENABLED = False
    result = tool(talk, "memory_search", query="when is the boat painted?", at=OWN)
    assert (result["results"][0]["path"], result["degraded"]) == (DAILY, ["files"])
    settings.MEMORY_ENABLED = True
    assert tool(talk, "memory_search", query="when is the boat painted?", at=OWN)["degraded"] == []


@pytest.mark.usefixtures("channel_talk")
def test_nothing_is_done_twice_where_the_connection_breaks_between_two_calls(
    talk: Talk, folder: ScopeFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_args: Any, **_more: Any) -> None:
        raise lost()

    monkeypatch.setattr(search, "recall", broken)
    calls = [
        {"type": "tool_use", "id": "1", "name": "memory_append", "input": {"content": "Once and no more"}},
        {"type": "tool_use", "id": "2", "name": "memory_search", "input": {"query": "boat"}},
    ]
    answer = talk.post("tools/call", {"address": TELEGRAM, "calls": calls})
    assert answer.status_code == 200, answer.content
    forget()
    assert [result["result"]["degraded"] for result in answer.json()["answers"]] == [[], ["database"]]
    assert (folder.workspace / DAILY).read_text().count("Once and no more") == 1


def test_what_is_sent_again_under_one_key_is_saved_once_in_an_outage_and_after_it(
    channel_talk: Talk, folder: ScopeFolder
) -> None:
    body = {"address": TELEGRAM, "content": "Rosa has the key\n\nof the boathouse", "target": "daily"}
    other = body | {"content": "Milan has the other one"}
    with database_away():
        first, again = (
            channel_talk.post("tools/memory_save", body, **{"Idempotency-Key": "k1"}).json() for _ in range(2)
        )
        channel_talk.post("tools/memory_save", other, **{"Idempotency-Key": "k2"})
    later = channel_talk.post("tools/memory_save", body, **{"Idempotency-Key": "k1"}).json()
    text = (folder.workspace / DAILY).read_text()
    assert first == again and (later["path"], later["line"]) == (first["path"], first["line"])
    assert (text.count("Rosa"), text.count("Milan")) == (1, 1)
    assert Entry.objects.live().filter(content__startswith="Rosa").count() == 1
