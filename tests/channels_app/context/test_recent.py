"""`recent` of /recall and /context: what a question leaves out, over the wire (D1)."""

from datetime import timedelta
from typing import Any

import pytest

from memories.models import RecallTrace
from tests.channels_app.context.test_context import context
from tests.conftest import GROUP, NOW, TELEGRAM
from tests.sessions_app.conftest import Talk

pytestmark = pytest.mark.django_db


def know(talk: Talk, content: str) -> None:
    entry = {"scope": "telegram:direct_u42", "type": "fact", "tier": 2, "content": content}
    assert talk.post("entries", entry).status_code == 201


def ask(talk: Talk, message: str, **more: Any) -> dict[str, Any]:
    answer = talk.post("recall", {"address": TELEGRAM, "message": message, **more})
    assert answer.status_code == 200, answer.json()
    return dict(answer.json())


def contents(answer: dict[str, Any]) -> list[str]:
    return [memory["content"] for memory in answer["memories"]]


@pytest.mark.thorough
def test_the_messages_before_say_what_a_question_means(talk: Talk) -> None:
    know(talk, "Lena was born on 3 May")
    know(talk, "Tom was born on 9 August")
    before = [{"role": "user", "content": "Dinner with Lena tonight"}, {"role": "assistant", "content": "Enjoy it!"}]
    answer = ask(talk, "when was she born?", recent=before)
    assert contents(answer)[0] == "Lena was born on 3 May"
    result = talk.get(f"recalls/{answer['recall_id']}").json()
    assert result["message"] == "when was she born?" and result["asked"]["resolved"] == {"she": ["Lena"]}
    other = ask(talk, "when was she born?", recent=[{"role": "user", "content": "I met Anna in Leeds"}])
    assert not other["cached"]
    assert talk.get(f"recalls/{other['recall_id']}").json()["asked"]["resolved"] == {"she": ["Anna"]}


@pytest.mark.parametrize(
    "recent",
    [
        [{"role": "user", "content": "x"}] * 11,
        [{"role": "system", "content": "x"}],
        [{"role": "user"}],
        [{"role": "user", "content": 1}],
        [{"role": "user", "content": "x", "name": "y"}],
        "Lena",
    ],
)
def test_messages_before_that_are_none_are_refused(talk: Talk, recent: Any) -> None:
    for path in ("recall", "context"):
        answer = talk.post(path, {"address": TELEGRAM, "message": "when was she born?", "recent": recent})
        assert answer.status_code == 400 and "recent" in str(answer.json())


@pytest.mark.thorough
def test_what_a_question_leaves_out_is_taken_from_the_history_or_from_what_the_request_says(talk: Talk) -> None:
    know(talk, "Lena was born on 3 May")
    know(talk, "Tom was born on 9 August")
    talk.say("I am having dinner with Lena tonight", "Enjoy it!", at=NOW - timedelta(minutes=1))

    def asked(**more: Any) -> dict[str, Any]:
        result = context(talk, "when was she born?", **more)
        trace = RecallTrace.objects.get(uid=result["recall_id"])
        assert trace.message == "when was she born?"
        return dict(trace.query.get("resolved", {}))

    assert asked() == {"she": ["Lena"]}
    assert asked(recent=[{"role": "user", "content": "I met Anna in Leeds"}]) == {"she": ["Anna"]}
    assert asked(recent=[]) == {}


@pytest.mark.thorough
def test_in_a_group_nobodys_sister_is_named_by_what_their_own_memory_knows(talk: Talk) -> None:
    talk.say("My sister is called Lena", "Nice name.", at=NOW - timedelta(days=1))
    question = "what is my sister allergic to?"
    alone = RecallTrace.objects.get(uid=context(talk, question)["recall_id"])
    assert alone.query["relations"] == ["my sister"]
    heard = context(talk, question, GROUP)
    assert "relations" not in RecallTrace.objects.get(uid=heard["recall_id"]).query and "Lena" not in str(heard)
