"""What may come to the door, and how a draft that may not is refused (A2)."""

from datetime import UTC, datetime
from typing import Any

import pytest

from memories.choices import Category, EntryType, ScopeKind, Source
from memories.entries.draft import COLUMN_SLOTS, Draft, check
from memories.exceptions import InvalidDraft
from memories.models import Scope

NOW = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)
USER = Scope(key="telegram:direct_u42", kind=ScopeKind.USER)
CHAT = Scope(key="telegram:mybot:group_g1", kind=ScopeKind.CHAT)


def draft(**columns: Any) -> Draft:
    data: dict[str, Any] = {
        "scope": USER,
        "type": EntryType.USER_EXPLICIT,
        "content": "I like tea",
        "source": Source.TOOL,
        "at": NOW,
    }
    return Draft(**(data | columns))


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"type": EntryType.FACT, "tier": 1, "category": Category.IDENTITY},
        {"type": EntryType.FACT, "tier": 2, "project": "p" * 100, "topic": "t" * 100},
        {"type": EntryType.CHAT_TURN, "slots": {"sender_id": "u42"}},
        {"type": EntryType.CHAT_TURN, "scope": CHAT},
        {"content": "汉" * 8_000},
        {"importance": 0.0},
        {"importance": 1.0},
        {"slots": {f"slot{n}": "v" * 500 for n in range(30)}},
        {"slots": {"n" * 64: ""}},
        {"slots": {"type": "user_explicit", "scope": "user", "source": "tool"}},
        {"slots": {"chat_id": "c" * 200, "channel": "c" * 40}},
        {"subtype": "s" * 40},
    ],
)
def test_a_good_draft_passes(data: dict[str, Any]) -> None:
    check(draft(**data))


@pytest.mark.parametrize(
    ("data", "field"),
    [
        ({"type": "poem"}, "type"),
        ({"source": "hearsay"}, "source"),
        ({"category": "gossip"}, "category"),
        ({"type": EntryType.FACT}, "tier"),
        ({"type": EntryType.FACT, "tier": 3}, "tier"),
        ({"tier": 1}, "tier"),
        ({"importance": -0.1}, "importance"),
        ({"importance": 1.1}, "importance"),
        ({"importance": float("nan")}, "importance"),
        ({"importance": float("inf")}, "importance"),
        ({"content": ""}, "content"),
        ({"content": " \n"}, "content"),
        ({"content": "a" * 8_001}, "content"),
        ({"content": "a\0"}, "content"),
        ({"content": "\ud800"}, "content"),
        ({"project": "\0"}, "project"),
        ({"project": "p" * 101}, "project"),
        ({"topic": "t" * 101}, "topic"),
        ({"subtype": "s" * 41}, "subtype"),
        ({"slots": {f"slot{n}": "v" for n in range(31)}}, "slots"),
        ({"slots": {"": "v"}}, "slots."),
        ({"slots": {"n" * 65: "v"}}, "slots." + "n" * 64),
        ({"slots": {"env": "v" * 501}}, "slots.env"),
        ({"slots": {"env": "a\0b"}}, "slots.env"),
        ({"slots": {"env": "\udfff"}}, "slots.env"),
        ({"slots": {"chat_id": "c" * 201}}, "slots.chat_id"),
        ({"slots": {"channel": "c" * 41}}, "slots.channel"),
        ({"slots": {"type": "fact"}}, "slots.type"),
        ({"slots": {"scope": "chat"}}, "slots.scope"),
        ({"slots": {"source": "manual"}}, "slots.source"),
        ({"type": EntryType.CHAT_TURN}, "slots.sender_id"),
    ],
)
def test_a_bad_draft_is_refused_by_the_name_of_its_field(data: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidDraft) as refused:
        check(draft(**data))
    assert refused.value.field == field
    assert str(refused.value)


def test_a_value_is_a_column_or_a_slot_and_never_both() -> None:
    slots = {"chat_id": "c7", "env": "prod", "type": "user_explicit", "empty": ""}
    assert draft(slots=slots).free_slots() == {"env": "prod"}
    assert draft(slots=slots).column("chat_id") == "c7"
    assert not set(draft(slots=dict.fromkeys(COLUMN_SLOTS, "v")).free_slots())


def test_the_importance_given_wins_over_that_of_the_category() -> None:
    assert draft(category=Category.IDENTITY).weight == 1.0
    assert draft(category=Category.IDENTITY, importance=0.3).weight == 0.3
    assert draft(category=Category.IDENTITY, importance=0.0).weight == 0.0
