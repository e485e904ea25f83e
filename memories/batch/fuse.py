"""The fuse: what a machine has judged is not applied when it would retire too much, or touch what is pinned (F4)."""

from typing import Any

from django.db.models import Exists, OuterRef

from memories.choices import BatchVerb, Held, LinkKind
from memories.conf import conf
from memories.models import Batch, BatchChange, Entry, Link

#: Verbs that take an entry out of use; what is merged lives on in what names it as its source.
RETIRING = (BatchVerb.EXPIRE, BatchVerb.ARCHIVE, BatchVerb.SUPERSEDE)


def reasons(batch: Batch, *, unreadable: str = "") -> list[dict[str, Any]]:
    """Why a batch may not be applied without a person; empty when nothing speaks against it."""
    found: list[dict[str, Any]] = []
    if unreadable:
        found.append({"code": Held.UNREADABLE, "problem": unreadable[:500]})
    changes = BatchChange.objects.filter(batch=batch)
    if pinned := changes.filter(entry__pinned=True).count():
        found.append({"code": Held.PINNED, "pinned": pinned})
    retired, live = _retired(batch), _live(batch)
    if retired > conf.FUSE_ROWS and retired > conf.FUSE_SHARE * live:
        percent = round(conf.FUSE_SHARE * 100)
        found.append({"code": Held.SHARE, "retired": retired, "live": live, "percent": percent})
    return found


def in_words(batch: Batch) -> list[str]:
    """The reasons in plain words, in the reader's language."""
    return [str(Held(reason["code"]).label) % reason for reason in batch.held_because]


def _retired(batch: Batch) -> int:
    """Live entries that would be out of use without a live one naming them as its source."""
    going = BatchChange.objects.filter(batch=batch, verb__in=RETIRING)
    merged = BatchChange.objects.filter(batch=batch, verb=BatchVerb.MERGE)
    named = Link.objects.filter(
        workspace_id=batch.workspace_id,
        kind=LinkKind.MERGED_FROM,
        to_entry=OuterRef("pk"),
        from_entry__in=Entry.objects.live().exclude(pk__in=going.values("entry")),
    )
    out = Entry.objects.live().filter(workspace_id=batch.workspace_id, pk__in=going.values("entry"))
    return out.exclude(pk__in=merged.values("entry")).exclude(Exists(named)).count()


def _live(batch: Batch) -> int:
    return Entry.objects.live().filter(scope=batch.scope, workspace_id=batch.workspace_id).count()
