"""How near a text is to a question: the direction that is searched along, and a similarity that can be read.

In the space of a sentence embedder some texts lie near to everything: greetings, general answers. They outrank the one
text that is near to this question, most of all across languages. So the question is moved away from what the scope has
in common (the negative half of Rocchio 1971), which costs nothing a row.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from memories.conf import conf
from memories.embeddings.base import Typical, Unrelated
from memories.index.contextual import normalised
from memories.models import EmbeddingModel
from memories.recall.centroids import Centroid

#: A mean of few rows is as much chance as likeness: it counts as rows / (rows + FEW).
FEW = 20
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
_LATIN = re.compile(r"[A-Za-z]")


@dataclass(frozen=True)
class CentredQuery:
    """Where a question points in the space of a model, seen from the scopes that are asked.

    Nearness on the ranking's scale is (aimed · row - zero) / span: the cosine from the model's floor to its ceiling,
    less AVERAGE_SHARE of how much nearer than the average row it is to everything else in the scope.
    """

    model: EmbeddingModel
    unrelated: Unrelated
    asked: list[float]
    centred: list[float]
    zero: float
    span: float
    average: float  # cosine of the question and the average row
    rows: int
    typical: Typical | None = None  # what is known of the questions people ask; None: nothing
    is_cjk: bool = False

    @property
    def typical_question(self) -> Sequence[float] | None:
        """Where questions of its script point on average."""
        if self.typical is None:
            return None
        return self.typical.cjk if self.is_cjk else self.typical.latin

    @property
    def centroid_similarity(self) -> float:
        """Nearness of the average row: what a row without a vector is taken to have."""
        return (self.average - self.model.floor) / self.span if self.rows else 0.0

    def base(self, *, cjk: bool, across: bool) -> float:
        """The cosine of unrelated texts here: the scope's own average, and the model's where there are few rows."""
        prior = self.unrelated.across if across else self.unrelated.cjk if cjk else self.unrelated.latin
        return (self.rows * self.average + FEW * prior) / (self.rows + FEW)


def centre_query(
    vector: Sequence[float],
    average: Centroid,
    model: EmbeddingModel,
    unrelated: Unrelated,
    typical: Typical | None = None,
    *,
    cjk: bool = False,
) -> CentredQuery:
    """The question's vector less its share of the scopes' average; not brought back to length 1."""
    asked = normalised(vector)
    share = conf.AVERAGE_SHARE * average.rows / (average.rows + FEW)
    return CentredQuery(
        model=model,
        unrelated=unrelated,
        asked=asked,
        centred=[q - share * m for q, m in zip(asked, average.vector, strict=True)],
        zero=model.floor - share * _inner(average.vector, average.vector),
        span=model.ceiling - model.floor,
        average=_inner(asked, average.vector),
        rows=average.rows,
        typical=typical,
        is_cjk=cjk,
    )


def similarity(direction: CentredQuery, cosine: float, question: str, content: str) -> float:
    """0: as near as anything here; 1: as near as clear answers get. It may lie outside of both.

    Right answers in another script have lower cosines than wrong ones in the same, so each pair has its own zero.
    """
    cjk = is_cjk(question)
    across = cjk != is_cjk(content)
    base = direction.base(cjk=cjk, across=across)
    lift = direction.unrelated.lift if across else 0.0
    return 2 * (cosine - base) / (direction.model.ceiling - base) + lift


def contrast(
    direction: CentredQuery, cosine: float, typical: float | None, content: str, *, is_turn: bool
) -> float | None:
    """How much nearer a text is to this question than to the questions people ask; alike for all scripts and kinds.

    It needs no other text of the scope to compare with, so it tells as much of a memory of one as of a thousand.
    """
    known = direction.typical
    if known is None or typical is None:
        return None
    across = direction.is_cjk != is_cjk(content)
    lead = known.across_lead if across else 0.0 if direction.is_cjk else known.latin_lead
    return cosine - typical - lead + (known.turn_loss if is_turn else 0.0)


def _inner(one: Sequence[float], other: Sequence[float]) -> float:
    return sum(x * y for x, y in zip(one, other, strict=True))


def is_cjk(text: str) -> bool:
    """Whether most of a text is Chinese, Japanese or Korean; a character of theirs says as much as two letters."""
    return not text.isascii() and 2 * len(_CJK.findall(text)) > len(_LATIN.findall(text))
