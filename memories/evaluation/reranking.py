"""What the owner's reranker is worth: the same questions without it and with it, side by side."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from memories.conf import conf
from memories.evaluation.report import AnswerScore, figures, first_right_rank, format_heading, percentile, verdicts
from memories.evaluation.run import override_settings

#: Without it figures are those of the ranking, whatever is configured.
OFF = {"RERANK_BASE_URL": ""}
#: A slow one is measured, too; how many of its answers would have been in time is reported.
PATIENT = {"RERANK_SECONDS": 60.0}


def compare(ask: Callable[[], Sequence[AnswerScore]], name: str) -> dict[str, Any]:
    """The report on questions asked twice, first without the reranker."""
    with override_settings(OFF):
        without = ask()
    with override_settings(PATIENT):
        reranked = ask()
    took = sorted(answer.rerank_milliseconds for answer in reranked if answer.rerank_milliseconds is not None)
    limit = conf.RERANK_SECONDS
    return {
        "dataset": name,
        "questions": sum(bool(answer.question.gold) for answer in without),
        "without": figures(without, name) | {"evidence": verdicts(without)},
        "with": figures(reranked, name) | {"evidence": verdicts(reranked)},
        "first_right": _first_right(without, reranked),
        "reranked": len(took),
        "rerank_ms": {"p50": percentile(took, 50), "p95": percentile(took, 95)},
        "limit_seconds": limit,
        "in_time": round(sum(one <= limit * 1000 for one in took) / len(took), 4) if took else None,
        "degraded": sum(answer.degraded for answer in (*without, *reranked)),
    }


def _first_right(without: Sequence[AnswerScore], reranked: Sequence[AnswerScore]) -> dict[str, int]:
    """In how many judged questions the first right text came higher with the reranker, lower, or where it was."""
    moves: Counter[str] = Counter(higher=0, lower=0, same=0)
    for before, after in zip(without, reranked, strict=True):
        if before.question.gold:
            was, now = first_right_rank(before), first_right_rank(after)
            moves["higher" if now < was else "lower" if now > was else "same"] += 1
    return dict(moves)


def format_comparison(report: Mapping[str, Any]) -> str:
    """The figures in two columns with what changed, and whether it is fast enough."""
    lines = [f"{report['dataset']}: {report['questions']} questions", ""]
    lines.append(format_heading(dict.fromkeys(("without", "with", "change"), 0.0)))
    lines += _rows(report, lambda side: side["mean"])
    categories = report["without"]["categories"]
    if len(categories) > 1:
        lines += ["", "mean of categories", *_rows(report, lambda side: side["mean_of_categories"])]
        for cut in ("recall@5", "recall@10"):
            lines += ["", cut, *_rows(report, lambda side, cut=cut: _column(side["categories"], cut))]  # type: ignore[misc]
    verdict_names = ("found", "weak", "none")
    lines += ["", "called, of those that have an answer"]
    lines += _rows(report, lambda side: {name: side["evidence"]["answerable"].get(name, 0.0) for name in verdict_names})
    moved = report["first_right"]
    lines += ["", f"the right one higher: {moved['higher']}, lower: {moved['lower']}, the same: {moved['same']}"]
    return "\n".join([*lines, *_times(report)])


def _rows(report: Mapping[str, Any], part: Callable[[Any], Mapping[str, float]]) -> list[str]:
    without, reranked = part(report["without"]), part(report["with"])
    return [
        f"{name:30}{without[name]:16.4f}{reranked[name]:16.4f}{reranked[name] - without[name]:+16.4f}"
        for name in without
    ]


def _column(categories: Mapping[str, Mapping[str, float]], measure: str) -> dict[str, float]:
    return {name: row[measure] for name, row in categories.items()}


def _times(report: Mapping[str, Any]) -> list[str]:
    if report["in_time"] is None:
        return ["the reranker was not asked: no question had two candidates"]
    took, limit = report["rerank_ms"], report["limit_seconds"]
    within = f"{report['in_time']:.0%} within MEMORY_RERANK_SECONDS ({limit:g})"
    before, after = (report[side]["latency_ms"]["p95_without_embedding"] for side in ("without", "with"))
    return [
        f"reranker: p50 {took['p50']:.0f} ms, p95 {took['p95']:.0f} ms; {within}",
        f"a recall but for its embedding: p95 {before:.0f} ms without, {after:.0f} ms with",
    ]
