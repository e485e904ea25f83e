"""Whether two texts of different stores say the same, by their words: no model, and no claim to understand them."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter

ALIKE = 0.8  # of the words of both, as Dice counts them
_CHINESE = "\u3400-\u9fff\uf900-\ufaff"
_WORD = re.compile(rf"[{_CHINESE}]|[^\W_{_CHINESE}]+(?:['’][^\W\d_]+)?")
_NUMBER = re.compile(r"\d")
_NOT = frozenset([*("no", "not", "never", "none", "without", "nothing", "cannot"), *"不没無无未别非"])
_SPEAKER = re.compile(r"^(?:user|assistant)\s*:\s*", re.IGNORECASE | re.MULTILINE)


def same(one: str, other: str) -> bool:
    """The same words in the same order, whatever stands between them."""
    return _words(one) == _words(other)


def alike(one: str, other: str) -> bool:
    """Nearly the same words, of which no number and no negation differs."""
    ours, theirs = Counter(_words(one)), Counter(_words(other))
    if _telling(ours) != _telling(theirs):
        return False
    return bool(ours) and 2 * (ours & theirs).total() >= ALIKE * (ours.total() + theirs.total())


def _words(text: str) -> list[str]:
    plain = unicodedata.normalize("NFKC", _SPEAKER.sub("", text)).casefold()
    return _WORD.findall(plain)


def _telling(words: Counter[str]) -> set[str]:
    """What makes another fact of nearly the same words."""
    return {word for word in words if word in _NOT or word.endswith(("n't", "n’t")) or _NUMBER.search(word)}
