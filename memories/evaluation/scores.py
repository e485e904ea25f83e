"""Recall figures: what share of the right answers stands among the first k."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from memories.evaluation.dataset import Dataset, Question

CUTS = (1, 5, 10)
GROUP_CUTS = (5, 10)


@dataclass(frozen=True)
class Answer:
    """What a question got: for each served entry, best first, the texts it holds."""

    question: Question
    found: Sequence[frozenset[str]]
    milliseconds: float
    embedding_milliseconds: float
    degraded: bool
    evidence: str = ""
    strength: float | None = None


def figures(answers: Sequence[Answer], dataset: str) -> dict[str, Any]:
    """The report of an evaluation; questions without a right answer are left out of recall."""
    judged = [answer for answer in answers if answer.question.gold]
    by_category: dict[str, list[Answer]] = defaultdict(list)
    for answer in judged:
        by_category[answer.question.category].append(answer)
    categories = {name: _means(group) for name, group in sorted(by_category.items())}
    return {
        "dataset": dataset,
        "questions": len(judged),
        "mean": _means(judged),
        "mean_of_categories": _mean_of(list(categories.values())) or _means([]),
        "categories": categories,
        "group": _group_means(judged),
        "group_of_categories": _mean_of([_group_means(group) for group in by_category.values()]),
        "latency_ms": _latency(answers),
        "degraded": sum(answer.degraded for answer in answers),
    }


def unasked(dataset: Dataset) -> dict[str, Any]:
    """What is wrong with a set that asks about what it does not hold is said, not left out."""
    return {
        "questions": len(dataset.unasked),
        "scopes": sorted({question.scope for question in dataset.unasked}),
    }


def _means(answers: Sequence[Answer]) -> dict[str, float]:
    rows = [_measures(answer) for answer in answers]
    names = [*(f"recall@{k}" for k in CUTS), "mrr"]
    return {name: round(fmean(row[name] for row in rows), 4) if rows else 0.0 for name in names}


def _mean_of(rows: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """The mean of each measure, every row counting the same."""
    return {measure: round(fmean(row[measure] for row in rows), 4) for measure in rows[0]} if rows else {}


def _measures(answer: Answer) -> dict[str, float]:
    gold = answer.question.gold
    measured = {f"recall@{k}": len(gold & frozenset().union(*answer.found[:k])) / len(gold) for k in CUTS}
    ranks = [rank for rank, docs in enumerate(answer.found, start=1) if docs & gold]
    return {**measured, "mrr": 1 / ranks[0] if ranks else 0.0}


def _group_means(answers: Sequence[Answer]) -> dict[str, float]:
    """A group is found when any of its texts is; without groups every right text is a group of its own."""
    means = {}
    for k in GROUP_CUTS:
        shares = []
        for answer in answers:
            groups = answer.question.groups or tuple(frozenset([doc]) for doc in answer.question.gold)
            first = frozenset().union(*answer.found[:k])
            shares.append(sum(bool(group & first) for group in groups) / len(groups))
        means[f"group_recall@{k}"] = round(fmean(shares), 4) if shares else 0.0
    return means


def _latency(answers: Sequence[Answer]) -> dict[str, float]:
    total = sorted(answer.milliseconds for answer in answers)
    rest = sorted(answer.milliseconds - answer.embedding_milliseconds for answer in answers)
    return {
        "p50": _percentile(total, 50),
        "p95": _percentile(total, 95),
        "p50_without_embedding": _percentile(rest, 50),
        "p95_without_embedding": _percentile(rest, 95),
    }


def _percentile(ascending: Sequence[float], percent: int) -> float:
    if not ascending:
        return 0.0
    return round(ascending[min(len(ascending) - 1, len(ascending) * percent // 100)], 2)
