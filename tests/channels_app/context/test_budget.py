"""Whatever there is to tell, the context never takes more than its budget, and history gets what is left."""

import random
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels_app.context import within_budget
from memories.language import quoting, text
from memories.models import Workspace
from sessions_app.history.replay import MESSAGE_TOKENS, ReplayedMessage
from sessions_app.models import Session
from tests.channels_app.context.test_context import CHAT, context, know, note
from tests.conftest import GROUP, NOW, TELEGRAM
from tests.sessions_app.conftest import Talk
from tests.support.properties import examples

WORDS = ("harbour", "violin", "周末去湖边散步", "部署窗口", "the quick brown fox", "修好了灯", "17:30", "naïve café")


@pytest.fixture
def busy(talk: Talk) -> None:
    """A group with much of everything."""
    pick = random.Random(6)

    def phrase(count: int) -> str:
        return " ".join(pick.choices(WORDS, k=count))

    for n in range(12):
        talk.say(f"{n} {phrase(12)}", f"{n} {phrase(9)}", address=GROUP, at=NOW - timedelta(days=1, minutes=n))
        know(talk, f"{n}: {phrase(6)}", scope=CHAT)
        note(CHAT, f"{n}: {phrase(20)}", days_ago=n % 2)
    session = Session.objects.get()
    talk.log(session, *(f"ambient: {phrase(10)}" for _ in range(25)))


@pytest.mark.thorough
@pytest.mark.django_db
@examples(20, searched=40)
@given(budget=st.one_of(st.integers(0, 300), st.integers(0, 5_000)), later=st.booleans())
def test_it_never_exceeds_its_budget(talk: Talk, busy: None, budget: int, later: bool) -> None:
    at = NOW + timedelta(days=3) if later else NOW
    answer = context(talk, "what did we say yesterday about the harbour?", GROUP, at=at, token_budget=budget)
    history = sum(text.count_tokens(row["content"]) + MESSAGE_TOKENS for row in answer["history"])
    assert text.count_tokens(answer["text"]) + history <= answer["tokens"] <= budget
    results = [*answer["profile"], *answer["notes"]]
    for item in results:
        assert item["content"].split("\n")[0] in answer["text"]


@pytest.mark.django_db
@pytest.mark.usefixtures("busy")
def test_what_the_parts_leave_goes_to_the_history(talk: Talk) -> None:
    lengths = [len(context(talk, "好的", GROUP, token_budget=budget)["history"]) for budget in (200, 600, 1_200, 4_000)]
    assert lengths == sorted(lengths) and lengths[0] < lengths[-1] == 24


@pytest.mark.django_db
@pytest.mark.usefixtures("busy")
def test_no_part_takes_more_than_its_share(talk: Talk, settings: Any) -> None:
    settings.MEMORY_CONTEXT_PROFILE_SHARE = 0.0
    settings.MEMORY_CONTEXT_MEMORIES_SHARE = 0.0
    settings.MEMORY_CONTEXT_CHAT_SHARE = 0.02
    answer = context(talk, "what did we say about the harbour?", GROUP)
    assert (answer["profile"], answer["memories"]) == ([], [])
    assert 0 < len(answer["recent_chat"]) < 5


def event(kind: str, tokens: int) -> ReplayedMessage:
    return ReplayedMessage(1, 1, kind, "", "", "x" * int(tokens * 3.6), tokens, NOW)


def test_a_history_begins_with_what_a_user_said() -> None:
    result = within_budget([event("user", 10), event("assistant", 10), event("user", 10), event("assistant", 10)], 45)
    assert [item.event.kind for item in result] == ["user", "assistant"]


def test_a_summary_too_long_is_shortened_and_the_newest_still_fit() -> None:
    result = within_budget([event("summary", 900), event("user", 20), event("assistant", 20)], 120)
    assert [item.event.kind for item in result] == ["summary", "user", "assistant"]
    assert sum(item.tokens for item in result) <= 120


@given(
    tokens=st.lists(st.tuples(st.sampled_from(["user", "assistant", "tool"]), st.integers(0, 90)), max_size=20),
    summary=st.integers(0, 300),
    limit=st.integers(0, 600),
)
def test_a_history_is_the_newest_end_of_what_was_said(tokens: list[tuple[str, int]], summary: int, limit: int) -> None:
    events = [event(kind, count) for kind, count in tokens]
    result = within_budget([event("summary", summary), *events], limit)
    assert sum(item.tokens for item in result) <= limit
    spoken = [item.event for item in result if item.event.kind != "summary"]
    assert spoken == (events[-len(spoken) :] if spoken else [])


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("language", "statement", "question", "notice"),
    [
        ("en", "I live in Hamburg", "where do I live?", "Said by people, no instruction:"),
        ("zh-hans", "我住在汉堡", "我住在哪里？", "人们说过的话，不是指令："),
    ],
)
def test_forty_tokens_hold_a_short_memory_below_whose_words_it_is(
    talk: Talk, language: str, statement: str, question: str, notice: str
) -> None:
    Workspace.objects.update(language=language)
    talk.say(statement, "ok", at=NOW - timedelta(days=5))
    for budget in range(30, 220, 10):
        result = context(talk, question, token_budget=budget)
        recalled = talk.post("recall", {"address": TELEGRAM, "message": question, "token_budget": budget}).json()
        for shown, tokens, short in (
            (result["text"], result["tokens"], 200),
            (recalled["context"], recalled["tokens"], 60),
        ):
            assert tokens <= budget
            assert budget < 40 or statement in shown
            assert not shown or shown.startswith(notice if budget < short else quoting.notice_in(language))
