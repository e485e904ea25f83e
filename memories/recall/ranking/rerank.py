"""The best candidates in the order of the owner's reranker, where there is one (A7); off unless it is configured.

It decides the order and nothing else: who may hear what, which words and which nearness are enough, quotas and the
verdict are as they are without it.
"""

from typing import TYPE_CHECKING

from memories import reranker
from memories.conf import conf
from memories.language import text
from memories.recall.answers.answerability import attributed
from memories.recall.question.query import BY_MATCH_ALONE, Query
from memories.recall.ranking.scoring import Ranked, Reranked, best_first

if TYPE_CHECKING:
    from memories.recall import Recall

#: In `degraded`: the reranker gave no usable answer in time, and the ranking's own order holds.
DEGRADED = "rerank"
_HEAD, _GAP = 0.6, " … "  # of what is kept of a long text, as of a long turn


def rerank(query: Query, result: "Recall") -> None:
    """Put the candidates that may be served into the reranker's order; those it is not asked about come after them.

    What is below the floor is not shown to it, and so is not served for its sake.
    """
    if query.mode in BY_MATCH_ALONE or not reranker.is_configured():
        return
    items = [item for item in result.ranked if item.reason == "limit"][: conf.RERANK_CANDIDATES]
    if len(items) < 2:
        return
    scores = result.timed("rerank", lambda: _scores(query, items))
    if scores is None:
        result.degraded.append(DEGRADED)
        return
    order = sorted(range(len(items)), key=lambda place: (-scores[place], place))
    for rank, place in enumerate(order, start=1):
        items[place].reranked = Reranked(place + 1, rank, round(scores[place], 4))
    result.ranked = best_first(result.ranked)


def _scores(query: Query, items: list[Ranked]) -> list[float] | None:
    question = text.last_tokens(query.message, conf.EMBED_QUERY_TOKENS)
    texts = [_shortened(attributed(item.entry, item.sender)) for item in items]
    return reranker.scores(question, texts, seconds=conf.RERANK_SECONDS)


def _shortened(content: str) -> str:
    """Its head and its tail: most rerankers read 512 tokens, the question included."""
    limit = conf.RERANK_TEXT_TOKENS
    if text.count_tokens(content) <= limit:
        return content
    head = round(limit * _HEAD)
    return f"{text.first_tokens(content, head)}{_GAP}{text.last_tokens(content, limit - head)}"
