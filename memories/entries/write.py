"""Taking drafts in: each becomes an entry, rewords one that is there, or repeats it (A10, A13)."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import structlog
from django.db import connection
from django.db.models import F

from memories import metrics
from memories.choices import LinkKind, Outcome
from memories.entries.contradictions import mark_contradicted
from memories.entries.draft import Draft, check
from memories.entries.duplicates import (
    DuplicateCandidate,
    PendingIndex,
    PendingWrite,
    best_candidate,
    choose_probes,
    stored_candidates,
)
from memories.entries.fields import COLUMN_SLOTS, DRAFTED
from memories.entries.locks import lock_scopes
from memories.entries.suppression import Suppressions
from memories.index import scope_statistics, search_rows
from memories.language import text
from memories.language.similarity import Likeness, contains
from memories.models import Entry, Link, Policy, Scope, Slot
from memories.models.change import acting

log = structlog.get_logger(__name__)
TAKEN_OUT = "taken_out"  #: why a draft is suppressed: only saving it on purpose brings it back (A15)
_MOMENT = timedelta(microseconds=1)


@dataclass(frozen=True)
class WriteResult:
    """What became of one draft."""

    entry: Entry
    outcome: Outcome
    linked: tuple[int, ...] = ()  # entries it resembles but was not merged with
    brought_back: bool = False  # people had taken these words out; saving them on purpose let them in again

    @property
    def reason(self) -> str | None:
        """Why nothing was written, as a word to act on; None when something was."""
        return TAKEN_OUT if self.outcome == Outcome.SUPPRESSED else None


def remember(draft: Draft, *, now: datetime, actor: str) -> WriteResult:
    """Store one draft; see remember_many."""
    return remember_many([draft], now=now, actor=actor)[0]


def remember_many(
    drafts: Iterable[Draft], *, now: datetime, actor: str, locked: dict[int, Scope] | None = None
) -> list[WriteResult]:
    """Store drafts in order, or strengthen the entries that already say the same; one answer a draft.

    1. Check every draft, before anything is written: all of them are stored, or none.
    2. Lock the scopes, so that two writers cannot both miss a duplicate.
    3. For each draft look for a duplicate, among what is stored and among the drafts before it.
    4. Repeat, reword or insert; count terms; write keywords, so that it can be found when the call returns.
    5. Mark what needs embedding; the embedder hears of it after the commit.

    Drafts of one call belong to one workspace; `locked` are their scopes, where the caller holds their locks already.
    Raises InvalidDraft or ScopeFrozen.
    """
    drafts = list(drafts)
    for draft in drafts:
        check(draft)
    if not drafts:
        return []
    writes = [
        PendingWrite(draft=draft, counts=text.terms(draft.content), fingerprint=text.fingerprint(draft.content))
        for draft in drafts
    ]
    with acting(actor):
        writer = _Writer(locked or lock_scopes(draft.scope for draft in drafts), now)
        answers = writer.take(writes)
        written = [answer.entry for answer in answers if answer.outcome in (Outcome.CREATED, Outcome.MERGED)]
        mark_contradicted(written, now=now, actor=actor)
    for answer in answers:
        _log(answer)
    return answers


def _log(answer: WriteResult) -> None:
    entry = answer.entry
    log.info(
        "memory_capture",
        user_id=entry.sender_id,
        entry_key=str(entry.uid),
        content_len=len(entry.content),
        dedup_skipped=answer.outcome == Outcome.SKIPPED,
        outcome=str(answer.outcome),
    )
    metrics.count_capture(answer.outcome, text.count_tokens(entry.content))


@dataclass
class _Writer:
    """One call of remember_many, inside its transaction."""

    scopes: dict[int, Scope]
    now: datetime
    pending: PendingIndex = field(default_factory=PendingIndex)
    waiting: list[PendingWrite] = field(default_factory=list)
    resembling: list[tuple[PendingWrite, DuplicateCandidate]] = field(default_factory=list)
    stale: list[int] = field(default_factory=list)
    brought_back: set[int] = field(default_factory=set)
    reworded: dict[int, search_rows.KeywordRow] = field(default_factory=dict)  # by entry; written at the end

    def take(self, writes: Sequence[PendingWrite]) -> list[WriteResult]:
        workspace = writes[0].draft.scope.workspace_id
        wanted = set().union(*(write.counts for write in writes))
        choose_probes(writes, scope_statistics.frequencies(self.scopes, wanted))
        self.suppressions = Suppressions(self.scopes, writes)
        stored = stored_candidates(writes, Policy.objects.of(workspace), self.now)
        decided = [self._decide(write, stored[n]) for n, write in enumerate(writes)]
        self._insert_waiting()
        links = self._link_resembling()
        search_rows.write_keywords(list(self.reworded.values()), self._averages())
        search_rows.enqueue([*self.stale, *self.reworded])
        return [
            WriteResult(entry or write.written, outcome, tuple(links[id(write)]), id(write) in self.brought_back)
            for write, (entry, outcome) in zip(writes, decided, strict=True)
        ]

    def _decide(self, write: PendingWrite, stored: list[DuplicateCandidate]) -> tuple[Entry | None, Outcome]:
        """What happens to a write, and the entry it comes to; None: one of its own."""
        if suppressed := self.suppressions.against(write):
            return suppressed, Outcome.SUPPRESSED
        if self.suppressions.lift(write):
            self.brought_back.add(id(write))
        candidate, likeness, apart = best_candidate(write, [*stored, *self.pending.like(write)])
        if candidate is None:
            self.pending.add(write)
            self.waiting.append(write)
            self.resembling.extend((write, other) for other in apart)
            return None, Outcome.CREATED
        entry = self._stored(candidate, write.draft.scope)
        if likeness is Likeness.SAME:
            _count_repeat(entry, write.draft.at)
        elif not contains(entry.content, write.draft.content):
            self._replace_content(entry, write)
            candidate.content, candidate.fingerprint = write.draft.content, write.fingerprint
        self._strengthen(entry, write.draft)
        return entry, Outcome.SKIPPED if likeness is Likeness.SAME else Outcome.MERGED

    def _stored(self, candidate: DuplicateCandidate, scope: Scope) -> Entry:
        """The entry of a candidate as it is stored now: what is merged must be in the history."""
        if candidate.entry_id is not None:
            return Entry.objects.get(pk=candidate.entry_id, workspace_id=scope.workspace_id)
        if candidate.pending is None:
            raise AssertionError("a candidate is stored or pending")
        if candidate.pending.entry is None:
            self._insert_waiting()
        return candidate.pending.written

    def _replace_content(self, entry: Entry, write: PendingWrite) -> None:
        """Give an entry the newer text; the older stays in the history."""
        before = Counter(dict.fromkeys(entry.terms, -1))
        entry.content, entry.fingerprint = write.draft.content, write.fingerprint
        entry.terms, entry.length = sorted(write.counts), write.counts.total()
        before.update(dict.fromkeys(entry.terms, 1))
        scope_statistics.count_terms(entry.workspace_id, {entry.scope_id: before})
        self.reworded[entry.pk] = (entry.pk, entry.workspace_id, entry.scope_id, write.counts)

    def _strengthen(self, entry: Entry, draft: Draft) -> None:
        """What both said counts for the one that stays: chats, origins, slots, importance, and when it was stated."""
        entry.chats = _union(entry.chats, draft.chats) if entry.chats and draft.chats else []
        entry.origins = _union(entry.origins, draft.origins)
        entry.importance = max(entry.importance, draft.weight)
        entry.stated_at = max(entry.stated_at, draft.at)
        before, entry.updated_at = entry.updated_at, self.now
        columns = ["content", "fingerprint", "terms", "length", "chats", "origins", "importance", "stated_at"]
        had = dict(entry.slots.values_list("name", "value"))
        differing = {name: value for name, value in draft.free_slots().items() if had.get(name) != value}
        if differing:  # whoever holds the version before this can tell that something is new
            entry.version = F("version") + 1
            entry.updated_at = max(self.now, before + _MOMENT)  # a change of one call is recorded as one, too
            columns.append("version")
        entry.save(update_fields=[*columns, "updated_at"])
        for name, value in differing.items():
            Slot.objects.update_or_create(
                workspace_id=entry.workspace_id, entry=entry, name=name, defaults={"value": value}
            )
        if differing:
            entry.refresh_from_db(fields=["version"])
        scope_statistics.raise_version(self.scopes[entry.scope_id])

    def _insert_waiting(self) -> None:
        """Write the entries decided so far, in one statement a table."""
        writes, self.waiting = self.waiting, []
        if not writes:
            return
        entries = Entry.objects.bulk_create([_entry_of(write, self.now) for write in writes])
        for write, entry in zip(writes, entries, strict=True):
            write.entry = entry
        Slot.objects.bulk_create(
            Slot(workspace_id=entry.workspace_id, entry=entry, name=name, value=value)
            for write, entry in zip(writes, entries, strict=True)
            for name, value in write.draft.free_slots().items()
        )
        self._index(writes, entries)

    def _index(self, writes: list[PendingWrite], entries: list[Entry]) -> None:
        by_scope: defaultdict[int, list[Entry]] = defaultdict(list)
        counted: defaultdict[int, Counter[int]] = defaultdict(Counter)
        for entry in entries:
            by_scope[entry.scope_id].append(entry)
            counted[entry.scope_id].update(entry.terms)
        for scope_id, grown in by_scope.items():
            scope_statistics.count_entries(self.scopes[scope_id], grown)
        scope_statistics.count_terms(entries[0].workspace_id, counted)
        search_rows.write_keywords(
            [
                (entry.pk, entry.workspace_id, entry.scope_id, write.counts)
                for write, entry in zip(writes, entries, strict=True)
            ],
            self._averages(),
        )
        self.stale.extend(entry.pk for entry in entries)

    def _link_resembling(self) -> dict[int, list[int]]:
        """Link what was kept beside what it resembles, so that an operator can see both."""
        linked: defaultdict[int, list[int]] = defaultdict(list)
        links = []
        for write, candidate in self.resembling:
            entry, other = write.written, candidate.entry_id or (candidate.pending and candidate.pending.written.pk)
            if other and other != entry.pk:
                link = {"workspace_id": entry.workspace_id, "from_entry_id": entry.pk, "to_entry_id": other}
                links.append(Link(**link, kind=LinkKind.ALIKE, created_at=self.now))
                linked[id(write)].append(other)
        Link.objects.bulk_create(links, ignore_conflicts=True)
        return linked

    def _averages(self) -> dict[int, float]:
        return {scope_id: scope.index_length for scope_id, scope in self.scopes.items()}


def _entry_of(write: PendingWrite, now: datetime) -> Entry:
    draft = write.draft
    return Entry(
        workspace_id=draft.scope.workspace_id,
        scope=draft.scope,
        terms=sorted(write.counts),
        length=write.counts.total(),
        fingerprint=write.fingerprint,
        importance=draft.weight,
        chats=list(draft.chats),
        origins=list(draft.origins),
        created_at=draft.at,
        stated_at=draft.at,
        updated_at=now,
        **{name: getattr(draft, name) for name in DRAFTED},
        **{name: draft.column(name) for name in COLUMN_SLOTS},
    )


def _union(one: Sequence[str], other: Sequence[str]) -> list[str]:
    return list(dict.fromkeys([*one, *other]))


def _count_repeat(entry: Entry, at: datetime) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO memories_entryaccess (entry_id, workspace_id, access_count, repeat_count, last_seen)"
            " VALUES (%s, %s, 0, 1, %s) ON CONFLICT (entry_id) DO UPDATE"
            " SET repeat_count = memories_entryaccess.repeat_count + 1,"
            " last_seen = greatest(memories_entryaccess.last_seen, excluded.last_seen)",
            [entry.pk, entry.workspace_id, at],
        )
