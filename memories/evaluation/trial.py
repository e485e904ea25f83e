"""A plan tried on last week's questions: applied, asked, and taken back, before anybody decides on it.

The memory as it would be is that of one transaction, which is rolled back: nobody else ever sees it, nothing of it is
kept, and what the plan does not change is not copied. Meanwhile whoever writes to this scope waits, a few seconds.
"""

import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, tzinfo
from typing import Any

import structlog
from django.db import OperationalError, connection, transaction
from django.utils.translation import gettext

from memories import batches, embeddings, telemetry
from memories.batches.steps import CreateStep, EditStep, step_of
from memories.choices import SECRET, BatchState, BatchVerb, ChangeState
from memories.evaluation import what_if
from memories.exceptions import BatchBusy, BatchSettled, ScopeFrozen
from memories.index import worker
from memories.models import Batch, BatchChange, Entry, Policy, RecallTrace
from memories.models.policy import Policies
from memories.offline import replicas
from memories.recall.vector import forget_centroids

#: How far back questions are taken, how many of them, and how large a plan may be.
LAST_DAYS = timedelta(days=7)
MOST, MOST_ROWS = 50, 2_000
#: Other plans of a scope that are offered to be tried with one.
OTHERS_MOST = 20
#: Seconds the questions may take as memory is, and as it would be; others who write wait for the second.
SECONDS, HELD_SECONDS = 5.0, 3.0
#: Seconds for the vectors of new words, so many texts at a time, before anybody waits; and for applying the plan.
EMBED_SECONDS, TEXTS_AT_A_TIME, APPLY_SECONDS = 8.0, 16, 12.0
#: How long whoever writes to the scope at this moment is waited for, and how long one statement may take.
_LOCK_MS, _STATEMENT_MS = 2_000, 10_000


@dataclass(frozen=True)
class Served:
    """A memory as an answer served it; of one that only the plan makes nothing is left but this."""

    entry: int
    content: str
    is_secret: bool = False
    is_stored: bool = True


@dataclass(frozen=True)
class Pair:
    """A question with what it is answered by as memory is, and as it would be; best first."""

    trace: RecallTrace
    times: int
    before: Sequence[Served]
    after: Sequence[Served]

    @property
    def went(self) -> list[Served]:
        return _without(self.before, self.after)

    @property
    def came(self) -> list[Served]:
        return _without(self.after, self.before)


def _without(some: Sequence[Served], others: Sequence[Served]) -> list[Served]:
    there = {(memory.entry, memory.content) for memory in others}
    return [memory for memory in some if (memory.entry, memory.content) not in there]


@dataclass
class Trial:
    """What came of trying a plan."""

    found: int = 0  # recalls there were to ask again
    asked: int = 0  # of these, those the time was enough for
    applied: int = 0  # rows of the plan that would be applied
    left: int = 0  # rows that would be left alone: their memory was changed since
    unembedded: int = 0  # new texts that were found by their words alone: there was no time for their vectors
    pairs: list[Pair] = field(default_factory=list)  # of questions with another answer
    seconds: float = 0.0
    held: float = 0.0  # of these, those for which the scope could not be written to

    @property
    def changed(self) -> int:
        return sum(pair.times for pair in self.pairs)

    @property
    def lost(self) -> int:
        """Recalls that would be answered with no memory."""
        return sum(pair.times for pair in self.pairs if not pair.after)


def is_open(batch: Batch) -> bool:
    """Whether a batch can be tried, if it is small enough: it waits, and removes nothing for good."""
    is_waiting = batch.state == BatchState.PROPOSED and batch.scope_id is not None
    return is_waiting and rows_of(batch) > 0 and BatchVerb.PURGE not in batch.counts


def rows_of(batch: Batch) -> int:
    """How many rows a plan has."""
    return sum(batch.counts.values())


def others_of(batch: Batch) -> list[Batch]:
    """The other plans of its scope that wait, and may be tried together with it; the oldest first."""
    waiting = Batch.objects.filter(workspace_id=batch.workspace_id, scope=batch.scope_id, state=BatchState.PROPOSED)
    return [other for other in waiting.exclude(pk=batch.pk).order_by("pk")[:OTHERS_MOST] if is_open(other)]


def try_plan(batch: Batch, *, beside: Sequence[Batch] = (), now: datetime, zone: tzinfo) -> Trial:
    """Ask the last week's questions of a plan's scope as memory is, and as it would be with the plan applied.

    `beside` are other plans of the scope, applied after it, the oldest first: what one of them changed is left alone
    by the next, as when they are approved. Raises BatchSettled, ScopeFrozen, and BatchBusy where somebody else writes
    to the scope for too long.
    """
    replicas.need_primary()
    plans = [batch, *beside]
    if (rows := sum(map(rows_of, plans))) > MOST_ROWS:
        text = gettext("Together they have %(rows)s rows; at most %(most)s are tried at a time.")
        raise BatchBusy(text % {"rows": f"{rows:,}", "most": f"{MOST_ROWS:,}"})
    if batch.scope is None or not all(map(is_open, plans)):
        raise BatchSettled
    if batch.scope.frozen:
        raise ScopeFrozen
    begun, trial = time.monotonic(), Trial()
    # The last recalls that looked into a scope, the newest first
    last = RecallTrace.objects.filter(workspace_id=batch.scope.workspace_id, created_at__gt=now - LAST_DAYS)
    last = last.filter(scopes__contains=[batch.scope.pk]).exclude(query={}).order_by("-created_at", "-id")
    groups = what_if.grouped(list(last.defer("candidates")[:MOST]))
    trial.found = sum(map(len, groups))
    policies = Policy.objects.of(batch.workspace_id)
    before = _answers(groups, policies, policies, now, zone, SECONDS)
    unembedded = _embed_words(plans)
    trial.unembedded = len(unembedded)
    try:
        after = _answers_with(plans, groups[: len(before)], policies, now, zone, trial, unembedded)
    except _OutOfTime as problem:
        text = gettext("It takes longer than %(n)d seconds to apply. Try fewer rows, or at a quieter time.")
        raise BatchBusy(text % {"n": APPLY_SECONDS}) from problem
    except OperationalError as problem:
        raise BatchBusy from problem
    finally:
        forget_centroids()  # one of what was only tried may have been read
    for group, was, would in zip(groups, before, after, strict=False):
        trial.asked += len(group)
        if was != would:
            trial.pairs.append(Pair(group[0], len(group), was, would))
    trial.seconds = time.monotonic() - begun
    return trial


def _answers(
    groups: Sequence[Sequence[RecallTrace]],
    present: Policies,
    policies: Policies,
    now: datetime,
    zone: tzinfo,
    seconds: float,
) -> list[list[Served]]:
    """What each question is answered by under some policies, as far as the seconds go; `present` hold now."""
    begun, answers = time.monotonic(), list[list[Served]]()
    for group in groups:
        if time.monotonic() - begun > seconds:
            break
        query, opening = what_if.question_of(group[0], now=now)
        opening = replace(opening, policies=policies)
        answer = what_if.answer(replace(query, cache=False), opening, present, now=now, zone=zone)
        rows = [item.entry for item in answer.served]
        answers.append([Served(row.pk, row.content, row.category in SECRET) for row in rows])
    return answers


def _embed_words(plans: Sequence[Batch]) -> set[str]:
    """Have the vectors of the words plans write, so that nobody waits for an embedder while they are tried.

    The words there was no time for; what was embedded is kept, so that the next trial gets further.
    """
    planned = BatchChange.objects.filter(batch__in=plans, state=ChangeState.PLANNED)
    words = dict[str, None]()
    for change in planned.filter(verb__in=(BatchVerb.CREATE, BatchVerb.CHANGE)).order_by("batch", "position"):
        match step_of(change):
            case CreateStep(draft=draft):
                words[draft.content] = None
            case EditStep(columns={"content": str() as content}):
                words[content] = None
    workspace, waiting = plans[0].workspace_id, list(words)
    model = embeddings.writing_models([workspace]).get(workspace)
    if model is None:
        return set()
    space, end = embeddings.space_of_model(model), time.monotonic() + EMBED_SECONDS
    while waiting and (seconds := end - time.monotonic()) > 0:
        if embeddings.embed_passages(waiting[:TEXTS_AT_A_TIME], seconds=seconds, space=space) is None:
            break
        del waiting[:TEXTS_AT_A_TIME]
    return set(waiting)


class _OutOfTime(OperationalError):
    """A plan takes too long to apply."""


@contextmanager
def _at_most(seconds: float) -> Iterator[None]:
    """Refuse each further statement once the time is over."""
    end = time.monotonic() + seconds

    def execute(go_on: Any, *call: Any) -> Any:
        if time.monotonic() > end:
            raise _OutOfTime
        return go_on(*call)

    with connection.execute_wrapper(execute):
        yield


def _answers_with(
    plans: Sequence[Batch],
    groups: Sequence[Sequence[RecallTrace]],
    policies: Policies,
    now: datetime,
    zone: tzinfo,
    trial: Trial,
    unembedded: Collection[str],
) -> list[list[Served]]:
    """The answers of the memory as it would be, in a transaction that is rolled back."""
    begun = time.monotonic()
    with (
        telemetry.uncounted(),
        structlog.contextvars.bound_contextvars(trial=str(plans[0].uid)),
        transaction.atomic(),
    ):
        with connection.cursor() as cursor:
            limits = "SELECT set_config('lock_timeout', %s, true), set_config('statement_timeout', %s, true)"
            cursor.execute(limits, [str(_LOCK_MS), str(_STATEMENT_MS)])
        rows = BatchChange.objects.filter(batch__in=plans)
        with _at_most(APPLY_SECONDS):
            for plan in plans:
                if not Batch.objects.filter(pk=plan.pk, state=BatchState.PROPOSED).update(state=BatchState.APPLYING):
                    raise BatchSettled
                batches.apply_batch(Batch.objects.get(pk=plan.pk), now=now)
            touched = Entry.objects.filter(pk__in=rows.exclude(entry=None).values("entry"))
            worker.index_these(touched.exclude(content__in=unembedded).values_list("pk", flat=True), now=now)
        trial.applied = rows.filter(state=ChangeState.APPLIED).count()
        trial.left = rows.filter(state=ChangeState.LEFT).exclude(note="removed").count()
        new_pks = set(rows.filter(verb=BatchVerb.CREATE, note="", entry__isnull=False).values_list("entry", flat=True))
        planned = Policy.objects.of(plans[0].workspace_id)  # as the plan sets them
        answers = [
            [replace(memory, is_stored=memory.entry not in new_pks) for memory in answer]
            for answer in _answers(groups, policies, planned, now, zone, HELD_SECONDS)
        ]
        transaction.set_rollback(True)
    trial.held = time.monotonic() - begun
    return answers
