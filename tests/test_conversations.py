"""The conversations the checks are measured on say what they claim to say."""

from collections import Counter
from itertools import chain

import pytest

from memories.choices import FLUSHED, Category
from tests.support.conversations import Conversation, Fact, load

CONVERSATIONS = load("conversations")
GROUPS = 4
KINDS = {"number", "polarity", "invented", "half", "tense", "hearsay", "question", "plan", "bot"}

each_conversation = pytest.mark.parametrize("chat", CONVERSATIONS, ids=lambda chat: chat.id)


def _all(kind: str) -> list[Fact]:
    return [fact for chat in CONVERSATIONS for fact in getattr(chat, kind)]


def _is_there(chat: Conversation, fact: Fact) -> bool:
    return all(chat.bears(quote) for quote in fact.quote)


def test_half_of_thirty_conversations_are_chinese_and_four_are_of_groups() -> None:
    assert [chat.id for chat in CONVERSATIONS] == [f"{lang}-{n:02}" for lang in ("en", "zh") for n in range(1, 16)]
    assert all(chat.id.startswith(chat.language) for chat in CONVERSATIONS)
    assert sum(chat.group for chat in CONVERSATIONS) == GROUPS


def test_there_is_enough_of_everything() -> None:
    facts, lies = _all("facts"), _all("lies")
    close = sum(fact.close for fact in facts)
    assert len(facts) >= 150
    assert len(facts) - close >= 95
    assert 0.3 <= close / len(facts) <= 0.36
    assert len(lies) >= 130
    assert len(_all("swaps")) >= 50
    assert {lie.kind for lie in lies} == KINDS


@each_conversation
def test_people_speak_three_to_six_times_in_order_and_in_their_own_zone(chat: Conversation) -> None:
    times = [message.at for message in chat.messages]
    speakers = {message.speaker for message in chat.messages if message.role == "user"}
    assert times == sorted(times) and all(at.utcoffset() is not None for at in times)
    assert [message.id for message in chat.messages] == [f"m{n}" for n in range(1, len(times) + 1)]
    assert (len(speakers) in {2, 3}) if chat.group else (len(speakers) == 1)
    assert 3 <= sum(message.role == "user" for message in chat.messages) <= (9 if chat.group else 6)


@each_conversation
def test_four_to_six_facts_of_a_conversation_stand_on_words_of_its_people(chat: Conversation) -> None:
    assert 4 <= len(chat.facts) <= 6
    for fact in chat.facts:
        assert fact.quote and _is_there(chat, fact), fact.content
        assert {chat.message(quote.message).role for quote in fact.quote} == {"user"}, fact.content
        assert not fact.kind


@each_conversation
def test_what_is_the_speakers_is_quoted_from_one_speaker(chat: Conversation) -> None:
    for fact in chain(chat.facts, chat.swaps):
        speakers = {chat.message(quote.message).speaker for quote in fact.quote}
        assert fact.subject != "speaker" or len(speakers) == 1, fact.content


@each_conversation
def test_a_swap_quotes_words_that_are_there_and_everything_names_a_message(chat: Conversation) -> None:
    assert all(_is_there(chat, swap) for swap in chat.swaps)
    ids = {message.id for message in chat.messages}
    assert {quote.message for lie in chat.lies for quote in lie.quote} <= ids


def test_about_three_quarters_of_the_quotes_of_lies_are_real() -> None:
    there = [_is_there(chat, lie) for chat in CONVERSATIONS for lie in chat.lies]
    assert 0.7 <= sum(there) / len(there) <= 0.8


def test_no_sentence_is_there_twice() -> None:
    contents = Counter(fact.content for kind in ("facts", "lies", "swaps") for fact in _all(kind))
    contents.update(sentence for chat in CONVERSATIONS for sentence in (chat.summary.good, *chat.summary.bad))
    contents.update(sentence for merge in load("merges") for sentence in (merge.good, *merge.bad))
    contents.update(injection.content for injection in load("injections"))
    assert [sentence for sentence, times in contents.items() if times > 1] == []


def test_categories_are_those_of_memories() -> None:
    assert {fact.category for kind in ("facts", "lies", "swaps") for fact in _all(kind)} <= set(Category.values)
    assert all(0 < fact.importance <= 1 for kind in ("facts", "lies", "swaps") for fact in _all(kind))


@each_conversation
def test_a_summary_is_short_and_has_untrue_rivals(chat: Conversation) -> None:
    assert 0 < len(chat.summary.good) <= 200
    assert 1 <= len(chat.summary.bad) <= 2


def test_merges_profile_lines_injections_and_flushes_are_half_chinese() -> None:
    counts = {"merges": 24, "outdated": 22, "compatible": 10, "injections": 40, "flush": 10}
    for kind, count in counts.items():
        items = load(kind)
        assert Counter(item.language for item in items) == {"en": count / 2, "zh": count / 2}, kind
        assert len({item.id for item in items}) == count, kind


def test_a_merge_joins_two_to_four_facts_and_has_a_bad_rival() -> None:
    assert all(2 <= len(merge.facts) <= 4 and merge.bad and merge.good not in merge.bad for merge in load("merges"))


def test_only_an_outdated_line_has_a_new_one() -> None:
    assert all(line.good and line.good != line.line for line in load("outdated"))
    assert all(line.good is None for line in load("compatible"))


def test_an_injection_quotes_its_message() -> None:
    assert [injection.id for injection in load("injections") if injection.quote not in injection.message] == []


def test_a_candidate_of_a_flush_quotes_a_message_it_rests_on() -> None:
    for flush in load("flush"):
        for candidate in flush.candidates:
            texts = [flush.messages[position - 1].content for position in candidate.rests_on]
            assert any(candidate.quote in text for text in texts), candidate.content
            assert candidate.category in FLUSHED and min(candidate.rests_on) >= 1
