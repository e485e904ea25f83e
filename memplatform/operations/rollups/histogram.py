"""Histograms of times: 64 buckets, each a third of an octave wide, so that counts of hours add up to those of months.

The first bucket holds what took less than one unit, the last what took more than 1,664,510: milliseconds are told up to
half an hour, seconds up to nineteen days. A quantile is told as the middle of its bucket, on the scale of the buckets:
at most an eighth (12.3 %) from the true one.
"""

from collections.abc import Iterable, Sequence
from itertools import accumulate

from memories.models.rollups import BUCKETS

#: Buckets that double the time.
A_DOUBLING = 3


def bucket_of(taken: str) -> str:
    """In SQL, the bucket of a time, from 0 on; `taken` is an expression of a number."""
    return (
        f"CASE WHEN {taken} < 1 THEN 0"
        f" ELSE least({BUCKETS - 1}, 1 + floor({A_DOUBLING} * log(2, ({taken})::numeric)))::int END"
    )


def counts_of(buckets: Iterable[tuple[int, int]]) -> list[float]:
    """The counts of a histogram, of pairs of a bucket and its count."""
    counts = [0.0] * BUCKETS
    for bucket, count in buckets:
        counts[bucket] += count
    return counts


def quantile(counts: Sequence[float], share: float) -> float | None:
    """The time below which a share of them lies, in the histogram's unit; None of nothing."""
    total = sum(counts)
    if not total:
        return None
    bucket = next(n for n, reached in enumerate(accumulate(counts)) if reached and reached >= share * total)
    return 0.5 if bucket == 0 else float(2 ** ((bucket - 0.5) / A_DOUBLING))
