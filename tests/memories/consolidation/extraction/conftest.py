"""A model that answers what a test tells it, about what it was shown."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from memories import llm
from tests.memories.llm.conftest import point_to
from tests.memories.llm.fake_server import Asked, FakeModel


@pytest.fixture
def model(settings: Any, monkeypatch: Any) -> Iterator[FakeModel]:
    """One question at a time, so that it is asked in the transaction of the test."""
    settings.MEMORY_LLM_CALLS = 1
    settings.TEST_CLOCK = True
    monkeypatch.setattr(llm, "_BACKOFF", 0.005)
    with FakeModel() as fake:
        point_to(settings, fake.url)
        yield fake


def fact(content: str, *on: str, replaces: str = "", **labels: Any) -> dict[str, Any]:
    """A fact that rests on the messages which hold these words (its own, when none are given)."""
    data = {"project": "_global", "topic": "_general", "category": "identity", "importance": 0.8}
    return {"content": content, **data, **labels, "on": on or (content,), "replaced": replaces}


def answering(*facts: dict[str, Any], summary: str = "") -> Callable[[Asked], dict[str, Any]]:
    """A script for the model."""

    def answer(asked: Asked) -> dict[str, Any]:
        return {"facts": [_written(fact, asked.data) for fact in facts], "summary": summary}

    return answer


def _written(row: dict[str, Any], data: Any) -> dict[str, Any]:
    plain = {name: value for name, value in row.items() if name not in ("on", "replaced")}
    quote = [
        {"message": shown["id"], "text": part}
        for shown in data["messages"]
        for part in row["on"]
        if part in shown["content"]
    ]
    ids = [shown["id"] for shown in data["known_facts"] if row["replaced"] and row["replaced"] in shown["content"]]
    return {**plain, "quote": quote, "replaces": ids}
