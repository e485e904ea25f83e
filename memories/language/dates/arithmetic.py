"""From the words of a date to its days: arithmetic on local days, a stretch is its first day and the day after it."""

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import date, timedelta

from memories.language.dates.patterns import (
    COUNTS,
    DIGITS,
    HOLIDAYS,
    MONTH_PARTS,
    MONTHS,
    SEASONS,
    UNITS,
    VAGUE,
    WEEKDAYS,
    YEAR_PARTS,
    YEARS_BACK,
)

Stretch = tuple[date, date]
#: The named groups of a pattern that matched.
Groups = Mapping[str, str | None]
DAY = timedelta(days=1)
COUNTED_BACK = re.compile(r"(?:\b(?:ago|back|earlier)|前)$", re.IGNORECASE)
DAYS = {"day": 1.0, "week": 7.0, "fortnight": 14.0, "month": 30.44, "year": 365.25}
#: The last N units reach back so many days: months and years at their longest.
LONGEST = {"day": 1, "week": 7, "fortnight": 14, "month": 31, "year": 366}


def absolute(found: Groups, asked: date | None, years: Callable[[], Iterable[int]]) -> list[Stretch] | None:
    """The days of a date of the calendar; one without a year is meant in each of these. None: it is no date."""
    month, day = _month(found.get("month")), _number(found.get("day"))
    if (month is not None and not 1 <= month <= 12) or (day is not None and not 1 <= day <= 31):
        return None
    which, part = found.get("which"), found.get("part")
    if which and asked is None:
        return None
    if which and month and asked:
        meant: Iterable[int] = [_year_meant(which.lower(), month, asked)]
    else:
        meant = [int(found["year"] or 0)] if found.get("year") else years()
    if month is None:
        return [year_of(year, part) for year in meant]
    stretches = [_day_of(year, month, day) if day else month_of(year, month, part) for year in meant]
    return [stretch for stretch in stretches if stretch]


def relative(kind: str, found: Groups, words: str, asked: date) -> Stretch | None:
    """The days of a time counted from the day of the question. None: its number is none."""
    return _RECKONING[kind](found, words.lower(), asked)


def month_of(year: int, month: int, part: str | None = None) -> Stretch:
    """A month, or its first ten days, the ten after them, or the rest."""
    first, after = date(year, month, 1), shifted(date(year, month, 1), 1)
    thirds = {"early": (first, first + 10 * DAY), "middle": (first + 10 * DAY, first + 20 * DAY)}
    thirds["late"] = (first + 20 * DAY, after)
    return thirds.get(MONTH_PARTS.get((part or "").lower(), ""), (first, after))


def year_of(year: int, part: str | None = None) -> Stretch:
    """A year, or its half, its first or its last two months."""
    first, last = YEAR_PARTS.get(part or "", (1, 12))
    return date(year, first, 1), shifted(date(year, last, 1), 1)


def shifted(day: date, months: int) -> date:
    """The first of the month so many months later."""
    count = day.year * 12 + day.month - 1 + months
    return date(count // 12, count % 12 + 1, 1)


def _day_of(year: int, month: int, day: int) -> Stretch | None:
    try:
        first = date(year, month, day)
    except ValueError:  # 29 February of most years
        return None
    return first, first + DAY


def _year_meant(which: str, month: int, asked: date) -> int:
    return asked.year - (month >= asked.month) if which == "last" else asked.year - YEARS_BACK[which]


def _month(text: str | None) -> int | None:
    return MONTHS.get((text or "").lower()) or _number(text)


def _number(text: str | None) -> int | None:
    """A whole number in digits or in Chinese below a hundred."""
    text = (text or "").strip()
    if text.isdecimal():
        return int(text)
    if text in DIGITS:
        return DIGITS[text]
    tens, ten, ones = text.replace("廿", "二十").partition("十")
    if ten and all(not digit or digit in DIGITS for digit in (tens, ones)):
        return (DIGITS[tens] if tens else 1) * 10 + (DIGITS[ones] if ones else 0)
    return None


def _count(text: str | None) -> float | None:
    known = COUNTS.get((text or "").strip().lower())
    return known if known is not None else _number(text)


def _ago(found: Groups, words: str, asked: date) -> Stretch | None:
    """Around that day; the longer ago, the less exactly people count."""
    count, unit = _count(found["count"]), UNITS[(found["unit"] or "").lower()]
    if count is None:
        return None
    days = DAYS[unit] * count
    month = max(15, days * 0.2) if days > 20 else 5
    day = min(days // 3, 1) + (days >= 8)
    off = {"day": day, "week": 3, "fortnight": 3, "month": month, "year": days * 0.25}[unit]
    if (found["count"] or "").lower() in VAGUE:
        off = days * 0.5 + 1
    middle, around = asked - timedelta(days=round(days)), timedelta(days=round(off))
    return middle - around, middle + around + DAY


def nearest(words: str, start: date, end: date) -> Stretch | None:
    """Of a time counted back («three days ago») the days it names; the rest allows for how people count."""
    days = (end - start).days
    if not COUNTED_BACK.search(words) or days < 3 or days % 2 == 0:
        return None
    middle, around = start + days // 2 * DAY, days // 8 * DAY
    return middle - around, middle + around + DAY


def _past(found: Groups, words: str, asked: date) -> Stretch | None:
    count = _count(found["count"])
    if count is None:
        return None
    return asked - timedelta(days=round(LONGEST[UNITS[(found["unit"] or "").lower()]] * count)), asked + DAY


def _day(found: Groups, words: str, asked: date) -> Stretch:
    back = 0
    two = ("前", "the day", "the night", "night before")
    for days, starts in ((3, ("大前",)), (2, two), (1, ("昨", "yesterday", "last"))):
        if words.startswith(starts):
            back = days
            break
    return asked - back * DAY, asked - (back - 1) * DAY


def _weekday(found: Groups, words: str, asked: date) -> Stretch:
    """The day of the week before, as 上周三 says; otherwise the most recent one before today."""
    weekday = WEEKDAYS[(found["weekday"] or "").lower()]
    times = found.get("times") or ""
    weeks = times.count("上") if not times.isascii() else 1
    day = _monday(asked) - 7 * weeks * DAY + weekday * DAY
    if not times:
        day = asked - ((asked.weekday() - weekday - 1) % 7 + 1) * DAY
    return day, day + DAY


def _weekday_ago(found: Groups, words: str, asked: date) -> Stretch:
    """«Two Fridays ago» is the week before the most recent one."""
    latest, _ = _weekday({"weekday": found["weekday"]}, words, asked)
    day = latest - 7 * (round(_count(found["count"]) or 1) - 1) * DAY
    return day, day + DAY


def _month_day(found: Groups, words: str, asked: date) -> Stretch | None:
    """«On the 4th», the most recent one that is not to come."""
    number = _number(found["day"]) or 0
    for back in range(3):
        first = shifted(asked, -back)
        stretch = _day_of(first.year, first.month, number)
        if stretch and stretch[0] <= asked:
            return stretch
    return None


def _holiday(found: Groups, words: str, asked: date) -> Stretch:
    """The latest that has begun."""
    month, day, days = HOLIDAYS[(found["holiday"] or "").lower()]
    first = date(asked.year, month, day)
    first = first if first <= asked else first.replace(year=asked.year - 1)
    return first, first + days * DAY


def _weekend(found: Groups, words: str, asked: date) -> Stretch:
    """On a Saturday «this past weekend» may be the one that has begun."""
    back = _times_back(found)
    if found.get("back") == "the":
        back = int(asked.weekday() < 5)
    saturday = _monday(asked) + 5 * DAY - 7 * back * DAY
    return saturday, saturday + 2 * DAY


def _week(found: Groups, words: str, asked: date) -> Stretch:
    monday = _monday(asked) - 7 * _times_back(found) * DAY
    return monday, monday + 7 * DAY


def _month_back(found: Groups, words: str, asked: date) -> Stretch:
    first = shifted(asked, -_times_back(found))
    return month_of(first.year, first.month, found.get("part"))


def _season(found: Groups, words: str, asked: date) -> Stretch:
    """«Last summer» is the latest that is over."""
    month = SEASONS[(found["season"] or "").lower()]
    first = date(asked.year, month, 1)
    if which := found.get("which"):
        first = date(asked.year - YEARS_BACK[which], month, 1)
    elif first > (asked if (found.get("back") or "").lower() == "this" else shifted(asked, -3)):
        first = date(asked.year - 1, month, 1)
    return first, shifted(first, 3)


def _year(found: Groups, words: str, asked: date) -> Stretch:
    which = found.get("which")
    return year_of(asked.year - (YEARS_BACK[which] if which else _times_back(found)), found.get("part"))


def _times_back(found: Groups) -> int:
    """How many weeks, months or years back: 上上 is two, «this» is none."""
    times = found.get("times")
    if times:
        return len(times) if times.startswith("上") else 0
    back = (found.get("back") or "").lower()
    return 2 if back == "before" else int(back != "this")


def _monday(day: date) -> date:
    return day - day.weekday() * DAY


_RECKONING: dict[str, Callable[[Groups, str, date], Stretch | None]] = {
    "ago": _ago,
    "past": _past,
    "day": _day,
    "weekday": _weekday,
    "weekday_ago": _weekday_ago,
    "month_day": _month_day,
    "holiday": _holiday,
    "weekend": _weekend,
    "week": _week,
    "month": _month_back,
    "season": _season,
    "year": _year,
}
