"""Chinese, Japanese and Korean characters: their ranges, as they are written within the brackets of a pattern."""

import re

from memories.language.word_lists import words

#: The ideographs people write, and the few signs between their blocks.
HAN = "㐀-鿿"
#: With the mark of repetition 々, the zero 〇 and the compatibility forms: what may stand within a word.
IDEOGRAPHS = "々〇㐀-䶿一-鿿豈-﫿"
#: All that is written without gaps and indexed by characters: kana, Hangul and the rare ideographs as well.
CJK = "々〇぀-ヿ㐀-䶿一-鿿豈-﫿가-힯𠀀-𱍏"
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
