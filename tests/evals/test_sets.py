"""manage.py evaluate DIR: what is kept, what is left out, and what no question should be answered by."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evals.run import INGREDIENTS
from memories import embeddings
from memories.embeddings.deterministic import Deterministic
from memories.index import search_rows
from memories.models import Entry, EntryIndex, RecallTrace, Workspace
from tests.evals.conftest import CORPUS, QUERIES, evaluate, measured, rows_of_every_table

pytestmark = pytest.mark.django_db
SetOf = Callable[..., Path]


class Counting(Deterministic):
    """Counts the texts it embeds."""

    texts = 0

    def embed_passages(self, texts: list[str], *, seconds: float) -> list[list[float]]:
        Counting.texts += len(texts)
        return super().embed_passages(texts, seconds=seconds)


@pytest.fixture
def counting(settings: Any, monkeypatch: pytest.MonkeyPatch) -> type[Counting]:
    monkeypatch.setattr(Counting, "texts", 0)
    settings.MEMORY_EMBEDDERS = [f"{__name__}.Counting"]
    embeddings.forget()
    return Counting


def figures(report: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in report.items() if name != "latency_ms"}


def test_a_kept_set_is_embedded_once_and_measured_the_same(set_of: SetOf, counting: type[Counting]) -> None:
    first = measured(set_of(), "--keep", "tiny", "--no-cache")
    embedded, entries = counting.texts, set(Entry.objects.values_list("pk", flat=True))
    again = measured(set_of(), "--keep", "tiny", "--no-cache")
    assert figures(first) == figures(again) and first["mean"]["recall@5"] == 1.0
    assert counting.texts == embedded == len(CORPUS)
    assert set(Entry.objects.values_list("pk", flat=True)) == entries
    assert not RecallTrace.objects.exists()


@pytest.mark.thorough
@pytest.mark.parametrize("change", [{"text": "my cat is called Tiger"}, {"doc_id": "d9"}, {"speaker": "Ann"}])
def test_a_set_that_changed_is_remembered_anew(set_of: SetOf, change: dict[str, str]) -> None:
    measured(set_of(), "--keep", "tiny")
    entries = set(Entry.objects.values_list("pk", flat=True))
    measured(set_of([CORPUS[0] | change, *CORPUS[1:]]), "--keep", "tiny")
    assert entries.isdisjoint(Entry.objects.values_list("pk", flat=True))
    assert Entry.objects.count() == len(CORPUS) and Workspace.objects.count() == 1


def test_a_set_that_shrank_is_remembered_anew(set_of: SetOf) -> None:
    measured(set_of(), "--keep", "tiny")
    measured(set_of(CORPUS[:4]), "--keep", "tiny")
    assert Entry.objects.count() == 4


def test_texts_that_became_one_memory_are_known_by_both_names_when_kept(set_of: SetOf) -> None:
    twice = [*CORPUS, CORPUS[0] | {"doc_id": "d7", "seq": 7}]
    queries = [QUERIES[0] | {"gold": ["d1", "d7"]}]
    first = measured(set_of(twice, queries), "--keep", "tiny")
    assert Entry.objects.count() == len(CORPUS)
    again = measured(set_of(twice, queries), "--keep", "tiny")
    assert first["mean"]["recall@1"] == again["mean"]["recall@1"] == 1.0


def test_what_was_kept_is_blended_by_the_numbers_of_the_day(set_of: SetOf, settings: Any) -> None:
    corpus = [row | {"session_id": "s"} for row in CORPUS]
    measured(set_of(corpus), "--keep", "tiny")
    wide = EntryIndex.objects.order_by("entry_id").values_list("keywords", flat=True)
    before = [str(keywords) for keywords in wide]
    settings.MEMORY_BLEND_REACH = 0
    measured(set_of(corpus), "--keep", "tiny")
    assert [str(keywords) for keywords in wide.all()] != before


def test_what_was_kept_is_forgotten_when_asked(set_of: SetOf) -> None:
    measured(set_of(), "--keep", "tiny")
    assert Workspace.objects.filter(name="evaluation: tiny").exists()
    measured(set_of(), "--keep", "tiny", "--forget")
    assert not Workspace.objects.exists() and not Entry.objects.exists()


def test_questions_about_what_the_set_does_not_hold_are_told(set_of: SetOf) -> None:
    lost = {"query_id": "q9", "scope": "nobody", "query": "who?", "gold": ["x"]}
    report = measured(set_of(queries=[*QUERIES, lost]))
    assert report["unasked"] == {"questions": 1, "scopes": ["nobody"]}
    assert report["questions"] == len(QUERIES)
    assert "1 questions not asked, for there is no text of: nobody" in evaluate(set_of(queries=[*QUERIES, lost]))


@pytest.mark.thorough
def test_verdicts_are_judged_on_questions_asked_where_nothing_answers(set_of: SetOf) -> None:
    report = measured(set_of(), "--elsewhere")["evidence"]
    assert report["answerable"] and report["unanswerable"] and set(report["categories"]) == {"en", "zh"}
    assert report["separation"]["auc"] > 0.5
    assert set(report["separation"]["none"]) == {"precision", "recall", "wrongly"}
    table = evaluate(set_of(), "--elsewhere")
    assert "unanswerable" in table and "area under the curve" in table


def test_questions_of_another_set_have_no_answer_here(set_of: SetOf) -> None:
    other = set_of(
        [{"doc_id": "o", "scope": "o", "seq": 1, "text": "o"}],
        [{"query_id": "o", "scope": "o", "query": "谁赢了国际象棋比赛？", "gold": ["o"]}],
        name="other",
    )
    report = measured(set_of(CORPUS[:3], QUERIES[:2]), "--unrelated", other)
    assert sum(report["evidence"]["unanswerable"].values()) == 1.0 and report["questions"] == 2


def test_groups_are_counted_for_each_category_alike(set_of: SetOf) -> None:
    """Of the cats one half is found, of the trains all: three quarters, although there are two questions about cats."""
    cat = {"scope": "mei", "query": "what is Mei's cat called?", "category": "cat", "gold": ["d1"]}
    train = {"scope": "mei", "query": "when does the train leave?", "category": "train", "gold": ["d2"]}
    halves = {"query_id": "q1", "gold_groups": [["d1", "x"], ["y"]]}
    report = measured(set_of(queries=[cat | halves, cat | halves | {"query_id": "q2"}, train | {"query_id": "q3"}]))
    assert report["group_of_categories"]["group_recall@10"] == 0.75
    assert report["group"]["group_recall@10"] == pytest.approx(2 / 3, abs=1e-4)


def test_a_scope_alone_has_no_elsewhere(set_of: SetOf) -> None:
    assert measured(set_of(CORPUS[:3], QUERIES[:2]), "--elsewhere")["evidence"]["separation"] == {}


@pytest.mark.thorough
def test_each_ingredient_is_left_out_in_turn_and_all_is_as_before(set_of: SetOf, counting: type[Counting]) -> None:
    corpus = [row | {"session_id": "s"} for row in CORPUS]
    plain = measured(set_of(corpus), "--keep", "tiny")
    before = [str(row) for row in EntryIndex.objects.order_by("entry_id").values_list("keywords", "embedding")]
    report = measured(set_of(corpus), "--keep", "tiny", "--ablate")
    assert list(report["ablation"]) == [step.name for step in INGREDIENTS]
    measures = {"recall@5", "recall@10", "group_recall@5", "group_recall@10"}
    assert all(set(means) == measures for means in report["ablation"].values())
    assert report["ablation"]["all of it"]["recall@5"] == plain["mean_of_categories"]["recall@5"]
    assert counting.texts == len(CORPUS)
    rows = [str(row) for row in EntryIndex.objects.order_by("entry_id").values_list("keywords", "embedding")]
    assert rows == before


@pytest.mark.thorough
def test_an_ablation_shows_what_an_ingredient_is_worth(set_of: SetOf) -> None:
    """The same words on two days: only the day tells which is asked for."""
    days = [f"2025-05-{day:02}" for day in range(1, 29)]
    corpus = [
        {"doc_id": day, "scope": "日记", "seq": n, "text": f"今天跑步了{n + 40}公里，很开心", "created_at": day}
        for n, day in enumerate(days, start=1)
    ]
    queries = [{"query_id": "q", "scope": "日记", "query": "2025年5月3日跑步怎么样？", "gold": ["2025-05-03"]}]
    ablation = measured(set_of(corpus, queries), "--ablate")["ablation"]
    assert ablation["all of it"]["recall@5"] == 1.0 and ablation["- dates"]["recall@10"] == 0.0


@pytest.mark.thorough
def test_rows_are_made_anew_only_for_ingredients_of_rows(set_of: SetOf, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    plain = search_rows.rebuild
    monkeypatch.setattr(search_rows, "rebuild", lambda pk, **kwargs: made.append(pk) or plain(pk, **kwargs))
    measured(set_of(), "--ablate")
    steps_of_rows = [step for step in INGREDIENTS if step.rows]
    assert 0 < len(made) <= (len(steps_of_rows) + 1) * 2  # of two scopes, and once more to leave them as they were


@pytest.mark.thorough
def test_an_ablation_leaves_nothing_behind(set_of: SetOf) -> None:
    measured(set_of())
    before = rows_of_every_table()
    lines = evaluate(set_of(), "--ablate").splitlines()
    assert rows_of_every_table() == before
    assert [line.split("  ")[0] for line in lines[-len(INGREDIENTS) :]] == [step.name for step in INGREDIENTS]
