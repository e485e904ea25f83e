"""The messages and days that recalls retrieved or that memories rest on, as they can be read today (F5).

Packages above read the events of their own retrievers (MEMORY_RETRIEVERS) by dotted paths in MEMORY_EVENT_TELLERS.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Any, Protocol

from django.conf import settings
from django.urls import reverse
from django.utils.module_loading import import_string
from django.utils.translation import gettext_lazy as _

from memories.entries.history import PointInHistory, contents_at
from memories.models import DailyEvent, Entry, RecallTrace
from memories.recall.traces import TracedEvent, events_of

DAYS = "daily_events/"


@dataclass(frozen=True)
class FoundEvent:
    """An event as it can be read today."""

    who: Any
    words: str
    url: str
    at: datetime | None = None
    on: date | None = None  # of the note of a whole day
    row: DailyEvent | None = None  # of what can be reworded
    then: int | None = None  # the version that was served; None: its words are those of today
    now: str = ""  # what it says today, where that is something else
    trust: str = ""  # the least trusted of whose words it is, where that is known

    @property
    def history(self) -> str:
        return reverse("admin:memories_dailyevent_history", args=[self.row.pk]) if self.row else ""


class EventReader(Protocol):
    """A function of MEMORY_EVENT_TELLERS: the events of paths; those that are not its own, or are gone, left out."""

    def __call__(self, workspace_id: int, paths: Sequence[str]) -> dict[str, FoundEvent]: ...


@dataclass(frozen=True)
class EventRow:
    """A retrieved event, with the memory that rests on it."""

    event: TracedEvent
    source: FoundEvent | None
    memory: Entry | None


def event_rows(trace: RecallTrace) -> list[EventRow]:
    """The events a recall retrieved, best first."""
    events = events_of(trace)
    if not events:
        return []
    sources = found_events(trace.workspace_id, [event.path for event in events])
    # days in the words they had at the time of the recall, where these are others now
    rows = [
        (event, sources[event.path], row)
        for event in events
        if event.path in sources and (row := sources[event.path].row)
    ]
    moments = [PointInHistory(row.pk, event.version, trace.created_at) for event, _source, row in rows]
    then = contents_at(DailyEvent, trace.workspace_id, moments)
    sources |= {
        event.path: replace(source, words=words, then=version, now=source.words)
        for (event, source, _row), (version, words, _since) in zip(rows, then, strict=True)
        if words not in (None, source.words)
    }
    uids = [event.memory for event in events if event.memory]
    memories = Entry.objects.filter(workspace_id=trace.workspace_id, uid__in=uids)
    by_uid = {str(entry.uid): entry for entry in memories}
    return [EventRow(event, sources.get(event.path), by_uid.get(event.memory or "")) for event in events]


def found_events(workspace_id: int, paths: Sequence[str]) -> dict[str, FoundEvent]:
    """The events of paths as they can be read today; those that are gone left out."""
    events: dict[str, FoundEvent] = {}
    for dotted_path in settings.MEMORY_EVENT_TELLERS if paths else ():
        reader: EventReader = import_string(dotted_path)
        events |= reader(workspace_id, paths)
    return events


def daily_events(workspace_id: int, paths: Sequence[str]) -> dict[str, FoundEvent]:
    """The daily events of paths."""
    uids = [path.removeprefix(DAYS) for path in paths if path.startswith(DAYS)]
    if not uids:
        return {}
    events = DailyEvent.objects.filter(workspace_id=workspace_id, uid__in=uids)
    return {
        f"{DAYS}{event.uid}": FoundEvent(
            who=_("day"),
            words=event.content,
            url=reverse("admin:memories_dailyevent_change", args=[event.pk]),
            on=event.local_date,
            row=event,
        )
        for event in events
    }


#: Messages shown; what was condensed rests on many.
SOURCES_SHOWN = 20


@dataclass(frozen=True)
class Sources:
    """The first messages something rests on that can still be read, and how many more it names."""

    lines: list[FoundEvent]
    more: int
    gone: int  # of the first, those that are kept no more


def source_lines(workspace_id: int, origins: Sequence[str]) -> Sources:
    """The messages of these paths, in the order they were written."""
    first = list(origins[:SOURCES_SHOWN])
    events = found_events(workspace_id, first)
    lines = [events[path] for path in first if path in events]
    return Sources(lines, more=len(origins) - len(first), gone=len(first) - len(lines))
