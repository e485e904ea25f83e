"""What is told of a day: the sentences of the model's summary that hold, else the most telling ones (D5)."""

from collections.abc import Iterator
from zoneinfo import ZoneInfo

from memories.consolidation.extraction import extractive
from memories.consolidation.extraction.model import ExtractionQuestion
from memories.consolidation.extraction.ownership import ScopeMessages
from memories.entries.daily_events import EventDraft


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
        yield from extractive.summarise_days(scoped, zone)
