"""What a bot does around its model, with the client's one object for it."""

import json
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest
from memplatform_client.errors import NoAnswer, NotAuthenticated
from memplatform_client.turns import Before, BotMemory, plain, words_of

from memories.models import Entry, Workspace
from sessions_app.models import SessionEvent
from tests.conftest import make_key

pytestmark = pytest.mark.django_db(transaction=True)
FACT, QUESTION = "My boat is called Wren.", "What is my boat called?"


@pytest.fixture
def memory(live_server: Any, workspace: Workspace) -> Any:
    made = BotMemory(make_key(workspace), live_server.url, account="shop")
    yield made
    made.close()


@pytest.mark.thorough
def test_a_fact_of_one_chat_is_known_before_a_turn_of_another_and_to_nobody_else(memory: BotMemory) -> None:
    assert memory.after("dana", FACT, "Noted.", "monday", once="message 1")
    assert memory.after("dana", FACT, "Noted.", "monday", once="message 1"), "told again, it is the same turn"
    assert [row["content"] for row in memory.history("dana", "monday")] == [FACT, "Noted."]
    context = memory.before("dana", QUESTION, "friday")
    assert "Wren" in context.text and context.recall_id and context.history == []
    assert "Wren" in memory.search("dana", QUESTION)[0]["content"]
    assert "Wren" not in memory.before("remy", QUESTION, "monday").text
    assert memory.search("remy", QUESTION) == [] == memory.history("remy", "monday")
    assert memory.after("remy", "Hello.", "Hello.", "monday"), "a chat of the same name is another person's own"


@pytest.mark.thorough
def test_a_turn_of_long_ago_has_its_time(memory: BotMemory) -> None:
    assert memory.after("dana", FACT, "Noted.", at=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC))
    found = memory.client.read_entry(memory.search("dana", QUESTION)[0]["id"])
    assert str(found["stated_at"]).startswith("2026-01-02T03:04:05")


@pytest.mark.thorough
def test_a_conversation_begins_anew_and_what_is_saved_stays(memory: BotMemory) -> None:
    assert memory.begin_anew("dana", "monday"), "nothing was said in it"
    assert memory.after("dana", "Hello.", "Hello.", "monday") and memory.begin_anew("dana", "monday")
    assert memory.history("dana", "monday") == []
    saved = memory.save("dana", "Dana keeps bees.", "monday", kind="hobby")
    assert memory.client.read_entry(str(saved))["slots"]["kind"] == "hobby"


@pytest.mark.thorough
def test_the_conversation_comes_with_the_answer_unless_the_bot_has_its_own(memory: BotMemory) -> None:
    memory.after("dana", FACT, "Noted.", "monday")
    history = [{"role": "user", "content": FACT}, {"role": "assistant", "content": "Noted."}]
    assert memory.before("dana", QUESTION, "monday").history == history
    assert memory.before("dana", QUESTION, "monday", history).history == []


@pytest.mark.thorough
def test_memory_that_is_away_or_refuses_costs_no_turn_and_is_not_asked_at_every_turn(
    live_server: Any, caplog: pytest.LogCaptureFixture
) -> None:
    attempts = []

    def refuse(request: httpx.Request) -> httpx.Response:
        attempts.append(request.url.path)
        raise httpx.ConnectError("nobody listens", request=request)

    memory = BotMemory("mp_x", http=httpx.Client(transport=httpx.MockTransport(refuse)))
    assert memory.before("dana", QUESTION) == Before() == memory.before("dana", QUESTION)
    assert memory.search("dana", QUESTION) == [] and not memory.after("dana", FACT, "Noted.")
    assert attempts == ["/api/v1/context", "/api/v1/turns"]
    refused = BotMemory("mp_not_known", live_server.url)
    assert refused.before("dana", QUESTION) == Before() and refused.save("dana", FACT) is None
    assert refused.history("dana", "monday") == [] and not refused.begin_anew("dana", "monday")
    assert "memory is not asked" in caplog.text and "mp_not_known" not in caplog.text
    strict = BotMemory("mp_not_known", live_server.url, strict=True)
    with pytest.raises(NotAuthenticated):
        strict.before("dana", QUESTION)
    refused.close()
    strict.close()
    with pytest.raises(NoAnswer):
        BotMemory("mp_x", strict=True, http=httpx.Client(transport=httpx.MockTransport(refuse))).save("dana", FACT)


def test_a_turn_is_remembered_however_much_its_tools_answered(memory: BotMemory) -> None:
    long = "字" * 40_000  # 120,000 bytes, and 65,536 of them end within a character
    odd: dict[str, Any] = {"rows": ["a\0b", "\ud83d", float("nan"), datetime(2026, 1, 2, tzinfo=UTC)], "deep": []}
    for _level in range(30):
        odd = {"deep": odd}
    calls: list[Any] = [
        {"name": "read", "arguments": {"path": "a\0.txt"}, "result": "x\0" * 600_000},
        {"name": "write", "arguments": {"text": long}, "result": odd},
        {"name": "list", "arguments": {"path": "."}, "result": [{"name": f"{n}.txt", "size": n} for n in range(5_000)]},
    ]
    calls += [{"name": f"tool_{n}", "arguments": {}, "result": "y" * 5_000} for n in range(200)]
    assert memory.after("dana", f"{FACT} {long}\0\ud83d", long, "monday", tool_calls=calls)
    question, answer = SessionEvent.objects.order_by("position")
    kept = answer.data["tool_calls"]
    assert question.content.startswith(f"{FACT} 字") and answer.content.startswith("字")
    assert [call["name"] for call in kept[:3]] == ["read", "write", "list"]
    assert kept[0]["arguments"] == {"path": "a.txt"} and kept[0]["result"] == "x" * 4_000
    assert isinstance(kept[1]["arguments"], dict) and kept[1]["result"]["deep"]
    assert kept[2]["result"][0] == {"name": "0.txt", "size": 0} and 40 < len(kept) < 60


def test_of_a_long_call_what_stands_under_the_name_of_a_secret_is_not_stored(memory: BotMemory) -> None:
    arguments = {"dbPassword": "plumtree", "auth": ["mei", "plumtree"], "sql": "SELECT 1; " * 2_000}
    result: dict[str, Any] = {"rows": [{"clientSecret": "plumtree", "row": n} for n in range(5_000)]}
    result |= dict.fromkeys(map(str, range(5_000)))
    call: Any = {"name": "query", "arguments": arguments, "result": result}
    written: Any = {**call, "arguments": {"arguments": json.dumps(arguments)}, "result": json.dumps(result)}
    assert memory.after("dana", FACT, "Noted.", "monday", tool_calls=[call, written])
    kept, kept_text = SessionEvent.objects.get(kind="assistant").data["tool_calls"]
    assert "SELECT 1" in str(kept_text) and "plumtree" not in str(kept_text)
    assert kept["arguments"]["sql"].startswith("SELECT 1; ") and kept["result"]["rows"][0]["row"] == 0
    assert len(str(kept)) < 9_000 and "plumtree" not in str(kept)
    assert not Entry.objects.filter(content__contains="plumtree").exists()


def test_a_turn_without_words_of_a_side_is_remembered_and_one_with_an_unknown_word_about_it_refused(
    memory: BotMemory,
) -> None:
    nothing: Any = None  # as a model has it that calls a tool
    assert memory.after("dana", FACT, nothing, "monday")
    assert SessionEvent.objects.first().content == FACT
    misspelt: Any = {"onc": "message 1"}
    with pytest.raises(TypeError, match="a turn has no onc"):
        memory.after("dana", FACT, "Noted.", **misspelt)


def test_a_question_and_its_history_are_asked_without_what_cannot_be_stored(memory: BotMemory) -> None:
    memory.after("dana", FACT, "Noted.", "monday")
    history = [{"role": "user", "content": "Hello\0\ud83d"}, {"role": "assistant", "content": "\ud83dHi"}]
    assert "Wren" in memory.before("dana", f"{QUESTION}\0\ud83d", "friday", history).text
    assert "Wren" in memory.search("dana", f"{QUESTION}\0")[0]["content"]
    assert memory.save("dana", "Dana keeps bees.\0\ud83d")


def test_of_messages_the_words_are_read_and_pictures_left_out() -> None:
    parts = [{"type": "text", "text": "Look"}, {"type": "image_url", "image_url": {"url": "data:"}}, "there"]
    assert words_of(parts) == "Look\nthere" and words_of(None) == ""
    rows: list[dict[str, Any]] = [
        {"role": "user", "content": parts},
        {"role": "tool", "content": "3"},
        {"role": "user"},
    ]
    assert plain(rows) == [{"role": "user", "content": "Look\nthere"}]
    assert len(plain([{"role": "user", "content": "x"}] * 100)) == 60
