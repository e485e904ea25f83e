"""One conversation as a page: messages by day, the recalls before them, the memories that rest on them, and markers."""

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from typing import Any
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from django.db.models import Count, Max, Min, Q
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from memories.admin.events import FoundEvent
from memories.admin.labels import COUNT_LABELS, actor_label
from memories.admin.pages import row_number
from memories.batches.quarantine import Suspect
from memories.choices import Outcome, ScopeKind
from memories.entries.history import ServedVersion, served_versions_by_trace
from memories.language.quoting import as_name
from memories.models import DailyEvent, Entry, RecallTrace, Scope, Suppression
from memories.models.state import State, mark_of
from memories.recall.people import name_in
from memories.tenancy.resolver import key_of_speaker
from sessions_app.history import retention
from sessions_app.models import LEFT_OUT, EventKind, Flush, Session, SessionEvent, event_ids

#: Memories shown beneath one message.
SHOWN = 12


@dataclass(frozen=True)
class MadeMemory:
    """A memory that rests on a message."""

    entry: Entry
    others: int  # messages it rests on besides this one and the answer to it

    @property
    def state_label(self) -> str:
        """Why it is out of use; empty while it is in use."""
        mark = mark_of(self.entry)
        return str(State(mark).label) if mark else ""


@dataclass(frozen=True)
class TakenOut:
    """What goes when a message is taken out."""

    turn: Sequence[SessionEvent]  # the message, and the answers to it
    entries: list[Entry] = field(default_factory=list)  # expired, and kept from being written again
    along: list[Entry] = field(default_factory=list)  # in the same scopes, resting on the same messages
    days: list[DailyEvent] = field(default_factory=list)  # served no more
    remaining_days: list[DailyEvent] = field(default_factory=list)  # of scopes where no memory in use rests on it
    messages: list[SessionEvent] = field(default_factory=list)  # others that are left out with it


def memories_of(session: Session, events: Sequence[SessionEvent]) -> dict[int, list[MadeMemory]]:
    """By the position of a message, the memories that rest on it; those of a whole turn stand at its question."""
    origins = {session.origin_of(event): event for event in events}
    entries = _resting_on(session, events, origins) if origins else []
    by_position: defaultdict[int, list[MadeMemory]] = defaultdict(list)
    for entry in entries:
        sources = sorted((origins[path] for path in entry.origins if path in origins), key=lambda event: event.position)
        questions = [event for event in sources if event.kind not in (EventKind.ASSISTANT, EventKind.TOOL)]
        of_turn = len(sources) if len(questions) < 2 else 2  # the message, and the answer to it
        others = max(len(entry.origins) - of_turn, 0)
        for event in questions or sources[:1]:
            by_position[event.position].append(MadeMemory(entry, others))
    return {position: rows[:SHOWN] for position, rows in by_position.items()}


def taken_out_with(session: Session, event: SessionEvent) -> TakenOut:
    """What goes when people take a message out.

    In each scope the memories of this turn alone are taken out, whether or not they have ended by themselves; whatever
    else rests on it there is served no more. Where there are none, those that rest on it among others are taken out:
    then their other messages are left out as well.
    """
    turn = _turn(session, event)
    origins = {session.origin_of(message) for message in turn}
    entries = _resting_on(session, turn, origins)
    taken_out = set(Suppression.objects.filter(entry__in=entries).values_list("entry_id", flat=True))
    by_scope: defaultdict[int, list[Entry]] = defaultdict(list)
    for entry in entries:
        if entry.pk not in taken_out and not entry.scope.frozen:
            by_scope[entry.scope_id].append(entry)
    entries_by_pk: dict[int, Entry] = {}
    for group in by_scope.values():
        own = [entry for entry in group if origins.issuperset(entry.origins)]
        goes_here = own or [entry for entry in group if entry.is_live()]
        entries_by_pk |= {entry.pk: entry for entry in goes_here}
    left_out = {(entry.scope_id, path) for entry in entries_by_pk.values() for path in entry.origins}
    # The days that are served and rest on these messages
    in_use = DailyEvent.objects.in_use().filter(workspace_id=session.workspace_id, scope__in=_scopes(session, turn))
    resting_days = in_use.filter(origins__overlap=sorted({path for _scope, path in left_out} | origins))
    days = list(resting_days.select_related("scope").order_by("local_date", "pk"))
    other_ids = list(event_ids({path for _scope, path in left_out} - origins))
    others = SessionEvent.objects.filter(workspace_id=session.workspace_id, pk__in=other_ids)
    goes = [day for day in days if any((day.scope_id, path) in left_out for path in day.origins)]
    return TakenOut(
        turn=turn,
        entries=list(entries_by_pk.values()),
        along=[entry for entry in entries if entry.is_live() and entry.pk not in entries_by_pk],
        days=goes,
        remaining_days=[day for day in days if day not in goes and origins.intersection(day.origins)],
        messages=list(others.order_by("at", "pk")),
    )


def suspect_message(session: Session, event: SessionEvent, about: str) -> Suspect:
    """A message and what the bot answered to it, as what is in question."""
    turn = _turn(session, event)
    return Suspect(
        workspace_id=session.workspace_id,
        about=about,
        origins=frozenset(session.origin_of(message) for message in turn),
        scopes=frozenset(_scopes(session, turn)),
    )


def _turn(session: Session, event: SessionEvent) -> list[SessionEvent]:
    """A message, and what the bot answered to it."""
    if event.kind != EventKind.USER:
        return [event]
    later = session.messages(event.conversation).filter(position__gt=event.position)
    next_position = later.filter(kind=EventKind.USER).values_list("position", flat=True).first()
    answers = later.filter(kind__in=(EventKind.ASSISTANT, EventKind.TOOL))
    return [event, *(answers.filter(position__lt=next_position) if next_position else answers)]


def _scopes(session: Session, events: Iterable[SessionEvent]) -> list[int]:
    """The scopes in which memories of these messages may lie: of the session, and of who speaks in a group."""
    own = [pk for pk in (session.user_scope_id, session.chat_scope_id) if pk is not None]
    keys = {key_of_speaker(session.platform, event.sender_id) for event in events if event.sender_id}
    speakers = Scope.objects.in_workspace(session.workspace_id).filter(key__in=keys, kind=ScopeKind.USER)
    return [*own, *speakers.values_list("pk", flat=True)]


def _resting_on(session: Session, events: Sequence[SessionEvent], origins: Collection[str]) -> list[Entry]:
    rows = Entry.objects.filter(workspace_id=session.workspace_id, scope__in=_scopes(session, events))
    entries = rows.filter(origins__overlap=sorted(origins)).select_related("scope").defer("terms")
    return list(entries.order_by("created_at", "pk"))


_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
#: Recalls looked at for a page.
RECALLS = 200
#: A recall comes before the turn it was made for, at most so long.
BEFORE = timedelta(minutes=10)


@dataclass(frozen=True)
class ServedRecall:
    """What a recall served before a turn."""

    trace: RecallTrace
    entries: list[tuple[Entry, ServedVersion]]  # in the words they had then


def served_recalls(session: Session, page: list[SessionEvent]) -> dict[int, list[ServedRecall]]:
    """What recalls served, by the message they were made for: named by the bot, else the same words near by."""
    questions = [event for event in page if event.kind == EventKind.USER]
    if not questions:
        return {}
    between = (questions[0].at - BEFORE, questions[-1].at + BEFORE)
    # By the recall a bot named with its answer: the position of the question before that answer
    position_by_recall, question = {}, 0
    for event in page:
        question = event.position if event.kind == EventKind.USER else question
        recall = str(event.data.get("recall_id", ""))
        if question and _UUID.fullmatch(recall):
            position_by_recall[recall] = question
    here = RecallTrace.objects.filter(workspace_id=session.workspace_id).defer("candidates", "terms")
    near = here.filter(session_key=session.key, created_at__range=between).order_by("-created_at")[:RECALLS]
    traces = sorted({*near, *here.filter(uid__in=position_by_recall)}, key=lambda trace: (trace.created_at, trace.pk))
    entry_pks = {pk for trace in traces for pk in trace.served}
    entries = Entry.objects.filter(workspace_id=session.workspace_id).in_bulk(entry_pks)
    then = served_versions_by_trace(traces, entries)
    by_position: defaultdict[int, list[ServedRecall]] = defaultdict(list)
    for trace in traces:
        # Named, or the first question near the recall with the same words
        close = (event for event in questions if abs(event.at - trace.created_at) <= BEFORE)
        same = (event.position for event in close if event.content.strip() == trace.message.strip())
        position = position_by_recall.get(str(trace.uid)) or next(same, None)
        if position is not None:
            pairs = [(entries[pk], then[trace.pk, pk]) for pk in trace.served if pk in entries]
            by_position[position].append(ServedRecall(trace, pairs))
    return by_position


def recalls_of_answers(
    page: Sequence[SessionEvent], recalls_by_position: Mapping[int, Sequence[ServedRecall]]
) -> dict[int, RecallTrace]:
    """By the position of an answer the recall it was given with: the one it names, else the last of its question."""
    by_uid = {str(recall.trace.uid): recall.trace for recalls in recalls_by_position.values() for recall in recalls}
    answers, question_position = {}, 0
    for event in page:
        question_position = event.position if event.kind == EventKind.USER else question_position
        if event.kind != EventKind.ASSISTANT:
            continue
        of_question = [recall.trace for recall in recalls_by_position.get(question_position, ())]
        trace = by_uid.get(str(event.data.get("recall_id"))) or next(reversed(of_question), None)
        if trace is not None:
            answers[event.position] = trace
    return answers


#: A number of more digits is that of no conversation and no message.
_DIGITS = 9
#: Messages on a page, conversations to choose from.
PAGE, TABS = 100, 40
#: Messages a search in a conversation lists, characters it takes, and those shown before and after what is found.
HITS, WORDS_MOST, _AROUND = 30, 200, 60
#: Of the colour of a speaker, the same everywhere.
HUES = 360
#: What a flush counts, in words.
_OUTCOMES: dict[str, Any] = {
    **dict(Outcome.choices),
    **{name: COUNT_LABELS[name] for name in ("refused", "verified", "left_out", "decoys_passed", "unreadable")},
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
        return list(dict.fromkeys(memory.state_label for memory in self.memories if memory.state_label))

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
class Hit:
    """A message in which words were found: what stands around them, when it was said, and its address."""

    excerpt: str
    at: datetime
    url: str


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
    words: str = ""  # that are looked for in all conversations of the session
    hits: list[Hit] = field(default_factory=list)  # the newest first


def message_url(session: Session, event: SessionEvent) -> str:
    """The page of the conversation with the message in its middle."""
    page = {"life": event.conversation, "before": event.position + PAGE // 2}
    return f"{reverse('admin:sessions_app_session_change', args=[session.pk])}?{urlencode(page)}#m{event.position}"


def message_on(session: Session, day: str) -> SessionEvent | None:
    """The first message of a local day, or of the next one on which anything was said; None: there is none."""
    try:
        begin = datetime.combine(date.fromisoformat(day), time.min, tzinfo=session.workspace.zone())
    except (ValueError, OverflowError):
        return None
    events = SessionEvent.objects.filter(session=session, workspace_id=session.workspace_id, at__gte=begin)
    return events.exclude(kind=EventKind.SUMMARY).order_by("at", "conversation", "position").first()


def _hits(session: Session, words: str) -> list[Hit]:
    """The newest messages of the session that hold these words as they are shown."""
    if not words:
        return []
    events = SessionEvent.objects.filter(session=session, workspace_id=session.workspace_id, content__icontains=words)
    newest = events.exclude(kind=EventKind.SUMMARY).order_by("-conversation", "-position")[:HITS]
    hits, pattern = [], re.compile(re.escape(words), re.IGNORECASE)
    for event in newest:
        content = event.handed_out().content
        if match := pattern.search(content):  # not where what was found is a secret that is not shown
            begin, end = max(match.start() - _AROUND, 0), match.end() + _AROUND
            excerpt = ("… " if begin else "") + content[begin:end] + (" …" if end < len(content) else "")
            hits.append(Hit(excerpt, event.at, message_url(session, event)))
    return hits


def conversation_of(session: Session, query: Mapping[str, Any]) -> ConversationPage:
    """The conversation and page the query names, else the newest page of the latest conversation."""
    # the conversations messages are kept of, the latest first; the one with nothing in it yet is not shown
    wanted_number = row_number(query.get("life"), _DIGITS)
    rows = list(
        SessionEvent.objects.filter(session=session, workspace_id=session.workspace_id)
        .values("conversation")
        .annotate(messages=Count("pk", filter=~Q(kind=EventKind.SUMMARY)), began=Min("at"), ended=Max("at"))
        .order_by("-conversation")[:TABS]
    )
    numbers = [row["conversation"] for row in rows]
    number = wanted_number if wanted_number in numbers else next(iter(numbers), session.conversation)
    tabs = [
        ConversationTab(
            number=row["conversation"],
            messages=row["messages"],
            began=row["began"],
            ended=row["ended"],
            is_open=row["conversation"] == session.conversation,
            is_shown=row["conversation"] == number,
        )
        for row in rows
    ]
    redacted = retention.redacted_events(session, number)
    before = row_number(query.get("before"), _DIGITS)
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
        words=(words := str(query.get("words", "")).replace("\0", "").strip()[:WORDS_MOST]),
        hits=_hits(session, words),
    )


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
        is_redacted = retention.reveals(redacted, up_to, summary.data.get(LEFT_OUT, ()))
        markers[up_to].append(Marker(summary=summary.handed_out(), is_redacted=is_redacted))
    return markers


def _days(
    session: Session,
    page: list[SessionEvent],
    markers: dict[int, list[Marker]],
    recalls: dict[int, list[ServedRecall]],
    zone: ZoneInfo,
    redacted: Collection[int],
) -> list[Day]:
    days: list[Day] = []
    memories, answers = memories_of(session, page), recalls_of_answers(page, recalls)
    scope = session.chat_scope if session.is_group else session.user_scope
    before: SessionEvent | None = None
    for event in page:
        event.session = session
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
                served=recalls.get(event.position, []),
                rests_on=answers.get(event.position),
                markers=markers.get(event.position, []),
                memories=memories.get(event.position, []),
            )
        )
        before = event
    return days


def _heading(event: SessionEvent) -> tuple[str, ...]:
    """What stands above messages that follow each other."""
    return event.kind, event.sender_id, event.sender_name, event.trust


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


_PATH = re.compile(r"session_events/[0-9a-f-]+/\d+/event-(\d{1,18})")


def session_events(workspace_id: int, paths: Sequence[str]) -> dict[str, FoundEvent]:
    """Messages that are still kept, each with its place in its conversation."""
    event_pks = [int(match[1]) for path in paths if (match := _PATH.fullmatch(path))]
    if not event_pks:
        return {}
    events = SessionEvent.objects.filter(workspace_id=workspace_id, pk__in=event_pks).select_related("session")
    return {
        event.session.origin_of(event): FoundEvent(
            who=as_name(event.sender_name) or event.sender_id or event.get_kind_display(),
            words=event.content,
            url=message_url(event.session, event),
            at=event.at,
            trust=event.trust,
        )
        for event in events
    }
