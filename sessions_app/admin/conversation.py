"""One conversation as a page: bubbles by day, markers where it was summarised and flushed, and what was served."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from django.db.models import Count, Max, Min, Q
from django.utils.translation import gettext_lazy as _

from memories.choices import Outcome
from memories.entries.versions import ServedVersion as Then
from memories.entries.versions import served_versions_by_trace
from memories.models import Entry, RecallTrace
from sessions_app.choices import EventKind
from sessions_app.history import redaction
from sessions_app.models import Flush, Session, SessionEvent

#: Messages on a page, lives to choose from, recalls looked at.
PAGE, LIVES, RECALLS = 100, 40, 200
#: A recall comes before the turn it was made for, at most so long.
BEFORE = timedelta(minutes=10)
HUES = 360
#: What a flush counts, in words.
_OUTCOMES: dict[str, Any] = {
    **dict(Outcome.choices),
    "no_scope": _("nobody's in particular"),
    "out_of_reach": _("out of the bot's reach"),
    "unfounded": _("said by nobody"),
    "taken_out": _("taken out by people"),
}


@dataclass(frozen=True)
class ConversationTab:
    """One conversation of a session."""

    number: int
    messages: int
    began: datetime
    ended: datetime
    is_open: bool
    is_shown: bool


@dataclass(frozen=True)
class ServedRecall:
    """What a recall brought up before a turn."""

    trace: RecallTrace
    entries: list[tuple[Entry, Then]]  # in the words they had then


@dataclass(frozen=True)
class FlushMarker:
    """A flush, and what became of its candidates in words."""

    flush: Flush
    said: str


@dataclass(frozen=True)
class SummaryMarker:
    """A summary, and whether it is handed out no more."""

    summary: SessionEvent
    is_redacted: bool


@dataclass(frozen=True)
class Bubble:
    """A message with what belongs to it."""

    event: SessionEvent
    hue: int
    initial: str
    is_first: bool  # of several by the same speaker
    is_redacted: bool  # people took out a memory that rests on it (A15)
    tools: list[tuple[str, str]] = field(default_factory=list)
    served: list[ServedRecall] = field(default_factory=list)
    markers: list[Any] = field(default_factory=list)  # summaries and flushes that end here


@dataclass(frozen=True)
class Day:
    """A local date and what was said on it."""

    on: date
    bubbles: list[Bubble]


@dataclass(frozen=True)
class ConversationPage:
    """What the page shows."""

    lives: list[ConversationTab]
    number: int
    days: list[Day]
    earlier: int | None  # the position before which there is more
    is_latest: bool
    zone: ZoneInfo
    share: int  # of the budget, in percent
    limit: int


def conversation_of(session: Session, asked: Mapping[str, Any]) -> ConversationPage:
    """The conversation and page that were asked for, else the newest of the latest one."""
    lives = _lives(session, _number(asked.get("life")))
    number = next((life.number for life in lives if life.is_shown), session.conversation)
    out = redaction.redacted_events(session, number)
    before = _number(asked.get("before"))
    here = SessionEvent.objects.filter(session=session, workspace_id=session.workspace_id, conversation=number)
    said = here.exclude(kind=EventKind.SUMMARY)
    newest = list((said.filter(position__lt=before) if before else said).order_by("-position")[: PAGE + 1])
    page = newest[:PAGE][::-1]
    zone = session.workspace.zone()
    limit = session.max_tokens()
    return ConversationPage(
        lives=lives,
        number=number,
        days=_days(session, page, _markers(session, number, out), _served(session, page), zone, out),
        earlier=page[0].position if len(newest) > PAGE else None,
        is_latest=not before,
        zone=zone,
        share=min(round(100 * session.tokens / limit), 100),
        limit=limit,
    )


def _number(text: Any) -> int | None:
    return int(text) if isinstance(text, str) and text.isascii() and text.isdigit() and len(text) < 10 else None


def _lives(session: Session, wanted: int | None) -> list[ConversationTab]:
    """The conversations messages are kept of, the latest first; the one with nothing in it yet is not shown."""
    told = (
        SessionEvent.objects.filter(session=session, workspace_id=session.workspace_id)
        .values("conversation")
        .annotate(n=Count("pk", filter=~Q(kind__in=[EventKind.SUMMARY])), began=Min("at"), ended=Max("at"))
        .order_by("-conversation")[:LIVES]
    )
    rows = list(told)
    numbers = {row["conversation"] for row in rows}
    shown = wanted if wanted in numbers else next((row["conversation"] for row in rows), session.conversation)
    return [
        ConversationTab(
            number=row["conversation"],
            messages=row["n"],
            began=row["began"],
            ended=row["ended"],
            is_open=row["conversation"] == session.conversation,
            is_shown=row["conversation"] == shown,
        )
        for row in rows
    ]


def _markers(session: Session, number: int, out: Mapping[int, int]) -> dict[int, list[Any]]:
    """Summaries and flushes by the position of the last message they know.

    A summary that tells of what was taken out since is marked: it is handed out no more (A15).
    """
    here = {"session": session, "workspace_id": session.workspace_id, "conversation": number}
    found: defaultdict[int, list[Any]] = defaultdict(list)
    for flush in Flush.objects.filter(**here).order_by("cycle"):
        said = [f"{_OUTCOMES.get(name, name)} {count}" for name, count in flush.counts.items()]
        found[flush.up_to].append(FlushMarker(flush, " · ".join(said)))
    for summary in SessionEvent.objects.filter(**here, kind=EventKind.SUMMARY).order_by("position"):
        up_to = int(summary.data.get("covers_to", summary.position))
        found[up_to].append(SummaryMarker(summary, redaction.reveals(out, up_to, summary.data.get("left_out", ()))))
    return found


def _served(session: Session, page: list[SessionEvent]) -> dict[int, list[ServedRecall]]:
    """What recalls brought up, by the message they were made for: named by the bot, else the same words just before."""
    asked = [event for event in page if event.kind == EventKind.USER]
    if not asked:
        return {}
    between = (asked[0].at - BEFORE, asked[-1].at + BEFORE)
    traces = RecallTrace.objects.filter(
        workspace_id=session.workspace_id, session_key=session.key, created_at__range=between
    ).defer("candidates")
    found = list(traces.order_by("-created_at")[:RECALLS])[::-1]
    wanted = {pk for trace in found for pk in trace.served}
    entries = Entry.objects.filter(workspace_id=session.workspace_id).in_bulk(wanted)
    then = served_versions_by_trace(found, entries)
    named = _named_recalls(page)
    by_event: defaultdict[int, list[ServedRecall]] = defaultdict(list)
    for trace in found:
        position = named.get(str(trace.uid)) or _asked_with(trace, asked)
        if position is not None:
            kept = [(entries[pk], then[trace.pk, pk]) for pk in trace.served if pk in entries]
            by_event[position].append(ServedRecall(trace, kept))
    return by_event


def _named_recalls(page: list[SessionEvent]) -> dict[str, int]:
    """The recalls bots told their answers rested on, and the questions those answers follow."""
    named, asked = {}, 0
    for event in page:
        asked = event.position if event.kind == EventKind.USER else asked
        if asked and (recall := event.data.get("recall_id")):
            named[str(recall)] = asked
    return named


def _asked_with(trace: RecallTrace, asked: list[SessionEvent]) -> int | None:
    near = [event for event in asked if abs(event.at - trace.created_at) <= BEFORE]
    same = [event for event in near if event.content.strip() == trace.message.strip()]
    return same[0].position if same else None


def _days(
    session: Session,
    page: list[SessionEvent],
    markers: dict[int, list[Any]],
    served: dict[int, list[ServedRecall]],
    zone: ZoneInfo,
    out: Collection[int],
) -> list[Day]:
    days: list[Day] = []
    before: SessionEvent | None = None
    for event in page:
        on = event.at.astimezone(zone).date()
        if not days or days[-1].on != on:
            days.append(Day(on, []))
            before = None
        speaker = event.sender_id or session.peer or event.get_kind_display()
        days[-1].bubbles.append(
            Bubble(
                event=event,
                hue=_hue(speaker),
                initial=speaker[:1].upper(),
                is_first=before is None or (before.kind, before.sender_id) != (event.kind, event.sender_id),
                is_redacted=event.pk in out,
                tools=_tools(event),
                served=served.get(event.position, []),
                markers=markers.get(event.position, []),
            )
        )
        before = event
    return days


def _hue(speaker: str) -> int:
    """The same colour for the same person, everywhere."""
    return hashlib.blake2b(speaker.encode(), digest_size=2).digest()[0] * HUES // 256


def _tools(event: SessionEvent) -> list[tuple[str, str]]:
    """Tools that were used, each with what it was given and gave."""
    calls = event.data.get("tool_calls") or []
    if event.kind == EventKind.TOOL:
        return []
    return [(str(call.get("name", "")), _plain(call)) for call in calls if isinstance(call, dict)]


def _plain(call: dict[str, Any]) -> str:
    given, gave = call.get("arguments"), call.get("result")
    words = [json.dumps(part, ensure_ascii=False, indent=1) for part in (given, gave) if part not in (None, {}, "")]
    return "\n→ ".join(words)
