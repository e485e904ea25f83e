"""Summaries of a model, sentence by sentence: what no message bears out is left out (A11, B3, C10, D5).

Two things speak against a sentence: it names a number, date, code or name that no message has, or the second reading
finds it contradicted or not stated. Where a reader believes decoys, nothing is left of the summary: whoever asked for
it goes on without a model.

A long turn gets one (A11): what was cut is stored and answered at once, a model's summary takes its place later. Where
the model is off, fails or is too slow, or what is left of its summary says less than what is stored, the turn stays as
it was; and so it does when anybody changed it meanwhile. A summary that is not taken for what it says is an answer that
cannot be used: the model hears why, and it is counted with the failures of its purpose.

The note of a day: its events in a scope, condensed once, in the night after (C10).
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from enum import StrEnum
from operator import itemgetter

import structlog
from django.db import transaction

from memories import entries, llm, verification
from memories.choices import BufferState, Reading, Source
from memories.conf import conf
from memories.consolidation import reading
from memories.consolidation.reading import Claim, ReadingResult, Sources
from memories.entries import Edit, daily_events, files
from memories.entries.daily_events import EventDraft
from memories.exceptions import EntryNotFound, InvalidDraft, PlatformError, ScopeFrozen, VersionConflict
from memories.index import scope_statistics
from memories.language import summary, text
from memories.language.text import joined, spoken_sentences
from memories.llm import prompts
from memories.llm.run import ModelRun
from memories.llm.schemas import SummaryOutput, TurnSummaryOutput
from memories.models import BufferedTurn, DailyEvent, Entry, Scope, Workspace
from memories.verification import Conversation, Message


@dataclass(frozen=True)
class CheckedSummary:
    """The sentences of a summary, paragraph by paragraph; those with what no message has need a reader to stand."""

    paragraphs: Sequence[Sequence[str]]
    doubted: frozenset[str] = frozenset()
    left_out: int = 0

    @classmethod
    def of(cls, summary_text: str, conversation: Conversation) -> "CheckedSummary":
        """A model's text with the doubts of the checks."""
        paragraphs = [list(filter(None, spoken_sentences(part))) for part in summary_text.split("\n\n")]
        sentences = (sentence for part in paragraphs for sentence in part)
        doubted = {sentence for sentence in sentences if verification.invention(sentence, conversation) is not None}
        return cls([part for part in paragraphs if part], frozenset(doubted))

    def claims(self) -> list[Claim]:
        """Its sentences, for a second reading: each rests on the whole conversation."""
        return [Claim(sentence) for part in self.paragraphs for sentence in part]

    def read(self, result: ReadingResult, begin: int = 0) -> "CheckedSummary":
        """What a reader leaves of it; `begin` is the position of its first claim.

        A sentence that was doubted stands only where the reader, which is believed, says that it is entailed.
        """
        count = len(self.claims())
        if result.is_fooled:
            return CheckedSummary([], left_out=self.left_out + count)
        verdicts = (result.of(n) for n in range(begin, begin + count))
        stands = (Reading.ENTAILED,), (Reading.ENTAILED, Reading.UNSURE)
        parts = [
            [sentence for sentence in part if next(verdicts) in stands[sentence not in self.doubted]]
            for part in self.paragraphs
        ]
        lost_count = count - sum(map(len, parts))
        return CheckedSummary([part for part in parts if part], left_out=self.left_out + lost_count)

    @property
    def text(self) -> str:
        return "\n\n".join(map(joined, self.paragraphs))


def sources_of(messages: Sequence[Message]) -> Sources:
    """A conversation as a second reader is shown it."""
    texts_by_id = {
        message.id: {"speaker": message.speaker, "on": message.on.isoformat(), "text": message.content}
        for message in messages
    }
    return Sources(texts_by_id, {message.speaker for message in messages if message.speaker and not message.is_answer})


def checked(
    summary_text: str, conversation: Conversation, workspace: Workspace, *, now: datetime
) -> tuple[str, Counter[str]]:
    """What is left of a summary of these messages by the checks and a second reading; and counts of both.

    Asked outside any transaction. Without a reader, or where it fails, by the checks alone.
    """
    sound = CheckedSummary.of(summary_text, conversation)
    result = reading.read(sound.claims(), sources_of(conversation.messages), workspace, now=now)
    remainder = sound.read(result)
    return remainder.text, Counter(left_out=remainder.left_out, **result.counts)


log = structlog.get_logger(__name__)
PURPOSE, ACTOR = "turn_summary", "job:shorten"
#: So much of each side is shown to the model, head and tail.
_SHOWN_CHARS = 12_000


def is_wanted(user: str, assistant: str) -> bool:
    """Whether a turn is to have a summary."""
    is_long = len(user.strip()) + len(assistant.strip()) >= conf.LLM_SUMMARY_FROM
    return conf.USE_LLM_SUMMARY and llm.is_on() and is_long


def shorten(
    workspace: Workspace, entry_ids: Sequence[int], user: str, assistant: str, stored_content: str, *, now: datetime
) -> int:
    """Give the entries that still say what was stored of a turn its summary; how many. One question for all of them."""
    live = Entry.objects.live().filter(workspace_id=workspace.pk, pk__in=entry_ids, content=stored_content)
    rows = list(live.select_related("scope").order_by("pk"))
    if not rows:
        return 0
    turn = StoredTurn.of(user, assistant, stored_content, rows[0], workspace)
    sides = {"user": "", "assistant": ""} | {side.id: side.content for side in turn.conversation.messages}
    prompt = prompts.prompt("turn_summary", workspace.language, sides)
    try:
        answer = llm.ask(
            workspace, PURPOSE, prompt, TurnSummaryOutput, now=now, judge=turn.problem, model=conf.LLM_SUMMARY_MODEL
        )
    except PlatformError as problem:  # off, failing, spent, unusable
        log.info("shortening.left", workspace=workspace.pk, problem=type(problem).__name__)
        return 0
    summary, counts = checked(answer.value.summary, turn.conversation, workspace, now=now)
    if turn.fault(summary):
        log.info("shortening.refused", workspace=workspace.pk, **counts)
        return 0
    shortened = 0
    for entry in rows:
        change = Edit(columns={"content": summary})
        try:
            entries.update(entry, change, now=now, actor=ACTOR, expected_version=entry.version)
        except (VersionConflict, EntryNotFound, ScopeFrozen) as problem:
            log.info("shortening.discarded", entry=str(entry.uid), problem=type(problem).__name__)
        else:
            shortened += 1
    return shortened


class SummaryFault(StrEnum):
    """What is wrong with a summary, in the words for the model that wrote it."""

    LONG = "the summary is no shorter than the turn"
    INVENTED = "the summary holds numbers, dates, codes or names that the turn does not"
    LOST = "the summary leaves out too many numbers, dates, codes or names"


@dataclass(frozen=True)
class StoredTurn:
    """A turn in full, and as it is stored."""

    stored: str
    conversation: Conversation

    @classmethod
    def of(cls, user: str, assistant: str, stored_content: str, entry: Entry, workspace: Workspace) -> "StoredTurn":
        on = entry.stated_at.astimezone(workspace.zone()).date()
        sides = [
            Message("user", text.smart_truncate(user, _SHOWN_CHARS), entry.speaker, on),
            Message("assistant", text.smart_truncate(assistant, _SHOWN_CHARS), "assistant", on, is_answer=True),
        ]
        return cls(stored_content, Conversation([side for side in sides if side.content]))

    def problem(self, answer: TurnSummaryOutput) -> str | None:
        """What speaks against an answer, by what the checks leave of it."""
        summary = CheckedSummary.of(answer.summary, self.conversation)
        sound = ([sentence for sentence in part if sentence not in summary.doubted] for part in summary.paragraphs)
        fault = self.fault("\n\n".join(map(joined, sound)))
        return SummaryFault.INVENTED if fault and summary.doubted else fault

    def fault(self, summary: str) -> SummaryFault | None:
        """Why a summary must not take the place of what is stored; one that saves no room has to hold what was cut."""
        is_shorter = text.count_tokens(summary) < text.count_tokens(self.stored)
        if not is_shorter and text.ELLIPSIS not in self.stored:
            return SummaryFault.LONG
        marks = verification.telling_marks(self.stored)
        is_less = 2 * len(verification.telling_marks(summary) & marks) < len(marks)
        return SummaryFault.LOST if is_less or not summary else None


JOB = "archive"
DAY_ACTOR = f"job:{JOB}"
#: A note is an event of its day with a source of its own: no other event of a day has it.
SOURCE = Source.COMPRESSION
NOTE_CHARS, NOTE_TOKENS = 800, 300
#: Notes so young are looked for in their files once more: the disk may have failed, or the run been killed.
MADE_UP_FOR = timedelta(hours=36)
#: How long a machine may be off, and its days are still made up for.
MISSED = timedelta(days=31)


def archive_day(workspace_id: int, *, now: datetime) -> dict[str, int]:
    """Condense the day before of each scope with events of it, and days that were missed; how many notes.

    A day of a scope that has its note is passed over, so that a run that was killed goes on, and none is made twice;
    and so is one of which turns still wait to be extracted, until they are: a note is made once, of all of the day.
    """
    workspace = Workspace.objects.get(pk=workspace_id)
    active, waiting = _days_without_note(workspace, now)
    counts: Counter[str] = Counter(scopes=len({scope.pk for scope, _day in active}), notes=0, by_model=0)
    if waiting:
        counts["waiting"] = waiting
    model = ModelRun(workspace, JOB, clock=lambda: now, is_strict=True)
    for scope, day in active:
        of_day = DailyEvent.objects.in_use().filter(scope=scope, workspace_id=scope.workspace_id, local_date=day)
        events = list(of_day.exclude(source=SOURCE).order_by("pk"))
        # what is left of the model's note, checked and read a second time
        content = ""
        data = {"notes": [{"at": event.created_at, "said": event.content} for event in events]}
        question = prompts.prompt("day_note", workspace.language, data, max_tokens=NOTE_TOKENS)
        answer = model.ask(question, SummaryOutput, max_tokens=NOTE_TOKENS * 4)
        if answer is not None:
            messages = [Message(f"n{n}", event.content, "", day) for n, event in enumerate(events, start=1)]
            content, read = checked(answer.summary, Conversation(messages), workspace, now=now)
            counts.update(read)
        counts["by_model"] += bool(content)
        try:
            counts["notes"] += _write(scope, day, content or extractive_note(scope, events), events, now)
        except ScopeFrozen:
            counts["frozen"] += 1
    if conf.ARCHIVE_TO_FILES:  # the notes of this run, and those of the last that are not there yet
        notes = DailyEvent.objects.in_use().filter(workspace=workspace, source=SOURCE, created_at__gt=now - MADE_UP_FOR)
        for note in notes.order_by("local_date", "pk").select_related("scope__workspace").iterator(chunk_size=500):
            is_written = files.write(note.scope, note.local_date)
            if is_written is not False:
                counts["files_failed" if is_written is None else "files"] += 1
    return dict(counts)


def count_days(workspace_id: int, *, now: datetime) -> int:
    """How many notes a run would write."""
    return len(_days_without_note(Workspace.objects.get(pk=workspace_id), now)[0])


def _days_without_note(workspace: Workspace, now: datetime) -> tuple[list[tuple[Scope, date]], int]:
    """The days that still need a note, of which scope, oldest first; and how many have to wait for theirs."""
    today = now.astimezone(workspace.zone()).date()
    days = DailyEvent.objects.filter(workspace=workspace, local_date__gte=today - MISSED, local_date__lt=today)
    pairs = "scope_id", "local_date"
    noted = set(daily_events.condensed_days(days).values_list(*pairs))
    eventful = set(days.in_use().exclude(source=SOURCE).order_by().values_list(*pairs).distinct()) - noted
    # days of which there are turns in the buffer, and of whose memories; what is parked may stay for good
    turns = BufferedTurn.objects.filter(workspace=workspace).exclude(batch__state=BufferState.PARKED)
    origins = turns.values_list("user_scope_id", "chat_scope_id", "said_at")
    in_buffer = {
        (scope, said_at.astimezone(workspace.zone()).date())
        for *scopes, said_at in origins.iterator(chunk_size=2_000)
        for scope in scopes
    }
    ready = eventful - in_buffer
    scopes = Scope.objects.in_bulk({scope for scope, _day in ready})
    return [(scopes[scope], day) for scope, day in sorted(ready, key=itemgetter(1, 0))], len(eventful) - len(ready)


def extractive_note(scope: Scope, events: Sequence[DailyEvent]) -> str:
    """The most telling sentences of the day, as they stand; of a day of pleasantries its first words.

    What one conversation left in few words is the note as it stands: there is nothing to condense.
    """
    if len(events) == 1 and len(events[0].content) <= NOTE_CHARS:
        return events[0].content
    lines = [summary.Utterance(content=event.content, origin=str(event.pk)) for event in events]
    weigh = scope_statistics.term_weights(scope, (event.content for event in events))
    note = summary.summarise(lines, weigh, limit=NOTE_CHARS).content
    return note or text.smart_truncate(events[0].content, NOTE_CHARS)


def _write(scope: Scope, day: date, content: str, events: Sequence[DailyEvent], now: datetime) -> int:
    """The note, unless another process has written it; it is no news for the facts, which rest on its events."""
    has_chats = all(event.chats for event in events)
    note = EventDraft(
        scope=scope,
        local_date=day,
        content=content[: conf.CONTENT_MAX_CHARS],
        source=SOURCE,
        chats=tuple(chat for event in events for chat in event.chats) if has_chats else (),
        origins=tuple(origin for event in events for origin in event.origins),
    )
    with transaction.atomic():
        Scope.objects.select_for_update().get(pk=scope.pk)
        if daily_events.condensed_days(DailyEvent.objects.filter(scope=scope, local_date=day)).exists():
            return 0
        try:
            notes = daily_events.write([note], now=now, actor=DAY_ACTOR)
        except InvalidDraft:
            return 0
        daily_events.mark_compressed(notes, now=now, actor=DAY_ACTOR)
    return len(notes)
