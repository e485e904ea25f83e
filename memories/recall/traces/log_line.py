"""What operators count recalls by: a line of the log, and figures; one that looks back counts for nothing."""

from typing import TYPE_CHECKING

import structlog

from memories import metrics
from memories.conf import conf
from memories.language import text
from memories.recall.question.query import BY_MATCH_ALONE, Query, searched_part

if TYPE_CHECKING:
    from memories.recall import Recall

log = structlog.get_logger("memories.recall")


def log_recall(query: Query, result: "Recall") -> None:
    """The line operators count recalls by; words of users only when the owner wants them (A14)."""
    log.info(
        "memory_recall",
        user_id=query.asker,
        scope=query.places[0].scope.key if query.places else "",
        keywords=query.message if conf.LOG_CONTENT else len(text.terms(searched_part(query.message))),
        results_count=len(result.served),
        latency_ms=result.timings["total"],
        store_type="keyword" if "embedding" in result.degraded or query.mode in BY_MATCH_ALONE else "hybrid",
        degraded=result.degraded,
    )
    if query.as_of is not None:  # asked to look back, not to answer
        return
    metrics.count_recall(
        verdict=result.answerability.verdict if result.need.retrieve else "",
        served=len(result.served),
        milliseconds=result.timings,
        degraded=result.degraded,
    )
