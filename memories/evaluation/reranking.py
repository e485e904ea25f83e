"""What the owner's reranker is worth: the same questions without it and with it, side by side."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from memories.conf import conf
from memories.evaluation import comparison
from memories.evaluation.report import AnswerScore, percentile
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
    return comparison.compare(without, reranked, name) | {
        "reranked": len(took),
        "rerank_ms": {"p50": percentile(took, 50), "p95": percentile(took, 95)},
        "limit_seconds": limit,
        "in_time": round(sum(one <= limit * 1000 for one in took) / len(took), 4) if took else None,
    }


def format_comparison(report: Mapping[str, Any]) -> str:
    """The figures in two columns with what changed, and whether it is fast enough."""
    heading = f"{report['dataset']}: {report['questions']} questions"
    return "\n".join([heading, "", *comparison.format_comparison(report), *_times(report)])


def _times(report: Mapping[str, Any]) -> list[str]:
    if report["in_time"] is None:
        return ["the reranker was not asked: no question had two candidates"]
    took, limit = report["rerank_ms"], report["limit_seconds"]
    within = f"{report['in_time']:.0%} within MEMORY_RERANK_SECONDS ({limit:g})"
    return [
        f"reranker: p50 {took['p50']:.0f} ms, p95 {took['p95']:.0f} ms; {within}",
        comparison.format_latency(report),
    ]
