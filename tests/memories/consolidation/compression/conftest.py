"""What the tests of compression share: facts to judge, days to tell of, and a model that does as it is told."""

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest

from memories import entries
from memories.choices import Category, EntryType, Source
from memories.consolidation import compression
from memories.entries import daily_events
from memories.entries.daily_events import EventDraft
from memories.models import DailyEvent, Entry, Scope
from tests.conftest import NOW, make_draft
from tests.memories.llm.conftest import point_to
from tests.memories.llm.fake_server import Asked, FakeModel

LATER = NOW + timedelta(hours=1)
RUN = "compress:1:2026-03-02"
#: Fifteen facts nobody would take for one another.
FACTS = (
    "Mia likes tea.", "米娅的猫叫年糕。", "The deploy runs on Fridays.", "妈妈的生日是五月三日。",
    "Mia lives in Berlin.", "服务器在上海机房。", "Bob owes Mia five euros.", "The bicycle is green.",
    "会议改到周四下午。", "The keys are under the mat.", "米娅对花生过敏。", "The wifi is called Lantern.",
    "年假还剩六天。", "Carol sings in a choir.", "The port of staging is 8080.",
)  # fmt: skip


@pytest.fixture
def model(settings: Any) -> Iterator[FakeModel]:
    with FakeModel() as fake:
        point_to(settings, fake.url)
        yield fake


def facts(scope: Scope, *contents: str, days_ago: float = 30, **kwargs: Any) -> list[Entry]:
    """Facts of one partition, stated so many days before NOW."""
    at = NOW - timedelta(days=days_ago)
    defaults: dict[str, Any] = {
        "type": EntryType.FACT, "tier": 2, "source": Source.EXTRACTION, "project": "_global", "topic": "_general",
        "category": Category.CONFIG, "at": at,
    }  # fmt: skip
    drafts = [make_draft(scope, content, **(defaults | kwargs)) for content in contents]
    return [answer.entry for answer in entries.remember_many(drafts, now=at, actor="job:extract")]


def past_event(scope: Scope, content: str, *, days_ago: int = 1, **kwargs: Any) -> DailyEvent:
    """An event of a day before NOW's."""
    at = NOW - timedelta(days=days_ago)
    return daily_events.write(
        [EventDraft(scope=scope, local_date=at.date(), content=content, **kwargs)], now=at, actor="t"
    )[0]


def judging(judge: Callable[[dict[str, str]], dict[str, Any]]) -> Callable[[Asked], dict[str, Any]]:
    """A script: of the facts it is shown, by what they say, `judge` says what becomes of which."""

    def answer(asked: Asked) -> dict[str, Any]:
        if "facts" not in asked.data or "profile" in asked.data:
            return {"keep": [], "write": [], "drop": []}
        return {"keep": [], "merge": [], "drop": []} | judge(
            {fact["content"]: fact["id"] for fact in asked.data["facts"]}
        )

    return answer


def merging(*contents: str, into: str) -> Callable[[Asked], dict[str, Any]]:
    return judging(lambda ids: {"merge": [{"ids": [ids[content] for content in contents], "content": into}]})


def dropping(*contents: str) -> Callable[[Asked], dict[str, Any]]:
    return judging(lambda ids: {"drop": [ids[content] for content in contents]})


def clock() -> datetime:
    return LATER


def compress(scope: Scope, run: str = RUN, at: Callable[[], datetime] = clock) -> dict[str, int]:
    return compression.compress_facts(scope.workspace_id, clock=at, run=run)


def live(scope: Scope, **only: Any) -> set[str]:
    return set(Entry.objects.in_scope(scope).live().filter(**only).values_list("content", flat=True))


def merging_all(texts: dict[str, list[str]]) -> Callable[[Asked], dict[str, Any]]:
    """A script: each of these texts in the place of its facts."""
    return judging(
        lambda ids: {
            "merge": [
                {"ids": [ids[content] for content in contents], "content": text}
                for text, contents in texts.items()
                if all(content in ids for content in contents)
            ]
        }
    )
