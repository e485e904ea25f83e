"""What waits in the buffer becomes facts, and events of days (D5).

With a model: one question an extraction batch, outside any transaction; its answer and the end of the extraction batch
are one transaction. Without one: the most telling sentences of each day, and what people say about themselves in words
rules are sure of. A model that is configured is waited for: an
extraction batch it gives no answer for is tried again, ever later, for about a day; one whose answer cannot be used is
parked at once, unless only some of its facts cannot: these are left out and counted. When its budget is spent,
extraction batches wait for the workspace's midnight.
"""

from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime, time, timedelta
from threading import Lock

import structlog
from django.db import DataError, IntegrityError, connections
from django.db.models import QuerySet

from memories import entries
from memories.conf import conf
from memories.consolidation import buffer
from memories.consolidation.extraction import model, storage
from memories.consolidation.extraction.findings import Checker, ExtractionResult, objection_of, verify
from memories.consolidation.extraction.model import describe_days, summarise_days
from memories.consolidation.extraction.own_words import find_in_own_words
from memories.consolidation.extraction.ownership import merge_messages, split_by_scope
from memories.exceptions import AnswerInvalid, BudgetSpent, ModelFailed, PlatformError
from memories.llm.run import Clock, Report
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

    def count(self, done: Mapping[str, int]) -> None:
        """Add what one of the hands has done, and report it: one hand at a time."""
        with self.lock:
            self.counts.update(done)
            if self.report:
                self.report(dict(self.counts))


def extract_ready(clock: Clock, *, workspace_id: int | None = None, report: Report | None = None) -> dict[str, int]:
    """Work off the extraction batches that are due, until none is left or MEMORY_EXTRACT_TIME is up; counts by outcome.

    With a model as many extraction batches at once as questions may be asked at once: nearly all of the time is
    waiting. `report` gets the counts after every extraction batch.
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


def _work(run: _Run) -> None:
    """Read one extraction batch after the other, store what it comes to, and let it go; or note what went wrong."""
    while run.clock() < run.until and run.failures < _MAX_FAILURES:
        batch = buffer.claim_next(now=run.clock(), workspace_id=run.workspace_id)
        if batch is None:
            break
        try:
            result = extract(batch, now=run.clock())
            run.failures = 0
            with buffer.completing(batch):
                part = f"extract:{batch.pk}"
                stored = storage.store(result, workspace_id=batch.workspace_id, run=part, now=run.clock())
                if result.cost:  # a model has read them
                    read = {
                        message.id: message.at for turn in batch.turns.all() for message in buffer.messages_of(turn)
                    }
                    entries.mark_read(batch.workspace_id, read, now=run.clock())
        except buffer.ClaimLost:
            log.warning("extraction.claim_lost", batch=batch.pk, workspace=batch.workspace_id)
            run.count({"lost": 1})
        except _REFUSED as error:
            run.failures += isinstance(error, ModelFailed)
            outcome = _postpone(batch, error, run.clock())
            kind = type(error).__name__
            log.warning("extraction.failed", batch=batch.pk, attempt=batch.attempts, fate=outcome, error=kind)
            run.count({outcome: 1})
        else:
            run.count({"extraction_batches": 1, "turns": len(batch.turns.all()), **stored})


def extract(batch: ExtractionBatch, *, now: datetime) -> ExtractionResult:
    """The facts and events of an extraction batch; for each scope and local day at most one event.

    Raises ModelOff, ModelFailed, BudgetSpent, AnswerInvalid.
    """
    workspace = Workspace.objects.get(pk=batch.workspace_id)
    scopes = split_by_scope(batch.turns.all())
    messages = merge_messages(scopes)
    if not messages or not model.is_on():
        days = [day for scoped in scopes for day in summarise_days(scoped, workspace.zone())]
        return ExtractionResult(days, find_in_own_words(scopes) if conf.FACTS_IN_OWN_WORDS else [])
    question = model.build_question(messages, scopes)
    checker = Checker(question, scopes, workspace.zone())
    objection = objection_of(checker)
    answer = model.ask_model(question, workspace, now=now, judge=objection)
    result, summary, read = verify(answer.value, objection.statements(answer.value), checker, workspace, now=now)
    result.days = [day for scoped in scopes for day in describe_days(summary, question, scoped, workspace.zone())]
    spent = {"calls": answer.calls + read.calls, "tokens": answer.tokens + read.tokens}
    lost = {"refused": len(result.refused), "unreadable": answer.refused}
    kept = {"verified": result.counts["verified"], "quoted": len(result.findings) - result.counts["verified"]}
    result.cost = {"model": answer.model, **spent, **kept, **lost, "reader": read.model, **read.counts}
    result.counts.update(spent, unreadable=answer.refused)
    return result


def _postpone(batch: ExtractionBatch, error: Exception, now: datetime) -> str:
    """Have an extraction batch wait, or park it; which of the two."""
    error_text = f"{type(error).__name__}: {error}"
    if isinstance(error, BudgetSpent):
        # When the workspace's next day begins, and with it another budget
        zone = Workspace.objects.get(pk=batch.workspace_id).zone()
        buffer.postpone(
            batch, error_text, until=datetime.combine(now.astimezone(zone).date() + timedelta(days=1), time.min, zone)
        )
        return "waiting"
    if isinstance(error, AnswerInvalid):
        buffer.park(batch, error_text)
        return "parked"
    if isinstance(error, ModelFailed):
        return "parked" if buffer.fail(batch, error_text, now=now, attempts=conf.MODEL_ATTEMPTS) else "waiting"
    return "parked" if buffer.fail(batch, error_text, now=now) else "failed"
