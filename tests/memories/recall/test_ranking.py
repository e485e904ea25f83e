"""What the ranking owes to the days a question names, to what a scope has in common, and to likeness (A7, C5)."""

from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.test.utils import override_settings

from memories import embeddings, entries
from memories.conf import conf
from memories.embeddings import Unrelated, unrelated_of
from memories.embeddings.deterministic import Deterministic
from memories.index import worker
from memories.models import EmbeddingModel, RecallTrace, Scope
from memories.recall import Query, Recall, SearchScope, recall
from memories.recall.vector import Centroid, centre_query, centroid_of, forget_centroids, is_cjk, similarity
from memories.tenancy.resolver import ScopeRef
from tests.conftest import NOW, make_draft, make_scope

pytestmark = pytest.mark.django_db
LATER = datetime(2030, 1, 1, tzinfo=UTC)


@pytest.fixture(autouse=True)
def nothing_is_kept_of_other_tests() -> None:
    forget_centroids()


def remember(scope: Scope, *dated_contents: tuple[str, datetime]) -> None:
    drafts = [make_draft(scope, content, at=at) for content, at in dated_contents]
    entries.remember_many(drafts, now=NOW, actor="test")
    scope.refresh_from_db()


def ask(scope: Scope, message: str, *, now: datetime = NOW, zone: tzinfo = UTC, **kwargs: Any) -> Recall:
    places = [SearchScope(scope, ScopeRef(key=scope.key, kind=scope.kind))]
    query = Query(workspace_id=scope.workspace_id, places=places, message=message, limit=8, quotas=False, **kwargs)
    return recall(query, now=now, zone=zone)


def walks(scope: Scope) -> None:
    """The same walk told on each of thirty days before NOW, 2026-03-01."""
    remember(scope, *((f"walk {'x' * n} along the river", NOW - timedelta(days=n)) for n in range(1, 31)))


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("message", "first"),
    [
        ("where was the walk yesterday?", 1),
        ("where was the walk on 20 February 2026?", 9),
        ("where was the walk on Feb 20?", 9),
        ("what walk did we take 2 days ago?", 2),
        ("前天的 walk 在哪里？", 2),
        ("2月10日的 walk 在哪里？", 19),
    ],
)
def test_what_was_said_on_the_day_that_is_named_comes_first(scope: Scope, message: str, first: int) -> None:
    walks(scope)
    best = ask(scope, message).served[0]
    assert best.entry.content == f"walk {'x' * first} along the river"
    assert best.candidate.date >= 1


def test_the_boost_falls_in_the_days_after_and_there_is_none_before(scope: Scope) -> None:
    walks(scope)
    near = {item.entry.created_at: item.candidate.date for item in ask(scope, "the walk on 10 Feb 2026?").ranked}
    tenth = datetime(2026, 2, 10, 9, tzinfo=UTC)
    boosts = [near[tenth + timedelta(days=n)] for n in range(-1, 14)]
    assert boosts[:2] == [0, 1]
    assert 0.5 < boosts[2] < 0.72 and boosts[2:] == sorted(boosts[2:], reverse=True)
    assert boosts[-2] < 0.02 and boosts[-1] == 0


def test_a_day_is_that_of_the_workspace(scope: Scope) -> None:
    remember(scope, ("the walk in the evening", datetime(2026, 2, 9, 20, tzinfo=UTC)))
    question = "the walk on 10 February 2026?"
    assert ask(scope, question, zone=ZoneInfo("Asia/Shanghai")).served[0].candidate.date == 1
    assert ask(scope, question, zone=UTC).served[0].candidate.date == 0


def test_yesterday_counts_in_a_question_only(scope: Scope) -> None:
    walks(scope)
    assert ask(scope, "yesterday I took a walk along the river").date_ranges == []
    (moment,) = ask(scope, "which walk did I take yesterday?").date_ranges
    assert (moment.words, moment.end - moment.start) == ("yesterday", timedelta(days=1))


@pytest.mark.thorough
def test_a_question_without_a_day_has_no_boost(scope: Scope) -> None:
    walks(scope)
    result = ask(scope, "which walk was along the river?")
    assert result.date_ranges == [] and all(item.candidate.date == 0 for item in result.ranked)


def test_the_days_that_were_understood_stand_in_the_trace(scope: Scope) -> None:
    walks(scope)
    result = ask(scope, "which walk did I take yesterday?")
    assert result.trace is not None
    kept = RecallTrace.objects.get(pk=result.trace.pk).evidence
    assert kept["days"] == [["2026-02-28T00:00:00+00:00", "2026-03-01T00:00:00+00:00", "yesterday"]]
    assert kept["verdict"] == result.answerability.verdict and kept["date"] is True


def test_a_text_with_the_rarest_words_of_a_long_question_covers_it(scope: Scope) -> None:
    words = [f"word{n}" for n in range(40)]
    remember(scope, (" ".join(words[:15]), NOW), *((word, NOW) for word in words[15:]))
    message = "what about " + " ".join(words) + "?"
    some = ask(scope, message).served[0].candidate.keyword
    with override_settings(MEMORY_FULL_TERMS=1_000):
        all_of_it = ask(scope, message).served[0].candidate.keyword
    assert some > 2 * all_of_it


def model() -> EmbeddingModel:
    return embeddings.model_of(Deterministic())


def test_the_average_is_that_of_the_scopes_rows(scope: Scope) -> None:
    remember(scope, ("apples", NOW), ("pears", NOW))
    worker.drain(now=LATER)
    average = centroid_of([scope], model())
    apples, pears = Deterministic().embed_passages(["apples", "pears"], seconds=1)
    assert average.rows == 2
    assert average.vector == pytest.approx([(a + p) / 2 for a, p in zip(apples, pears, strict=True)], abs=1e-3)


def test_each_scope_counts_by_its_rows(scope: Scope) -> None:
    other = make_scope(scope.workspace, "telegram:direct_u43")
    remember(scope, ("apples", NOW), ("plums", NOW))
    remember(other, ("pears", NOW))
    worker.drain(now=LATER)
    both = centroid_of([scope, other], model())
    vectors = Deterministic().embed_passages(["apples", "plums", "pears"], seconds=1)
    assert both.rows == 3
    assert both.vector == pytest.approx([sum(column) / 3 for column in zip(*vectors, strict=True)], abs=1e-3)


def test_an_average_is_read_once_until_the_scope_has_grown(scope: Scope, django_assert_num_queries: Any) -> None:
    remember(scope, *((f"apple {n}", NOW) for n in range(20)))
    worker.drain(now=LATER)
    embedding_model = model()
    with django_assert_num_queries(1):
        first = centroid_of([scope], embedding_model)
        assert centroid_of([scope], embedding_model) == first
    remember(scope, ("pear", NOW))
    with django_assert_num_queries(0):
        centroid_of([scope], embedding_model)
    remember(scope, *((f"plum {n}", NOW) for n in range(5)))
    worker.drain(now=LATER)
    with django_assert_num_queries(1):
        assert centroid_of([scope], embedding_model).rows == 26


def test_a_scope_without_vectors_has_no_direction(scope: Scope) -> None:
    average = centroid_of([scope], model())
    assert average.rows == 0 and not any(average.vector)


def test_a_row_that_waits_for_its_vector_ranks_as_the_average(scope: Scope) -> None:
    remember(scope, *((f"the river walk {n}", NOW) for n in range(10)), ("green tea", NOW))
    worker.drain(now=LATER)
    remember(scope, ("a new bicycle", NOW))
    result = ask(scope, "which green tea is mine?")
    new = next(item for item in result.ranked if item.entry.content == "a new bicycle")
    others = [item.candidate.vector for item in result.ranked if item.candidate.vector is not None]
    assert new.candidate.vector is None and new.reason == "floor"
    assert min(others) < new.candidate.fused / conf.ALPHA < max(others)


FLAT = EmbeddingModel(name="flat", dimension=2, floor=0.0, ceiling=1.0)


def test_what_is_near_to_everything_is_no_nearer_to_a_question() -> None:
    average = Centroid(1_000, [0.6, 0.0])
    direction = centre_query([1.0, 0.0], average, FLAT, Unrelated.all(0.0))
    assert direction.centred[0] == pytest.approx(1 - 0.45 * 0.6, abs=0.01)
    assert direction.centroid_cosine == pytest.approx(0.6)


def test_the_average_row_stands_where_its_cosine_says() -> None:
    average = Centroid(1_000, [0.6, 0.2])
    direction = centre_query([0.8, 0.6], average, FLAT, Unrelated.all(0.0))
    along = sum(x * y for x, y in zip(direction.centred, average.vector, strict=True))
    assert (along - direction.offset) / direction.span == pytest.approx(direction.centroid_similarity)
    assert direction.centroid_similarity == pytest.approx(0.6)


def test_likeness_begins_at_what_unrelated_texts_have() -> None:
    unrelated = Unrelated(cjk=0.84, latin=0.77, across=0.74, lift=0.18)
    direction = centre_query([1.0, 0.0], Centroid(0, [0.0, 0.0]), FLAT, unrelated)
    assert similarity(direction, 0.84, "今天天气", "昨天下雨") == pytest.approx(0)
    assert similarity(direction, 0.77, "the weather", "the rain") == pytest.approx(0)
    assert similarity(direction, 0.74, "the weather", "昨天下雨") == pytest.approx(0.18)
    assert similarity(direction, 0.92, "今天天气", "昨天下雨") == pytest.approx(1)


def test_in_a_large_scope_likeness_begins_at_its_own_average() -> None:
    direction = centre_query([1.0, 0.0], Centroid(100_000, [0.5, 0.0]), FLAT, Unrelated.all(0.9))
    assert similarity(direction, 0.5, "the weather", "the rain") == pytest.approx(0, abs=1e-3)


def test_a_provider_that_says_nothing_has_its_floor_everywhere() -> None:
    class Plain:
        floor = 0.3

    assert unrelated_of(Plain()) == Unrelated(0.3, 0.3, 0.3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("hello", False),
        ("你好", True),
        ("我在用 Python 写代码", True),
        ("ask 王 about the report", False),
        ("", False),
        ("User: 我爱喝茶。\nAssistant: OK", True),
        ("User: I like tea.\nAssistant: 好的", False),
    ],
)
def test_the_script_of_a_text_is_that_of_most_of_it(content: str, expected: bool) -> None:
    assert is_cjk(content) is expected


def test_what_only_its_rank_speaks_for_is_left_out_and_says_so(scope: Scope) -> None:
    remember(scope, ("my cat is called Mochi", NOW), *((f"quartz {n} zeolite {n}", NOW) for n in range(8)))
    worker.drain(now=LATER)
    result = ask(scope, "what is my cat called?")
    assert [item.entry.content for item in result.served] == ["my cat is called Mochi"]
    assert {item.reason for item in result.ranked[1:]} == {"floor"}
    assert all(item.similarity is not None and item.similarity < 0.3 for item in result.ranked[1:])
