"""Is there enough to answer with? A verdict on what a recall found (C3).

One sum of a few signs, each measured on answerable and unrelated questions of ten sets in two languages; a regression
on more of them was no better on sets it had not seen. Questions that give one person's words to another are told apart
by who said what matches best. What it cannot tell: whether a text on the right subject holds the answer. That takes
reading.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

from memories.conf import conf
from memories.language import text
from memories.recall.query import Words
from memories.recall.quotas import Ranked

#: How much better somebody else's words may match before it counts no more.
OTHERS_MOST = 0.15
#: Entries with which a scope knows itself as well as the model's own questions know it.
YOUNG = 45
#: The contrast that is as good as a strength of STRENGTH_FOUND, what words add to it, and how strength rises with it;
#: fitted on one half of benchmarks/answerable.txt.
CONTRAST_FOUND, CONTRAST_OF_WORDS, CONTRAST_SCALE = 0.037, 0.02, 9.0
STRENGTH_FOUND = 0.60
FOUND, WEAK, NONE = "found", "weak", "none"
BEST = 3  # memories whose own words are looked at
#: Of the words alone, where there are no vectors: less than this share is none, less than that weak.
WORDS_WEAK, WORDS_FOUND = 0.15, 0.40


@dataclass(frozen=True)
class Answerability:
    """A verdict and the signs it was drawn from."""

    verdict: str = NONE
    strength: float | None = None
    similarity: float | None = None  # of the nearest candidate
    words: float = 0.0  # largest share of the question in one memory's own words
    speaker: bool = False  # somebody is named who speaks here
    others: float = 0.0  # how much more of the question's words somebody said who is not the one it names
    date: bool = False  # days are named on which something was said
    entries: int = 0  # in the scopes: among many the best is near by chance
    contrast: float | None = None  # how much nearer the nearest is to this question than to the questions people ask
    about_asker: bool = False  # the one who asks is asked about, and others have spoken here

    def told(self) -> dict[str, object]:
        """As a trace keeps it."""
        return {name: round(value, 4) if type(value) is float else value for name, value in asdict(self).items()}


def assess(ranked: Sequence[Ranked], served: Sequence[Ranked], words: Words, entries: int) -> Answerability:
    """The verdict on what was served, from all that was looked at; nothing served is no evidence."""
    if not served:
        return Answerability(entries=entries)
    near = [item.similarity for item in ranked if item.similarity is not None]
    contrasts = [item.contrast for item in ranked if item.contrast is not None]
    signs = Answerability(
        contrast=max(contrasts, default=None),
        similarity=max(near) if near else None,
        words=max(words.covered_by(text.terms(item.entry.content)) for item in served[:BEST]),
        speaker=bool(words.named),
        others=_said_by_others(ranked) if words.named else 0.0,
        date=any(item.candidate.date >= 1 for item in ranked),
        entries=entries,
    )
    strength = strength_of(signs)
    verdict = _graded(strength, conf.EVIDENCE_WEAK, conf.EVIDENCE_FOUND) if strength is not None else NONE
    if any(item.similarity is None for item in served[:BEST]):
        verdict = min(verdict, _graded(signs.words, WORDS_WEAK, WORDS_FOUND), key=[FOUND, WEAK, NONE].index)
    return Answerability(**asdict(signs) | {"verdict": verdict, "strength": strength})


def assess_about_asker(ranked: Sequence[Ranked], served: Sequence[Ranked], words: Words, entries: int) -> Answerability:
    """The verdict where somebody asks about themselves: their own words alone can be enough (A5)."""
    own = assess(_own(ranked), _own(served), words, entries)
    if own.verdict != FOUND:
        own = assess(ranked, served, words, entries)
        own = replace(own, verdict=worse(own.verdict, WEAK))
    return replace(own, about_asker=True)


def _own(items: Sequence[Ranked]) -> list[Ranked]:
    return [item for item in items if item.sender.may_be_asker]


def worse(one: str, other: str) -> str:
    """The verdict of two that claims less."""
    return max(one, other, key=[FOUND, WEAK, NONE].index)


def strength_of(signs: Answerability) -> float | None:
    """The sum of the signs; None without a similarity.

    Similarity is measured against what else a scope holds. While that is little, contrast counts in its place.
    """
    if signs.similarity is None:
        return None
    near = signs.similarity + 0.2 * signs.words - 0.04 * math.log(max(signs.entries, 20) / 100)
    if signs.contrast is not None:
        alone = (signs.contrast + CONTRAST_OF_WORDS * signs.words - CONTRAST_FOUND) * CONTRAST_SCALE
        youth = youth_of(signs.entries)
        near = youth * (STRENGTH_FOUND + alone) + (1 - youth) * near
    return near + 0.1 * signs.speaker + 0.15 * signs.date - 3 * signs.others


def youth_of(entries: int) -> float:
    """How much of a verdict rests on the model's own questions: all with few entries, half with YOUNG, then none."""
    return 1 / (1 + (entries / YOUNG) ** 4)


def is_noise(evidence: Answerability) -> bool:
    """Whether what was found in a young scope speaks of something else: neither its meaning nor its words answer."""
    is_young = evidence.contrast is not None and evidence.entries < YOUNG
    return is_young and evidence.verdict == NONE and not evidence.date and evidence.words < WORDS_FOUND


def _said_by_others(ranked: Sequence[Ranked]) -> float:
    """«What did Ann say of the piano?», when it was Bob who spoke of one: his words match better than any of hers."""
    theirs = [item.candidate.keyword for item in ranked if item.candidate.named]
    others = [item.candidate.keyword for item in ranked if not item.candidate.named]
    if not theirs or not others:
        return 0.0
    return min(max(max(others) - max(theirs), 0.0), OTHERS_MOST)


def _graded(value: float, weak: float, found: float) -> str:
    return NONE if value < weak else WEAK if value < found else FOUND
