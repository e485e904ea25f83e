"""Recall from the files: by words, with the line that proves it."""

from datetime import date
from typing import Any

import pytest

from channels_app.models import Channel
from memories.models import RecallTrace, Workspace
from tests.channels_app.doors.files.conftest import note, turn
from tests.conftest import GROUP, TELEGRAM, Api
from tests.support.outage import connection_lost_at, database_away

pytestmark = pytest.mark.django_db


def recall(bot: Api, message: str, **more: Any) -> Any:
    answer = bot.post("recall", {**({} if "scope" in more else {"address": TELEGRAM}), "message": message, **more})
    assert answer.status_code == 200, answer.content
    return answer.json()


@pytest.fixture
def notes(workspace: Workspace) -> None:
    note(workspace, "# Home\n\n- The cat is called 年糕 and sleeps all day\n- 快递放在门卫\n")
    note(workspace, "- The ferry to Lantau leaves from pier six\n", day=date(2026, 3, 1))


@pytest.mark.parametrize(
    "message, path, content",
    [
        ("what is my cat called?", "memory/scopes/telegram+direct_u42/LONG_TERM.md", "年糕"),
        ("快递放在哪里？", "memory/scopes/telegram+direct_u42/LONG_TERM.md", "门卫"),
        ("which pier has the ferry?", "memory/scopes/telegram+direct_u42/2026-03-01.md", "pier six"),
    ],
)
def test_a_question_is_answered_from_the_files(bot: Api, notes: None, message: str, path: str, content: str) -> None:
    with database_away():
        result = recall(bot, message)
    best = result["memories"][0]
    assert content in best["content"] and best["slots"]["path"] == path
    assert (best["id"], best["type"], best["scope"]) == (None, "note", "telegram:direct_u42")
    assert f"[{path}:{best['slots']['line']}]" in result["context"]
    assert result["degraded"] == ["database"] and result["evidence"] in ("found", "weak")
    assert not RecallTrace.objects.filter(message=message).exists()


def test_what_was_said_meanwhile_is_found_at_once(bot: Api) -> None:
    with database_away():
        bot.post("turns", turn("我对花生过敏", "记住了"))
        result = recall(bot, "我对什么过敏？")
    assert "花生" in result["memories"][0]["content"]
    assert "transcripts" in result["memories"][0]["slots"]["path"]


@pytest.mark.parametrize("message", ["what have I told you so far?", "之前我跟你说过什么？"])
def test_a_question_that_names_nothing_is_answered_by_the_newest_lines(bot: Api, notes: None, message: str) -> None:
    with database_away():
        bot.post("turns", turn("我对花生过敏", "记住了"))
        result = recall(bot, message)
    contents = [memory["content"] for memory in result["memories"]]
    assert "花生" in "".join(contents[:2]) and "pier six" in contents[2] and len(contents) == 5
    assert result["evidence"] == "found" and "花生" in result["context"]


def test_nothing_found_is_told(bot: Api, notes: None) -> None:
    with database_away():
        result = recall(bot, "who won the chess championship?")
    assert (result["memories"], result["evidence"], result["context"]) == ([], "none", "")
    with database_away():
        assert recall(bot, "ok")["need"] == {"retrieve": False, "rule": "too_short"}


def test_the_walls_hold(bot: Api, workspace: Workspace, stranger: Workspace) -> None:
    for where, scope in ((workspace, "telegram:direct_u43"), (stranger, "telegram:direct_u42")):
        note(where, "- the password of the safe is 4711\n", scope=scope)
    note(workspace, "- the password of my safe is 0815\n")
    with database_away():
        assert [memory["content"] for memory in recall(bot, "what is the password of the safe?")["memories"]] == [
            "the password of my safe is 0815"
        ]
        assert recall(bot, "what is the password of the safe?", address=GROUP)["memories"] == []


def test_times_and_kinds_narrow_it(bot: Api, notes: None) -> None:
    with database_away():
        data = {"message": "which pier has the ferry?"}
        assert recall(bot, **data, since="2026-02-28T00:00:00Z", until="2026-03-03T00:00:00Z")["memories"]
        assert recall(bot, **data, until="2026-02-01T00:00:00Z")["memories"] == []
        assert recall(bot, **data, types=["fact"])["memories"] == []
        assert recall(bot, **data, filters={"env": "prod"})["memories"] == []
        assert recall(bot, **data, limit=1, token_budget=0)["context"] == ""


def test_one_scope_may_be_asked(bot: Api, notes: None) -> None:
    with database_away():
        assert recall(bot, "what is my cat called?", scope="telegram:direct_u42")["memories"]
        assert recall(bot, "what is my cat called?", scope="main")["memories"] == []


def test_a_channel_answered_from_its_files_finds_them_with_the_database_there(bot: Api, notes: None) -> None:
    Channel.objects.update(path_mode="legacy_only")
    result = recall(bot, "what is my cat called?")
    assert result["degraded"] == ["files"] and "年糕" in result["memories"][0]["content"]


def test_it_is_answered_wherever_the_database_is_lost(bot: Api, notes: None) -> None:
    with connection_lost_at("memories_entry"):
        result = recall(bot, "what is my cat called?")
    assert result["degraded"] == ["database"] and result["memories"]
