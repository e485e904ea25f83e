"""The figures of an evaluation: recall, verdicts, and both as a table for people (C3)."""

import math
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from evals.dataset import Dataset, Question
from memories.models import Entry
from memories.recall import Recall

CUTS = (1, 5, 10)
GROUP_CUTS = (5, 10)


@dataclass(frozen=True)
class AnswerScore:
    """What a question got: for each served entry, best first, the texts it holds."""

    question: Question
    found: Sequence[frozenset[str]]
    milliseconds: float
    embedding_milliseconds: float
    degraded: bool
    evidence: str = ""
    strength: float | None = None
    rerank_milliseconds: float | None = None  # None: the owner's reranker was not asked

    @classmethod
    def of(cls, question: Question, result: Recall, texts: Callable[[Entry], Iterable[str]]) -> "AnswerScore":
        """What a recall gave; `texts` are the ids of the texts an entry holds."""
        return cls(
            question=question,
            found=[frozenset(texts(item.entry)) for item in result.served],
            milliseconds=result.timings["total"],
            embedding_milliseconds=result.timings.get("embedding", 0.0),
            degraded=bool(result.degraded),
            evidence=result.answerability.verdict,
            strength=result.answerability.strength,
            rerank_milliseconds=result.timings.get("rerank"),
        )


def figures(answers: Sequence[AnswerScore], dataset: str) -> dict[str, Any]:
    """The report of an evaluation; questions without a right answer are left out of recall."""
    judged = [answer for answer in answers if answer.question.gold]
    by_category: dict[str, list[AnswerScore]] = defaultdict(list)
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


def _means(answers: Sequence[AnswerScore]) -> dict[str, float]:
    rows = [_measures(answer) for answer in answers]
    names = [*(f"recall@{k}" for k in CUTS), "mrr"]
    return {name: round(fmean(row[name] for row in rows), 4) if rows else 0.0 for name in names}


def _mean_of(rows: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """The mean of each measure, every row counting the same."""
    return {measure: round(fmean(row[measure] for row in rows), 4) for measure in rows[0]} if rows else {}


def _measures(answer: AnswerScore) -> dict[str, float]:
    gold = answer.question.gold
    measured = {f"recall@{k}": len(gold & frozenset().union(*answer.found[:k])) / len(gold) for k in CUTS}
    return {**measured, "mrr": 1 / first_right_rank(answer)}


def first_right_rank(answer: AnswerScore) -> float:
    """The place of the first entry that holds a right text; infinite when none was served."""
    ranks = (rank for rank, docs in enumerate(answer.found, start=1) if docs & answer.question.gold)
    return next(ranks, math.inf)


def _group_means(answers: Sequence[AnswerScore]) -> dict[str, float]:
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


def _latency(answers: Sequence[AnswerScore]) -> dict[str, float]:
    total = sorted(answer.milliseconds for answer in answers)
    rest = sorted(answer.milliseconds - answer.embedding_milliseconds for answer in answers)
    return {
        "p50": percentile(total, 50),
        "p95": percentile(total, 95),
        "p50_without_embedding": percentile(rest, 50),
        "p95_without_embedding": percentile(rest, 95),
    }


def percentile(ascending: Sequence[float], percent: int) -> float:
    """The value below which so many percent of them lie; 0 of nothing."""
    if not ascending:
        return 0.0
    return round(ascending[min(len(ascending) - 1, len(ascending) * percent // 100)], 2)


#: What each verdict claims is missing: «none» alone, and everything short of «found».
CLAIMS = {"none": ("none",), "none_or_weak": ("none", "weak")}


def verdicts(answers: Sequence[AnswerScore], elsewhere: Sequence[AnswerScore] = ()) -> dict[str, Any]:
    """Shares of the verdicts, and how well they separate; questions without a right answer are unanswerable."""
    answerable = [answer for answer in answers if answer.question.gold]
    unanswerable = [*(answer for answer in answers if not answer.question.gold), *elsewhere]
    by_category: dict[str, list[AnswerScore]] = defaultdict(list)
    for answer in answerable:
        by_category[answer.question.category].append(answer)
    return {
        "answerable": _shares(answerable),
        "unanswerable": _shares(unanswerable),
        "categories": {name: _shares(group) for name, group in sorted(by_category.items())},
        "separation": _separation(answerable, unanswerable) if answerable and unanswerable else {},
    }


def _shares(answers: Sequence[AnswerScore]) -> dict[str, float]:
    """How often each verdict was given; nothing when there was nothing to judge."""
    evidences = Counter(answer.evidence for answer in answers)
    return {verdict: round(count / len(answers), 4) for verdict, count in sorted(evidences.items())}


def _separation(answerable: Sequence[AnswerScore], unanswerable: Sequence[AnswerScore]) -> dict[str, Any]:
    """As if there were as many unanswerable questions as answerable ones, however many there are."""
    report: dict[str, Any] = {"auc": round(area_under_curve(_strengths(answerable), _strengths(unanswerable)), 4)}
    for claim, verdict_names in CLAIMS.items():
        right = sum(answer.evidence in verdict_names for answer in unanswerable) / len(unanswerable)
        wrong = sum(answer.evidence in verdict_names for answer in answerable) / len(answerable)
        precision = right / (right + wrong) if right + wrong else 0.0
        report[claim] = {"precision": round(precision, 4), "recall": round(right, 4), "wrongly": round(wrong, 4)}
    return report


def _strengths(answers: Sequence[AnswerScore]) -> list[float]:
    """Nothing found, or nothing to compare by, is the weakest of all."""
    return [float("-inf") if answer.strength is None else answer.strength for answer in answers]


def area_under_curve(above: Sequence[float], below: Sequence[float]) -> float:
    """How often one of the first exceeds one of the second; ties count half. 0.5 is chance."""
    ascending = sorted(below)
    pairs = sum(bisect_left(ascending, value) + bisect_right(ascending, value) for value in above)
    return pairs / 2 / (len(above) * len(below))


_NAME, _NUMBER = 30, 16


def format_report(report: Mapping[str, Any]) -> str:
    """Recall by category, groups, verdicts and times, as a table."""
    rows = {**report["categories"], "mean of categories": report["mean_of_categories"], "mean": report["mean"]}
    parts = [
        f"{report['dataset']}: {report['questions']} questions",
        *format_unasked(report),
        "",
        *[format_heading(report["mean"]), *(format_row(name, row) for name, row in rows.items())],
        "",
    ]
    groups = {"mean of categories": report["group_of_categories"], "mean": report["group"]}
    parts += [format_heading(report["group"]), *(format_row(name, row) for name, row in groups.items() if row), ""]
    # What is known only of questions people judged
    precision = report.get("precision", {})
    lines = (
        [format_heading(next(iter(precision.values()))), *(format_row(*row) for row in precision.items())]
        if precision
        else []
    )
    notes = (("unjudged", "questions nobody judged"), ("gone", "memories judged to help that are gone"))
    parts += [*lines, *(f"{report[name]} {meaning}" for name, meaning in notes if report.get(name))]
    parts += [f"{'latency ' + name:32}{value:14.1f} ms" for name, value in report["latency_ms"].items()]
    return "\n".join([*parts, "", *_verdicts(report["evidence"])]).rstrip()


def format_row(name: str, means: Mapping[str, float]) -> str:
    """A line of an ablation."""
    return f"{name:{_NAME}}" + "".join(f"{value:{_NUMBER}.4f}" for value in means.values())


def format_heading(measures: Mapping[str, float]) -> str:
    return f"{'':{_NAME}}" + "".join(f"{name:>{_NUMBER}}" for name in measures)


def format_unasked(report: Mapping[str, Any]) -> list[str]:
    """A line on the questions whose scope has no text, if there are any."""
    unasked = report["unasked"]
    if not unasked["questions"]:
        return []
    return [f"{unasked['questions']} questions not asked, for there is no text of: {', '.join(unasked['scopes'])}"]


def _verdicts(evidence: Mapping[str, Any]) -> list[str]:
    """What was called found, weak or none, and what that is worth."""
    rows = {f"answerable: {name}": shares for name, shares in evidence["categories"].items()}
    rows |= {name: evidence[name] for name in ("answerable", "unanswerable") if evidence[name]}
    lines = [format_heading(dict.fromkeys(("found", "weak", "none"), 0.0))] if rows else []
    for name, shares in rows.items():
        lines.append(format_row(name, {verdict: shares.get(verdict, 0.0) for verdict in ("found", "weak", "none")}))
    if separation := dict(evidence["separation"]):
        lines += ["", f"{'area under the curve':{_NAME}}{separation.pop('auc'):{_NUMBER}.4f}"]
        lines.append(format_heading(separation["none"]))
        lines += [format_row(f"{claim.replace('_', ' ')}: no answer", values) for claim, values in separation.items()]
    return lines
