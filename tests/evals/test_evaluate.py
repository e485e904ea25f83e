"""manage.py evaluate: recall measured on a data set, and nothing left behind."""

import gzip
import json
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.core.management import CommandError, call_command

from evals import run
from evals.dataset import load, parse_time
from memories import embeddings
from memories.embeddings.deterministic import Deterministic
from memories.index import worker
from memories.models import EmbeddingCache, Entry, RecallTrace

pytestmark = pytest.mark.django_db
WORDS = "the office coffee machine needs fresh filters and clean water every single morning"
CORPUS = [
    {"doc_id": "d1", "scope": "A", "seq": 1, "text": "my cat is called Mochi", "session_id": "s1", "speaker": "Mei"},
    {"doc_id": "d2", "scope": "A", "seq": 2, "text": WORDS, "session_id": "s1", "created_at": "2025-12-24"},
    {"doc_id": "d3", "scope": "A", "seq": 3, "text": "the train to Lisbon leaves at noon", "session_id": "s2"},
    {"doc_id": "d4", "scope": "A", "seq": 4, "text": WORDS + " please", "session_id": "s1"},
    {"doc_id": "d5", "scope": "A", "seq": 5, "text": "the train to Faro leaves at dawn", "session_id": "s2"},
    {"doc_id": "e1", "scope": "B", "seq": 1, "text": "my dog is called Bello"},
]
QUERIES = [
    {"query_id": "q1", "scope": "A", "query": "what is the cat called?", "category": "one", "gold": ["d1"]},
    {"query_id": "q2", "scope": "A", "query": "what needs fresh filters?", "category": "two", "gold": ["d2", "d4"]},
    {"query_id": "q3", "scope": "B", "query": "what is the dog called?", "category": "one", "gold": ["e1"]},
    {"query_id": "q4", "scope": "B", "query": "what is the cat called?", "category": "none", "gold": []},
]  # fmt: skip


def write(folder: Path, corpus: list[dict[str, Any]], queries: list[dict[str, Any]]) -> Path:
    folder = folder / "tiny" / "dev"
    folder.mkdir(parents=True)
    for name, rows in (("corpus", corpus), ("queries", queries)):
        with gzip.open(folder / f"{name}.jsonl.gz", "wt", encoding="utf-8") as file:
            file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    return folder


def evaluate(folder: Path, *options: str) -> dict[str, Any]:
    out = StringIO()
    call_command("evaluate", str(folder), "--json", *options, stdout=out)
    return json.loads(out.getvalue())  # type: ignore[no-any-return]


def rows_of_every_table() -> dict[str, int]:
    ours = [model for model in apps.get_models(include_auto_created=True) if model._meta.app_label != "django_q"]
    return {model._meta.label: model._base_manager.count() for model in ours}


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    return write(tmp_path, CORPUS, QUERIES)


def test_the_figures_have_the_promised_shape(tiny: Path) -> None:
    report = evaluate(tiny)
    measures = {"recall@1", "recall@5", "recall@10", "mrr"}
    promised = "dataset questions mean mean_of_categories categories group latency_ms degraded"
    assert set(promised.split()) <= set(report)
    assert report["dataset"] == "tiny" and report["questions"] == 3 and report["degraded"] == 0
    assert set(report["mean"]) == set(report["mean_of_categories"]) == measures
    assert set(report["categories"]) == {"one", "two"}
    assert all(set(row) == measures for row in report["categories"].values())
    assert set(report["group"]) == {"group_recall@5", "group_recall@10"}
    assert set(report["latency_ms"]) == {"p50", "p95", "p50_without_embedding", "p95_without_embedding"}
    assert all(value > 0 for value in report["latency_ms"].values())


def test_an_entry_that_merged_several_texts_counts_for_all_of_them(tiny: Path) -> None:
    report = evaluate(tiny)
    assert report["mean"]["recall@1"] == report["mean"]["mrr"] == report["group"]["group_recall@5"] == 1.0


@pytest.mark.thorough
def test_an_evaluation_leaves_nothing_but_the_cache(tiny: Path) -> None:
    embeddings.model_of(Deterministic())
    before = rows_of_every_table()
    evaluate(tiny)
    after = rows_of_every_table()
    assert after.pop("memories.EmbeddingCache") > before.pop("memories.EmbeddingCache")
    assert after == before
    cached = EmbeddingCache.objects.count()
    evaluate(tiny)
    assert EmbeddingCache.objects.count() == cached


def test_without_the_cache_an_evaluation_leaves_nothing_at_all(tiny: Path) -> None:
    embeddings.model_of(Deterministic())
    before = rows_of_every_table()
    evaluate(tiny, "--no-cache")
    assert rows_of_every_table() == before


def test_other_workspaces_are_not_touched(tiny: Path, api: Any) -> None:
    api.post("entries", {"scope": "main", "content": "my cat is called Tiger"})
    api.post("recall", {"scope": "main", "message": "what is my cat called?"})
    evaluate(tiny)
    assert Entry.objects.get().content == "my cat is called Tiger" and RecallTrace.objects.count() == 1


def test_what_was_said_later_is_hidden(tmp_path: Path) -> None:
    queries = [
        {"query_id": str(seq), "scope": "A", "query": "when does the train leave?", "category": f"before {seq}",
         "gold": ["d3", "d5"], "before_seq": seq}
        for seq in (3, 4, 5, 6)
    ]  # fmt: skip
    categories = evaluate(write(tmp_path, CORPUS, queries))["categories"]
    data = {name: row["recall@10"] for name, row in categories.items()}
    assert data == {"before 3": 0.0, "before 4": 0.5, "before 5": 0.5, "before 6": 1.0}


def test_a_text_merged_later_does_not_hide_what_was_said_between(tmp_path: Path) -> None:
    """d4 merged into the entry of d2: asked before d4, the entry of d3 is still there."""
    query = {"query_id": "q", "scope": "A", "query": "when does the train leave?", "gold": ["d3"], "before_seq": 4}
    assert evaluate(write(tmp_path, CORPUS, [query]))["mean"]["recall@10"] == 1.0


def test_any_text_of_a_group_will_do(tmp_path: Path) -> None:
    query = {
        "query_id": "q", "scope": "A", "query": "when does the train to Faro leave?", "before_seq": 5,
        "gold": ["d3", "d5", "d1"], "gold_groups": [["d3", "d5"], ["e1"]],
    }  # fmt: skip
    report = evaluate(write(tmp_path, CORPUS, [query]))
    assert report["group"]["group_recall@10"] == 0.5
    assert report["categories"].keys() == {"all"}


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("2025-12", "2025-12-31T23:59:59.999999+00:00"),
        ("2024-02", "2024-02-29T23:59:59.999999+00:00"),
        ("2025-11-03", "2025-11-03T00:00:00+00:00"),
        ("2025-11-03T10:00:00", "2025-11-03T10:00:00+00:00"),
        ("2025-11-03T10:00:00+08:00", "2025-11-03T10:00:00+08:00"),
    ],
)
def test_a_bare_month_is_its_last_instant(text: str, read: str) -> None:
    result = parse_time(text)
    assert result is not None and result.isoformat() == read


def test_a_question_is_asked_at_its_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    results: list[str] = []
    plain = run.recall

    def noted(query: Any, *, now: Any, **kwargs: Any) -> Any:
        results.append(now.isoformat())
        return plain(query, now=now, **kwargs)

    monkeypatch.setattr(run, "recall", noted)
    query = {"query_id": "q", "scope": "A", "query": "what is the cat called?", "gold": ["d1"]}
    evaluate(write(tmp_path, CORPUS, [{**query, "asked_at": "2026-01"}, query]))
    assert results == ["2026-01-31T23:59:59.999999+00:00", "2025-12-24T00:00:01+00:00"]


def test_people_read_a_table(tiny: Path) -> None:
    out = StringIO()
    call_command("evaluate", str(tiny), stdout=out)
    assert "mean of categories" in out.getvalue() and "recall@10" in out.getvalue()


def test_a_folder_without_a_set_is_named(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="corpus.jsonl.gz"):
        evaluate(tmp_path)


def test_without_an_embedder_nothing_is_measured(tiny: Path, settings: Any) -> None:
    settings.MEMORY_EMBEDDERS = []
    with pytest.raises(CommandError, match="embedder"):
        evaluate(tiny)


class Failing(Deterministic):
    """Answers questions, or texts, but not both."""

    fails: str = ""

    def embed_passages(self, texts: list[str], *, seconds: float) -> list[list[float]]:
        if Failing.fails == "texts":
            raise embeddings.EmbedderFailed("not today")
        return super().embed_passages(texts, seconds=seconds)

    def embed_query(self, text: str, *, seconds: float) -> list[float]:
        if Failing.fails == "questions" and text != "warm up":
            raise embeddings.EmbedderFailed("not today")
        return super().embed_query(text, seconds=seconds)


@pytest.mark.thorough
@pytest.mark.parametrize(("fails", "text"), [("questions", "degraded"), ("texts", "keeps failing")])
def test_degraded_figures_do_not_count(
    tiny: Path, settings: Any, monkeypatch: pytest.MonkeyPatch, fails: str, text: str
) -> None:
    monkeypatch.setattr(worker, "RETRY_FIRST", timedelta(0))
    monkeypatch.setattr(Failing, "fails", fails)
    settings.MEMORY_EMBEDDERS = [f"{__name__}.Failing"]
    embeddings.forget()
    with pytest.raises(CommandError, match=text):
        evaluate(tiny)
    assert not Entry.objects.exists()


def test_a_set_is_read_in_the_order_of_its_places(tmp_path: Path) -> None:
    data = load(write(tmp_path, CORPUS[::-1], QUERIES))
    assert [row.doc_id for row in data.scopes["A"]] == ["d1", "d2", "d3", "d4", "d5"]
    assert data.name == "tiny" and len(data.questions) == 4
