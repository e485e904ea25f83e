"""What people took out of a shared memory stays out of the one it was carried over from, once that is used again (A15).

The act is carried back with its run: undone there, it is undone here as well.
"""

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Exists, OuterRef, Q, QuerySet

from memories import entries
from memories.batches import PlanRow, add_applied, begin_applied
from memories.batches.steps import CreateStep, ExpireStep, step_of
from memories.choices import BatchState, BatchVerb, ChangeState, LinkKind
from memories.language import text
from memories.models import Batch, BatchChange, Entry, Link, Scope, Suppression
from memories.models.change import acting
from memories.models.entry import EntryQuerySet


@dataclass(frozen=True)
class TakenOut:
    """What people took out of a memory, of which `carried` are the rows that carried something over to it."""

    scope: Scope
    carried: QuerySet[BatchChange]
    causes: dict[int, int]  # each entry with the one whose suppression covers it: often itself

    @classmethod
    def of(cls, scope: Scope, carried: QuerySet[BatchChange]) -> "TakenOut":
        """With what rests on the same messages, and what had become part of it."""
        here = Suppression.objects.filter(workspace_id=scope.workspace_id, scope=scope, quarantine="")
        causes: dict[int, int] = {}
        by_origin: dict[str, int] = {}
        for entry, origins in here.filter(entry__scope=scope).values_list("entry", "origins"):
            causes[entry] = entry
            by_origin |= dict.fromkeys(origins, entry)
        resting = Entry.objects.in_scope(scope).filter(suppressed_at__isnull=False, quarantined_at=None)
        for entry, origins in resting.values_list("pk", "origins") if by_origin else ():
            if shared := [by_origin[origin] for origin in origins if origin in by_origin]:
                causes.setdefault(entry, shared[0])
        merged = Link.objects.filter(workspace_id=scope.workspace_id, kind=LinkKind.MERGED_FROM)
        new = set(causes)
        while new:
            parts = merged.filter(from_entry__in=new).values_list("to_entry", "from_entry")
            found = {part: causes[whole] for part, whole in parts if part not in causes}
            causes |= found
            new = set(found)
        return cls(scope, carried, causes)

    def among(self, originals: EntryQuerySet) -> dict[Entry, int]:
        """Which of these were carried over and then taken out, each with the entry whose suppression covers it.

        They have the words, type and messages they were carried over with. Lines of files stayed where they are.
        """
        if not self.causes:
            return {}
        creations = self.carried.filter(verb=BatchVerb.CREATE, batch__scope=self.scope, entry__in=self.causes)
        causes: dict[tuple[str, str, tuple[str, ...]], int] = {}
        for change in creations:
            if isinstance(step := step_of(change), CreateStep) and change.entry_id is not None:
                draft = step.draft
                key = (text.fingerprint(draft.content), str(draft.type), tuple(draft.origins))
                causes[key] = self.causes[change.entry_id]
        went = Exists(self.carried.filter(verb=BatchVerb.ARCHIVE, entry=OuterRef("pk")))
        found = {}
        for entry in originals.filter(went | ~Q(path=""), fingerprint__in={words for words, *_rest in causes}):
            if cause := causes.get((entry.fingerprint, entry.type, tuple(entry.origins))):
                found[entry] = cause
        return found

    def keep_out(self, target: Scope, *, name: str, run: str, actor: str, now: datetime) -> None:
        """Take out of the memory it was carried over from what is in use there. In the caller's transaction."""
        taken = self.among(Entry.objects.in_scope(target).live())
        expiries = BatchChange.objects.filter(workspace_id=target.workspace_id, entry__in=taken.values())
        expiries = expiries.filter(verb=BatchVerb.EXPIRE, draft__suppress=True, state=ChangeState.APPLIED)
        acts = {change.entry_id: change.batch for change in expiries.select_related("batch").order_by("pk")}
        by_act: defaultdict[Batch | None, list[Entry]] = defaultdict(list)
        for entry, cause in taken.items():
            by_act[acts.get(cause)].append(entry)
        closed = Batch.objects.filter(scope=target).exclude(state=BatchState.APPLIED)
        for act in sorted(by_act, key=lambda act: act.pk if act else 0):
            is_open = act is not None and not closed.filter(run=act.run).exists()
            by = act if act and is_open else Batch(name=name, run=run, actor=actor, created_at=now)
            # Expire them by this act of people, in its batch there
            rows = by_act[act]
            with acting(by.actor):
                locked = entries.lock_scopes([target])[target.pk]
                batch = Batch.objects.filter(scope=target, run=by.run).first() or begin_applied(
                    locked, name=by.name, run=by.run, actor=by.actor, now=by.created_at, reason=by.reason
                )
                with acting(by.actor, batch=batch.pk, run=by.run):
                    entries.expire_many(locked, {row.pk: None for row in rows}, now=now, actor=by.actor, suppress=True)
                    add_applied(batch, [PlanRow.of(row, ExpireStep(suppress=True)) for row in rows])
