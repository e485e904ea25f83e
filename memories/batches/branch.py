"""A branch of a memory: a plan that is gathered, tried, and merged as one batch, or dropped.

It holds what would differ and copies nothing: rows of other plans that wait are taken into it, and policies that are to
hold with it stand in it as rows. What a row changes that another row or anybody changed before is left alone.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import uuid4

from django.db import connection, transaction
from django.db.models import Exists, Max, OuterRef, QuerySet
from django.utils.translation import gettext

from memories.batches import planning
from memories.batches.approval import refuse
from memories.batches.steps import PlanRow, PolicyStep, ReplaceStep, Successor, Values
from memories.choices import BatchState, BatchVerb
from memories.exceptions import BatchSettled
from memories.models import Batch, BatchChange, Policy, Scope
from memories.models.policy import Subject

NAME = "branch"
#: Plans that are offered to be taken in.
OFFERED_MOST = 50
#: Rows of a plan go behind those of the branch, and so does what they name by its position.
_TAKE_IN = """
UPDATE memories_batchchange SET batch_id = %(branch)s, position = position + %(behind)s,
    draft = CASE WHEN draft #> '{into,position}' IS NULL THEN draft
        ELSE jsonb_set(draft, '{into,position}', to_jsonb((draft #>> '{into,position}')::int + %(behind)s)) END
WHERE batch_id = %(plan)s AND workspace_id = %(workspace)s
"""


def begin(scope: Scope, name: str, *, actor: str, now: datetime) -> Batch:
    """A branch with nothing in it. Raises ScopeFrozen."""
    return planning.plan(scope, [], name=NAME, run=f"{NAME}:{uuid4()}", actor=actor, now=now, reason=name)


def of_workspace(workspace_id: int) -> QuerySet[Batch]:
    """The branches nobody has merged or dropped."""
    waiting = Batch.objects.filter(workspace_id=workspace_id, name=NAME, state=BatchState.PROPOSED)
    return waiting.select_related("scope", "workspace").order_by("pk")


def others(branch: Batch) -> list[Batch]:
    """The waiting plans of its memory that may become part of it, the oldest first."""
    waiting = Batch.objects.filter(
        workspace_id=branch.workspace_id, scope=branch.scope_id, state=BatchState.PROPOSED, undoes=None
    ).exclude(name=NAME)
    return [plan for plan in waiting.order_by("pk")[:OFFERED_MOST] if may_take_in(plan)]


def may_take_in(plan: Batch) -> bool:
    """Whether a plan may become part of a branch: not another branch, an undo, or what removes for good."""
    return plan.name != NAME and plan.undoes_id is None and BatchVerb.PURGE not in plan.counts


def take_in(branch: Batch, plans: Iterable[Batch], *, actor: str, now: datetime) -> int:
    """Move the rows of waiting plans of the same memory into a branch; how many. Raises BatchSettled."""
    with transaction.atomic():
        count = 0
        for plan in sorted(plans, key=lambda plan: plan.pk):
            behind = _last_position(branch)
            if plan.scope_id != branch.scope_id or not may_take_in(plan):
                raise BatchSettled
            refuse(
                plan,
                actor=actor,
                now=now,
                reason=gettext("Taken into the branch “%(name)s”.") % {"name": branch.reason},
            )
            values = {"branch": branch.pk, "plan": plan.pk, "behind": behind, "workspace": branch.workspace_id}
            with connection.cursor() as cursor:
                cursor.execute(_TAKE_IN, values)
                count += cursor.rowcount
        planning.count_planned(branch)
    return count


def add_policies(branch: Batch, values: Values, *, about: Collection[Subject] = ()) -> int:
    """Have a branch set what differs between the policies that hold and these; how many. Raises BatchSettled.

    Of what these say as it holds, what they are `about` is taken off the branch: it was put back. Another stays.
    """
    with transaction.atomic():
        behind = _last_position(branch)
        present = Policy.objects.of(branch.workspace_id).values
        steps = [PolicyStep.between(subject, present, values) for subject in sorted(present.keys() | values.keys())]
        steps = [step for step in steps if step.before != step.after]
        rows = [PlanRow(step=step) for step in steps]
        _rows_about([*about, *(step.subject for step in steps)]).filter(batch=branch).delete()
        planning.write_rows(branch, rows, start=behind + 1)
        planning.count_planned(branch)
    return len(rows)


def of_policies(workspace_id: int, about: Collection[Subject]) -> QuerySet[Batch]:
    """The branches that would set one of these policies."""
    return of_workspace(workspace_id).filter(Exists(_rows_about(about).filter(batch=OuterRef("pk"))))


def _rows_about(subjects: Iterable[Subject]) -> QuerySet[BatchChange]:
    words = ["/".join(subject) for subject in subjects]
    return BatchChange.objects.filter(verb=BatchVerb.POLICY, draft__about__in=words)


def add_rows(branch: Batch, rows: Iterable[PlanRow], *, cost: Mapping[str, Any]) -> int:
    """Put rows behind those of a branch, which name each other as if they were alone; how many. Raises BatchSettled."""
    with transaction.atomic():
        behind = _last_position(branch)
        planned = []
        for row in rows:
            step = row.step
            if isinstance(step, ReplaceStep) and step.into.position is not None:
                into = Successor(position=step.into.position + behind)
                row = replace(row, step=step.model_copy(update={"into": into}))
            planned.append(row)
        planning.write_rows(branch, planned, start=behind + 1)
        branch.cost = dict(cost)
        branch.save(update_fields=["cost"])
        planning.count_planned(branch)
    return len(planned)


def _last_position(branch: Batch) -> int:
    """Of a branch, locked, that still waits. Raises BatchSettled."""
    locked = Batch.objects.select_for_update().get(pk=branch.pk)
    if locked.state != BatchState.PROPOSED or locked.name != NAME:
        raise BatchSettled
    return branch.changes.aggregate(last=Max("position"))["last"] or 0
