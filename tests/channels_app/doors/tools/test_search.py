"""memory_search: notes, memories, days and messages in one ranking, with their paths (C3, C5)."""

import re
from datetime import date, timedelta
from typing import Any

import pytest

from memories import entries
from memories.choices import EntryType, Source
from memories.entries import daily_events
from memories.entries.daily_events import EventDraft
from memories.models import Entry, RecallTrace, Scope, Workspace
from tests.channels_app.doors.tools.asking import tool
from tests.conftest import GROUP, NOW, TELEGRAM, make_draft, make_key
from tests.sessions_app.conftest import Talk

pytestmark = pytest.mark.django_db
YESTERDAY = NOW - timedelta(days=1)
NOTE = {"type": EntryType.NOTE, "source": Source.FILE, "path": "memory/2026-02-27.md", "line_from": 7, "line_to": 7}


@pytest.fixture
def own_scope(talk: Talk) -> Scope:
    """The deployment window, as a note, a message, a memory and a day tell of it."""
    talk.say("我们把部署窗口定在周四晚上十点", "好的，记下了", at=YESTERDAY)
    talk.say("my violin teacher is called Rosa", "a fine name", at=NOW - timedelta(days=9))
    scope = Scope.objects.get(key="telegram:direct_u42")
    for draft in (
        make_draft(scope, "The deployment window is Thursday, ten in the evening", heading="Ops › Windows", **NOTE),
        make_draft(scope, "Rice the cat eats salmon"),
    ):
        entries.remember(draft, now=NOW, actor="test")
    day = EventDraft(scope=scope, local_date=date(2026, 2, 27), content="The violin was repaired in Leipzig")
    daily_events.write([day], now=NOW, actor="test")
    return scope


def results(talk: Talk, query: str, **asked: Any) -> list[dict[str, Any]]:
    return list(tool(talk, "memory_search", query=query, **asked)["results"])


@pytest.mark.usefixtures("own_scope")
def test_it_works(talk: Talk) -> None:
    answer = tool(talk, "memory_search", query="when is the deployment window?")
    first = answer["results"][0]
    assert (first["path"], first["line"], first["source"], first["kind"]) == (
        "memory/2026-02-27.md",
        7,
        "notes",
        "note",
    )
    assert (first["heading"], first["scope"]) == ("Ops › Windows", "telegram:direct_u42")
    assert first["snippet"] == "The deployment window is Thursday, ten in the evening"
    assert answer["evidence"] == "found"
    assert "[memory/2026-02-27.md:7]" in answer["text"] and answer["note"] in answer["text"]
    assert RecallTrace.objects.get(uid=answer["recall_id"]).message == "when is the deployment window?"


@pytest.mark.usefixtures("own_scope")
def test_a_search_that_asks_nothing_about_the_past_finds_messages_and_days_all_the_same(talk: Talk) -> None:
    result = results(talk, "violin")
    assert {row["source"] for row in result} >= {"entries", "daily_events"}
    day = next(row for row in result if row["source"] == "daily_events")
    assert re.fullmatch(r"daily_events/[0-9a-f-]{36}", day["path"])
    assert (day["snippet"], day["kind"]) == ("The violin was repaired in Leipzig", "summary")
    scores = [row["score"] for row in result]
    assert scores == sorted(scores, reverse=True)


@pytest.mark.usefixtures("own_scope")
def test_a_message_whose_memory_is_found_is_its_evidence_and_no_result_beside_it(talk: Talk) -> None:
    result = results(talk, "部署窗口")
    turn = next(row for row in result if row["kind"] == "chat_turn")
    assert [row for row in result if row["source"] == "session_events" and "部署窗口" in row["snippet"]] == []
    assert any(re.fullmatch(r"session_events/[0-9a-f-]{36}/1/event-\d+", path) for path in turn["evidence"])


def test_a_message_nothing_else_tells_of_is_found_by_itself(talk: Talk, own_scope: Scope) -> None:
    Entry.objects.filter(content__contains="Rosa").update(archived_at=NOW)
    (item,) = [result for result in results(talk, "violin teacher") if "Rosa" in result["snippet"]]
    assert (item["source"], item["kind"], item["line"]) == ("session_events", "user", 1)


@pytest.mark.usefixtures("own_scope")
@pytest.mark.parametrize("mode", ["keyword", "fts", "vector", "hybrid"])
def test_every_mode_finds_the_note(talk: Talk, mode: str) -> None:
    assert results(talk, "deployment window", mode=mode)[0]["path"] == "memory/2026-02-27.md"


@pytest.mark.usefixtures("own_scope")
def test_a_number_alone_is_looked_for(talk: Talk) -> None:
    talk.say("the door code of the cellar is 4711", "noted", at=YESTERDAY)
    assert "4711" in results(talk, "4711", mode="keyword")[0]["snippet"]
    assert all("4711" in result["snippet"] for result in results(talk, "4711", mode="keyword"))


@pytest.mark.parametrize(("language", "words"), [("en", "Searched, nothing found."), ("zh-hans", "已检索，未找到。")])
def test_nothing_found_is_said_in_the_workspaces_language(workspace: Workspace, language: str, words: str) -> None:
    Workspace.objects.filter(pk=workspace.pk).update(language=language)
    answer = tool(Talk(make_key(workspace)), "memory_search", query="the colour of the boat")
    assert (answer["results"], answer["evidence"]) == ([], "none")
    assert answer["note"].startswith(words) and answer["text"] == answer["note"]


@pytest.mark.usefixtures("own_scope")
def test_what_is_perhaps_not_enough_says_so(talk: Talk) -> None:
    answer = tool(talk, "memory_search", query="violin insurance receipt, invoice and policy number", mode="keyword")
    assert answer["results"] and answer["evidence"] in ("weak", "none")
    assert "not" in answer["note"] and "guess" in answer["note"]


@pytest.mark.usefixtures("own_scope")
def test_it_finds_no_more_than_it_is_asked_for_and_nothing_below_the_score(talk: Talk) -> None:
    many = results(talk, "violin window cat", min_score=0)
    assert len(many) > 2
    assert [result["path"] for result in results(talk, "violin window cat", max_results=2, min_score=0)] == [
        row["path"] for row in many[:2]
    ]
    least = many[0]["score"]
    assert all(result["score"] >= least for result in results(talk, "violin window cat", min_score=least))
    assert results(talk, "violin window cat", min_score=9) == []


@pytest.mark.usefixtures("own_scope")
def test_events_can_be_left_out(talk: Talk) -> None:
    result = results(talk, "violin", include_session_events=False)
    assert result and {row["source"] for row in result} <= {"notes", "entries"}
    assert all(row["evidence"] == [] for row in result)


def test_the_numbers_are_settings(talk: Talk, own_scope: Scope, settings: Any) -> None:
    settings.MEMORY_SEARCH_MAX_RESULTS, settings.MEMORY_SEARCH_SNIPPET_CHARS = 1, 20
    (result,) = results(talk, "deployment window")
    assert len(result["snippet"]) <= 20 and result["cut"]
    settings.MEMORY_SEARCH_MIN_SCORE = 9.0
    assert results(talk, "deployment window") == []


def test_of_a_long_memory_the_part_that_answers_is_shown(talk: Talk, own_scope: Scope) -> None:
    filler = "Nothing of note happened on this quiet day. " * 60
    entries.remember(
        make_draft(own_scope, f"{filler}The spare key lies under the blue pot. {filler}"), now=NOW, actor="test"
    )
    result = next(answer for answer in results(talk, "where is the spare key?") if "quiet" in answer["snippet"])
    assert "The spare key lies under the blue pot." in result["snippet"] and result["cut"]


def test_what_was_taken_out_leaves_no_trace(talk: Talk, own_scope: Scope) -> None:
    entry = Entry.objects.get(content__contains="部署窗口")
    talk.request("DELETE", f"entries/{entry.uid}")
    assert "部署窗口" not in str(tool(talk, "memory_search", query="部署窗口"))


def test_a_trace_asks_again_as_it_asked(talk: Talk, own_scope: Scope) -> None:
    from memories.recall import recall
    from memories.recall.traces import query_of

    answer = tool(talk, "memory_search", query="violin")
    again = recall(query_of(RecallTrace.objects.get(uid=answer["recall_id"])), now=NOW, recorded=False)
    assert {event.path for event in again.events} == {
        path
        for result in answer["results"]
        for path in [*result["evidence"], *([result["path"]] if result["source"].endswith("events") else [])]
    }


def test_what_a_group_may_not_hear_is_not_found_there(talk: Talk, own_scope: Scope) -> None:
    talk.say("the group meets at the harbour", "see you", address=GROUP)
    result = results(talk, "deployment window harbour violin salmon 部署窗口", at=GROUP, min_score=0)
    assert result and all("harbour" in row["snippet"] or row["snippet"] == "see you" for row in result)


def test_a_scope_is_searched_alone(talk: Talk, own_scope: Scope) -> None:
    talk.say("the boat is blue", "ok", address={**TELEGRAM, "peer": "u7", "chat": "c9"})
    assert "blue" not in str(tool(talk, "memory_search", at=own_scope.key, query="the boat is blue"))
    assert "blue" in str(tool(talk, "memory_search", at="telegram:direct_u7", query="the boat is blue"))


def test_an_address_never_seen_finds_nothing_and_a_scope_nobody_knows_is_not_there(talk: Talk) -> None:
    assert tool(talk, "memory_search", query="the boat")["results"] == []
    tool(talk, "memory_search", at="telegram:direct_nobody", query="the boat", status=404)


@pytest.mark.parametrize(
    ("body", "attr"),
    [
        ({"query": ""}, "query"),
        ({"query": "  "}, "query"),
        ({"query": "x" * 4_001}, "query"),
        ({"query": "x", "max_results": 0}, "max_results"),
        ({"query": "x", "max_results": 51}, "max_results"),
        ({"query": "x", "max_results": "5"}, "max_results"),
        ({"query": "x", "mode": "magic"}, "mode"),
        ({"query": "x", "colour": "red"}, "colour"),
        ({"query": "x", "scope": "main"}, "address"),
        ({}, "query"),
    ],
    ids=str,
)
def test_a_wrong_argument_is_named(talk: Talk, body: dict[str, Any], attr: str) -> None:
    answer = talk.post("tools/memory_search", {"address": TELEGRAM, **body})
    assert (answer.status_code, answer.json()["errors"][0]["attr"]) == (400, attr)
