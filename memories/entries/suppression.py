"""Suppressions: what people took out of use, no machine writes again (A15)."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime

from django.db.models import Q

from memories.choices import MACHINE_SOURCES, Source
from memories.entries import day_files
from memories.entries.duplicates import PendingWrite
from memories.index import search_rows
from memories.language import text
from memories.models import Change, Entry, FileProblem, FileState, Scope, Suppression
from memories.models.change import acting
from memories.models.entry import EntryQuerySet

#: Sources by which somebody saves a memory on purpose.
EXPLICIT_SOURCES = frozenset({Source.TOOL, Source.MANUAL})
#: Sources that store a message word for word; when it is repeated, its suppression covers the new message too.
REPLAYED_SOURCES = frozenset({Source.CONVERSATION_CAPTURE, Source.MEMORY_CAPTURE})
#: Messages one suppression names at most; drafts from further ones are suppressed by their words alone.
ORIGINS_MOST = 500
#: `conversation` of a suppression whose messages come from several conversations.
SEVERAL = "*"


class Suppressions:
    """The suppressions that may concern some drafts, read in one query; in none where there `are_any` not."""

    def __init__(self, scope_ids: Iterable[int], writes: Sequence[PendingWrite], *, are_any: bool) -> None:
        self._rows: list[Suppression] = []
        if not are_any:
            return
        origins = sorted({origin for write in writes for origin in write.draft.origins})
        words = sorted({write.fingerprint for write in writes})
        about = Q(fingerprint__in=words) | Q(wordings__overlap=words)
        if origins:
            about |= Q(origins__overlap=origins)
        self._rows = list(Suppression.objects.filter(about, scope__in=list(scope_ids)).select_related("entry"))

    def quarantines(self, write: PendingWrite) -> bool:
        """Whether a write rests on a message in quarantine, whoever offers it but a person by hand."""
        return write.draft.source != Source.MANUAL and any(_is_poisoned(row, write) for row in self._rows)

    def against(self, write: PendingWrite) -> Entry | None:
        """The suppressed entry that a machine is about to write again; None when the write may go on."""
        if write.draft.source not in MACHINE_SOURCES:
            return None
        row = next((row for row in self._rows if _matches(row, write)), None)
        if row is None:
            return None
        if write.draft.source in REPLAYED_SOURCES:
            _add_origins(row, write.draft.origins)
        return row.entry

    def lift(self, write: PendingWrite) -> bool:
        """Whether saving these words on purpose ended a suppression of them."""
        if write.draft.source not in EXPLICIT_SOURCES:
            return False
        lifted = [row for row in self._rows if _has_same_words(row, write)]
        for row in lifted:
            self._rows.remove(row)
            if row.entry is not None:
                release(write.draft.scope, [row.entry], now=row.entry.updated_at)
        return bool(lifted)


def _is_poisoned(row: Suppression, write: PendingWrite) -> bool:
    """Whether a write rests on a message of a quarantine, or says by the same source what is in it without any."""
    if not row.quarantine or row.scope_id != write.draft.scope.pk:
        return False
    if row.origins or row.entry is None:
        return not set(row.origins).isdisjoint(write.draft.origins)
    return row.fingerprint == write.fingerprint and row.entry.source == write.draft.source


def _has_same_words(row: Suppression, write: PendingWrite) -> bool:
    return (
        not row.quarantine
        and row.scope_id == write.draft.scope.pk
        and write.fingerprint in (row.fingerprint, *row.wordings)
    )


def _matches(row: Suppression, write: PendingWrite) -> bool:
    """Whether a write has the suppressed words, or rests on suppressed messages alone."""
    origins = set(write.draft.origins)
    if row.quarantine:  # Suppressions.quarantines
        return False
    rests_on = row.scope_id == write.draft.scope.pk and bool(origins) and origins <= set(row.origins)
    return rests_on or _has_same_words(row, write)


def _add_origins(row: Suppression, origins: Iterable[str]) -> None:
    """Cover the messages in which the words were repeated, too."""
    added = [origin for origin in origins if origin not in row.origins]
    if added and len(row.origins) < ORIGINS_MOST:
        row.origins = [*row.origins, *added]
        conversations = {origin.rpartition("/")[0] for origin in row.origins}
        row.conversation = conversations.pop() if len(conversations) == 1 else SEVERAL
        row.save(update_fields=["origins", "conversation"])


def suppress(scope: Scope, entries: Sequence[Entry], *, now: datetime, actor: str) -> None:
    """Suppress entries of a scope, and mark what else rests on their messages there."""
    resting = list(_sharing_origins(scope, entries))
    wordings = _wordings(scope, entries, resting)
    rows = [
        Suppression(
            workspace_id=entry.workspace_id,
            scope=scope,
            entry=entry,
            fingerprint=entry.fingerprint,
            wordings=wordings[entry.pk],
            origins=entry.origins,
            actor=actor,
            created_at=now,
        )
        for entry in entries
    ]
    Suppression.objects.bulk_create(rows, ignore_conflicts=True)
    _mark([one.pk for one in resting if one.suppressed_at is None], suppressed_at=now, now=now)
    _follow_in_files(scope, entries)


def _wordings(scope: Scope, entries: Sequence[Entry], resting: Sequence[Entry]) -> dict[int, list[str]]:
    """By entry, the fingerprints of its earlier words, and of what else rests on its messages."""
    earlier: defaultdict[int, set[str]] = defaultdict(set)
    changed = Change.objects.filter(
        workspace_id=scope.workspace_id,
        table_name=Entry._meta.db_table,
        row_id__in=[one.pk for one in (*entries, *resting)],
        old__has_key="fingerprint",
    )
    for pk, fingerprint in changed.values_list("row_id", "old__fingerprint"):
        earlier[pk].add(fingerprint)
    for one in resting:
        earlier[one.pk].add(one.fingerprint)
    return {
        entry.pk: sorted(
            earlier[entry.pk].union(
                *(earlier[one.pk] for one in resting if not set(entry.origins).isdisjoint(one.origins))
            )
        )
        for entry in entries
    }


def release(scope: Scope, entries: Sequence[Entry], *, now: datetime) -> None:
    """End the suppression of entries of a scope."""
    Suppression.objects.filter(workspace_id=scope.workspace_id, scope=scope, entry__in=entries).delete()
    reconcile(scope, entries, now=now)


def carry_over(source: Scope, target: Scope, *, actor: str) -> None:
    """What was taken out of one memory stays out of another that takes its place, too."""
    columns = ("entry_id", "quarantine", "fingerprint", "wordings", "origins", "conversation", "created_at")
    there = Suppression.objects.filter(workspace_id=source.workspace_id, scope=source, entry__isnull=False)
    with acting(actor):
        Suppression.objects.bulk_create(
            (
                Suppression(workspace_id=source.workspace_id, scope=target, actor=actor, **row)
                for row in there.values(*columns)
            ),
            ignore_conflicts=True,
        )


def take_back(source: Scope, target: Scope, *, actor: str) -> None:
    """The undo of `carry_over`."""
    with acting(actor):
        Suppression.objects.filter(workspace_id=target.workspace_id, scope=target, entry__scope=source).delete()


def reconcile(scope: Scope, entries: Sequence[Entry], *, now: datetime) -> None:
    """Unmark what rests on the same messages as these entries, unless another suppression covers it.

    Files whose lines were left out are read again when they are looked at next: some may hold these words.
    """
    here = Suppression.objects.filter(workspace_id=scope.workspace_id, scope=scope)
    suppressed = {origin for origins in here.values_list("origins", flat=True) for origin in origins}
    freed = _sharing_origins(scope, entries).filter(suppressed_at__isnull=False, quarantined_at__isnull=True)
    if suppressed:
        freed = freed.exclude(origins__overlap=sorted(suppressed))
    _mark(list(freed.values_list("pk", flat=True)), suppressed_at=None, now=now)
    left_out = FileState.objects.filter(workspace_id=scope.workspace_id, scope=scope, problem=FileProblem.SUPPRESSED)
    left_out.update(modified_ns=0)
    _follow_in_files(scope, entries)


def _follow_in_files(scope: Scope, entries: Sequence[Entry]) -> None:
    """Day notes that rest on the messages of these entries are in use no longer, or again: also in their files."""
    origins = {origin for entry in entries for origin in entry.origins}
    day_files.follow(day_files.resting_on(scope, origins) if origins else set())


def _sharing_origins(scope: Scope, entries: Sequence[Entry]) -> EntryQuerySet:
    """Other entries of the scope that rest on the same messages."""
    origins = sorted({origin for entry in entries for origin in entry.origins})
    others = Entry.objects.in_scope(scope).exclude(pk__in=[entry.pk for entry in entries])
    return others.filter(origins__overlap=origins) if origins else others.none()


def _mark(marked: Sequence[int], *, suppressed_at: datetime | None, now: datetime) -> None:
    Entry.objects.filter(pk__in=marked).update(suppressed_at=suppressed_at, updated_at=now)
    search_rows.enqueue(marked)


def lift_suppression(scope: Scope, content: str, *, now: datetime, actor: str) -> bool:
    """End the suppressions of these words, which somebody saves on purpose; whether there were any (A15)."""
    words = text.fingerprint(content)
    about = Q(quarantine="") & (Q(fingerprint=words) | Q(wordings__contains=[words]))
    with acting(actor):
        rows = Suppression.objects.filter(about, workspace_id=scope.workspace_id, scope=scope).select_related("entry")
        entries = [row.entry for row in rows if row.entry is not None]
        if entries:
            release(scope, entries, now=now)
    return bool(entries)
