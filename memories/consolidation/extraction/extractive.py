"""What is told of a day: sentences of the model's summary that hold, else the most telling ones that were said (D5)."""

from collections import defaultdict
from collections.abc import Iterator
from datetime import date
from zoneinfo import ZoneInfo

from memories.choices import ScopeKind
from memories.conf import conf
from memories.consolidation.extraction.model import ExtractionQuestion
from memories.consolidation.extraction.ownership import ScopedMessage, ScopeMessages
from memories.entries.daily_events import EventDraft
from memories.index import scope_statistics
from memories.language import summary as summaries
from memories.models import Scope


def summarise_days(scoped: ScopeMessages, zone: ZoneInfo) -> Iterator[EventDraft]:
    """For each local day at most one event; none where it held nothing but pleasantries."""
    weigh = scope_statistics.term_weights(scoped.scope, (one.message.content for one in scoped.messages))
    by_day: dict[date, list[ScopedMessage]] = defaultdict(list)
    for one in scoped.messages:
        by_day[one.message.at.astimezone(zone).date()].append(one)
    for day in sorted(by_day):
        summary = summaries.summarise(
            [_line(one, scoped.scope) for one in by_day[day]], weigh, limit=conf.SUMMARY_CHARS
        )
        if summary.content:
            yield EventDraft(
                scope=scoped.scope,
                local_date=day,
                content=summary.content,
                chats=scoped.chats(summary.origins),
                origins=summary.origins,
            )


def _line(one: ScopedMessage, scope: Scope) -> summaries.Utterance:
    """In a chat's memory people are called by name, in a person's own not at all."""
    is_named = one.is_answer or scope.kind == ScopeKind.CHAT
    return summaries.Utterance(
        content=one.message.content,
        origin=one.message.id,
        label=one.speaker if is_named else "",
        is_answer=one.is_answer,
    )


def describe_days(
    summary: str, question: ExtractionQuestion, scoped: ScopeMessages, zone: ZoneInfo
) -> Iterator[EventDraft]:
    """The model's summary, where a memory may hold all it tells of and all of it was said on one day.

    Else, and where none of its sentences holds, the most telling sentences of each day.
    """
    shown = list(question.messages.values())
    ids = tuple(one.message.id for one in shown)
    dates = {one.message.at.astimezone(zone).date() for one in shown}
    if summary and len(dates) == 1 and scoped.holds(ids):
        yield EventDraft(
            scope=scoped.scope, local_date=dates.pop(), content=summary, chats=scoped.chats(ids), origins=ids
        )
    else:
        yield from summarise_days(scoped, zone)
