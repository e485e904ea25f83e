"""How well «found», «weak» and «none» tell questions that have an answer here from those that have none (C3)."""

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

from memories.evaluation.scores import Answer

#: What each verdict claims is missing: «none» alone, and everything short of «found».
CLAIMS = {"none": ("none",), "none_or_weak": ("none", "weak")}


def verdicts(answers: Sequence[Answer], elsewhere: Sequence[Answer] = ()) -> dict[str, Any]:
    """Shares of the verdicts, and how well they separate; questions without a right answer are unanswerable."""
    answerable = [answer for answer in answers if answer.question.gold]
    unanswerable = [*(answer for answer in answers if not answer.question.gold), *elsewhere]
    by_category: dict[str, list[Answer]] = defaultdict(list)
    for answer in answerable:
        by_category[answer.question.category].append(answer)
    return {
        "answerable": _shares(answerable),
        "unanswerable": _shares(unanswerable),
        "categories": {name: _shares(group) for name, group in sorted(by_category.items())},
        "separation": _separation(answerable, unanswerable) if answerable and unanswerable else {},
    }


def _shares(answers: Sequence[Answer]) -> dict[str, float]:
    """How often each verdict was given; nothing when there was nothing to judge."""
    given = Counter(answer.evidence for answer in answers)
    return {verdict: round(count / len(answers), 4) for verdict, count in sorted(given.items())}


def _separation(answerable: Sequence[Answer], unanswerable: Sequence[Answer]) -> dict[str, Any]:
    """As if there were as many unanswerable questions as answerable ones, however many there are."""
    report: dict[str, Any] = {"auc": round(area_under_curve(_strengths(answerable), _strengths(unanswerable)), 4)}
    for claim, verdict_names in CLAIMS.items():
        right = sum(answer.evidence in verdict_names for answer in unanswerable) / len(unanswerable)
        wrong = sum(answer.evidence in verdict_names for answer in answerable) / len(answerable)
        precision = right / (right + wrong) if right + wrong else 0.0
        report[claim] = {"precision": round(precision, 4), "recall": round(right, 4), "wrongly": round(wrong, 4)}
    return report


def _strengths(answers: Sequence[Answer]) -> list[float]:
    """Nothing found, or nothing to compare by, is the weakest of all."""
    return [float("-inf") if answer.strength is None else answer.strength for answer in answers]


def area_under_curve(above: Sequence[float], below: Sequence[float]) -> float:
    """How often one of the first exceeds one of the second; ties count half. 0.5 is chance."""
    ascending = sorted(below)
    pairs = sum(bisect_left(ascending, value) + bisect_right(ascending, value) for value in above)
    return pairs / 2 / (len(above) * len(below))
