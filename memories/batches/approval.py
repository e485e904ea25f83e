"""Approval: proposals that wait for a person, approved or refused as a whole or row by row (F4).

Those that would do most harm if they were wrong are asked first. What people have decided against is not proposed to
them again.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import NAMESPACE_OID, uuid5

from django.db import connection, transaction
from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _

from memories.batches.planning import RETIRING, count_planned
from memories.batches.steps import CreateStep, EditStep, ReplaceStep, replaced_by_rows, step_of
from memories.choices import BatchState, BatchVerb, ChangeState, HoldReason, SkipReason, Source
from memories.conf import conf
from memories.entries import draft
from memories.exceptions import BatchSettled, InvalidDraft, ScopeFrozen
from memories.language.likeness import Likeness, compare
from memories.models import Batch, BatchChange, Entry, Scope
from memories.models.entry import LIVE_SQL

_RUN_CHARS = 64


def approve(batch: Batch, *, actor: str, now: datetime, reason: str = "") -> Batch:
    """Approve a proposed batch, whatever it waits for. Raises BatchSettled or ScopeFrozen."""
    if batch.scope is not None and batch.scope.frozen:
        raise ScopeFrozen
    _decide(batch, BatchState.APPLYING, decided_by=actor, decided_because=reason)
    return batch


def refuse(batch: Batch, *, actor: str, now: datetime, reason: str = "") -> Batch:
    """Refuse a proposed batch for good. Raises BatchSettled."""
    _decide(batch, BatchState.REFUSED, decided_by=actor, decided_because=reason, closed_at=now)
    return batch


def _decide(batch: Batch, state: BatchState, **columns: Any) -> None:
    """Decide on a proposal once; the second of two at once gets BatchSettled."""
    if not Batch.objects.filter(pk=batch.pk, state=BatchState.PROPOSED).update(state=state, **columns):
        raise BatchSettled
    batch.refresh_from_db()


def require_approval(batch: Batch, code: HoldReason, **figures: Any) -> None:
    """Have a plan wait for a person whatever the safety limit finds; in the transaction that plans it."""
    batch.held_because = [*batch.held_because, {"code": code, **figures}]
    batch.save(update_fields=["held_because"])


def reopen(batch: Batch, *, actor: str) -> Batch:
    """Let a proposal wait again that this person refused. Raises BatchSettled."""
    mine = Batch.objects.filter(pk=batch.pk, state=BatchState.REFUSED, decided_by=actor)
    if not mine.update(state=BatchState.PROPOSED, decided_by="", decided_because="", closed_at=None):
        raise BatchSettled
    batch.refresh_from_db()
    return batch


def remove_steps(batch: Batch, positions: Iterable[int]) -> list[int]:
    """Remove rows from a plan, with those whose successor they create; their positions. Raises BatchSettled."""
    with _open_plan(batch) as changes:
        wanted_positions = set(positions)
        resting = replaced_by_rows(changes, sorted(wanted_positions)).values_list("position", flat=True)
        removed_rows = changes.filter(position__in=wanted_positions.union(resting))
        positions = sorted(removed_rows.values_list("position", flat=True))
        removed_rows.update(state=ChangeState.LEFT, note=SkipReason.REMOVED)
        count_planned(batch)
    return positions


def put_back_steps(batch: Batch, positions: Iterable[int]) -> int:
    """Put rows back into a plan that people took out of it; their number. Raises BatchSettled."""
    with _open_plan(batch):
        rows = batch.changes.filter(state=ChangeState.LEFT, note=SkipReason.REMOVED, position__in=list(positions))
        count = rows.update(state=ChangeState.PLANNED, note="")
        count_planned(batch)
    return count


def edit_step(batch: Batch, position: int, content: str) -> BatchChange:
    """Replace the content a row of a plan writes. Raises BatchSettled or InvalidDraft."""
    with _open_plan(batch) as changes:
        change = changes.filter(position=position).first()
        step = None if change is None else step_of(change)
        if change is None or batch.scope is None or not isinstance(step, CreateStep | EditStep):
            raise InvalidDraft(_("This row of the plan writes no words."), field="position")
        if isinstance(step, CreateStep):
            reworded = replace(step.draft, content=content)
            draft.check(reworded.in_scope(batch.scope))
            change.draft = step.model_copy(update={"draft": reworded}).as_json()
        else:
            draft.check_content(content)
            change.draft = step.model_copy(update={"columns": {**step.columns, "content": content}}).as_json()
        change.save(update_fields=["draft"])
    return change


@contextmanager
def _open_plan(batch: Batch) -> Iterator[QuerySet[BatchChange]]:
    """The planned rows of an undecided batch, locked until the block ends. Raises BatchSettled."""
    with transaction.atomic():
        locked = Batch.objects.select_for_update().get(pk=batch.pk)
        if locked.state != BatchState.PROPOSED:
            raise BatchSettled
        yield BatchChange.objects.filter(batch=batch, state=ChangeState.PLANNED)


def open_proposals(scope: Scope, name: str) -> list[Batch]:
    """The undecided proposals of a job for a scope."""
    return list(Batch.objects.filter(scope=scope, name=name, state=BatchState.PROPOSED).order_by("pk"))


def supersede_proposals(scope: Scope, name: str, *, actor: str, now: datetime, by: Batch | None = None) -> None:
    """Refuse the open proposals of a job that a newer one replaces: `by`, if it is planned already."""
    for batch in open_proposals(scope, name):
        if batch == by:
            continue
        try:
            refuse(batch, actor=actor, now=now)
        except BatchSettled:  # somebody decided meanwhile
            continue


def run_part(run: str, part: str | int) -> str:
    """The name of a part of a run, for batches of one run that are decided on separately, at most 64 characters."""
    name = f"{run}:{part}"
    return name if len(name) <= _RUN_CHARS else f"{uuid5(NAMESPACE_OID, run).hex}:{part}"[:_RUN_CHARS]


def of_run(run: str) -> Q:
    """The condition that a batch belongs to a run or to one of its parts."""
    return Q(run=run) | Q(run__startswith=f"{run}:") | Q(run__startswith=f"{uuid5(NAMESPACE_OID, run).hex}:")


#: Rows that were undone, taken out of a plan, or refused with it; a job that takes back its own proposal is nobody.
BY_PEOPLE = (
    Q(state=ChangeState.UNDONE)
    | Q(state=ChangeState.LEFT, note=SkipReason.REMOVED)
    | (Q(batch__state=BatchState.REFUSED) & ~Q(batch__decided_by__startswith="job:"))
)


class OverruledReplacements:
    """What people would not have take the place of some entries, read once for all of them."""

    def __init__(self, scope: Scope, entries: Collection[int]) -> None:
        self._words: defaultdict[int, list[str]] = defaultdict(list)
        if not entries:
            return
        # By entry, the words of what people would not have take its place: stored, or created by a row of a plan
        rows = BatchChange.objects.filter(BY_PEOPLE, workspace_id=scope.workspace_id, entry__in=list(entries))
        steps = [
            (change, step)
            for change in rows.filter(batch__scope=scope)
            if isinstance(step := step_of(change), ReplaceStep) and change.entry_id
        ]
        successors = Entry.objects.in_scope(scope).in_bulk({step.into.entry for _row, step in steps if step.into.entry})
        places = {(change.batch_id, step.into.position) for change, step in steps if step.into.position}
        created: dict[tuple[int, int | None], str] = {}
        if places:
            makers = BatchChange.objects.filter(
                batch__in={batch for batch, _position in places}, position__in={position for _batch, position in places}
            )
            for maker in makers:
                if isinstance(step := step_of(maker), CreateStep):
                    created[maker.batch_id, maker.position] = step.draft.content
        for change, step in steps:
            if entry := successors.get(step.into.entry or 0):
                self._words[change.entry_id or 0].append(entry.content)
            elif content := created.get((change.batch_id, step.into.position or 0)):
                self._words[change.entry_id or 0].append(content)

    def forbid(self, entry: int, content: str) -> bool:
        """Whether people decided against these words in place of an entry, or against words that say the same."""
        return any(
            compare(refused, content, threshold=conf.DEDUPE_THRESHOLD)[0] in (Likeness.SAME, Likeness.ALIKE)
            for refused in self._words.get(entry, ())
        )


#: Proposals that are ranked, and rows looked at of each: whatever waits, a page costs no more.
MOST, _ROWS = 1_000, 1_000
#: Sources of what people wrote, brought along or had saved on purpose.
_OF_PEOPLE = (Source.MANUAL, Source.MIGRATION, Source.TOOL)
#: Verbs after which the words of an entry stand elsewhere, or otherwise.
_REWRITING = (BatchVerb.MERGE, BatchVerb.CHANGE)


@dataclass(frozen=True)
class Question:
    """A proposal nobody has decided on, and what approving it would do to entries that still are as it found them."""

    batch: int
    purged: int  # removed for good
    protected: int  # taken out of use or changed, though a person pinned, checked or wrote them
    retired: int  # taken out of use
    retired_importance: float
    rewritten: int  # merged or changed
    rewritten_importance: float


#: The order: what cannot be undone; what people cared for; what takes most out of use, by importance; what rewrites
#: most; and what has waited longest.
_OPEN = f"""
    SELECT b.id, harm.* FROM memories_batch b CROSS JOIN LATERAL (
        SELECT count(*) FILTER (WHERE c.verb = 'purge') AS purged,
            count(*) FILTER (WHERE c.verb = ANY(%(touching)s)
                AND (e.pinned OR e.verified_at IS NOT NULL OR e.source = ANY(%(people)s))) AS protected,
            count(*) FILTER (WHERE c.verb = ANY(%(retiring)s)) AS retired,
            coalesce(sum(e.importance) FILTER (WHERE c.verb = ANY(%(retiring)s)), 0) AS retired_importance,
            count(*) FILTER (WHERE c.verb = ANY(%(rewriting)s)) AS rewritten,
            coalesce(sum(e.importance) FILTER (WHERE c.verb = ANY(%(rewriting)s)), 0) AS rewritten_importance
        FROM (
            SELECT verb, entry_id, expected_version FROM memories_batchchange
            WHERE batch_id = b.id AND state = %(planned)s ORDER BY position LIMIT %(rows)s
        ) c JOIN memories_entry e ON e.id = c.entry_id
            AND (c.verb = 'purge' OR ({LIVE_SQL} AND e.version = coalesce(c.expected_version, e.version)))
    ) harm
    WHERE b.state = %(proposed)s AND b.name <> 'branch'
        AND (%(seen)s::bigint[] IS NULL OR b.workspace_id = ANY(%(seen)s::bigint[]))
    ORDER BY harm.purged DESC, harm.protected DESC, harm.retired_importance DESC, harm.rewritten_importance DESC,
        b.created_at, b.id
    LIMIT %(most)s
"""  # noqa: S608 (constants)


def open_questions(workspaces: Collection[int] | None) -> list[Question]:
    """The proposals of these workspaces that wait, None: of all; the most harmful first, at most MOST."""
    values: dict[str, Any] = {
        "touching": [*RETIRING, *_REWRITING, BatchVerb.PURGE],
        "retiring": list(RETIRING),
        "rewriting": list(_REWRITING),
        "people": list(_OF_PEOPLE),
        "planned": ChangeState.PLANNED,
        "proposed": BatchState.PROPOSED,
        "seen": None if workspaces is None else sorted(workspaces),
        "rows": _ROWS,
        "most": MOST,
    }
    with connection.cursor() as cursor:
        cursor.execute(_OPEN, values)
        return [Question(*row) for row in cursor.fetchall()]
