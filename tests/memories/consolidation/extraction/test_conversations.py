"""Thirty conversations, half Chinese: what is kept of a good model's facts and of a liar's (D5).

The conversations were written before the checks; see tests/support/conversations.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from itertools import pairwise
from typing import Any
from uuid import uuid4

import pytest

from memories.consolidation import buffer
from memories.models import DailyEvent, Entry, RefusedFact, Scope, Workspace
from tests.memories.consolidation.buffer.conversations import QUIET, extract
from tests.memories.llm.fake_server import Asked, FakeModel, credulous, verdicts
from tests.support.conversations import Conversation, Fact, Message, load

pytestmark = [pytest.mark.django_db, pytest.mark.thorough]


@pytest.fixture(scope="module")
def conversations() -> Sequence[Conversation]:
    return load("conversations")


def hold(workspace: Workspace, conversation: Conversation) -> datetime:
    """Have a conversation; when it can be extracted. A group keeps a memory of its own and of each who speaks."""
    session, chat = uuid4(), Scope.objects.create(workspace=workspace, kind="chat", key=f"{conversation.id}:chat")
    speakers = {message.speaker for message in conversation.messages if message.role == "user"}
    scopes = {
        name: Scope.objects.create(workspace=workspace, kind="user", key=f"{conversation.id}:{name}", speakers=[name])
        for name in sorted(speakers)
    }
    for message, answer in turns(conversation):
        both = [message, answer] if answer else [message]
        buffer.add(
            [
                buffer.Message(
                    id=f"{conversation.id}/{item.id}",
                    role=item.role,
                    content=item.content,
                    at=item.at,
                    sender=item.speaker,
                )
                for item in both
            ],
            session_uid=session,
            conversation=1,
            now=message.at,
            user_scope=scopes[message.speaker],
            chat_scope=chat if conversation.group else None,
            chat=conversation.id,
            is_group=conversation.group,
            slots={"speaker": message.speaker},
        )
    return conversation.messages[-1].at + 2 * QUIET


def turns(conversation: Conversation) -> Iterator[tuple[Message, Message | None]]:
    """Each message of a person with the bot's answer to it."""
    for message, follows in pairwise([*conversation.messages, None]):
        if message and message.role == "user":
            yield message, follows if follows and follows.role == "assistant" else None


def offer(one: Conversation, facts: Sequence[Fact], summary: str = "") -> Callable[[Asked], dict[str, Any]]:
    """A model that answers these facts, by the ids under which it is shown the messages they rest on."""

    def answer(asked: Asked) -> dict[str, Any]:
        ids = {shown["content"]: shown["id"] for shown in asked.data["messages"]}
        contents = {message.id: message.content for message in one.messages}
        results = [
            {
                **{name: getattr(fact, name) for name in ("content", "subject", "project", "topic", "importance")},
                "category": fact.category,
                "quote": [{"message": ids[contents[item.message]], "text": item.text} for item in fact.quote],
                "replaces": [],
            }
            for fact in facts
        ]
        return {"facts": results, "summary": summary}

    return answer


@pytest.fixture
def run(model: FakeModel, workspace: Workspace, conversations: Sequence[Conversation]) -> Any:
    """Every conversation is had, and these of its facts are offered by a model with this reader."""

    def ran(which: Callable[[Conversation], Sequence[Fact]], *, reader: Any = None) -> None:
        true = {fact.content for conversation in conversations for fact in conversation.facts}
        result = "\n".join(conversation.summary.good for conversation in conversations)
        honest = lambda statement: "entailed" if statement in true or statement in result else "not_stated"  # noqa: E731
        model.reader = reader or (lambda asked: verdicts(asked, honest))
        for conversation in conversations:
            Workspace.objects.update(
                time_zone=conversation.zone, language="zh-hans" if conversation.language == "zh" else "en"
            )
            model.otherwise = offer(conversation, which(conversation), conversation.summary.good)
            extract(hold(workspace, conversation))

    return ran


def states() -> Counter[str]:
    return Counter(Entry.objects.live().filter(type="fact").values_list("verification", flat=True))


def test_good_facts_are_kept_and_verified(run: Any, conversations: Sequence[Conversation]) -> None:
    run(lambda one: one.facts)
    offered = [fact for one in conversations for fact in one.facts]
    kept = dict(Entry.objects.filter(type="fact").values_list("content", "verification"))
    close = [fact.content for fact in offered if fact.close]
    assert sum(fact.content in kept for fact in offered) >= 0.92 * len(offered)
    assert sum(content in kept for content in close) >= 0.97 * len(close)
    assert sum(kept.get(fact.content) == "verified" for fact in offered) >= 0.85 * len(kept)


def test_good_summaries_are_told_whole(run: Any, conversations: Sequence[Conversation]) -> None:
    run(lambda one: ())
    events = set(DailyEvent.objects.values_list("content", flat=True))
    assert sum(conversation.summary.good in events for conversation in conversations) >= 0.9 * len(conversations)


def test_without_a_reader_good_facts_are_kept_as_quoted(run: Any, settings: Any) -> None:
    settings.MEMORY_VERIFY = False
    run(lambda one: one.facts)
    assert states().total() >= 0.92 * 180 and set(states()) == {"quoted"}


def test_lies_are_not_kept_where_the_reader_is_honest(run: Any, conversations: Sequence[Conversation]) -> None:
    run(lambda one: [*one.lies, *one.swaps])
    assert states().total() <= 0.03 * sum(
        len(conversation.lies) + len(conversation.swaps) for conversation in conversations
    )
    assert RefusedFact.objects.exclude(reason="").count() >= 280


def test_a_reader_that_lies_as_well_verifies_nothing(run: Any) -> None:
    run(lambda one: [*one.lies, *one.swaps], reader=credulous)
    assert "verified" not in states()
    assert Entry.objects.filter(superseded_by__isnull=False).count() == 0


def test_every_kept_fact_stands_beside_words_of_its_messages(run: Any) -> None:
    run(lambda one: one.facts)
    for entry in Entry.objects.filter(type="fact").prefetch_related("evidence"):
        assert {quote.origin for quote in entry.evidence.all()} <= set(entry.origins)
        assert all(quote.end - quote.start == len(quote.quote) for quote in entry.evidence.all())
