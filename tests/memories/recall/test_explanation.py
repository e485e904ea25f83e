"""Why a memory was served or left out, number by number, in the answer and in the trace (F5)."""

from datetime import timedelta
from typing import Any

import pytest

from memories import entries
from memories.index import worker
from memories.models import Entry, RecallTrace, Scope
from memories.recall import Query, Recall, SearchScope, recall, traces, vector
from memories.tenancy.resolver import ScopeRef
from tests.conftest import NOW, make_draft, make_scope

pytestmark = pytest.mark.django_db
LATER = NOW + timedelta(days=2_000)


@pytest.fixture(autouse=True)
def nothing_is_kept_of_other_tests() -> None:
    vector.forget_centroids()


def remember(scope: Scope, *contents: str, **kwargs: Any) -> list[Entry]:
    done = entries.remember_many([make_draft(scope, content, **kwargs) for content in contents], now=NOW, actor="test")
    worker.drain(now=LATER)
    scope.refresh_from_db()
    return [remembered.entry for remembered in done]


def ask(scope: Scope, message: str, **kwargs: Any) -> Recall:
    data: dict[str, Any] = {"limit": 8, "quotas": False, **kwargs}
    data.setdefault("places", [SearchScope(scope, ScopeRef(key=scope.key, kind=scope.kind))])
    return recall(Query(workspace_id=scope.workspace_id, message=message, **data), now=NOW)


def kept() -> list[traces.CandidateRecord]:
    return traces.records_of(RecallTrace.objects.latest("pk").candidates)


def test_every_part_of_a_score_stands_in_the_trace(scope: Scope) -> None:
    remember(scope, "my cat is called Mochi", "the cat sleeps", "quartz and zeolite")
    result = ask(scope, "what is my cat called?")
    assert kept() == [traces.record_of(item) for item in result.ranked]
    first = kept()[0]
    weights = traces.weights_of(RecallTrace.objects.get().candidates)
    assert (first.keyword_rank, first.vector_rank, first.reason, first.in_context) == (1, 1, "served", True)
    alpha = weights["alpha"]
    assert first.fused == pytest.approx((1 - alpha) * (first.keyword or 0) + alpha * (first.vector or 0), abs=1e-3)
    assert first.score == pytest.approx((first.fused or 0) * (first.decay or 0) * (first.recency or 0), abs=1e-3)


def test_each_leg_ranks_for_itself_and_equals_share_a_place(scope: Scope) -> None:
    remember(scope, "cat cat cat", "one cat", "two cat", "quartz")
    lines = {Entry.objects.get(pk=line.entry).content: line for line in (ask(scope, "which cat?"), kept())[1]}
    assert lines["cat cat cat"].keyword_rank == 1
    assert lines["one cat"].keyword_rank == lines["two cat"].keyword_rank == 2
    assert lines["quartz"].keyword_rank is None


def test_boosts_say_what_they_added(scope: Scope) -> None:
    remember(scope, "the walk by the river", slots={"speaker": "Ann"}, at=NOW - timedelta(days=1))
    result = ask(scope, "what did Ann say about the walk yesterday?")
    (line,) = map(traces.record_of, result.ranked)
    assert traces.boosts(line, result.weights) == {"speaker": 0.07, "date": 0.6}


def test_what_the_token_budget_had_no_room_for_says_so(scope: Scope) -> None:
    remember(scope, "a cat " + "and a very long tale " * 5, "a cat " + "and another long story " * 5)
    ask(scope, "which cat?", token_budget=80)  # room for the line above and one of them
    assert [(line.reason, line.in_context) for line in kept()] == [("served", True), ("served", False)]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"expired_at": NOW}, "expired"),
        ({"expires_at": NOW}, "expired"),
        ({"archived_at": NOW}, "archived"),
        ({"suppressed_at": NOW}, "suppressed"),
    ],
)
def test_what_would_have_been_served_were_it_live_is_told_with_its_reason(
    scope: Scope, change: dict[str, Any], reason: str
) -> None:
    gone, _other = remember(scope, "my cat is called Mochi", "my dog is called Rex")
    Entry.objects.filter(pk=gone.pk).update(**change)
    result = ask(scope, "what is my cat called?")
    assert [(item.entry.pk, item.reason, item.ranks) for item in result.excluded] == [(gone.pk, reason, {})]
    assert (gone.pk, reason) in {(line.entry, line.reason) for line in kept()}
    assert gone.pk not in {item.entry.pk for item in result.ranked}


def test_what_took_its_place_is_the_reason_for_what_is_superseded(scope: Scope) -> None:
    old, new = remember(scope, "my cat is called Mochi", "my dog is called Rex")
    Entry.objects.filter(pk=old.pk).update(superseded_by=new)
    assert [item.reason for item in ask(scope, "what is my cat called?").excluded] == ["superseded"]


def test_what_would_not_have_been_served_anyway_is_not_told(scope: Scope) -> None:
    worse, far, _best = remember(scope, "a cat", "quartz and zeolite", "my cat is called Mochi")
    Entry.objects.filter(pk__in=[worse.pk, far.pk]).update(expired_at=NOW)
    assert ask(scope, "what is my cat called?", limit=1).excluded == []
    assert [item.entry.pk for item in ask(scope, "what is my cat called?", limit=2).excluded] == [worse.pk]


def test_nothing_of_other_scopes_is_looked_at(scope: Scope) -> None:
    other = make_scope(scope.workspace, "telegram:direct_u43")
    (theirs,) = remember(other, "my cat is called Mochi")
    Entry.objects.filter(pk=theirs.pk).update(expired_at=NOW)
    remember(scope, "tea")
    assert ask(scope, "what is my cat called?", explain=True).excluded == []


def test_a_trace_looks_at_the_newest_and_an_explanation_at_all(scope: Scope, settings: Any) -> None:
    settings.MEMORY_TRACE_EXCLUDED = 1
    old, _new = remember(scope, "my cat is called Mochi", "tea")
    Entry.objects.filter(pk=old.pk).update(expired_at=NOW, created_at=NOW - timedelta(days=9))
    assert ask(scope, "what is my cat called?").excluded == []
    assert len(ask(scope, "what is my cat called?", explain=True).excluded) == 1


def test_an_operator_may_do_without(scope: Scope, settings: Any) -> None:
    settings.MEMORY_TRACE_EXCLUDED = 0
    (gone,) = remember(scope, "my cat is called Mochi")
    Entry.objects.filter(pk=gone.pk).update(expired_at=NOW)
    result = ask(scope, "what is my cat called?")
    assert result.excluded == [] and "passed_over" not in result.timings


def test_traces_of_the_first_version_can_still_be_read() -> None:
    (line,) = traces.records_of([[7, 0.5, None, 1, 1.0, 0.4, "quota"]])
    assert line == traces.CandidateRecord(entry=7, keyword=0.5, named=True, decay=1.0, score=0.4, reason="quota")
    assert traces.weights_of([[7]]) == {} and traces.records_of(None) == []


def test_every_step_is_timed(scope: Scope) -> None:
    _kept, gone = remember(scope, "my cat is called Mochi", "my first cat was called Rice")
    entries.expire(gone, now=NOW, actor="test")
    steps = {
        "need",
        "policies",
        "words",
        "dates",
        "embedding",
        "average",
        "search",
        "rank",
        "corrections",
        "quotas",
        "evidence",
    }
    timings = ask(scope, "what is my cat called?").timings
    assert steps | {"context", "passed_over", "trace", "total"} == set(timings)
    assert sum(timings[step] for step in steps) <= timings["total"]


def test_a_trace_can_be_asked_again_under_the_same_walls(scope: Scope) -> None:
    remember(scope, "my cat is called Mochi", slots={"env": "home"})
    ref = ScopeRef(key=scope.key, kind=scope.kind, only_chat="telegram:mybot:group_g1", in_group=True)
    data = {"filters": {"env": "home"}, "types": ["user_explicit"], "since": NOW, "mode": "keyword", "limit": 3}
    first = ask(scope, "which cat?", places=[SearchScope(scope, ref)], **data)
    assert first.trace is not None
    query = traces.query_of(RecallTrace.objects.get(pk=first.trace.pk))
    assert [place.ref for place in query.places] == [ref]
    assert {name: getattr(query, name) for name in data} == data
    assert (query.message, query.quotas, query.explain) == ("which cat?", False, True)


def test_asked_again_it_tells_what_came_went_and_moved(scope: Scope) -> None:
    mochi, rice = remember(scope, "my cat is called Mochi", "the cat of my aunt is called Rice")
    trace = ask(scope, "what is my cat called?", limit=2).trace
    assert trace is not None and trace.served == [mochi.pk, rice.pk]
    entries.expire(mochi, now=NOW, actor="test")
    (new,) = remember(scope, "my cat, what is it called, my cat")
    moves = traces.rank_changes(trace, recall(traces.query_of(trace), now=NOW, recorded=False).served)
    assert {move.entry_id: move.change for move in moves} == {new.pk: "came", rice.pk: "stayed", mochi.pk: "went"}
    assert RecallTrace.objects.count() == 1
