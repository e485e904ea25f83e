"""The date ranges a question names, and whether it asks about the past (C5, C13).

What was said on a day a question about the past names comes first: that day counts three times as much as one that is
only mentioned, and the part of it that is named («in the evening») a little more.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, tzinfo
from functools import partial
from typing import Any

from django.db.models import Max, Min

from memories.conf import conf
from memories.language import stopwords, text
from memories.language.dates import Window, windows
from memories.language.word_lists import pattern, word_set
from memories.models import Entry, Scope
from memories.recall.gate.decision import LOOK_CHARS, is_question, is_question_about_past

MAX_WINDOWS = 6  # of one question, the latest
QUESTION_TOKENS = 48  # longer messages tell something
ASKED_ABOUT = 3.0  # what a day counts for that is asked about
NAMED_EXACTLY = 1.5  # and the part of a stretch that is meant most
FEW_DAYS = timedelta(days=8)  # of longer stretches what matches best comes first
FEW_WORDS = 4  # besides those of the day; a question with more of them is about something, and the day one sign
MAX_WORDS = 32  # content words of one question
TAILS = 4  # after so many times DATE_TAIL nothing is left of the boost


@dataclass(frozen=True)
class DateRange:
    """A stretch of time, and the words that named it."""

    start: datetime
    end: datetime
    words: str
    weight: float = 1.0
    core: tuple[datetime, datetime] | None = None  # meant most of all

    def core_contains(self, at: datetime) -> bool:
        """Whether a time is within what is meant most."""
        return self.core is not None and self.core[0] <= at < self.core[1]


#: Of a day, from hour to hour: night reaches into the next morning.
_PARTS = [
    (re.compile(pattern, re.IGNORECASE), hours)
    for pattern, hours in (
        (r"\bmorning\b|早上|早晨|清晨|上午|今早|今晨|昨早", (4, 12)),
        (r"\b(?:noon|lunch ?time|midday)\b|中午", (11, 14)),
        (r"\bafternoon\b|下午|午后", (12, 18)),
        (r"\b(?:evening|night|tonight)\b|晚上|傍晚|夜里|深夜|[昨今前]晚|昨夜|[一二三四五六日天]晚", (17, 28)),
        (r"凌晨|半夜", (0, 6)),
    )
]
PAST_TENSE = pattern("questions", "past_tense", re.IGNORECASE)
_JUST_NOW = pattern("questions", "just_now", re.IGNORECASE)
_HOURS_AGO = pattern("questions", "hours_ago", re.IGNORECASE)
_NUMBERS = {"a": 1.0, "an": 1.0, "one": 1.0, "two": 2.0, "three": 3.0, "four": 4.0, "five": 5.0, "six": 6.0}
_NUMBERS |= {"half an": 0.5, "a couple": 2.0, "a couple of": 2.0, "a few": 3.0, "半": 0.5, "两": 2.0, "兩": 2.0}
_NUMBERS |= {"几": 3.0, "幾": 3.0} | {digit: float(n) for n, digit in enumerate("一二三四五六七八九十", start=1)}
_STOPWORDS = stopwords.ENGLISH | stopwords.CHINESE
JUST_NOW = timedelta(hours=3)


def date_ranges_of(message: str, scopes: Sequence[Scope], now: datetime, zone: tzinfo) -> list[DateRange]:
    """When what is asked for was said, as far as the question tells; read from its end when it is long.

    «Yesterday» counts in a question only: a message that tells of yesterday, or a long one, asks something else.
    """
    end = text.last_tokens(message, conf.EMBED_QUERY_TOKENS)
    is_short = text.count_tokens(message) <= QUESTION_TOKENS
    today = now.astimezone(zone).date() if is_short and is_question(message) else None
    named = {
        (window.start, window.end): window for window in windows(end, asked=today, years=partial(_years, scopes, zone))
    }
    latest = sorted(named.values(), key=lambda window: (window.start, window.end), reverse=True)[:MAX_WINDOWS]
    is_past = is_short and PAST_TENSE.search(end) is not None
    ranges = [_date_range(window, end, zone, is_asked=is_past and _is_asked_about(window, end)) for window in latest]
    return ranges + (list(_recent_hours(end, now.astimezone(zone))) if today else [])


def _is_asked_about(window: Window, message: str) -> bool:
    """Whether some days are what is asked about: «the Monday before 4 May» is another day."""
    other = rf"\b(?:before|after|by|since|until|till)\s+(?:the\s+)?{re.escape(window.words)}"
    content = set(text.words(message)) - _STOPWORDS - set(text.words(window.words))
    if len({word for word in content if not word.isdecimal()}) > FEW_WORDS:
        return False
    return window.end - window.start <= FEW_DAYS and re.search(other, message, re.IGNORECASE) is None


def _date_range(window: Window, message: str, zone: tzinfo, *, is_asked: bool) -> DateRange:
    nearest = window.nearest
    core = (_midnight(nearest[0], zone), _midnight(nearest[1], zone)) if nearest else None
    start = core[0] if core and core[1] - core[0] <= timedelta(days=1) else _midnight(window.start, zone)
    hours = next((hours for pattern, hours in _PARTS if pattern.search(message)), None)
    if hours and (core or window.end - window.start == timedelta(days=1)):
        core = start + timedelta(hours=hours[0]), start + timedelta(hours=hours[1])
    weight = ASKED_ABOUT if is_asked else 1.0
    return DateRange(_midnight(window.start, zone), _midnight(window.end, zone), window.words, weight, core)


def _recent_hours(message: str, now: datetime) -> Iterable[DateRange]:
    """A stretch of the last hours, from «just now» or «two hours ago»."""
    if match := _HOURS_AGO.search(message):
        count = (match["count"] or match["zh"]).lower()
        number = float(count) if count.isdecimal() else _NUMBERS[count]
        unit = (match["unit"] or match["zh_unit"]).lower()
        back = timedelta(hours=number) if unit[0] in "h小钟鐘" else timedelta(minutes=number)
        around = max(back / 2, timedelta(minutes=10))
        yield DateRange(now - back - around, now - back + around, match.group(), ASKED_ABOUT)
    elif match := _JUST_NOW.search(message):
        yield DateRange(now - JUST_NOW, now + timedelta(seconds=1), match.group(), ASKED_ABOUT)


def date_score_sql(ranges: Sequence[DateRange]) -> tuple[str, dict[str, Any]]:
    """SQL of what an entry's day counts for, with its parameters: 1 on a named day, more where it is asked about.

    The day after counts as one day late. What is far off costs one comparison; without date ranges nothing is computed.
    """
    if not ranges:
        return "0::float8", {}
    tail = conf.DATE_TAIL
    parameters: dict[str, Any] = {
        "dated_from": min(named.start for named in ranges),
        "dated_to": max(named.end for named in ranges) + TAILS * tail,
        "dated_tail": tail.total_seconds() or 1.0,
        "dated_cut": TAILS * tail,
    }
    cases = []
    for n, named in enumerate(ranges):
        parameters |= {f"from{n}": named.start, f"to{n}": named.end}
        parameters |= {f"weight{n}": named.weight}
        core = ""
        if named.core:
            parameters |= {f"core_from{n}": named.core[0], f"core_to{n}": named.core[1]}
            core = (
                f" WHEN e.created_at >= %(core_from{n})s AND e.created_at < %(core_to{n})s"
                f" THEN %(weight{n})s * {NAMED_EXACTLY}"
            )
        cases.append(
            f"CASE WHEN e.created_at < %(from{n})s THEN 0{core} WHEN e.created_at < %(to{n})s THEN %(weight{n})s"
            f" WHEN e.created_at < %(to{n})s + %(dated_cut)s"
            f" THEN exp(-(extract(epoch FROM e.created_at - %(to{n})s)::float8 + 86400) / %(dated_tail)s) ELSE 0 END"
        )
    return (
        "CASE WHEN e.created_at >= %(dated_from)s AND e.created_at < %(dated_to)s"
        f" THEN greatest({', '.join(cases)}) ELSE 0 END::float8"
    ), parameters


def _years(scopes: Iterable[Scope], zone: tzinfo) -> Iterable[int]:
    """The years a scope reaches over: a date without one is meant in each of them."""
    ends = Entry.objects.filter(scope__in=list(scopes)).aggregate(first=Min("created_at"), last=Max("created_at"))
    if ends["first"] is None:
        return ()
    return range(ends["first"].astimezone(zone).year, ends["last"].astimezone(zone).year + 1)


def _midnight(day: date, zone: tzinfo) -> datetime:
    return datetime.combine(day, time(), tzinfo=zone)


_PAST = pattern("questions", "about_past", re.IGNORECASE)
_SPOKEN = pattern("questions", "about_spoken", re.IGNORECASE)
_DATED = pattern("questions", "about_dated", re.IGNORECASE)
_ASKED = pattern("questions", "about_asked", re.IGNORECASE)
_ABOUT_ASKING = pattern("questions", "about_asking", re.IGNORECASE)
#: Whether a message names days does not depend on when it is said.
_ANY_DAY = date(2000, 1, 1)
_ASKING = word_set("questions", "only_asking")
_NAMES_NOTHING = pattern("questions", "names_nothing", re.IGNORECASE)
_SAID = pattern("questions", "said", re.IGNORECASE)


def is_about_past(message: str) -> bool:
    """Whether a message asks about what was: «昨天我们聊了什么», «what did I say about the port?»."""
    end = message.strip()[-LOOK_CHARS:]  # where people ask in a long message
    if _SPOKEN.search(end) or (_DATED.search(end) and _ASKED.search(end)):
        return True
    if _PAST.search(end) and is_question_about_past(message):
        return True
    return is_question(message) and PAST_TENSE.search(end) is not None and bool(windows(end, asked=_ANY_DAY))


def asks_what_came_before(message: str) -> bool:
    """Whether a message asks for all that was said, and names nothing of it: «what did I tell you before?»."""
    if len(message) > LOOK_CHARS or not is_about_past(message) or not _SAID.search(message):
        return False
    return not any(map(str.isalnum, _NAMES_NOTHING.sub(" ", message.replace("’", "'"))))


def is_about_asking(message: str) -> bool:
    """Whether a message asks what was asked: «what did I ask you yesterday?», «我问过你什么？»."""
    return _ABOUT_ASKING.search(message.strip()[-LOOK_CHARS:]) is not None


def has_question_mark_or_word(message: str) -> bool:
    """Whether a message asks something, by its words or its mark."""
    return _ASKED.search(message[-LOOK_CHARS:]) is not None


def event_words(message: str, ranges: Sequence[DateRange] = ()) -> list[str]:
    """The words of a question an event can be found by: not those that only ask, nor those that name the days."""
    if asks_what_came_before(message):
        return []
    days = {word for named in ranges for word in text.words(named.words)}
    return [
        word for word in _content_words(message) if word not in _ASKING and word not in days and not word.isdecimal()
    ]


def _content_words(message: str) -> list[str]:
    """The words of a message, folded, at most MAX_WORDS; stopwords count only where there is nothing else."""
    words = [word.replace("’", "'").removesuffix("'s") for word in text.words(message)]
    content = [word for word in words if word not in _STOPWORDS]
    return list(dict.fromkeys(content or words))[:MAX_WORDS]
