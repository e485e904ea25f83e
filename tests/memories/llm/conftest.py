"""A model that is configured, and one that answers."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest

from memories import llm
from memories.llm import client, prompts, schemas
from memories.models import Workspace
from tests.memories.llm.fake_server import FakeModel

KEY = "sk-quite-secret-marmalade"
#: A good answer to EXTRACTION.
GOOD = {
    "facts": [
        {
            "content": "米娅的猫叫年糕。",
            "project": "_global",
            "topic": "pets",
            "category": "identity",
            "importance": 0.9,
            "quote": [{"message": "m1", "text": "我的猫叫年糕"}],
        }
    ],
    "summary": "米娅说起她的猫。",
}
MESSAGES = {
    "known_projects": [],
    "messages": [
        {"id": "m1", "role": "user", "speaker": "米娅", "content": "我的猫叫年糕。", "at": "2026-03-01T08:00:00+08:00"},
        {"id": "m2", "role": "assistant", "speaker": "bot", "content": "记住了。", "at": "2026-03-01T08:00:02+08:00"},
    ],
}
GIVEN = schemas.Given(frozenset({"m1", "m2"}))
EXTRACTION = {"categories": "identity", "max_facts": 50}


@pytest.fixture
def model(settings: Any) -> Iterator[FakeModel]:
    with FakeModel() as fake:
        point_to(settings, fake.url)
        yield fake


def point_to(settings: Any, url: str) -> None:
    settings.MEMORY_LLM_BASE_URL = url
    settings.MEMORY_LLM_MODEL = "small"
    settings.MEMORY_LLM_API_KEY = KEY
    settings.MEMORY_LLM_SECONDS = 5.0
    settings.MEMORY_LLM_TOTAL_SECONDS = 15.0
    client.DIALECTS.clear()


@pytest.fixture(autouse=True)
def hurried(monkeypatch: Any) -> None:
    """Pauses of a hundredth: what is tested is that there are some, and how long the server's own are."""
    monkeypatch.setattr(llm, "_BACKOFF", 0.005)


def extract(workspace: Workspace, now: datetime, language: str = "zh-hans", **kwargs: Any) -> Any:
    """Ask what a conversation leaves behind."""
    result = prompts.prompt("extraction", language, kwargs.pop("data", MESSAGES), **EXTRACTION)
    purpose = kwargs.pop("purpose", "extraction")
    return llm.ask(workspace, purpose, result, schemas.ExtractionOutput, now=now, given=GIVEN, **kwargs)
