"""What was kept of a closed conversation is left out where the turns it tells again are all served (A8, B4)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memories.choices import SUMMARY_SUBTYPES, EntryType, ScopeKind
from memories.models import Entry
from memories.models.policy import Policies
from memories.recall.candidates import Candidate
from memories.recall.ranking import Ranked, serve
from tests.conftest import NOW

DEFAULTS = Policies([])
EXPIRED = SUMMARY_SUBTYPES[0]


def turn(*events: int, kind: str = ScopeKind.USER) -> tuple[str, str, str, list[int]]:
    return EntryType.CHAT_TURN, "", kind, list(events)


def closed(*events: int, kind: str = ScopeKind.USER, subtype: str = EXPIRED) -> tuple[str, str, str, list[int]]:
    return EntryType.AUTO_CAPTURE, subtype, kind, list(events)


def ranked(*kinds: tuple[str, str, str, list[int]]) -> list[Ranked]:
    """Candidates, best first, each resting on some messages."""
    return [
        Ranked(
            Candidate(n, 1, 0.5, 0.5, False, 1 - n / 1_000),
            Entry(
                pk=n,
                created_at=NOW,
                type=type_,
                subtype=subtype,
                fingerprint=str(n),
                origins=[f"event-{m}" for m in events],
            ),
            kind,
            1.0,
            1 - n / 1_000,
        )
        for n, (type_, subtype, kind, events) in enumerate(kinds)
    ]


def fates(items: list[Ranked], limit: int = 8, *, quotas: bool = True) -> list[str]:
    serve(items, DEFAULTS, limit=limit, quotas=quotas)
    return [item.reason for item in items]


def test_a_conversation_of_one_turn_is_told_once() -> None:
    assert fates(ranked(turn(1, 2), closed(1, 2))) == ["served", "duplicate"]
    assert fates(ranked(closed(1, 2), turn(1, 2))) == ["duplicate", "served"]
    assert fates(ranked(closed(1, 2), turn(1, 2)), quotas=False) == ["duplicate", "served"]


def test_it_is_served_where_one_of_its_turns_is_not() -> None:
    assert fates(ranked(closed(1, 2, 3, 4), turn(1, 2))) == ["served", "served"]
    assert fates(ranked(closed(1, 2, 3, 4), turn(1, 2), turn(3, 4))) == ["duplicate", "served", "served"]
    assert fates(ranked(closed(1, 2), turn(1, 2)), limit=1) == ["served", "limit"]
    assert fates(ranked(closed(1, 2))) == ["served"]


def test_what_says_more_than_its_turns_is_no_double() -> None:
    task = (EntryType.AUTO_CAPTURE.value, "", ScopeKind.USER.value, [1, 2])
    fact = (EntryType.FACT.value, "", ScopeKind.USER.value, [1])
    assert fates(ranked(turn(1, 2), task, fact, closed())) == ["served"] * 4


def test_the_turn_may_be_told_by_the_speaker_or_by_the_chat() -> None:
    chat = ScopeKind.CHAT
    assert fates(ranked(turn(1, 2), closed(1, 2, kind=chat))) == ["served", "duplicate"]
    assert fates(ranked(turn(1, 2), turn(3, 4, kind=chat), closed(1, 2, 3, 4, kind=chat)))[-1] == "duplicate"


def test_its_place_goes_to_the_next() -> None:
    items = ranked(turn(1, 2), closed(1, 2), closed(5, 6), closed(7, 8), closed(9, 10))
    assert fates(items, limit=4) == ["served", "duplicate", "served", "served", "served"]
    assert fates(ranked(closed(1, 2), turn(1, 2), turn(3, 4), closed(3, 4)), limit=2) == [
        *("duplicate", "served", "served", "limit"),
    ]


KIND = st.sampled_from([ScopeKind.USER.value, ScopeKind.CHAT.value])
EVENTS = st.lists(st.integers(0, 5), min_size=1, max_size=3)
ANY = st.one_of(
    st.builds(lambda events, kind: turn(*events, kind=kind), EVENTS, KIND),
    st.builds(
        lambda events, kind, sub: closed(*events, kind=kind, subtype=sub),
        EVENTS,
        KIND,
        st.sampled_from(SUMMARY_SUBTYPES),
    ),
)


@pytest.mark.thorough
@given(st.lists(ANY, max_size=14), st.integers(1, 8), st.booleans())
def test_nothing_that_was_said_is_lost_by_it(
    kinds: list[tuple[str, str, str, list[int]]], limit: int, on: bool
) -> None:
    """Every message that would be told with the doubles is told without them."""
    items = ranked(*kinds)
    serve(items, DEFAULTS, limit=limit, quotas=on)
    origins = {origin for item in items if item.reason == "served" for origin in item.entry.origins}
    by_turns = {
        origin
        for item in items
        if item.reason == "served" and item.entry.type == EntryType.CHAT_TURN
        for origin in item.entry.origins
    }
    for item in items:
        if item.reason == "served" and item.entry.subtype:
            assert not by_turns.issuperset(item.entry.origins)
        if item.reason == "duplicate":
            assert by_turns.issuperset(item.entry.origins) or origins.issuperset(item.entry.origins)
