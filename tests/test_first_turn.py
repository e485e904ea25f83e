"""The main job: a bot says something, and is told it again."""

from datetime import UTC, datetime

import pytest

from memories.index.worker import drain
from tests.conftest import TELEGRAM, Api


@pytest.mark.django_db
def test_it_works(api: Api) -> None:
    turn = api.post("turns", {"address": TELEGRAM, "user": "I moved to Hangzhou", "assistant": "Noted."})
    assert turn.status_code == 201, turn.json()
    assert turn.json()["entries"][0]["outcome"] == "created"

    answer = api.post("recall", {"address": TELEGRAM, "message": "did I move to Hangzhou?"})
    assert answer.status_code == 200, answer.json()
    assert [memory["content"] for memory in answer.json()["memories"]] == [
        "User: I moved to Hangzhou\nAssistant: Noted."
    ]
    assert answer.json()["degraded"] == []


@pytest.mark.django_db
def test_it_works_in_chinese(api: Api) -> None:
    api.post("turns", {"address": TELEGRAM, "user": "我的猫叫年糕，三岁了", "assistant": "好的，记住了。"})
    drain(now=datetime.now(UTC))
    answer = api.post("recall", {"address": TELEGRAM, "message": "我的猫叫什么名字？"}).json()
    assert "年糕" in answer["context"]
