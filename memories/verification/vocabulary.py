"""The words generated texts are held to their sources by, from `memories/language/data` (A11, D5, D6)."""

import re

from memories.language import text
from memories.language.scripts import HAN
from memories.language.word_lists import classes, groups, pattern, source, word_set, words


def _stems(file: str, section: str) -> frozenset[str]:
    """The English words of a section by their stems, the Chinese ones by their characters."""
    english = map(text.stem, words(file, f"{section}_english"))
    return frozenset([*english, *"".join(words(file, f"{section}_chinese"))])


# -- what a rewording may exchange, drop, and neither lose nor add

ENGLISH = classes("rewording", "english_classes")
ENGLISH_LIGHT = word_set("rewording", "english_light")
ENGLISH_CAREFUL = {word: f"~{name}" for word, name in classes("rewording", "english_careful").items()}
ENGLISH_NEGATIONS = word_set("rewording", "english_negations")
CHINESE = {word: group[0] for group in groups("rewording", "chinese_classes") for word in group[1:]}
CHINESE_LIGHT = word_set("rewording", "chinese_light")
CHINESE_CAREFUL = {word: f"~{name}" for word, name in classes("rewording", "chinese_careful").items()}
_KNOWN = sorted({*CHINESE, *CHINESE_CAREFUL, *(word for word in CHINESE_LIGHT if len(word) > 1)}, key=len, reverse=True)
CHINESE_PARTS = re.compile(
    f"(?P<negation>{source('rewording', 'chinese_negations')})|(?P<known>{'|'.join(_KNOWN)})|(?P<other>.)", re.DOTALL
)

# -- how a statement is framed, and what one word says beside itself

#: What counts neither for nor against a fact.
LIGHT = _stems("statements", "framing") | {"call"}
VERY_LIGHT = frozenset(["please", "also", "so", "well", "yes", "ok"])
#: When something is, before who does it.
TIMES = _stems("statements", "time")
#: What follows from a word, and never the other way round.
IMPLIED = {
    "move": ("live", "住"),
    "搬": ("住",),
    "buy": ("have",),
    "买": ("有",),
    "get": ("have",),
    "birthday": ("born",),
    "跑": ("行",),
    "go": ("travel",),
}
IMPLYING: dict[str, list[str]] = {}
for _word, _implied in IMPLIED.items():
    for _one in _implied:
        IMPLYING.setdefault(_one, []).append(_word)
#: Who «we» may be.
COLLECTIVE = frozenset(text.stem(word) for word in ("team", "company", "group", "family")) | frozenset("公司团队")
ENDED = pattern("statements", "ended", re.IGNORECASE)
THOUGHT = pattern("statements", "thought", re.IGNORECASE)
GONE = pattern("statements", "gone")
SPLIT = pattern("statements", "split", re.IGNORECASE)
#: Whose they are goes without saying 的.
KIN = source("statements", "kin")
#: What follows the mark of whose it is.
THEIRS = re.compile(f"龘[{HAN}]的((?:{KIN})|[{HAN}]{{1,4}})")

# -- how a summary tells of a turn

#: What tells of a turn and stands in none.
REPORTING = _stems("summaries", "reporting")
#: That something was asked or offered.
ASKING = pattern("summaries", "asking", re.IGNORECASE)
#: That something was decided; right after an OPEN word it is open yet.
DECIDING = pattern("summaries", "deciding", re.IGNORECASE)
OPEN_CHARS = 200  # before the decision, in which such a word stands
OPEN = re.compile(
    r"(?:\b(?:not|before|until|once|if|whether|to)\b|n't\b|[没未]|之前|如果|是否)\W*(?:\w+\W+){0,3}$", re.IGNORECASE
)
TITLED = pattern("summaries", "titled")
NO_NAMES = ENGLISH_NEGATIONS | word_set("summaries", "no_names")
