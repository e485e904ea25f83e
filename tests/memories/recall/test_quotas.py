"""Which of the ranked memories are served (A8)."""

from collections import Counter
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memories.choices import EntryType, PolicyKind, ScopeKind
from memories.models import Entry, Policy
from memories.models.policy import Policies
from memories.recall.candidates import Candidate
from memories.recall.ranking import Ranked, serve
from tests.conftest import NOW

DEFAULTS = Policies([])
KINDS = [(entry_type, kind) for entry_type in EntryType.values for kind in ScopeKind.values]


def ranked(*kinds: tuple[str, str], fingerprints: list[str] | None = None) -> list[Ranked]:
    """Candidates of these kinds, best first, each saying something of its own unless told otherwise."""
    prints = fingerprints or [str(n) for n in range(len(kinds))]
    return [
        Ranked(
            Candidate(n, 1, 0.5, 0.5, False, 1 - n / 1_000),
            Entry(pk=n, created_at=NOW, type=entry_type, fingerprint=prints[n]),
            kind,
            1.0,
            1 - n / 1_000,
        )
        for n, (entry_type, kind) in enumerate(kinds)
    ]


def served(items: list[Ranked], limit: int = 8, policies: Policies = DEFAULTS, *, quotas: bool = True) -> list[int]:
    return [item.entry.pk for item in serve(items, policies, limit=limit, quotas=quotas)]


USER_TURN = (EntryType.CHAT_TURN, ScopeKind.USER)
CHAT_TURN = (EntryType.CHAT_TURN, ScopeKind.CHAT)
FACT = (EntryType.FACT, ScopeKind.USER)
EXPLICIT = (EntryType.USER_EXPLICIT, ScopeKind.USER)


@pytest.mark.parametrize("kind", KINDS, ids="/".join)
def test_each_kind_takes_its_places_before_the_others_take_more(kind: tuple[str, str]) -> None:
    quota = DEFAULTS.quota(*kind)
    assert quota is not None
    other = EXPLICIT if kind != EXPLICIT else FACT
    items = ranked(*[kind] * 9, other)
    assert 9 in served(items, limit=quota + 1)
    assert served(items, limit=quota + 1) == [*range(quota), 9]


def test_places_left_empty_are_filled_by_the_best_of_the_rest() -> None:
    items = ranked(*[USER_TURN] * 6, FACT, *[USER_TURN] * 6)
    assert served(items) == [0, 1, 2, 3, 4, 5, 6, 7]
    assert served(items, limit=5) == [0, 1, 2, 3, 6]


def test_the_fill_never_adds_more_of_the_chat() -> None:
    items = ranked(*[CHAT_TURN] * 20)
    assert served(items) == [0, 1]
    assert {item.reason for item in items[2:]} == {"quota"}


def test_the_chat_stays_within_its_quota_beside_a_person_who_fills_up() -> None:
    items = ranked(*[CHAT_TURN, USER_TURN] * 10)
    assert served(items) == [0, 1, 2, 3, 5, 7, 9, 11]


def test_the_best_come_first_whatever_filled_the_places() -> None:
    items = ranked(USER_TURN, USER_TURN, USER_TURN, FACT, CHAT_TURN)
    chosen = serve(items, DEFAULTS, limit=8, quotas=True)
    assert [item.score for item in chosen] == sorted((item.score for item in chosen), reverse=True)


def test_the_chats_copy_of_a_turn_is_left_out() -> None:
    items = ranked(USER_TURN, CHAT_TURN, CHAT_TURN, fingerprints=["hi", "hi", "bye"])
    assert served(items) == [0, 2]
    assert [item.reason for item in items] == ["served", "duplicate", "served"]


def test_the_copy_is_left_out_even_when_it_ranks_higher() -> None:
    assert served(ranked(CHAT_TURN, USER_TURN, fingerprints=["hi", "hi"])) == [1]


def test_a_copy_takes_no_place_of_the_chats_quota() -> None:
    items = ranked(USER_TURN, CHAT_TURN, CHAT_TURN, CHAT_TURN, fingerprints=["a", "a", "b", "c"])
    assert served(items) == [0, 2, 3]


def test_without_a_copy_in_the_users_scope_the_chats_is_served() -> None:
    assert served(ranked(CHAT_TURN, fingerprints=["hi"])) == [0]


def test_the_chats_copy_speaks_for_a_turn_that_is_over_the_users_quota() -> None:
    items = ranked(USER_TURN, USER_TURN, USER_TURN, CHAT_TURN, *[FACT] * 4, fingerprints=["a", "b", "c", "c", *"defg"])
    assert served(items, limit=6) == [0, 1, 3, 4, 5, 6]
    assert [item.reason for item in items[2:4]] == ["duplicate", "served"]


def test_a_turn_over_the_users_quota_fills_up_when_the_chat_is_full_too() -> None:
    items = ranked(*[USER_TURN] * 3, *[CHAT_TURN] * 3, fingerprints=["a", "b", "c", "x", "y", "c"])
    assert served(items) == [0, 1, 2, 3, 4]
    assert items[5].reason == "duplicate"


def test_a_copy_that_is_left_out_for_its_quota_says_so_when_nobody_speaks_for_it() -> None:
    items = ranked(*[USER_TURN] * 3, *[CHAT_TURN] * 3, fingerprints=["a", "b", "c", "x", "y", "c"])
    assert served(items, limit=4) == [0, 1, 3, 4]
    assert [items[2].reason, items[5].reason] == ["quota", "quota"]


def test_both_copies_stand_where_the_better_of_them_ranks() -> None:
    items = ranked(CHAT_TURN, FACT, USER_TURN, fingerprints=["a", "b", "a"])
    assert served(items, limit=1) == [2]
    assert items[0].reason == "duplicate"


def test_a_request_may_do_without_quotas() -> None:
    items = ranked(*[CHAT_TURN] * 5, *[USER_TURN] * 5)
    assert served(items, quotas=False) == [0, 1, 2, 3, 4, 5, 6, 7]


def test_copies_are_left_out_without_quotas_too() -> None:
    assert served(ranked(USER_TURN, CHAT_TURN, fingerprints=["a", "a"]), quotas=False) == [0]


def test_what_was_left_out_says_why() -> None:
    items = ranked(FACT, FACT, USER_TURN, USER_TURN, USER_TURN)
    served(items, limit=3)
    assert [item.reason for item in items] == ["served", "served", "served", "limit", "quota"]


@pytest.mark.parametrize(("value", "expected"), [(1.0, [0]), (3.0, [0, 1, 2]), (None, [0, 1, 2, 3, 4]), (0.0, [])])
def test_an_operator_sets_how_much_of_a_chat_is_served(value: float | None, expected: list[int]) -> None:
    row = Policy(kind=PolicyKind.QUOTA, entry_type=EntryType.CHAT_TURN, scope_kind=ScopeKind.CHAT, value=value)
    assert served(ranked(*[CHAT_TURN] * 5), policies=Policies([row])) == expected


def test_from_nothing_nothing_is_served() -> None:
    assert served([]) == []
    assert served(ranked(FACT), limit=0) == []


WORKFLOW = (EntryType.WORKFLOW_TRACE, ScopeKind.USER)


@pytest.mark.thorough
@given(st.lists(st.tuples(st.sampled_from(KINDS), st.integers(0, 12)), max_size=60), st.integers(0, 12), st.booleans())
@example([(WORKFLOW, 2), (CHAT_TURN, 1), (WORKFLOW, 1), (WORKFLOW, 1)], 3, True)  # said twice by one: one memory
def test_whatever_is_ranked_the_promises_hold(
    drawn: list[tuple[tuple[str, str], int]], limit: int, quotas: bool
) -> None:
    items = ranked(*(kind for kind, _ in drawn), fingerprints=[str(content) for _, content in drawn])
    chosen = serve(items, DEFAULTS, limit=limit, quotas=quotas)
    assert len(chosen) <= limit
    assert len({item.entry.pk for item in chosen}) == len(chosen)
    assert [item for item in items if item.reason == "served"] == chosen
    own = {item.entry.fingerprint for item in chosen if item.scope_kind == ScopeKind.USER}
    assert own.isdisjoint(item.entry.fingerprint for item in chosen if item.scope_kind == ScopeKind.CHAT)
    if quotas:
        _chat_caps_hold(chosen)
        users = len({item.entry.fingerprint for item in items if item.scope_kind == ScopeKind.USER})
        assert len(chosen) >= min(limit, users)


def _chat_caps_hold(chosen: list[Any]) -> None:
    of_chat = Counter(item.entry.type for item in chosen if item.scope_kind == ScopeKind.CHAT)
    assert all(count <= (DEFAULTS.quota(kind, ScopeKind.CHAT) or 0) for kind, count in of_chat.items())
