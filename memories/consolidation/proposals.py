"""What models propose, and what people made of it (D1, D5, D6, F4).

Lines of the profile that hold no more stand as a proposal with their correction, until somebody decides.

How far a model is trusted in a workspace is the share of what it made there that people did not take back. Counted over
what its batches created, merged or replaced and people could look at: what they undid, refused, removed from a plan or
took out of use counts against it. Below TRUST_LEAST what it finds is only quoted, and nothing acts.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import connection

from memories import batches, entries
from memories.batches import BY_PEOPLE, PlanRow
from memories.batches.steps import ArchiveStep, Successor, SupersedeStep
from memories.choices import BatchState, BatchVerb, ChangeState, HoldReason, SkipReason
from memories.conf import conf
from memories.models import BatchChange, Entry, Scope

NAME, ACTOR = "profile-doubts", "job:profile"
#: The batches of the weekly run: facts, profile, and the corrections of each that wait for a person.
NAMES = ("compress", "profile", "compress-doubts", NAME)
#: What is outdated, and what takes its place; None: nothing does.
Pair = tuple[Entry, Entry | None]


def propose_outdated(scope: Scope, *, run: str, model: str, now: datetime) -> int:
    """Propose what takes the place of the lines that hold no more; how many. What people decided on stays so."""
    outdated = dict(entries.outdated_lines(scope.pk, scope.workspace_id))
    settled = decided_by_people(scope)
    lines = Entry.objects.in_scope(scope).live().filter(pk__in=outdated.keys() - settled)
    return propose(scope, [(line, outdated[line.pk]) for line in lines], run=run, model=model, now=now)


def propose(scope: Scope, pairs: Iterable[Pair], *, run: str, model: str, now: datetime) -> int:
    """Propose to a person what takes the place of what, unless it is proposed already; how many memories."""
    rows = BatchChange.objects.filter(batch__scope=scope, batch__name=NAME, batch__state=BatchState.PROPOSED)
    waiting = set(rows.values_list("entry_id", flat=True))
    new = {outdated.pk: (outdated, holds) for outdated, holds in pairs if outdated.pk not in waiting}
    steps = [
        PlanRow.of(outdated, ArchiveStep() if holds is None else SupersedeStep(into=Successor(entry=holds.pk)))
        for outdated, holds in new.values()
    ]
    if steps:
        part = batches.run_part(run, f"{NAME}:{steps[0].entry_id}")  # each call of a run proposes something else
        batch = batches.plan(scope, steps, name=NAME, run=part, actor=ACTOR, now=now, judged=True)
        batch.cost = {"model": model} if model else {}
        batch.save(update_fields=["cost"])
        batches.require_approval(batch, HoldReason.CONTRADICTED, rows=len(steps))
    return len(steps)


def close_settled(scope: Scope, *, now: datetime) -> None:
    """Refuse the open proposals of which nothing is in use any more."""
    for batch in batches.open_proposals(scope, NAME):
        entry_ids = BatchChange.objects.filter(batch=batch, state=ChangeState.PLANNED).values("entry_id")
        if not Entry.objects.in_scope(scope).live().filter(pk__in=entry_ids).exists():
            batches.refuse(batch, actor=ACTOR, now=now)


def decided_by_people(scope: Scope) -> set[int]:
    """Ids of facts for which people undid, refused or removed a step: no run decides on them again."""
    rows = BatchChange.objects.filter(BY_PEOPLE, batch__scope=scope, batch__name__in=(*NAMES, "extract"))
    return {pk for pk in rows.values_list("entry_id", flat=True) if pk is not None}


WINDOW = timedelta(days=90)
#: With fewer rows a share says nothing.
LEAST_ROWS = 10
#: What models' batches are called, those that wait for a person included.
_NAMES = ("extract", "compress-days", *NAMES)
_VERBS = (BatchVerb.CREATE, BatchVerb.MERGE, BatchVerb.SUPERSEDE, BatchVerb.ARCHIVE)
_ROWS = f"""
WITH made AS (
    SELECT b.cost ->> 'model' AS model, c.state = '{ChangeState.APPLIED}' AS stands,
        c.state = '{ChangeState.UNDONE}' OR (c.state = '{ChangeState.LEFT}' AND c.note = '{SkipReason.REMOVED}')
        OR (b.state = '{BatchState.REFUSED}' AND b.decided_by <> '' AND b.decided_by NOT LIKE 'job:%%')
        OR (c.state = '{ChangeState.APPLIED}' AND c.verb = '{BatchVerb.CREATE}' AND e.expired_at IS NOT NULL
            AND EXISTS (SELECT 1 FROM memories_change h WHERE h.table_name = 'memories_entry' AND h.row_id = e.id
            AND h.old ? 'expired_at' AND h.actor NOT LIKE 'job:%%')) AS is_taken_back
    FROM memories_batch b JOIN memories_batchchange c ON c.batch_id = b.id
    LEFT JOIN memories_entry e ON e.id = c.entry_id
    WHERE b.workspace_id = %(workspace)s AND b.name = ANY(%(names)s) AND b.created_at > %(since)s
        AND c.verb = ANY(%(verbs)s) AND b.cost ? 'model'
)
SELECT model, count(*), count(*) FILTER (WHERE is_taken_back) FROM made WHERE stands OR is_taken_back
GROUP BY model ORDER BY model
"""  # noqa: S608 (names of ours)


@dataclass(frozen=True)
class Trust:
    """What became of what a model made."""

    model: str
    rows: int = 0
    taken_back: int = 0

    @property
    def share(self) -> float:
        """The share that people let stand."""
        return 1 - self.taken_back / self.rows if self.rows else 1.0

    @property
    def is_enough(self) -> bool:
        """Whether what it finds may act."""
        return self.rows < LEAST_ROWS or self.share >= conf.TRUST_LEAST


def figures(workspace_id: int, *, now: datetime) -> list[Trust]:
    """The models of a workspace."""
    values: dict[str, Any] = {
        "workspace": workspace_id,
        "names": list(_NAMES),
        "verbs": [verb.value for verb in _VERBS],
        "since": now - WINDOW,
    }
    with connection.cursor() as cursor:
        cursor.execute(_ROWS, values)
        return [Trust(*row) for row in cursor.fetchall()]


def is_trusted(workspace_id: int, model: str, *, now: datetime) -> bool:
    """Whether what a model finds may act."""
    return all(figure.is_enough for figure in figures(workspace_id, now=now) if figure.model == model)
