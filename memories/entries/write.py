"""Taking drafts in: each becomes an entry, rewords one that is there, or repeats it (A10, A13)."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import structlog
from django.db import connection
from django.db.models import F

from memories import metrics
from memories.choices import LinkKind, Outcome
from memories.entries.contradictions import mark_contradicted
from memories.entries.draft import COLUMN_SLOTS, Draft, check
from memories.entries.duplicates import Arrival, Newcomers, Twin, best_twin, choose_probes, stored_twins
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


def remember_many(drafts: Sequence[Draft], *, now: datetime, actor: str) -> list[WriteResult]:
    """Store drafts in order, or strengthen the entries that already say the same; one answer a draft.

    1. Check every draft, before anything is written: all of them are stored, or none.
    2. Lock the scopes, so that two writers cannot both miss a duplicate.
    3. For each draft look for a twin, among what is stored and among the drafts before it.
    4. Repeat, reword or insert; count terms; write keywords, so that it can be found when the call returns.
    5. Mark what needs embedding; the embedder hears of it after the commit.

    Drafts of one call belong to one workspace. Raises InvalidDraft or ScopeFrozen.
    """
    for draft in drafts:
        check(draft)
    if not drafts:
        return []
    arrivals = [_arrive(draft) for draft in drafts]
    with acting(actor):
        intake = _Intake(lock_scopes(draft.scope for draft in drafts), now)
        answers = intake.take(arrivals)
        written = [answer.entry for answer in answers if answer.outcome in (Outcome.CREATED, Outcome.MERGED)]
        mark_contradicted(written, now=now, actor=actor)
    for answer in answers:
        _log(answer)
    return answers


def _arrive(draft: Draft) -> Arrival:
    return Arrival(draft=draft, counts=text.terms(draft.content), fingerprint=text.fingerprint(draft.content))


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
    metrics.captured(answer.outcome, text.count_tokens(entry.content))


@dataclass
class _Intake:
    """One call of remember_many, inside its transaction."""

    scopes: dict[int, Scope]
    now: datetime
    newcomers: Newcomers = field(default_factory=Newcomers)
    waiting: list[Arrival] = field(default_factory=list)
    resembling: list[tuple[Arrival, Twin]] = field(default_factory=list)
    stale: list[int] = field(default_factory=list)
    brought_back: set[int] = field(default_factory=set)
    reworded: dict[int, search_rows.Keywords] = field(
        default_factory=dict
    )  # by entry: their search rows wait for the end

    def take(self, arrivals: Sequence[Arrival]) -> list[WriteResult]:
        workspace = arrivals[0].draft.scope.workspace_id
        wanted = set().union(*(arrival.counts for arrival in arrivals))
        choose_probes(arrivals, scope_statistics.frequencies(self.scopes, wanted))
        self.out = Suppressions(self.scopes, arrivals)
        stored = stored_twins(arrivals, Policy.objects.of(workspace), self.now)
        decided = [self._decide(arrival, stored[n]) for n, arrival in enumerate(arrivals)]
        self._insert_waiting()
        links = self._link_resembling()
        self._finish()
        return [
            WriteResult(holder.written, outcome, tuple(links[id(arrival)]), id(arrival) in self.brought_back)
            for arrival, (holder, outcome) in zip(arrivals, decided, strict=True)
        ]

    def _decide(self, arrival: Arrival, stored: list[Twin]) -> tuple[Arrival, Outcome]:
        """The arrival that holds the resulting entry, and what happened."""
        if taken_out := self.out.against(arrival):
            arrival.entry = taken_out
            return arrival, Outcome.SUPPRESSED
        if self.out.lift(arrival):
            self.brought_back.add(id(arrival))
        twin, likeness, apart = best_twin(arrival, [*stored, *self.newcomers.like(arrival)])
        if twin is None:
            self.newcomers.add(arrival)
            self.waiting.append(arrival)
            self.resembling.extend((arrival, other) for other in apart)
            return arrival, Outcome.CREATED
        if likeness is Likeness.SAME:
            return self._repeat(arrival, twin), Outcome.SKIPPED
        return self._reword(arrival, twin), Outcome.MERGED

    def _repeat(self, arrival: Arrival, twin: Twin) -> Arrival:
        holder = self._stored(twin, arrival)
        entry = holder.written
        _count_repeat(entry, arrival.draft.at)
        self._strengthen(entry, arrival.draft)
        return holder

    def _reword(self, arrival: Arrival, twin: Twin) -> Arrival:
        """The newer text becomes the content, unless the older says all of it; the older stays in the history."""
        holder = self._stored(twin, arrival)
        entry, draft = holder.written, arrival.draft
        if not contains(entry.content, draft.content):
            before = Counter(dict.fromkeys(entry.terms, -1))
            entry.content, entry.fingerprint = draft.content, arrival.fingerprint
            entry.terms, entry.length = sorted(arrival.counts), arrival.counts.total()
            before.update(dict.fromkeys(entry.terms, 1))
            scope_statistics.count_terms(entry.workspace_id, {entry.scope_id: before})
            self.reworded[entry.pk] = (entry.pk, entry.workspace_id, entry.scope_id, arrival.counts)
            twin.content, twin.fingerprint = draft.content, arrival.fingerprint
        self._strengthen(entry, draft)
        return holder

    def _stored(self, twin: Twin, arrival: Arrival) -> Arrival:
        """The arrival behind a twin, with its entry as it is stored now: what is merged must be in the history."""
        if twin.arrival is not None:
            if twin.arrival.entry is None:
                self._insert_waiting()
            return twin.arrival
        if twin.entry_id is None:
            raise AssertionError("a twin is stored or on its way")
        holder = Arrival(draft=arrival.draft, counts=arrival.counts, fingerprint=arrival.fingerprint)
        holder.entry = Entry.objects.get(pk=twin.entry_id, workspace_id=arrival.draft.scope.workspace_id)
        twin.arrival = holder
        return holder

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
        scope_statistics.touch(self.scopes[entry.scope_id])

    def _insert_waiting(self) -> None:
        """Write the entries decided so far, in one statement a table."""
        arrivals, self.waiting = self.waiting, []
        if not arrivals:
            return
        entries = Entry.objects.bulk_create([_entry_of(arrival, self.now) for arrival in arrivals])
        for arrival, entry in zip(arrivals, entries, strict=True):
            arrival.entry = entry
        Slot.objects.bulk_create(
            Slot(workspace_id=entry.workspace_id, entry=entry, name=name, value=value)
            for arrival, entry in zip(arrivals, entries, strict=True)
            for name, value in arrival.draft.free_slots().items()
        )
        self._index(arrivals, entries)

    def _index(self, arrivals: list[Arrival], entries: list[Entry]) -> None:
        by_scope: defaultdict[int, list[Entry]] = defaultdict(list)
        counted: defaultdict[int, Counter[int]] = defaultdict(Counter)
        for entry in entries:
            by_scope[entry.scope_id].append(entry)
            counted[entry.scope_id].update(entry.terms)
        for scope_id, grown in by_scope.items():
            scope_statistics.grow(self.scopes[scope_id], grown)
        scope_statistics.count_terms(entries[0].workspace_id, counted)
        search_rows.write_keywords(
            [
                (entry.pk, entry.workspace_id, entry.scope_id, arrival.counts)
                for arrival, entry in zip(arrivals, entries, strict=True)
            ],
            self._averages(),
        )
        self.stale.extend(entry.pk for entry in entries)

    def _link_resembling(self) -> dict[int, list[int]]:
        """Link what was kept beside what it resembles, so that an operator can see both."""
        linked: defaultdict[int, list[int]] = defaultdict(list)
        links = []
        for arrival, twin in self.resembling:
            other = twin.entry_id or (twin.arrival and twin.arrival.entry and twin.arrival.entry.pk)
            if arrival.entry is not None and other and other != arrival.entry.pk:
                links.append(
                    Link(
                        workspace_id=arrival.entry.workspace_id,
                        from_entry_id=arrival.entry.pk,
                        to_entry_id=other,
                        kind=LinkKind.ALIKE,
                        created_at=self.now,
                    )
                )
                linked[id(arrival)].append(other)
        Link.objects.bulk_create(links, ignore_conflicts=True)
        return linked

    def _finish(self) -> None:
        search_rows.write_keywords(list(self.reworded.values()), self._averages())
        search_rows.mark_stale([*self.stale, *self.reworded])

    def _averages(self) -> dict[int, float]:
        return {scope_id: scope.index_length for scope_id, scope in self.scopes.items()}


def _entry_of(arrival: Arrival, now: datetime) -> Entry:
    draft = arrival.draft
    return Entry(
        workspace_id=draft.scope.workspace_id,
        scope=draft.scope,
        type=draft.type,
        subtype=draft.subtype,
        tier=draft.tier,
        category=draft.category,
        project=draft.project,
        topic=draft.topic,
        content=draft.content,
        terms=sorted(arrival.counts),
        length=arrival.counts.total(),
        fingerprint=arrival.fingerprint,
        importance=draft.weight,
        source=draft.source,
        chats=list(draft.chats),
        origins=list(draft.origins),
        created_at=draft.at,
        stated_at=draft.at,
        updated_at=now,
        expires_at=draft.expires_at,
        pinned=draft.pinned,
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
