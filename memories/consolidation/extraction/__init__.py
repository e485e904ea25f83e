"""What waits in the buffer becomes facts, and events of days (D5).

With a model: one question an extraction batch, outside any transaction, then one second reading for the conversations
of a workspace that are due together; what comes of each and the end of its extraction batch are one transaction.
Without one: the most telling sentences of each day, and what people say about themselves in words
rules are sure of. A model that is configured is waited for: an
extraction batch it gives no answer for is tried again, ever later, for about a day; one whose answer cannot be used is
parked at once, unless only some of its facts cannot: these are left out and counted. When its budget is spent,
extraction batches wait for the workspace's midnight, or for its next month.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime
from threading import Lock

import structlog
from django.db import DataError, IntegrityError, connections
from django.db.models import QuerySet

from memories import entries, llm
from memories.conf import conf
from memories.consolidation import buffer, proposals, reading
from memories.consolidation.extraction import model, storage
from memories.consolidation.extraction.findings import (
    Checker,
    ExtractionResult,
    UnreadAnswer,
    find_in_own_words,
    objection_of,
)
from memories.consolidation.extraction.model import describe_days, summarise_days
from memories.consolidation.extraction.ownership import ScopeMessages, merge_messages, split_by_scope
from memories.consolidation.reading import ReadingResult
from memories.exceptions import AnswerInvalid, BudgetSpent, ModelFailed, PlatformError
from memories.llm import run as llm_run
from memories.llm.run import Clock, Report
from memories.llm.schemas import ExtractionOutput
from memories.models import ExtractionBatch, Workspace

log = structlog.get_logger(__name__)
ACTOR = storage.ACTOR
#: What may be wrong with an extraction batch, rather than with the program or the machine.
_REFUSED = (PlatformError, DataError, IntegrityError)
#: Extraction batches in a row for which the model gave no answer, after which a run ends.
_MAX_FAILURES = 3
#: Counts every run reports, however few.
_ALWAYS_COUNTED = ("extraction_batches", "turns", "events", "facts", "failed", "parked")


@dataclass
class _Run:
    """One run of the job, by all its hands."""

    clock: Clock
    until: datetime
    workspace_id: int | None
    report: Report | None = None
    failures: int = 0  # of the model, in a row
    counts: Counter[str] = field(default_factory=lambda: Counter(dict.fromkeys(_ALWAYS_COUNTED, 0)))
    lock: Lock = field(default_factory=Lock)

    @property
    def may_go_on(self) -> bool:
        return self.clock() < self.until and self.failures < _MAX_FAILURES

    def count(self, counts: Mapping[str, int]) -> None:
        """Add what one of the hands has done, and report it: one hand at a time."""
        with self.lock:
            self.counts.update(counts)
            if self.report:
                self.report(dict(self.counts))


def extract_ready(clock: Clock, *, workspace_id: int | None = None, report: Report | None = None) -> dict[str, int]:
    """Work off the extraction batches that are due, until none is left or MEMORY_EXTRACT_TIME is up; counts by outcome.

    With a model as many groups of extraction batches at once as questions may be asked at once: nearly all of the
    time is waiting. `report` gets the counts after every extraction batch.
    """
    run = _Run(clock, clock() + conf.EXTRACT_TIME, workspace_id, report)
    hands = conf.LLM_CALLS if model.is_on() else 1
    if hands == 1:
        _work(run)
        return dict(run.counts)

    def work_in_thread() -> None:
        try:
            _work(run)
        finally:
            connections.close_all()  # a thread has connections of its own

    with ThreadPoolExecutor(hands, thread_name_prefix="extract") as pool:
        for hand in [pool.submit(work_in_thread) for _hand in range(hands)]:
            hand.result()
    return dict(run.counts)


def extract_all(clock: Clock, *, workspace_id: int, report: Report | None = None) -> dict[str, int]:
    """The sweep of the night: whatever a workspace's buffer holds, however little and however fresh."""
    sealed = buffer.seal(waiting_in(workspace_id), now=clock())
    return {"sealed": sealed, **extract_ready(clock, workspace_id=workspace_id, report=report)}


def waiting_in(workspace_id: int) -> QuerySet[ExtractionBatch]:
    return ExtractionBatch.objects.filter(workspace_id=workspace_id)


@dataclass
class Answered:
    """What an extraction batch comes to, but for the second reading of what a model answered."""

    batch: ExtractionBatch
    workspace: Workspace
    scopes: Sequence[ScopeMessages]
    result: ExtractionResult | None = None  # without a model
    checker: Checker | None = None
    answer: llm.ModelAnswer[ExtractionOutput] | None = None
    unread: UnreadAnswer | None = None

    def read(self, reading: ReadingResult, *, is_trusted: bool) -> ExtractionResult:
        """What is stored of it."""
        if self.result is not None or self.unread is None or self.checker is None or self.answer is None:
            return self.result or ExtractionResult()
        result, summary = self.unread.judge(reading, is_trusted=is_trusted)
        zone, question, answer = self.workspace.zone(), self.checker.question, self.answer
        result.days = [day for scoped in self.scopes for day in describe_days(summary, question, scoped, zone)]
        usage = {"calls": answer.calls + reading.calls, "tokens": answer.tokens + reading.tokens}
        losses = {"refused": len(result.refused), "unreadable": answer.refused}
        counts = {"verified": result.counts["verified"], "quoted": len(result.findings) - result.counts["verified"]}
        result.cost = {"model": answer.model, **usage, **counts, **losses, "reader": reading.model, **reading.counts}
        result.counts.update(usage, unreadable=answer.refused)
        return result


def _work(run: _Run) -> None:
    """Ask about extraction batches, have the answers read together, and store what they come to."""
    while run.may_go_on:
        group: list[Answered] = []
        claimed = 0
        while run.may_go_on and len(group) < (conf.READ_TOGETHER if model.is_on() and reading.is_on() else 1):
            batch = buffer.claim_next(
                now=run.clock(),
                workspace_id=group[0].batch.workspace_id if group else run.workspace_id,
                most_tokens=conf.READ_TOKENS - sum(reply.batch.tokens for reply in group) if group else None,
            )
            if batch is None:
                break
            claimed += 1
            try:
                group.append(ask(batch, now=run.clock()))
                run.failures = 0
            except _REFUSED as error:
                _note_failure(run, batch, error)
            buffer.renew([reply.batch for reply in group], now=run.clock())
        if not claimed:
            break
        for reply, result in read_answers(group, now=run.clock()):
            _store(run, reply.batch, result)


def _store(run: _Run, batch: ExtractionBatch, result: ExtractionResult) -> None:
    """Store what an extraction batch came to, and let it go."""
    try:
        with buffer.completing(batch):
            part = f"extract:{batch.pk}"
            stored_counts = storage.store(result, workspace_id=batch.workspace_id, run=part, now=run.clock())
            if result.cost:  # a model has read them
                messages = (message for turn in batch.turns.all() for message in buffer.messages_of(turn))
                read = {message.id: message.at for message in messages}
                entries.mark_read(batch.workspace_id, read, now=run.clock())
    except buffer.ClaimLost:
        log.warning("extraction.claim_lost", batch=batch.pk, workspace=batch.workspace_id)
        run.count({"lost": 1})
    except _REFUSED as error:
        _note_failure(run, batch, error)
    else:
        run.count({"extraction_batches": 1, "turns": len(batch.turns.all()), **stored_counts})


def _note_failure(run: _Run, batch: ExtractionBatch, error: Exception) -> None:
    run.failures += isinstance(error, ModelFailed)
    # The batch waits, or is parked
    now = run.clock()
    error_text = f"{type(error).__name__}: {error}"
    if isinstance(error, BudgetSpent):
        workspace = Workspace.objects.get(pk=batch.workspace_id)
        buffer.postpone(batch, error_text, until=llm_run.next_budget(workspace, now=now))
        outcome = "waiting"
    elif isinstance(error, AnswerInvalid):
        buffer.park(batch, error_text)
        outcome = "parked"
    elif isinstance(error, ModelFailed):
        outcome = "parked" if buffer.fail(batch, error_text, now=now, attempts=conf.MODEL_ATTEMPTS) else "waiting"
    else:
        outcome = "parked" if buffer.fail(batch, error_text, now=now) else "failed"
    kind = type(error).__name__
    log.warning("extraction.failed", batch=batch.pk, attempt=batch.attempts, fate=outcome, error=kind)
    run.count({outcome: 1})


def ask(batch: ExtractionBatch, *, now: datetime) -> Answered:
    """Ask a model what an extraction batch leaves behind; without one, what rules make of it.

    Outside any transaction. Raises ModelOff, ModelFailed, BudgetSpent, AnswerInvalid.
    """
    workspace = Workspace.objects.get(pk=batch.workspace_id)
    scopes = split_by_scope(batch.turns.all())
    messages = merge_messages(scopes)
    if not messages or not model.is_on():
        days = [day for scoped in scopes for day in summarise_days(scoped, workspace.zone())]
        facts = find_in_own_words(scopes) if conf.FACTS_IN_OWN_WORDS else []
        return Answered(batch, workspace, scopes, ExtractionResult(days, facts))
    question = model.build_question(messages, scopes)
    checker = Checker(question, scopes, workspace.zone())
    objection = objection_of(checker)
    answer = model.ask_model(question, workspace, now=now, judge=objection)
    unread = UnreadAnswer(answer.value, objection.statements(answer.value), checker)
    return Answered(batch, workspace, scopes, checker=checker, answer=answer, unread=unread)


def read_answers(group: Sequence[Answered], *, now: datetime) -> Iterator[tuple[Answered, ExtractionResult]]:
    """What the extraction batches of one workspace come to, by one second reading of all; for each scope and local day
    at most one event. Outside any transaction.
    """
    unread = [reply.unread.part for reply in group if reply.unread]
    readings = iter(reading.read_together(unread, group[0].workspace, now=now)) if unread else iter(())
    is_trusted = not unread or proposals.is_trusted(group[0].workspace.pk, llm.model_name(), now=now)
    for reply in group:
        result = next(readings) if reply.unread else ReadingResult(())
        yield reply, reply.read(result, is_trusted=is_trusted)
