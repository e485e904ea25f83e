"""The days a question names, as moments of the workspace's zone, and the boost for what was said then (C5).

Who asks what was on a day is told what was said on it first: a day that is named in a question about the past counts
three times as much as one that is only mentioned, and the part of it that is named («in the evening») a little more.
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
from memories.models import Entry, Scope
from memories.recall.gate.decision import is_question
from memories.recall.query import Query

MOST = 6  # windows of one question, the latest
QUESTION_TOKENS = 48  # longer messages tell something
ASKED_ABOUT = 3.0  # what a day counts for that is asked about
NAMED_EXACTLY = 1.5  # and the part of a stretch that is meant most
FEW_DAYS = timedelta(days=8)  # of longer stretches what matches best comes first
FEW_WORDS = 4  # besides those of the day; a question with more of them is about something, and the day one sign
TAILS = 4  # after so many times DATE_TAIL nothing is left of the boost


@dataclass(frozen=True)
class DateRange:
    """A stretch of time, and the words that named it."""

    start: datetime
    end: datetime
    words: str
    weight: float = 1.0
    core: tuple[datetime, datetime] | None = None  # meant most of all

    def holds(self, at: datetime) -> bool:
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
#: Words of a question about what was: of «what is on Friday» the day is only mentioned.
PAST_TENSE = re.compile(
    r"\b(?:did|didn't|was|were|had|said|told|happened|went|ate|talked|discussed|mentioned|ago|yesterday|last|past|earlier|have (?:i|we)|anything|(?!need|embed)\w{3,}ed)\b"
    r"|昨|前[天晚夜儿兒日]|[上刚剛][周週个個礼禮星次回]|[天日周週月年期拜][之以]?前|去年|刚|剛|今早|[过過了]|发生|發生|[说說聊讲講做干幹吃去见見买買看听聽玩忙]的?(?:什么|什麼|啥|哪|谁|誰|些)",
    re.IGNORECASE,
)
#: A few hours back: how long ago at most, by default.
_JUST_NOW = re.compile(
    r"\bjust now\b|\ba (?:moment|minute|second|little while|short while|while) ago\b|\bright before this\b|刚才|剛才|刚刚(?!好)|剛剛(?!好)|方才",
    re.IGNORECASE,
)
_HOURS_AGO = re.compile(
    r"\b(?P<count>\d{1,2}|an?|one|two|three|four|five|six|half an|a couple(?: of)?|a few) (?P<unit>hour|minute|min|hr)s? ago\b"
    r"|(?P<zh>\d{1,2}|[半一二两兩三四五六七八九十几幾])个?個?(?P<zh_unit>小时|小時|钟头|鐘頭|分钟|分鐘)[之以]?前",
    re.IGNORECASE,
)
_NUMBERS = {"a": 1.0, "an": 1.0, "one": 1.0, "two": 2.0, "three": 3.0, "four": 4.0, "five": 5.0, "six": 6.0}
_NUMBERS |= {"half an": 0.5, "a couple": 2.0, "a couple of": 2.0, "a few": 3.0, "半": 0.5, "两": 2.0, "兩": 2.0}
_NUMBERS |= {"几": 3.0, "幾": 3.0} | {digit: float(n) for n, digit in enumerate("一二三四五六七八九十", start=1)}
_STOPWORDS = stopwords.ENGLISH | stopwords.CHINESE
JUST_NOW = timedelta(hours=3)


def date_ranges_of(query: Query, now: datetime, zone: tzinfo) -> list[DateRange]:
    """When what is asked for was said, as far as the question tells; read from its end when it is long.

    «Yesterday» counts in a question only: a message that tells of yesterday, or a long one, asks something else.
    """
    said = text.last_tokens(query.message, conf.EMBED_QUERY_TOKENS)
    is_short = text.count_tokens(query.message) <= QUESTION_TOKENS
    asked = now.astimezone(zone).date() if is_short and is_question(query.message) else None
    found = windows(said, asked=asked, years=partial(_years, query.scopes, zone))
    named = {(window.start, window.end): window for window in found}
    latest = sorted(named.values(), key=lambda window: (window.start, window.end), reverse=True)[:MOST]
    past = is_short and PAST_TENSE.search(said) is not None
    moments = [_date_range(window, said, zone, is_asked=past and _is_asked_about(window, said)) for window in latest]
    return moments + (list(_recent_hours(said, now.astimezone(zone))) if asked else [])


def _is_asked_about(window: Window, said: str) -> bool:
    """Whether some days are what is asked about: «the Monday before 4 May» is another day."""
    other = rf"\b(?:before|after|by|since|until|till)\s+(?:the\s+)?{re.escape(window.words)}"
    telling = set(text.words(said)) - _STOPWORDS - set(text.words(window.words))
    if len({word for word in telling if not word.isdecimal()}) > FEW_WORDS:
        return False
    return window.end - window.start <= FEW_DAYS and re.search(other, said, re.IGNORECASE) is None


def _date_range(window: Window, said: str, zone: tzinfo, *, is_asked: bool) -> DateRange:
    nearest = window.nearest
    core = (_midnight(nearest[0], zone), _midnight(nearest[1], zone)) if nearest else None
    start = core[0] if core and core[1] - core[0] <= timedelta(days=1) else _midnight(window.start, zone)
    hours = next((hours for pattern, hours in _PARTS if pattern.search(said)), None)
    if hours and (core or window.end - window.start == timedelta(days=1)):
        core = start + timedelta(hours=hours[0]), start + timedelta(hours=hours[1])
    weight = ASKED_ABOUT if is_asked else 1.0
    return DateRange(_midnight(window.start, zone), _midnight(window.end, zone), window.words, weight, core)


def _recent_hours(said: str, now: datetime) -> Iterable[DateRange]:
    """A stretch of the last hours, from «just now» or «two hours ago»."""
    if match := _HOURS_AGO.search(said):
        count = (match["count"] or match["zh"]).lower()
        number = float(count) if count.isdecimal() else _NUMBERS[count]
        unit = (match["unit"] or match["zh_unit"]).lower()
        back = timedelta(hours=number) if unit[0] in "h小钟鐘" else timedelta(minutes=number)
        around = max(back / 2, timedelta(minutes=10))
        yield DateRange(now - back - around, now - back + around, match.group(), ASKED_ABOUT)
    elif match := _JUST_NOW.search(said):
        yield DateRange(now - JUST_NOW, now + timedelta(seconds=1), match.group(), ASKED_ABOUT)


def date_score_sql(moments: Sequence[DateRange]) -> tuple[str, dict[str, Any]]:
    """SQL of what an entry's day counts for, with its parameters: 1 on a day that is named, more where it is asked about.

    The day after counts as one day late. What is far off costs one comparison; without moments nothing is computed.
    """
    if not moments:
        return "0::float8", {}
    tail = conf.DATE_TAIL
    parameters: dict[str, Any] = {
        "dated_from": min(moment.start for moment in moments),
        "dated_to": max(moment.end for moment in moments) + TAILS * tail,
        "dated_tail": tail.total_seconds() or 1.0,
        "dated_cut": TAILS * tail,
    }
    cases = []
    for n, moment in enumerate(moments):
        parameters |= {f"from{n}": moment.start, f"to{n}": moment.end}
        parameters |= {f"weight{n}": moment.weight}
        core = ""
        if moment.core:
            parameters |= {f"core_from{n}": moment.core[0], f"core_to{n}": moment.core[1]}
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
