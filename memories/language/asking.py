"""Whether a sentence is a question: by its signs, which stand in `memories/language/data/asking.txt`.

Who asks names the signs that count there: a summary leaves out what ends as a question does, and is to lose nothing
else; a history takes all signs, for what was asked there was not stated. What needs memory (memories.recall.gate) and
what stored fingerprints are made of (`text.marks`) have words of their own.
"""

from enum import Enum

from memories.language.word_lists import pattern


class Sign(Enum):
    """A sign of a question; its value is the section with its pattern."""

    CLOSING_MARK = "closing_mark"  # a question mark at the end, within quotes or brackets as well
    PARTICLE = "particle"  # 吗 or 呢 at the end
    MARK = "mark"  # a question mark anywhere
    OPENING = "opening"  # an English sentence begins with «what», «do», «is»
    WORD = "word"  # 谁, 什么, 多少 anywhere
    A_NOT_A = "a_not_a"  # 是不是, 有没有


BY_ITS_END = (Sign.CLOSING_MARK, Sign.PARTICLE)
ANY = tuple(Sign)
_PATTERNS = {sign: pattern("asking", sign.value) for sign in Sign}


def is_question(sentence: str, by: tuple[Sign, ...] = BY_ITS_END) -> bool:
    """Whether a sentence has one of these signs of a question."""
    return any(_PATTERNS[sign].search(sentence) for sign in by)
