"""A model that has the tools of memory is told to search first, to read exact words, and to save when asked (C13)."""

from typing import Any

import pytest

from memories.models import Workspace
from tests.conftest import TELEGRAM, make_key
from tests.sessions_app.conftest import Talk

pytestmark = pytest.mark.django_db
PAST = "what did we say about the boat yesterday?"
NAMES = ("memory_search", "memory_get", "memory_save")


def context(talk: Talk, message: str, **more: Any) -> dict[str, Any]:
    answer = talk.post("context", {"address": TELEGRAM, "message": message, **more})
    assert answer.status_code == 200, answer.json()
    return dict(answer.json())


@pytest.mark.parametrize("message", [PAST, "good morning", "昨天我们聊了什么？"])
def test_without_tools_none_is_named(talk: Talk, message: str) -> None:
    for given in (context(talk, message), context(talk, message, tools=False)):
        assert not any(name in str(given) for name in NAMES)


def test_with_tools_every_message_tells_when_to_use_them(talk: Talk) -> None:
    result = context(talk, "good morning", tools=True)
    (directive,) = result["directives"]
    assert directive["kind"] == "memory_tools" and directive["instruction"] in result["text"]
    assert all(name in directive["instruction"] for name in NAMES)


def test_with_tools_a_question_about_the_past_is_searched_again_before_it_is_answered(talk: Talk) -> None:
    result = context(talk, PAST, tools=True)
    past, tools = result["directives"]
    assert (past["kind"], tools["kind"]) == ("answer_from_memory", "memory_tools")
    assert "memory_search" in past["instruction"] and "memory_get" in past["instruction"]
    assert "never present a guess as a memory" in past["instruction"]
    assert "nothing was found" in past["instruction"] and past["instruction"] in result["text"]


def test_it_is_told_in_the_language_of_the_workspace(workspace: Workspace) -> None:
    Workspace.objects.filter(pk=workspace.pk).update(language="zh-hans")
    result = context(Talk(make_key(workspace)), "昨天我们聊了什么？", tools=True)
    assert "不要把猜测当作记忆" in result["text"] and "你有记忆工具" in result["text"]


@pytest.mark.thorough
@pytest.mark.parametrize("budget", [0, 20, 60, 200])
def test_the_budget_holds_with_tools_too(talk: Talk, budget: int) -> None:
    talk.say("the boat leaves at noon", "aye aye")
    assert context(talk, PAST, tools=True, token_budget=budget)["tokens"] <= budget
