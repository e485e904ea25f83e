"""One conversation as a page: messages by day, the recalls before them, and markers of summaries and flushes."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any
from zoneinfo import ZoneInfo

from django.db.models import Count, Max, Min, Q
from django.utils.translation import gettext_lazy as _

from memories.admin.labels import actor_label
from memories.choices import Outcome
from memories.language.quoting import as_name
from memories.models import RecallTrace
from memories.recall.people import name_in
from sessions_app.admin.made_memories import MadeMemory, memories_of
from sessions_app.admin.served_recalls import ServedRecall, recalls_of_answers, served_recalls
from sessions_app.choices import EventKind
from sessions_app.history import retention
from sessions_app.models import Flush, Session, SessionEvent

#: Messages on a page, conversations to choose from.
PAGE, TABS = 100, 40
#: Of the colour of a speaker, the same everywhere.
HUES = 360
#: What a flush counts, in words.
_OUTCOMES: dict[str, Any] = {
    **dict(Outcome.choices),
    "no_scope": _("nobody's in particular"),
    "out_of_reach": _("out of the bot's reach"),
    "unfounded": _("said by nobody"),
    "refused": _("facts that were not kept"),
    "verified": _("verified facts"),
    "left_out": _("sentences of summaries left out"),
    "decoys_passed": _("decoys it believed"),
    "unreadable": _("answers or facts that could not be read"),
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
class Marker:
    """A summary or a flush that ends at a message."""

    summary: SessionEvent | None = None
    is_redacted: bool = False  # the summary is handed out no more
    flush: Flush | None = None
    outcome: str = ""  # of the flush's candidates, in words
    who: str = ""  # made it


@dataclass(frozen=True)
class Bubble:
    """A message with what belongs to it."""

    event: SessionEvent
    name: str  # of its sender at the time, else today's; empty: nobody has one
    hue: int
    initial: str
    is_first: bool  # of several by the same speaker
    is_redacted: bool  # people took out a memory that rests on it (A15)
    tools: list[tuple[str, str]] = field(default_factory=list)
    served: list[ServedRecall] = field(default_factory=list)
    rests_on: RecallTrace | None = None  # the recall an answer was given with
    markers: list[Marker] = field(default_factory=list)
    memories: list[MadeMemory] = field(default_factory=list)

    @property
    def out_of_use(self) -> list[str]:
        """What became of the memories that rest on it and are not in use, each once."""
        return list(dict.fromkeys(made.state_label for made in self.memories if made.state_label))

    @property
    def may_go(self) -> bool:
        """Whether something rests on it that people have not taken out yet."""
        return bool(self.memories) and not self.is_redacted


@dataclass(frozen=True)
class Day:
    """A local date and its messages."""

    on: date
    bubbles: list[Bubble]


@dataclass(frozen=True)
class ConversationPage:
    """A page of a conversation, with the tabs of the others."""

    lives: list[ConversationTab]
    number: int
    days: list[Day]
    earlier: int | None  # the position before which there is more
    is_latest: bool
    zone: ZoneInfo
    share: int  # of the budget, in percent
    limit: int


def conversation_of(session: Session, query: Mapping[str, Any]) -> ConversationPage:
    """The conversation and page the query names, else the newest page of the latest conversation."""
    tabs = _tabs(session, _number(query.get("life")))
    number = next((tab.number for tab in tabs if tab.is_shown), session.conversation)
    redacted = retention.redacted_events(session, number)
    before = _number(query.get("before"))
    events = SessionEvent.objects.filter(session=session, workspace_id=session.workspace_id, conversation=number)
    messages = events.exclude(kind=EventKind.SUMMARY)
    newest = list((messages.filter(position__lt=before) if before else messages).order_by("-position")[: PAGE + 1])
    page = [event.handed_out() for event in newest[:PAGE][::-1]]
    zone, limit = session.workspace.zone(), session.max_tokens()
    return ConversationPage(
        lives=tabs,
        number=number,
        days=_days(session, page, _markers(session, number, redacted), served_recalls(session, page), zone, redacted),
        earlier=page[0].position if len(newest) > PAGE else None,
        is_latest=not before,
        zone=zone,
        share=min(round(100 * session.tokens / limit), 100),
        limit=limit,
    )


def _number(text: Any) -> int | None:
    return int(text) if isinstance(text, str) and text.isascii() and text.isdigit() and len(text) < 10 else None


def _tabs(session: Session, wanted: int | None) -> list[ConversationTab]:
    """The conversations messages are kept of, the latest first; the one with nothing in it yet is not shown."""
    rows = list(
        SessionEvent.objects.filter(session=session, workspace_id=session.workspace_id)
        .values("conversation")
        .annotate(messages=Count("pk", filter=~Q(kind=EventKind.SUMMARY)), began=Min("at"), ended=Max("at"))
        .order_by("-conversation")[:TABS]
    )
    numbers = [row["conversation"] for row in rows]
    shown = wanted if wanted in numbers else next(iter(numbers), session.conversation)
    return [
        ConversationTab(
            number=row["conversation"],
            messages=row["messages"],
            began=row["began"],
            ended=row["ended"],
            is_open=row["conversation"] == session.conversation,
            is_shown=row["conversation"] == shown,
        )
        for row in rows
    ]


def _markers(session: Session, number: int, redacted: Mapping[int, int]) -> dict[int, list[Marker]]:
    """Summaries and flushes by the position of the last message they know.

    A summary that reveals what was redacted since is marked: it is handed out no more (A15).
    """
    here = {"session": session, "workspace_id": session.workspace_id, "conversation": number}
    markers: defaultdict[int, list[Marker]] = defaultdict(list)
    for flush in Flush.objects.filter(**here).order_by("cycle"):
        outcome = " · ".join(f"{_OUTCOMES.get(name, name)} {count}" for name, count in flush.counts.items())
        markers[flush.up_to].append(Marker(flush=flush, outcome=outcome, who=actor_label(flush.actor)))
    for summary in SessionEvent.objects.filter(**here, kind=EventKind.SUMMARY).order_by("position"):
        up_to = int(summary.data.get("covers_to", summary.position))
        is_redacted = retention.reveals(redacted, up_to, summary.data.get("left_out", ()))
        markers[up_to].append(Marker(summary=summary.handed_out(), is_redacted=is_redacted))
    return markers


def _days(
    session: Session,
    page: list[SessionEvent],
    markers: dict[int, list[Marker]],
    served: dict[int, list[ServedRecall]],
    zone: ZoneInfo,
    redacted: Collection[int],
) -> list[Day]:
    days: list[Day] = []
    made, answers = memories_of(session, page), recalls_of_answers(page, served)
    scope = session.chat_scope if session.is_group else session.user_scope
    before: SessionEvent | None = None
    for event in page:
        on = event.at.astimezone(zone).date()
        if not days or days[-1].on != on:
            days.append(Day(on, []))
            before = None
        speaker = event.sender_id or session.peer or event.get_kind_display()
        name = as_name(event.sender_name or (name_in(scope, event.sender_id) if scope else ""))
        days[-1].bubbles.append(
            Bubble(
                event=event,
                name=name,
                hue=hashlib.blake2b(speaker.encode(), digest_size=2).digest()[0] * HUES // 256,
                initial=(name or speaker)[:1].upper(),
                is_first=before is None or _heading(before) != _heading(event),
                is_redacted=event.pk in redacted,
                tools=_tools(event),
                served=served.get(event.position, []),
                rests_on=answers.get(event.position),
                markers=markers.get(event.position, []),
                memories=made.get(event.position, []),
            )
        )
        before = event
    return days


def _heading(event: SessionEvent) -> tuple[str, str, str]:
    """What stands above messages that follow each other."""
    return event.kind, event.sender_id, event.sender_name


def _tools(event: SessionEvent) -> list[tuple[str, str]]:
    """The name of each tool that was used, with its arguments and its result as JSON."""
    if event.kind == EventKind.TOOL:
        return []
    tools = []
    for call in event.data.get("tool_calls") or []:
        if isinstance(call, dict):
            parts = [part for part in (call.get("arguments"), call.get("result")) if part not in (None, {}, "")]
            words = [json.dumps(part, ensure_ascii=False, indent=1) for part in parts]
            tools.append((str(call.get("name", "")), "\n→ ".join(words)))
    return tools
