"""What a memory may neither lose nor gain when it is said in other words: numbers, dates, names.

Rules, no model: what they take for a name too often only keeps two memories apart.
"""

import re
import unicodedata

import rjieba

from memories.language import stopwords
from memories.language.scripts import has_han
from memories.language.sentences import begins_a_sentence
from memories.language.word_lists import source, word_set

_DIGITS = re.compile(r"\d+(?:\.\d+)?")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_COUNTED = re.compile(
    "[零〇一二两兩三四五六七八九十百千万萬亿億半]+(?=[年月日号號点點时時分秒个個岁歲天周週次只隻条條元块塊斤公楼樓层層位名本台辆輛度成折])"
    "|[零〇一二两兩三四五六七八九十百千万萬亿億]{2,}|第[一二三四五六七八九十百]+"
)
_CHINESE_DATES = re.compile(
    "[今明昨前后後去]天|[今明去前后後]年|[上下本这這]个?個?[周週月]|[周週]末"
    f"|(?:{source('calendar', 'zh_week')}){source('calendar', 'zh_weekday')}"
    "|早上|上午|中午|下午|晚上|凌晨|[春夏秋冬]天"
)
_COUNTING = word_set("entities", "counting")
_WORD = re.compile(r"[^\W\d_][\w'’-]*")
_BEGINS_AFTER = frozenset('.!?。！？:："“「(（')
#: Addresses, paths and whatever else has a sign within: as it stands.
_SIGNED = re.compile(r"(?<![\w~])[\w~]*+[./@_\\][\w][\w./@:_\\+-]*[\w/]", re.ASCII)
_QUOTED = re.compile(r"[\"“「『《]([^\"”」』》]{1,80})[\"”」』》]")
_NAME_TAGS = frozenset({"nr", "nrt", "nrfg", "ns", "nt", "nz"})


def numbers(content: str) -> set[str]:
    """Digits, counting words and dates, each as it is written."""
    plain = _THOUSANDS.sub("", unicodedata.normalize("NFKC", content))
    found = {number.lstrip("0") or "0" for number in _DIGITS.findall(plain)}
    found.update(_COUNTED.findall(plain), _CHINESE_DATES.findall(plain))
    return found | ({_bare(word.casefold()) for word in _WORD.findall(plain)} & _COUNTING)


def names(content: str) -> set[str]:
    """What looks like a name: capitals, quoted words, addresses and paths, Chinese names; folded."""
    plain = unicodedata.normalize("NFKC", content)
    found = {word.group().casefold() for word in _WORD.finditer(plain) if _is_name(word, plain)}
    found.update(name.casefold() for name in [*_SIGNED.findall(plain), *_QUOTED.findall(plain)])
    if has_han(plain):
        tagged = rjieba.tag(plain)
        found.update(word for word, tag in tagged if tag in _NAME_TAGS and len(word) > 1 and has_han(word))
    return {_bare(name) for name in found}


def _bare(word: str) -> str:
    return word.replace("’", "'").removesuffix("'s")


def _is_name(word: re.Match[str], plain: str) -> bool:
    """A capital; at the beginning of a sentence only of a word that says something."""
    said = word.group()
    if not any(character.isupper() for character in said) or said in ("I", "I'm", "I've"):
        return False
    if _bare(said.casefold()) not in stopwords.ENGLISH:
        return True
    return not begins_a_sentence(plain[: word.start()], _BEGINS_AFTER)
