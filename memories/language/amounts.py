"""Numbers, times and dates, each written in one way: «3 pm» and 下午三点 as 15:00, «3 May» and 五月三日 as 5-3 (D5)."""

import re
import unicodedata
from collections.abc import Callable
from functools import partial

from memories.language.text import MEASURE_WORDS, NUMERALS
from memories.language.word_lists import source, words

#: Around an amount in a text that was rewritten; nobody types it, and no tokenizer joins it to a word.
MARK = "\x1f"

_MONTHS, _WEEKDAYS = words("calendar", "months"), words("calendar", "weekdays")
DAYS_AND_MONTHS = frozenset([*_MONTHS, *_WEEKDAYS, *(f"{day}s" for day in _WEEKDAYS)])
_ENGLISH = {word: n for n, word in enumerate(words("calendar", "numbers"))}
_ENGLISH |= dict(zip(words("calendar", "tens"), range(20, 100, 10), strict=True))
_SCALES = dict(zip(words("calendar", "scales"), (100, 1_000, 1_000_000, 1_000_000_000), strict=True))
_ORDINALS = {word: str(n) for n, word in enumerate(words("calendar", "ordinals"), start=1)}
_DIGITS = {char: n for n, char in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2, "兩": 2}
_UNITS = {"十": 10, "百": 100, "千": 1_000}
_CHINESE_SCALES = {"千": 10**3, "万": 10**4, "萬": 10**4, "亿": 10**8, "億": 10**8}
_NUMERAL = rf"(?:\d++|[{NUMERALS}]++)"
#: Not within a numeral, so that a long one is read once and not from each of its digits.
_ALONE = rf"(?:(?<!\d)(?=\d)|(?<![{NUMERALS}])(?=[{NUMERALS}]))"
_MEASURES = f"{MEASURE_WORDS}张張件家套杯小口人门門千米倍"
_LATER = ("下午", "晚上", "傍晚", "夜里")
#: Before which hour the words of a day hold.
_HOURS = (
    (6, "凌晨 早上 morning night"), (12, "早上 上午 morning"), (13, "中午 noon"), (18, "下午 afternoon"),
    (99, "晚上 evening night"),
)  # fmt: skip
_MONTH = "|".join(month.capitalize() for month in _MONTHS)
_NUMBER_WORD = "|".join(_ENGLISH)


def normalise_amounts(content: str) -> str:
    """A text whose amounts are written in one way, each between marks."""

    def unless_marked(rewrite: Callable[[re.Match[str]], str], match: re.Match[str]) -> str:
        return match[0] if match[0].startswith(MARK) else rewrite(match)

    for pattern, rewrite in _RULES:
        content = pattern.sub(partial(unless_marked, rewrite), content)
    return content


def amounts_in(content: str) -> set[str]:
    """The amounts of a text, each written in one way."""
    plain = unicodedata.normalize("NFKC", content)
    return set(re.findall(f"{MARK}([^{MARK}]+){MARK}", normalise_amounts(plain)))


def implied(amount: str) -> list[str]:
    """What an amount says beside itself: 5-3 is in May, 15:00 in the afternoon."""
    if day := re.fullmatch(r"(\d+)-\d+", amount):
        return [f"month {day[1]}"]
    if clock := re.fullmatch(r"(\d+):\d\d", amount):
        return next(words.split() for hour, words in _HOURS if int(clock[1]) < hour)
    return []


def _marked(*amounts: object) -> str:
    return "".join(f" {MARK}{amount}{MARK} " for amount in amounts)


def numeral(text: str) -> int:
    """What digits or a Chinese numeral count: 两百五十 is 250."""
    if text.isdecimal():
        return int(text)
    if not any(char in "十百千万萬亿億" for char in text):
        return int("".join(str(_DIGITS[char]) for char in text))
    for char, scale in (("亿", 10**8), ("億", 10**8), ("万", 10**4), ("萬", 10**4)):
        if char in text:
            head, tail = text.split(char, 1)
            rest = _DIGITS[tail] * scale // 10 if len(tail) == 1 and tail in _DIGITS else numeral(tail) if tail else 0
            return (numeral(head) if head else 1) * scale + rest
    total, digit, unit = 0, 0, 1
    for place, char in enumerate(text):
        if char in _UNITS:
            unit = _UNITS[char]
            total += (digit if digit or place else 1) * unit
            digit = 0
        else:
            unit = unit if _DIGITS[char] else 1
            digit = _DIGITS[char]
    return total + digit * (unit // 10 if unit > 10 else 1)  # «five hundred two», 五百二, is 520


def count_of(text: str) -> float:
    """What digits, an English numeral or a Chinese one count: 1.5, «twenty-four», 二十四."""
    if text[0].isdecimal():
        return float(text)
    return _in_words(text) if text.isascii() else numeral(text)


def _in_words(text: str) -> int:
    total = 0
    for word in re.split(r"[\s-]+", text.lower()):
        total = total * _SCALES[word] if word in _SCALES else total + _ENGLISH[word]
    return total


def _date(month: str, day: str = "") -> str:
    number = _MONTHS.index(month.lower()) + 1
    return _marked(f"{number}-{int(day)}" if day else f"month {number}")


def _clock(hour: int, minute: int = 0) -> str:
    return _marked(f"{hour}:{minute:02d}")


def _chinese_clock(match: re.Match[str]) -> str:
    hour, minutes = numeral(match[2]), match[3] or ""
    hour += 12 if match[1] in _LATER and hour < 12 else 0
    minute = 30 if minutes.startswith("半") else numeral(minutes.rstrip("分")) if minutes.rstrip("分") else 0
    return _clock(hour, minute)


def _plain(match: re.Match[str]) -> str:
    number = match[1].replace(",", "")
    return _marked(number.lstrip("0") or "0" if number.isdecimal() else number)


_FREE = r"(?<![A-Za-z\d.:/-])"


def _rule(
    pattern: str, rewrite: Callable[[re.Match[str]], str], flags: int = 0
) -> tuple[re.Pattern[str], Callable[[re.Match[str]], str]]:
    return re.compile(f"{MARK}[^{MARK}]*{MARK}|{pattern}", flags), rewrite


#: In this order: what belongs together is read before its parts. «A cat», 一只猫, counts nothing.
_RULES = (
    _rule(
        rf"{_FREE}(\d{{4}})-(\d{{1,2}})-(\d{{1,2}})(?!\d)",
        lambda match: _marked(match[1], f"{int(match[2])}-{int(match[3])}"),
    ),
    _rule(
        rf"{_ALONE}({_NUMERAL})月份?(?:({_NUMERAL})[日号號])?",
        lambda match: _marked(f"{numeral(match[1])}-{numeral(match[2])}" if match[2] else f"month {numeral(match[1])}"),
    ),
    _rule(rf"\b({_MONTH})\.? (\d{{1,2}})(?:st|nd|rd|th)?\b(?![:.]\d)", lambda match: _date(match[1], match[2])),
    _rule(rf"\b(\d{{1,2}})(?:st|nd|rd|th)? (?:of )?({_MONTH})\b", lambda match: _date(match[2], match[1])),
    _rule(rf"(?<!^)(?<![.!?] )\b(?:{_MONTH})\b", lambda match: _date(match[0])),
    _rule(
        rf"{_FREE}(\d{{1,2}})(?:[:.](\d\d))?\s?(am\b|pm\b|a\.m\.|p\.m\.)",
        lambda match: _clock(int(match[1]) % 12 + 12 * (match[3][0] in "pP"), int(match[2] or 0)),
        re.IGNORECASE,
    ),
    _rule(rf"{_FREE}(\d{{1,2}}):(\d\d)(?![\d:])", lambda match: _clock(int(match[1]), int(match[2]))),
    _rule(
        rf"(早上|上午|中午|下午|晚上|凌晨|傍晚|夜里)?{_ALONE}({_NUMERAL})[点點](?:钟|鐘|整)?(半|{_NUMERAL}分?)?",
        _chinese_clock,
    ),
    _rule(
        f"(?:{source('calendar', 'zh_week')})({source('calendar', 'zh_weekday')})",
        lambda match: _marked(_WEEKDAYS[min("一二三四五六日天".index(match[1]), 6)]),
    ),
    _rule(rf"\b({'|'.join(_WEEKDAYS)})s?\b", lambda match: _marked(match[1].lower()), re.IGNORECASE),
    _rule(
        rf"(?<!a )(?<!per )(?<!one )\b({'|'.join(_ORDINALS)})\b(?= \w)",
        lambda match: _marked(_ORDINALS[match[1].lower()]),
        re.IGNORECASE,
    ),
    _rule(r"\b(\d+)(?:st|nd|rd|th)\b", _plain),
    _rule(
        r"(?<![\d.])(\d+(?:\.\d+)?)(千|万|萬|亿|億)",
        lambda match: _marked(f"{float(match[1]) * _CHINESE_SCALES[match[2]]:.10g}"),
    ),
    _rule(
        rf"\b(?:{_NUMBER_WORD})(?:[ -](?:{_NUMBER_WORD}|{'|'.join(_SCALES)}))*\b",
        lambda match: _marked(_in_words(match[0])),
        re.IGNORECASE,
    ),
    _rule(r"(?<![A-Za-z\d.:/@_-])(-?\d{1,3}(?:,\d{3})+(?:\.\d+)?|-?\d+(?:\.\d+)*)(?![\d:/@-])", _plain),
    _rule(rf"(?<![第{NUMERALS}])一(?=[{_MEASURES}])(?![年月日号點点时時分秒岁楼层度成折千米倍])", lambda match: " "),
    _rule(rf"[{NUMERALS}]++(?=[{_MEASURES}])|[{NUMERALS}]{{2,}}+", lambda match: _marked(numeral(match[0]))),
)
