"""How a search row is made from an entry and its neighbours in the conversation: arithmetic, no database.

What of an entry is embedded and counted is its substance, under the headings of its file (C1). Inner products are
linear, so context can be blended in when a row is written: one keyword vector and one embedding carry the entry and
what stands around it, and a search reads two columns instead of six.
"""

import math
import re
from collections import Counter
from collections.abc import Sequence

from memories.conf import conf
from memories.language.text import DIMENSIONS
from memories.language.turns import substance_of

#: Of a path nothing says what a line is about where the file is a day's, or the long-term one.
_PLACE = re.compile(r"memory/(?:scopes/[^/]+/)?(?=.)|\.md$")
_PLAIN = re.compile(r"(?:MEMORY|LONG_TERM|\d{4}-\d{2}-\d{2})\.md$")


def heading_of(path: str, heading: str) -> str:
    """`projects/alpha › Decisions`; empty for what is no line of a file, or stands under no heading."""
    place = "" if not path or _PLAIN.search(path) else _PLACE.sub("", path)
    return " › ".join(filter(None, [place, heading]))


def indexed_text(content: str, echo: str | None = None, path: str = "", heading: str = "") -> str:
    """The text an entry is searched by: the headings of a line of a file, then its substance."""
    return "\n".join(filter(None, [heading_of(path, heading), substance_of(content, echo)]))


def bm25_weights(counts: Counter[int], length: float, average: float) -> dict[int, float]:
    """The document side of BM25: how much each term says about a text of this length (Robertson, Zaragoza 2009)."""
    k1, b = conf.BM25_K1, conf.BM25_B
    norm = k1 * (1 - b + b * length / average) if average > 0 else k1
    return {term: count * (k1 + 1) / (count + norm) for term, count in counts.items()}


def blend_keywords(own: Counter[int], neighbours: Sequence[Counter[int]], average: float) -> dict[int, float]:
    """Keyword weights of an entry with its neighbours; at most conf.INDEX_TERMS, its own terms first.

    To the entry's own weights come those of one text made of it and its neighbours: a term twice around an entry
    says less than twice as much about it. `average` is the length of the scope's entries.
    """
    around = neighbours if conf.BLEND_KEYWORDS else ()
    joint = sum(around, Counter(own))
    weights = bm25_weights(joint, joint.total(), average * (len(around) + 1))
    for term, weight in bm25_weights(own, own.total(), average).items():
        weights[term] += weight
    heaviest = sorted(weights, key=lambda term: (term in own, weights[term]), reverse=True)
    return {term: weights[term] for term in heaviest[: conf.INDEX_TERMS]}


def full_match(idf_total: float) -> float:
    """The keyword score of a text that could not match these words better: all of them, again and again."""
    return 2 * (conf.BM25_K1 + 1) * idf_total


def blend_embedding(own: Sequence[float], neighbours: Sequence[Sequence[float]]) -> list[float]:
    """An entry's embedding with the mean of its neighbours', of length 1."""
    if not neighbours:
        return normalise(own)
    share = conf.BLEND_VECTOR / len(neighbours)
    return normalise([x + share * sum(column) for x, *column in zip(own, *neighbours, strict=True)])


def normalise(vector: Sequence[float]) -> list[float]:
    length = math.sqrt(sum(x * x for x in vector))
    return [x / length for x in vector] if length else list(vector)


def sparse_literal(weights: dict[int, float]) -> str:
    """A keyword vector as PostgreSQL reads it."""
    return "{" + ",".join(f"{term}:{weights[term]:.4g}" for term in sorted(weights)) + f"}}/{DIMENSIONS}"


def dense_literal(vector: Sequence[float]) -> str:
    """An embedding as PostgreSQL reads it; five digits are more than halfvec keeps."""
    return "[" + ",".join(f"{x:.5g}" for x in vector) + "]"
