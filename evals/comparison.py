"""The same questions asked twice, side by side: without something, as the owner's reranker, and with it."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from evals.report import AnswerScore, figures, first_right_rank, format_heading, percentile, verdicts
from evals.run import override_settings
from memories.conf import conf

VERDICTS = ("found", "weak", "none")
#: Headings of the two columns.
Columns = tuple[str, str]
WITHOUT_AND_WITH = ("without", "with")


def compare(
    without: Sequence[AnswerScore],
    second: Sequence[AnswerScore],
    name: str,
    elsewhere: tuple[Sequence[AnswerScore], Sequence[AnswerScore]] = ((), ()),
) -> dict[str, Any]:
    """The report on two series of answers to the same questions, and on two to questions nothing answers."""
    # In how many judged questions the first right text came higher in the second series, lower, or where it was
    moves: Counter[str] = Counter(higher=0, lower=0, same=0)
    for before, after in zip(without, second, strict=True):
        if before.question.gold:
            was, now = first_right_rank(before), first_right_rank(after)
            moves["higher" if now < was else "lower" if now > was else "same"] += 1
    return {
        "dataset": name,
        "questions": sum(bool(answer.question.gold) for answer in without),
        "without": figures(without, name) | {"evidence": verdicts(without, elsewhere[0])},
        "with": figures(second, name) | {"evidence": verdicts(second, elsewhere[1])},
        "first_right": dict(moves),
        "degraded": sum(answer.degraded for answers in (without, second, *elsewhere) for answer in answers),
    }


def format_comparison(report: Mapping[str, Any], columns: Columns = WITHOUT_AND_WITH) -> list[str]:
    """The figures in two columns with what changed."""
    lines = [format_heading(dict.fromkeys((*columns, "change"), 0.0))]
    lines += _rows(report, lambda side: side["mean"])
    if len(report["without"]["categories"]) > 1:
        lines += ["", "mean of categories", *_rows(report, lambda side: side["mean_of_categories"])]
        for key in ("recall@5", "recall@10"):
            lines += ["", key, *_rows(report, lambda side, key=key: _column(side["categories"], key))]  # type: ignore[misc]
    lines += ["", "called, of those that have an answer", *_shares(report, "answerable")]
    if report["without"]["evidence"]["unanswerable"]:
        lines += ["", "called, of those that have none", *_shares(report, "unanswerable")]
    if report["without"]["evidence"]["separation"]:
        lines += _rows(report, lambda side: {"area under the curve": side["evidence"]["separation"]["auc"]})
    moves = report["first_right"]
    return [*lines, "", f"the right one higher: {moves['higher']}, lower: {moves['lower']}, the same: {moves['same']}"]


def format_latency(report: Mapping[str, Any], columns: Columns = WITHOUT_AND_WITH) -> str:
    """What a recall takes in each of the two."""
    before, after = (report[side]["latency_ms"]["p95_without_embedding"] for side in WITHOUT_AND_WITH)
    return f"a recall but for its embedding: p95 {before:.0f} ms {columns[0]}, {after:.0f} ms {columns[1]}"


def _rows(report: Mapping[str, Any], part: Callable[[Any], Mapping[str, float]]) -> list[str]:
    without, second = (part(report[side]) for side in WITHOUT_AND_WITH)
    return [
        f"{name:30}{without[name]:16.4f}{second[name]:16.4f}{second[name] - without[name]:+16.4f}" for name in without
    ]


def _shares(report: Mapping[str, Any], kind: str) -> list[str]:
    return _rows(report, lambda side: {name: side["evidence"][kind].get(name, 0.0) for name in VERDICTS})


def _column(categories: Mapping[str, Mapping[str, float]], measure: str) -> dict[str, float]:
    return {name: row[measure] for name, row in categories.items()}


#: Without it figures are those of the ranking, whatever is configured.
OFF = {"RERANK_BASE_URL": ""}
#: A slow one is measured, too; how many of its answers would have been in time is reported.
PATIENT = {"RERANK_SECONDS": 60.0}


def compare_reranking(ask: Callable[[], Sequence[AnswerScore]], name: str) -> dict[str, Any]:
    """The report on questions asked twice, first without the reranker."""
    with override_settings(OFF):
        without = ask()
    with override_settings(PATIENT):
        with_reranker = ask()
    took = sorted(answer.rerank_milliseconds for answer in with_reranker if answer.rerank_milliseconds is not None)
    limit = conf.RERANK_SECONDS
    return compare(without, with_reranker, name) | {
        "reranked": len(took),
        "rerank_ms": {"p50": percentile(took, 50), "p95": percentile(took, 95)},
        "limit_seconds": limit,
        "in_time": round(sum(milliseconds <= limit * 1000 for milliseconds in took) / len(took), 4) if took else None,
    }


def format_reranking(report: Mapping[str, Any]) -> str:
    """The figures in two columns with what changed, and whether it is fast enough."""
    lines = [f"{report['dataset']}: {report['questions']} questions", "", *format_comparison(report)]
    if report["in_time"] is None:
        return "\n".join([*lines, "the reranker was not asked: no question had two candidates"])
    took, limit = report["rerank_ms"], report["limit_seconds"]
    within = f"{report['in_time']:.0%} within MEMORY_RERANK_SECONDS ({limit:g})"
    lines.append(f"reranker: p50 {took['p50']:.0f} ms, p95 {took['p95']:.0f} ms; {within}")
    return "\n".join([*lines, format_latency(report)])
