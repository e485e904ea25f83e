"""Two answers to one question side by side: which memory of one is which of the other."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from memplatform_shadow.events import Hit
from memplatform_shadow.likeness import alike, same

#: How a memory there is one here: mirrored as it, resting on the same messages, the same words, nearly the same words.
MIRRORED, RESTS, SAME, ALIKE = "mirrored", "rests", "same", "alike"


@dataclass(frozen=True)
class Pair:
    """A memory there and one here that are one, by their places in the two answers (from 0), and how."""

    there: int
    here: int
    how: str


def pairs_of(
    there: Sequence[Hit],
    here: Sequence[Hit],
    *,
    stands_as: Callable[[str], Collection[str]],
    made_of: Callable[[str], Collection[str]],
) -> list[Pair]:
    """Each memory there with the first memory here that is it.

    `stands_as` gives the ids here of a memory there, `made_of` what a memory here was made of.
    """
    pairs = []
    for place, hit in enumerate(there):
        ids = stands_as(hit.id)
        found = [(_how(hit, ids, other, made_of), number) for number, other in enumerate(here)]
        if best := min(((how, number) for how, number in found if how), key=_rank, default=None):
            pairs.append(Pair(place, best[1], best[0]))
    return pairs


def _how(hit: Hit, ids: Collection[str], other: Hit, made_of: Callable[[str], Collection[str]]) -> str:
    if other.id in ids:
        return MIRRORED
    if same(hit.text, other.text):
        return SAME
    if ids and not set(ids).isdisjoint(made_of(other.id)):
        return RESTS
    return ALIKE if alike(hit.text, other.text) else ""


def _rank(found: tuple[str, int]) -> tuple[int, int]:
    return ([MIRRORED, SAME, RESTS, ALIKE].index(found[0]), found[1])
