"""The dates that «tomorrow» and 下周三 mean, counted from the day they were said: as amounts a fact may hold (D5)."""

import re
import unicodedata
from collections.abc import Iterator
from datetime import date, timedelta

from memories.language import dates
from memories.language.word_lists import source, words
from memories.verification import amounts

_WEEKDAYS = words("calendar", "weekdays")
_UNITS = {"day": 1, "天": 1, "日": 1, "week": 7, "周": 7, "週": 7, "星期": 7, "礼拜": 7, "禮拜": 7}
_MONTHS = frozenset(["month", "月"])
_COUNT = r"(\d{1,3}|an?|one|two|three|four|five|six|seven|eight|nine|ten|twelve|[一二两兩三四五六七八九十半]{1,3})"
_WORDS = {word: n for n, word in enumerate(words("calendar", "numbers")[:11])}
_WORDS |= {"a": 1, "an": 1, "twelve": 12}
_WEEK, _WEEKDAY = f"(?:{source('calendar', 'zh_week')})", source("calendar", "zh_weekday")
#: So many days from the day it was said.
_DAYS = (
    (re.compile(r"\b(?:today|tonight|just|now|this (?:morning|afternoon|evening))\b|今[天早晚日]|刚刚|刚|剛", re.I), 0),
    (re.compile(r"(?<!day after )\btomorrow\b|明[天早晚日]", re.I), 1),
    (re.compile(r"\bday after tomorrow\b|(?<!大)[后後]天", re.I), 2),
    (re.compile(r"大[后後]天"), 3),
    (re.compile(r"(?<!day before )\byesterday\b|\blast night\b|昨[天晚日夜]", re.I), -1),
    (re.compile(r"\bday before yesterday\b|(?<!大)前[天晚日]", re.I), -2),
    (re.compile("大前[天晚]"), -3),
)
_MONTHS_OFF = (
    (re.compile(r"\bnext month\b|下个?月|下個月", re.I), 1),
    (re.compile(r"\blast month\b|上个?月|上個月", re.I), -1),
    (re.compile(r"\bthis month\b|这个?月|這個月|本月", re.I), 0),
)
_YEARS_OFF = (
    (re.compile(r"\bnext (?:year|spring|summer|autumn|fall|winter)\b|明年", re.I), 1),
    (re.compile("[后後]年"), 2),
    (re.compile(r"\blast (?:year|spring|summer|autumn|fall|winter)\b|去年", re.I), -1),
    (re.compile("前年"), -2),
    (re.compile(r"\bthis (?:year|spring|summer|autumn|fall|winter)\b|今年", re.I), 0),
)
_AGO = re.compile(rf"\b{_COUNT} (day|week|month|year)s? ago\b|{_COUNT}[个個]?(天|日|周|週|星期|月|年)[之以]?前", re.I)
_IN = re.compile(rf"\bin {_COUNT} (day|week|month|year)s?\b|{_COUNT}[个個]?(天|日|周|週|星期|月|年)[之以]?[后後]", re.I)
_OF_NEXT_WEEK = re.compile(rf"\bnext ({'|'.join(_WEEKDAYS)})\b|下[个個]?{_WEEK}({_WEEKDAY})", re.I)
_OF_SOME_WEEK = re.compile(
    rf"(?<!every )\b({'|'.join(_WEEKDAYS)})\b|(?<![上下每])(?<![上下每][个個]){_WEEK}({_WEEKDAY})", re.I
)


def dates_of(content: str, on: date) -> set[str]:
    """Every date, month and year a text means that was said on this day, as amounts."""
    plain = unicodedata.normalize("NFKC", content)
    found = {said for day in _days(plain, on) for said in _said_of(day)}
    found |= {said for first in _months(plain, on) for said in (f"month {first.month}", str(first.year))}
    found |= {str(year) for year in _years(plain, on)}
    for window in dates.windows(plain, asked=on):
        if window.end - window.start == timedelta(days=1):
            found |= _said_of(window.start)
    if any(re.fullmatch(r"\d+-\d+|month \d+", amount) for amount in amounts.amounts_in(plain)):
        found.add(str(on.year))  # «on 3 May» is of this year
    return found


def _said_of(day: date) -> set[str]:
    said = f"{day.month}-{day.day}"
    return {str(day.year), said, _WEEKDAYS[day.weekday()], *amounts.implied(said)}


def _days(said: str, on: date) -> Iterator[date]:
    yield from (on + timedelta(days=off) for pattern, off in _DAYS if pattern.search(said))
    for sign, pattern in ((-1, _AGO), (1, _IN)):
        for count, unit in _counted(pattern, said):
            if unit in _UNITS:
                yield on + timedelta(days=sign * count * _UNITS[unit])
    monday = on - timedelta(days=on.weekday())
    for match in _OF_NEXT_WEEK.finditer(said):
        yield monday + timedelta(days=7 + _weekday(match))
    for match in _OF_SOME_WEEK.finditer(said):
        ahead = (_weekday(match) - on.weekday()) % 7 or 7
        yield from (on + timedelta(days=ahead), on + timedelta(days=ahead - 7))


def _weekday(match: re.Match[str]) -> int:
    return _WEEKDAYS.index(match[1].lower()) if match[1] else min("一二三四五六日天".index(match[2]), 6)


def _months(said: str, on: date) -> Iterator[date]:
    off = [months for pattern, months in _MONTHS_OFF if pattern.search(said)]
    off += [
        sign * count for sign, pattern in ((-1, _AGO), (1, _IN)) for count, unit in _counted(pattern, said)
        if unit in _MONTHS
    ]  # fmt: skip
    for months in off:
        count = on.year * 12 + on.month - 1 + months
        yield date(count // 12, count % 12 + 1, 1)


def _years(said: str, on: date) -> Iterator[int]:
    yield from (on.year + off for pattern, off in _YEARS_OFF if pattern.search(said))
    for sign, pattern in ((-1, _AGO), (1, _IN)):
        yield from (on.year + sign * count for count, unit in _counted(pattern, said) if unit in ("year", "年"))


def _counted(pattern: re.Pattern[str], said: str) -> Iterator[tuple[int, str]]:
    for match in pattern.finditer(said):
        count, unit = (match[1], match[2]) if match[1] else (match[3], match[4])
        number = _WORDS.get(count.lower())
        if number is None and "半" not in count:
            number = amounts.numeral(count)
        if number is not None:
            yield number, unit.lower()
