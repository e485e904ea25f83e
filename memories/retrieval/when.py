"""The days a question names, as moments of the workspace's zone, and the boost for what was said then (C5)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, tzinfo
from functools import partial
from typing import Any

from django.db.models import Max, Min

from memories import text
from memories.conf import conf
from memories.dates import windows
from memories.models import Entry, Scope
from memories.retrieval.need import asks_of_the_past
from memories.retrieval.query import Query

MOST = 6  # windows of one question, the latest
QUESTION_TOKENS = 48  # longer messages tell something
TAILS = 4  # after so many times DATE_TAIL nothing is left of the boost


@dataclass(frozen=True)
class Moment:
    """A stretch of time, and the words that named it."""

    start: datetime
    end: datetime
    words: str


def moments_of(query: Query, now: datetime, zone: tzinfo) -> list[Moment]:
    """When what is asked for was said, as far as the question tells; read from its end when it is long.

    «Yesterday» counts in a question about the past only: a long message that tells of yesterday asks something else.
    """
    said = text.last_tokens(query.message, conf.EMBED_QUERY_TOKENS)
    is_short = text.count_tokens(query.message) <= QUESTION_TOKENS
    asked = now.astimezone(zone).date() if is_short and asks_of_the_past(query.message) else None
    found = windows(said, asked=asked, years=partial(_years, query.scopes, zone))
    named = {(window.start, window.end): window for window in found}
    latest = sorted(named.values(), key=lambda window: (window.start, window.end), reverse=True)[:MOST]
    return [Moment(_midnight(w.start, zone), _midnight(w.end, zone), w.words) for w in latest]


def dated(moments: Sequence[Moment]) -> tuple[str, dict[str, Any]]:
    """SQL of how near an entry is to the nearest of these, 0–1, with its parameters.

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
        cases.append(
            f"CASE WHEN e.created_at < %(from{n})s THEN 0 WHEN e.created_at < %(to{n})s THEN 1"
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
