"""Chinese, Japanese and Korean characters: their ranges, as they are written within the brackets of a pattern."""

import re

from memories.language.word_lists import words

#: The ideographs people write, and the few signs between their blocks.
HAN = "\u3400-\u9fff"
#: With the mark of repetition 々, the zero 〇 and the compatibility forms: what may stand within a word.
IDEOGRAPHS = "\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
#: What is written without gaps and is in fonts and keyboards: with kana and Hangul, without the rare ideographs.
COMMON_CJK = "\u3005\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af"
#: All that is written without gaps and indexed by characters.
CJK = f"{COMMON_CJK}\U00020000-\U0003134f"
_HAN = re.compile(f"[{HAN}]")


def has_han(content: str) -> bool:
    """Whether a text holds an ideograph."""
    return _HAN.search(content) is not None


def begins_with_han(content: str) -> bool:
    """Whether a text begins with an ideograph."""
    return _HAN.match(content) is not None


def simplified(section: str) -> dict[int, str]:
    """A table for `str.translate`: the traditional characters of a section of `traditional.txt` as simplified ones."""
    return str.maketrans({pair[0]: pair[1] for pair in words("traditional", section)})
