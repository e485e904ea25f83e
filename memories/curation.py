"""What a person does to chosen entries: take them out, bring them back; together, in a batch for each scope (F3)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import groupby
from uuid import uuid4

from memories import batch, store
from memories.choices import BatchVerb
from memories.exceptions import PlatformError
from memories.models import Entry, Scope
from memories.models.change import acting

#: Entries at once: a request that changes more takes longer than people wait.
MOST = 500


@dataclass
class Curated:
    """What became of the chosen entries."""

    done: int = 0
    left: int = 0  # were already as wanted
    refused: list[tuple[Scope, str]] = field(default_factory=list)  # scopes in which nothing was changed, and why


def expire_chosen(entries: Sequence[Entry], *, now: datetime, actor: str, reason: str) -> Curated:
    """Take entries out of use, softly; those that are out already are left alone."""

    def take_out(entry: Entry) -> bool:
        if not entry.is_live():
            return False
        store.expire(entry, now=now, actor=actor)
        return True

    return _curate(entries, BatchVerb.EXPIRE, take_out, now=now, actor=actor, reason=reason)


def restore_chosen(
    entries: Sequence[Entry], *, term: timedelta | None, now: datetime, actor: str, reason: str
) -> Curated:
    """Bring entries back into use, for `term` from now or as long as their policy says from now on."""

    def bring_back(entry: Entry) -> bool:
        store.restore(entry, now=now, actor=actor, term=term)
        return True

    return _curate(entries, BatchVerb.RESTORE, bring_back, now=now, actor=actor, reason=reason)


def _curate(
    entries: Sequence[Entry], verb: BatchVerb, act: Callable[[Entry], bool], *, now: datetime, actor: str, reason: str
) -> Curated:
    """Scope by scope: all of a scope's entries are changed and recorded, or none of them."""
    curated, run = Curated(), f"operator:{uuid4()}"
    for scope, group in groupby(sorted(entries, key=lambda entry: entry.scope_id), key=lambda entry: entry.scope):
        try:
            with acting(actor, run=run):
                bundle = batch.begin(scope, name=verb, run=run, actor=actor, now=now, reason=reason)
                with acting(actor, batch=bundle.pk, run=run):
                    changed = [(entry.pk, entry.version) for entry in group if act(entry)]
                batch.record(bundle, verb, changed)
                batch.finish(bundle, now=now)
        except PlatformError as refusal:
            curated.refused.append((scope, str(refusal)))
        else:
            curated.done += len(changed)
    curated.left = (
        len(entries)
        - curated.done
        - sum(entry.scope_id in {scope.pk for scope, _why in curated.refused} for entry in entries)
    )
    return curated
