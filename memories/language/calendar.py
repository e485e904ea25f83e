"""The stretches of time a text names: dates of the calendar, and times counted from the day of the text (C5, D5).

Pure arithmetic on local days: no clock, no zone. «recently», 最近, 上次 name no days and are left alone. Patterns are
tried in order, and what one matches is taken out of the text, so that «6 May 2023» is not «May» as well.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from functools import partial

from memories.language.amounts import amounts_in, count_of, implied
from memories.language.word_lists import deferred, source, words

#: The first day and the day after the last.
Stretch = tuple[date, date]
#: The named groups of a pattern that matched.
Groups = Mapping[str, str | None]
#: From what matched, its words and the day it is asked to the days that are meant; None: none.
_Reckoning = Callable[[Groups, str, date], Stretch | None]

# -- how people name a day, a month or a stretch of time, in English and in both scripts of Chinese

_MONTHS = {name: number for number, name in enumerate(words("calendar", "months"), start=1)}
_MONTHS |= {name[:3]: number for name, number in _MONTHS.items()} | {"sept": 9}
_WEEKDAYS = {name: n for n, name in enumerate(words("calendar", "weekdays"))}
_WEEKDAYS |= {name[:3]: n for name, n in _WEEKDAYS.items()} | {"tues": 1, "weds": 2, "thur": 3, "thurs": 3}
_WEEKDAYS |= {"一": 0, "二": 1, "三": 2, "四": 3, "五": 4, "六": 5, "日": 6, "天": 6}
#: Days of every year that have a name: month, first day, how many.
_HOLIDAYS = {
    **dict.fromkeys(("国庆", "國慶", "十一假期"), (10, 1, 7)),
    **dict.fromkeys(("五一", "劳动节", "勞動節"), (5, 1, 5)),
    **dict.fromkeys(("元旦", "new year's day"), (1, 1, 1)),
    **dict.fromkeys(("圣诞", "聖誕", "christmas"), (12, 24, 3)),
    **dict.fromkeys(("平安夜", "christmas eve"), (12, 24, 1)),
    **dict.fromkeys(("万圣节", "萬聖節", "halloween"), (10, 31, 1)),
    **dict.fromkeys(("情人节", "情人節", "valentine's day", "valentines"), (2, 14, 1)),
    "new year's eve": (12, 31, 1),
}
#: The month a season begins in.
_SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12, "春": 3, "夏": 6, "秋": 9, "冬": 12}
_YEARS_BACK = {"今年": 0, "去年": 1, "前年": 2}
#: Numbers nobody counted: such a time is twice as vague.
_VAGUE = {"a couple": 2.0, "a couple of": 2.0, "a few": 3.0, "few": 3.0, "several": 3.0}
_VAGUE |= {"other": 4.0, "几": 3.0, "幾": 3.0, "数": 3.0, "數": 3.0, "好几": 4.0, "好幾": 4.0}
_COUNTS = {"a": 1.0, "an": 1.0, "half a": 0.5, "半": 0.5} | _VAGUE
_DIGITS = {digit: number for number, digit in enumerate("〇一二三四五六七八九十")}
_DIGITS |= {"零": 0, "两": 2, "兩": 2, "俩": 2, "倆": 2, "廿": 20}
_UNITS = {
    "day": "day",
    "week": "week",
    "fortnight": "fortnight",
    "month": "month",
    "year": "year",
    "天": "day",
    "日": "day",
    "月": "month",
}
_UNITS |= {"周": "week", "週": "week", "星期": "week", "礼拜": "week", "禮拜": "week", "年": "year"}
#: Parts of a month and of a year, as days and as months.
_MONTH_PARTS = {
    **dict.fromkeys(("上旬", "初", "月初", "early", "beginning of", "start of"), "early"),
    **dict.fromkeys(("中旬", "中", "mid", "middle of"), "middle"),
    **dict.fromkeys(("下旬", "底", "末", "月底", "月末", "late", "end of"), "late"),
}
_YEAR_PARTS = {"初": (1, 2), "底": (11, 12), "末": (11, 12), "上半年": (1, 6), "下半年": (7, 12)}

_MONTH = rf"(?P<month>{'|'.join(sorted(_MONTHS, key=len, reverse=True))})\b"
_YEAR = r"(?P<year>(?:19|20)\d\d)"
_DAY = r"(?P<day>[0-3]?\d)(?:st|nd|rd|th)?\b"
_NUMBER_WORDS = source("calendar", "count_in_words")
_BEGINS, _ZH_BEGINS = source("calendar", "count_begins"), source("calendar", "zh_count_begins")
_COUNT = rf"{_BEGINS}(?P<count>\d{{1,3}}(?:\.\d\d?)?|{'|'.join(filter(str.isascii, _COUNTS))}|{_NUMBER_WORDS})"
_UNIT = r"(?P<unit>day|week|fortnight|month|year)s?"
_BACK = r"(?P<back>last|the past|this past|this|previous)"
_ZH_COUNT = rf"{_ZH_BEGINS}(?P<count>\d{{1,3}}(?:\.\d\d?)?|好[几幾]|[〇零一二三四五六七八九十两兩几幾数數半廿]{{1,3}})"
_ZH_UNIT = rf"(?P<unit>天|日|{source('calendar', 'zh_week')}|月|年)"
_ZH_MONTH = r"(?P<month>\d{1,2}|十[一二]?|[一二三四五六七八九])\s*月"
_ZH_DAY = r"(?P<day>\d{1,2}|[二三]?十[一二三四五六七八九]?|廿[一二三四五六七八九]?|[一二三四五六七八九])"
_ZH_PART = r"(?:份|份的)?(?P<part>上旬|中旬|下旬|月初|月底|月末|初|中|底|末)?"
_ZH_YEAR_PART = r"(?P<part>初|底|末|上半年|下半年)?"
_ZH_BACK = r"(?P<times>上{1,2}|这|這|本|当|當)[个個]?"
_ZH_WEEK = rf"(?:{source('calendar', 'zh_week')})"
_ZH_YEAR = r"(?P<which>去年|前年|今年)"
_ZH_WEEKDAY = rf"{_ZH_WEEK}(?P<weekday>{source('calendar', 'zh_weekday')})"
_WEEKDAY = rf"(?P<weekday>{source('calendar', 'weekdays')})s?"
_SHORT_WEEKDAY = r"(?P<weekday>mon|tues?|weds?|thu(?:rs?)?|fri|sat|sun)\b"
_IN_MONTH = r"(?:(?P<part>early|beginning of|start of|mid|middle of|late|end of)\s+)?"


#: A year in Chinese digits, before it is written in others.
_CHINESE_YEAR = deferred(r"[一二][〇零一二三四五六七八九]{3}(?=\s*年)")
#: Dates of the calendar, the most exact first.
_ABSOLUTE = [
    deferred(pattern, re.IGNORECASE)
    for pattern in (
        rf"\b{_YEAR}[-/.](?P<month>[01]?\d)[-/.](?P<day>[0-3]?\d)\b",
        rf"\b{_YEAR}[-/.](?P<month>0\d|1[0-2]|[1-9])(?!\d)",
        rf"{_YEAR}\s*年\s*{_ZH_MONTH}\s*{_ZH_DAY}\s*[日号號]?(?!\d)",
        rf"{_ZH_YEAR}的?\s*{_ZH_MONTH}\s*{_ZH_DAY}\s*[日号號]",
        rf"(?<![\d年]){_ZH_MONTH}\s*{_ZH_DAY}\s*[日号號]",
        rf"{_YEAR}\s*年\s*{_ZH_MONTH}{_ZH_PART}",
        rf"{_ZH_YEAR}的?\s*{_ZH_MONTH}{_ZH_PART}",
        rf"(?<![\d个個]){_ZH_MONTH}{_ZH_PART}(?!\d)",
        rf"{_YEAR}\s*年{_ZH_YEAR_PART}",
        rf"\b{_DAY}\s+(?:of\s+)?{_MONTH}\.?,?(?:\s+{_YEAR})?\b",
        rf"\b{_MONTH}\.?\s+(?:the\s+)?{_DAY}(?:,?\s*{_YEAR})?\b",
        rf"\b(?:(?P<part>early|mid|late)[- ])?{_MONTH}\.?,?\s+(?:of\s+)?{_YEAR}\b",
        rf"\b(?P<which>last)\s+{_MONTH}",
        r"\b(?:(?P<part>early|mid|late|beginning of|middle of|end of)[- ]|in |during |since |throughout |of |by |until "
        rf"|this )(?:(?:the )?month of )?{_MONTH}",
        rf"\b(?:in|during|of|since|throughout|year)\s+{_YEAR}\b",
    )
]

# -- from the words of a date to its days

_ONE_DAY = timedelta(days=1)
_COUNTED_BACK = deferred(r"(?:\b(?:ago|back|earlier)|前)$", re.IGNORECASE)
_DAYS = {"day": 1.0, "week": 7.0, "fortnight": 14.0, "month": 30.44, "year": 365.25}
#: The last N units reach back so many days: months and years at their longest.
_LONGEST = {"day": 1, "week": 7, "fortnight": 14, "month": 31, "year": 366}


@dataclass(frozen=True)
class Window:
    """Some days in a row, and the words that name them."""

    start: date
    end: date  # the day after
    words: str

    @property
    def nearest(self) -> Stretch | None:
        """Of a time counted back («three days ago») the days it names; the rest allows for how people count."""
        days = (self.end - self.start).days
        if not _COUNTED_BACK.search(self.words) or days < 3 or days % 2 == 0:
            return None
        middle, around = self.start + days // 2 * _ONE_DAY, days // 8 * _ONE_DAY
        return middle - around, middle + around + _ONE_DAY


def windows(text: str, *, today: date | None = None, years: Callable[[], Iterable[int]] = tuple) -> list[Window]:
    """What a text names, dates of the calendar first.

    `today` is the local day of the question; without it «yesterday» means nothing. `years` tells in which years a date
    without a year may be meant; it is called only when one is named.
    """
    named_windows: list[Window] = []

    def take(match: re.Match[str], stretches: list[Stretch] | None) -> str:
        """What is left of a match: nothing of one that names these stretches, all of one that names none."""
        if stretches is None:
            return match.group()
        named_windows.extend(Window(start, end, match.group().strip()) for start, end in stretches)
        return " "

    def take_counted(reckoned: _Reckoning, today: date, match: re.Match[str]) -> str:
        stretch = reckoned(match.groupdict(), match.group().lower(), today)
        return take(match, None if stretch is None else [stretch])

    plain = unicodedata.normalize("NFKC", text)
    rest = _CHINESE_YEAR.sub(lambda year: "".join(str(_DIGITS[digit]) for digit in year.group()), plain)
    for pattern in _ABSOLUTE:
        rest = pattern.sub(lambda match: take(match, _absolute(match.groupdict(), today, years)), rest)
    if today is not None:
        for reckoned, pattern in _RELATIVE:
            rest = pattern.sub(partial(take_counted, reckoned, today), rest)
    return named_windows


def _absolute(groups: Groups, today: date | None, years: Callable[[], Iterable[int]]) -> list[Stretch] | None:
    """The days of a date of the calendar; one without a year is meant in each of these. None: it is no date."""
    name, day = groups.get("month"), _number(groups.get("day"))
    month = _MONTHS.get((name or "").lower()) or _number(name)
    if (month is not None and not 1 <= month <= 12) or (day is not None and not 1 <= day <= 31):
        return None
    which, part = (groups.get("which") or "").lower(), groups.get("part")
    if which and today is None:
        return None
    if which and month and today:
        back = int(month >= today.month) if which == "last" else _YEARS_BACK[which]
        likely_years: Iterable[int] = [today.year - back]
    else:
        likely_years = [int(groups["year"] or 0)] if groups.get("year") else years()
    if month is None:
        return [_year_of(year, part) for year in likely_years]
    stretches = [_day_of(year, month, day) if day else _month_of(year, month, part) for year in likely_years]
    return [stretch for stretch in stretches if stretch]


def _month_of(year: int, month: int, part: str | None = None) -> Stretch:
    """A month, or its first ten days, the ten after them, or the rest."""
    first, after = date(year, month, 1), _shifted(date(year, month, 1), 1)
    thirds = {"early": (first, first + 10 * _ONE_DAY), "middle": (first + 10 * _ONE_DAY, first + 20 * _ONE_DAY)}
    thirds["late"] = (first + 20 * _ONE_DAY, after)
    return thirds.get(_MONTH_PARTS.get((part or "").lower(), ""), (first, after))


def _year_of(year: int, part: str | None = None) -> Stretch:
    """A year, or its half, its first or its last two months."""
    first, last = _YEAR_PARTS.get(part or "", (1, 12))
    return date(year, first, 1), _shifted(date(year, last, 1), 1)


def _shifted(day: date, months: int) -> date:
    """The first of the month so many months later."""
    count = day.year * 12 + day.month - 1 + months
    return date(count // 12, count % 12 + 1, 1)


def _day_of(year: int, month: int, day: int) -> Stretch | None:
    try:
        first = date(year, month, day)
    except ValueError:  # 29 February of most years
        return None
    return first, first + _ONE_DAY


def _number(text: str | None) -> int | None:
    """A whole number in digits or in Chinese below a hundred."""
    text = (text or "").strip()
    if text.isdecimal():
        return int(text)
    if text in _DIGITS:
        return _DIGITS[text]
    tens, ten, ones = text.replace("廿", "二十").partition("十")
    if ten and all(not digit or digit in _DIGITS for digit in (tens, ones)):
        return (_DIGITS[tens] if tens else 1) * 10 + (_DIGITS[ones] if ones else 0)
    return None


def _count(text: str | None) -> float | None:
    count = (text or "").strip().lower()
    if count in _COUNTS:
        return _COUNTS[count]
    return count_of(count) if count.isascii() and count else _number(count)


def _ago(groups: Groups, words: str, today: date) -> Stretch | None:
    """Around that day; the longer ago, the less exactly people count."""
    count, unit = _count(groups["count"]), _UNITS[(groups["unit"] or "").lower()]
    if count is None:
        return None
    days = _DAYS[unit] * (count + (0.5 if groups.get("half") else 0.0))
    month = max(15, days * 0.2) if days > 20 else 5
    day = min(days // 3, 1) + (days >= 8)
    off = {"day": day, "week": 3, "fortnight": 3, "month": month, "year": days * 0.25}[unit]
    if (groups["count"] or "").lower() in _VAGUE:
        off = days * 0.5 + 1
    middle, around = today - timedelta(days=round(days)), timedelta(days=round(off))
    return middle - around, middle + around + _ONE_DAY


def _past(groups: Groups, words: str, today: date) -> Stretch | None:
    count = _count(groups["count"])
    if count is None:
        return None
    return today - timedelta(days=round(_LONGEST[_UNITS[(groups["unit"] or "").lower()]] * count)), today + _ONE_DAY


def _day(groups: Groups, words: str, today: date) -> Stretch:
    back = 0
    two = ("前", "the day", "the night", "night before")
    for days, starts in ((3, ("大前",)), (2, two), (1, ("昨", "yesterday", "last"))):
        if words.startswith(starts):
            back = days
            break
    return today - back * _ONE_DAY, today - (back - 1) * _ONE_DAY


def _weekday(groups: Groups, words: str, today: date) -> Stretch:
    """The day of the week before, as 上周三 says; otherwise the most recent one before today."""
    weekday = _WEEKDAYS[(groups["weekday"] or "").lower()]
    times = groups.get("times") or ""
    weeks = times.count("上") if not times.isascii() else 1
    day = _monday(today) - 7 * weeks * _ONE_DAY + weekday * _ONE_DAY
    if not times:
        day = today - ((today.weekday() - weekday - 1) % 7 + 1) * _ONE_DAY
    return day, day + _ONE_DAY


def _weekday_ago(groups: Groups, words: str, today: date) -> Stretch:
    """«Two Fridays ago» is the week before the most recent one."""
    latest, _ = _weekday({"weekday": groups["weekday"]}, words, today)
    day = latest - 7 * (round(_count(groups["count"]) or 1) - 1) * _ONE_DAY
    return day, day + _ONE_DAY


def _month_day(groups: Groups, words: str, today: date) -> Stretch | None:
    """«On the 4th», the most recent one that is not to come."""
    number = _number(groups["day"]) or 0
    for back in range(3):
        first = _shifted(today, -back)
        stretch = _day_of(first.year, first.month, number)
        if stretch and stretch[0] <= today:
            return stretch
    return None


def _holiday(groups: Groups, words: str, today: date) -> Stretch:
    """The latest that has begun."""
    month, day, days = _HOLIDAYS[(groups["holiday"] or "").lower()]
    first = date(today.year, month, day)
    first = first if first <= today else first.replace(year=today.year - 1)
    return first, first + days * _ONE_DAY


def _weekend(groups: Groups, words: str, today: date) -> Stretch:
    """On a Saturday «this past weekend» may be the one that has begun."""
    back = _times_back(groups)
    if groups.get("back") == "the":
        back = int(today.weekday() < 5)
    saturday = _monday(today) + 5 * _ONE_DAY - 7 * back * _ONE_DAY
    return saturday, saturday + 2 * _ONE_DAY


def _week(groups: Groups, words: str, today: date) -> Stretch:
    monday = _monday(today) - 7 * _times_back(groups) * _ONE_DAY
    return monday, monday + 7 * _ONE_DAY


def _month_back(groups: Groups, words: str, today: date) -> Stretch:
    first = _shifted(today, -_times_back(groups))
    return _month_of(first.year, first.month, groups.get("part"))


def _season(groups: Groups, words: str, today: date) -> Stretch:
    """«Last summer» is the latest that is over."""
    month = _SEASONS[(groups["season"] or "").lower()]
    first = date(today.year, month, 1)
    if which := groups.get("which"):
        first = date(today.year - _YEARS_BACK[which], month, 1)
    elif first > (today if (groups.get("back") or "").lower() == "this" else _shifted(today, -3)):
        first = date(today.year - 1, month, 1)
    return first, _shifted(first, 3)


def _year(groups: Groups, words: str, today: date) -> Stretch:
    which = groups.get("which")
    return _year_of(today.year - (_YEARS_BACK[which] if which else _times_back(groups)), groups.get("part"))


def _times_back(groups: Groups) -> int:
    """How many weeks, months or years back: 上上 is two, «this» is none."""
    times = groups.get("times")
    if times:
        return len(times) if times.startswith("上") else 0
    back = (groups.get("back") or "").lower()
    return 2 if back == "before" else int(back != "this")


def _monday(day: date) -> date:
    return day - day.weekday() * _ONE_DAY


#: Times counted from the day of the question, with how they are reckoned.
_RELATIVE: list[tuple[_Reckoning, re.Pattern[str]]] = [
    (reckoned, deferred(pattern, re.IGNORECASE))
    for reckoned, pattern in (
        (_ago, rf"\b(?:about |around |roughly )?{_COUNT}\s+{_UNIT}\s+(?:ago|back|earlier)\b"),
        (_ago, rf"(?:大约|大約|大概)?{_ZH_COUNT}\s*(?:[个個](?P<half>半)?)?{_ZH_UNIT}[之以]?前"),
        (_past, rf"\b(?:in |over |during |within )?the (?:last|past)\s+{_COUNT}\s+{_UNIT}\b"),
        (_past, rf"(?:最近|过去|過去|近|这|這|前)的?[这這]?{_ZH_COUNT}\s*[个個]?{_ZH_UNIT}"),
        (
            _day,
            r"\bthe day before yesterday\b|大前[天晚]|前[天晚日](?!后)|\byesterday\b|\blast night\b|昨[天晚日夜]"
            r"|\btoday\b|\btonight\b|\bthis (?:morning|afternoon|evening)\b|今[天早晚日晨]"
            r"|大?前[儿兒](?!子)|[昨今][儿兒](?!子)"
            r"|\b(?:the )?night before last\b|\bthe day before last\b",
        ),
        (_ago, r"\bthe (?P<count>other) (?P<unit>day|week)\b"),
        (_weekday_ago, rf"{_BEGINS}(?P<count>two|three|four) {_WEEKDAY} ago\b"),
        (_weekday, rf"\b{_WEEKDAY}(?: (?:morning|afternoon|evening|night))?(?P<times> (?:of )?last week)"),
        (_weekday, rf"\blast week(?:'s|s)?(?P<times> (?:on )?){_WEEKDAY}"),
        (_weekday, rf"(?P<times>[这這本])[个個]?{_ZH_WEEKDAY}"),
        (_weekday, rf"(?P<times>上{{1,2}})[个個]?{_ZH_WEEKDAY}"),
        (_weekday, rf"\b(?:last|this past|this|past)\s+{_WEEKDAY}\b"),
        (_weekday, rf"\b(?:last|this past|this|past|on)\s+{_SHORT_WEEKDAY}"),
        (_weekend, r"\b(?P<back>last|this past|this)\s+weekend\b"),
        (_weekend, r"\b(?:over|at|on|during) (?P<back>the) weekend\b(?! (?:before|after|of)\b)"),
        (_weekend, rf"{_ZH_BACK}[周週]末"),
        (_week, r"\b(?:the )?week (?P<back>before) last\b"),
        (_month_back, r"\b(?:the )?month (?P<back>before) last\b"),
        (_week, rf"\b{_BACK}\s+week\b"),
        (_week, rf"{_ZH_BACK}{_ZH_WEEK}(?![一二三四五六日天末])"),
        (_month_back, rf"\b{_IN_MONTH}{_BACK}\s+month\b"),
        (_month_back, rf"{_ZH_BACK}月(?P<part>初|底|末|中旬|上旬|下旬)?"),
        (_season, r"\b(?P<back>last|this past|this)\s+(?P<season>spring|summer|autumn|fall|winter)\b"),
        (_season, rf"{_ZH_YEAR}的?(?P<season>[春夏秋冬])[天季]?"),
        (_year, rf"\b{_BACK}\s+year\b"),
        (_year, rf"{_ZH_YEAR}{_ZH_YEAR_PART}"),
        (_weekday, rf"\bon\s+{_WEEKDAY}\b"),
        (_weekday, rf"\b{_WEEKDAY}(?=\s+(?:morning|afternoon|evening|night)\b)"),
        (_holiday, rf"(?P<holiday>{'|'.join(sorted(_HOLIDAYS, key=len, reverse=True))})"),
        (_month_day, r"\bon the (?P<day>[0-3]?\d)(?:st|nd|rd|th)\b(?! (?:of|floor|street|time|page|place))"),
        (_month_day, rf"(?<![\d月一二三四五六七八九十第]){_ZH_DAY}[号號](?![楼樓线線码碼店门門机機院桌车車房])"),
        (_weekday, rf"(?<![上下这這本每]){_ZH_WEEKDAY}(?![个個])"),
    )
]


# -- the dates a text means that is written on a certain day, as amounts

_WEEKDAY_NAMES = words("calendar", "weekdays")
_CHINESE_WEEKDAY = source("calendar", "zh_weekday")
_PLAIN_COUNT = rf"{_BEGINS}(\d{{1,3}}|an?|{_NUMBER_WORDS})"
_ZH_PLAIN_COUNT = rf"{_ZH_BEGINS}(\d{{1,3}}|[一二两兩三四五六七八九十]{{1,3}})"
#: So many days from the day of the text.
_DAYS_OFF = (
    (deferred(r"\b(?:today|tonight|just|now|this (?:morning|afternoon|evening))\b|今[天早晚日]|刚刚|刚|剛", re.I), 0),
    (deferred(r"(?<!day after )\btomorrow\b|明[天早晚日]", re.I), 1),
    (deferred(r"\bday after tomorrow\b|(?<!大)[后後]天", re.I), 2),
    (deferred(r"大[后後]天"), 3),
    (deferred(r"(?<!day before )\byesterday\b|\blast night\b|昨[天晚日夜]", re.I), -1),
    (deferred(r"\bday before yesterday\b|(?<!大)前[天晚日]", re.I), -2),
    (deferred("大前[天晚]"), -3),
)
_MONTHS_OFF = (
    (deferred(r"\bnext month\b|下个?月|下個月", re.I), 1),
    (deferred(r"\blast month\b|上个?月|上個月", re.I), -1),
    (deferred(r"\bthis month\b|这个?月|這個月|本月", re.I), 0),
)
_YEARS_OFF = (
    (deferred(r"\bnext (?:year|spring|summer|autumn|fall|winter)\b|明年", re.I), 1),
    (deferred("[后後]年"), 2),
    (deferred(r"\blast (?:year|spring|summer|autumn|fall|winter)\b|去年", re.I), -1),
    (deferred("前年"), -2),
    (deferred(r"\bthis (?:year|spring|summer|autumn|fall|winter)\b|今年", re.I), 0),
)
_AGO_IN_WORDS = deferred(
    rf"{_PLAIN_COUNT} (day|week|month|year)s? ago\b|{_ZH_PLAIN_COUNT}[个個]?(天|日|周|週|星期|月|年)[之以]?前", re.I
)
_IN_WORDS = deferred(
    rf"\bin {_PLAIN_COUNT} (day|week|month|year)s?\b|{_ZH_PLAIN_COUNT}[个個]?(天|日|周|週|星期|月|年)[之以]?[后後]",
    re.I,
)
_OF_NEXT_WEEK = deferred(rf"\bnext ({'|'.join(_WEEKDAY_NAMES)})\b|下[个個]?{_ZH_WEEK}({_CHINESE_WEEKDAY})", re.I)
_OF_SOME_WEEK = deferred(
    rf"(?<!every )\b({'|'.join(_WEEKDAY_NAMES)})\b|(?<![上下每])(?<![上下每][个個]){_ZH_WEEK}({_CHINESE_WEEKDAY})",
    re.I,
)


def dates_of(content: str, on: date) -> set[str]:
    """Every date, month and year that a text of this day means, as amounts."""
    plain = unicodedata.normalize("NFKC", content)
    offsets: dict[str, list[int]] = {
        "day": [off for pattern, off in _DAYS_OFF if pattern.search(plain)],
        "week": [],
        "month": [off for pattern, off in _MONTHS_OFF if pattern.search(plain)],
        "year": [off for pattern, off in _YEARS_OFF if pattern.search(plain)],
    }
    for sign, pattern in ((-1, _AGO_IN_WORDS), (1, _IN_WORDS)):
        for match in pattern.finditer(plain):
            count, unit = match[1] or match[3], _UNITS[(match[2] or match[4]).lower()]
            if number := _count(count):
                offsets[unit].append(sign * int(number))
    days = offsets["day"] + [7 * weeks for weeks in offsets["week"]]
    # of next week, and of a week that is not named: ahead or just over
    next_week, some_week = (
        [_WEEKDAYS[(match[1] or match[2]).lower()] - on.weekday() for match in pattern.finditer(plain)]
        for pattern in (_OF_NEXT_WEEK, _OF_SOME_WEEK)
    )
    days += [7 + off for off in next_week]
    ahead = [off % 7 or 7 for off in some_week]
    days += ahead + [off - 7 for off in ahead]
    likely_days = {on + timedelta(days=off) for off in days}
    spans = windows(plain, today=on)
    likely_days |= {window.start for window in spans if window.end - window.start == _ONE_DAY}
    dates = {str(on.year + off) for off in offsets["year"]}
    for day in likely_days:
        amount = f"{day.month}-{day.day}"
        dates |= {str(day.year), amount, _WEEKDAY_NAMES[day.weekday()], *implied(amount)}
    for off in offsets["month"]:
        first = _shifted(on, off)
        dates |= {f"month {first.month}", str(first.year)}
    if any(re.fullmatch(r"\d+-\d+|month \d+", amount) for amount in amounts_in(plain)):
        dates.add(str(on.year))  # «on 3 May» is of this year
    return dates
