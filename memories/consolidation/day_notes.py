"""The note of a day: its events in a scope, condensed once, in the night after (C10)."""

from collections import Counter
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from operator import itemgetter

import structlog
from django.db import transaction

from memories.choices import BufferState, Source
from memories.conf import conf
from memories.consolidation import summaries
from memories.entries import daily_events, files
from memories.entries.daily_events import EventDraft
from memories.exceptions import InvalidDraft, ScopeFrozen
from memories.index import scope_statistics
from memories.language import summary, text
from memories.llm import prompts
from memories.llm.run import ModelRun
from memories.llm.schemas import SummaryOutput
from memories.models import BufferedTurn, DailyEvent, Scope, Workspace
from memories.verification.claims import Conversation, Message

log = structlog.get_logger(__name__)
JOB = "archive"
ACTOR = f"job:{JOB}"
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
        content, read = _note_by_model(model, events)
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


def _note_by_model(model: ModelRun, events: Sequence[DailyEvent]) -> tuple[str, dict[str, int]]:
    """What is left of the model's note of these events, checked and read a second time; and the counts of that."""
    data = {"notes": [{"at": event.created_at, "said": event.content} for event in events]}
    question = prompts.prompt("day_note", model.workspace.language, data, max_tokens=NOTE_TOKENS)
    answer = model.ask(question, SummaryOutput, max_tokens=NOTE_TOKENS * 4)
    if answer is None:
        return "", {}
    messages = [Message(f"n{n}", event.content, "", event.local_date) for n, event in enumerate(events, start=1)]
    return summaries.checked(answer.summary, Conversation(messages), model.workspace, now=model.now)


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
            written = daily_events.write([note], now=now, actor=ACTOR)
        except InvalidDraft:
            return 0
        daily_events.mark_compressed(written, now=now, actor=ACTOR)
    return len(written)
