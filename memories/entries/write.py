"""Writing drafts: each becomes an entry, rewords a stored one, or repeats it (A10, A13)."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import structlog
from django.db import connection
from django.db.models import F

from memories import postgresql, telemetry
from memories.choices import MACHINE_SOURCES, Act, Echo, LinkKind, Origin, Outcome, Verification
from memories.entries import evidence
from memories.entries.changes import TEXT_COLUMNS, reword, write_slots
from memories.entries.contradictions import STATEMENTS, mark_contradicted
from memories.entries.draft import COLUMN_SLOTS, DRAFTED, Draft, WriteResult, check, check_is_read, guarded, suspicion
from memories.entries.duplicates import (
    DuplicateCandidate,
    EchoCandidate,
    PendingIndex,
    PendingWrite,
    best_candidate,
    choose_probes,
    count_uses,
    find_echoes,
    stored_candidates,
)
from memories.entries.suppression import Suppressions, Tombstones
from memories.exceptions import ContentErased
from memories.index import scope_statistics, search_rows
from memories.index.scope_statistics import COUNT_NEW, counting
from memories.language import text
from memories.language.likeness import Likeness, says_all
from memories.models import Entry, Policy, Scope, Slot
from memories.models.change import acting
from memories.models.policy import Policies
from memories.models.tenancy import SCOPE_LOCK, checked_scopes

_BEGIN = f"""
    SELECT somebody_erased, terms, policies, has_suppressions, {postgresql.columns(Scope, "(scope)")}
    FROM memplatform_begin_write(%(kind)s::bigint, %(scopes)s::bigint[], %(workspace)s::bigint, %(terms)s::int[],
        %(words)s::varchar[], %(origins)s::varchar[])
"""  # noqa: S608 (names of ours)


_NOTHING: tuple[Any, ...] = (False, "[]", "[]", False)


@dataclass(frozen=True)
class WriteContext:
    """How many entries of a scope hold a term, the policies of the workspace, and whether people took words out.

    `scopes` are locked and as they are now, by id.
    """

    frequency: dict[tuple[int, int], int]
    policies: Policies
    has_suppressions: bool
    scopes: dict[int, Scope]


def begin_write(writes: Sequence[PendingWrite]) -> WriteContext:
    """Lock the scopes of drafts of one workspace and read all a write has to know of them. Raises ScopeFrozen."""
    workspace = writes[0].draft.scope.workspace_id
    parameters: dict[str, Any] = {
        "kind": SCOPE_LOCK,
        "scopes": _distinct([write.draft.scope.pk] for write in writes),
        "workspace": workspace,
        "terms": _distinct(write.counts for write in writes),
        "words": _distinct([write.fingerprint] for write in writes),
        "origins": _distinct(write.draft.origins for write in writes),
    }
    rows = postgresql.rows(_BEGIN, parameters)
    scopes = checked_scopes((somebody_erased, columns) for somebody_erased, _, _, _, *columns in rows)
    _, terms, policies, has_suppressions, *_columns = rows[0] if rows else _NOTHING  # the scope was erased
    frequency = {(scope, term): entries for scope, term, entries in json.loads(terms)}
    return WriteContext(frequency, Policies([Policy(**row) for row in json.loads(policies)]), has_suppressions, scopes)


def _distinct(values: Iterable[Iterable[Any]]) -> list[Any]:
    return sorted({value for several in values for value in several})


_FIELDS = [column for column in Entry._meta.concrete_fields if not column.primary_key]
_NAMES = ", ".join(f'"{column.column}"' for column in _FIELDS)
_INSERT = f"""
    WITH inserted AS (
        INSERT INTO memories_entry ({_NAMES})
        SELECT {_NAMES} FROM jsonb_populate_recordset(NULL::memories_entry, %(entries)s::jsonb)
        RETURNING uid, id
    ), {COUNT_NEW}
    SELECT uid, id FROM inserted
"""  # noqa: S608 (names of ours)


_LINK = """
    INSERT INTO memories_link (version, workspace_id, from_entry_id, to_entry_id, kind, created_at)
    SELECT 1, %(workspace)s::bigint, link.from_pk, link.to_pk, %(kind)s::text, %(now)s::timestamptz
    FROM unnest(%(from)s::bigint[], %(to)s::bigint[]) AS link (from_pk, to_pk)
    ON CONFLICT DO NOTHING
"""


log = structlog.get_logger(__name__)
_MOMENT = timedelta(microseconds=1)
_COUNT_REPEAT = """
    INSERT INTO memories_entryaccess (entry_id, workspace_id, access_count, repeat_count, last_seen)
    VALUES (%s, %s, 0, 1, %s) ON CONFLICT (entry_id) DO UPDATE
    SET repeat_count = memories_entryaccess.repeat_count + 1,
        last_seen = greatest(memories_entryaccess.last_seen, excluded.last_seen)
"""


def remember(draft: Draft, *, now: datetime, actor: str) -> WriteResult:
    """Store one draft; see remember_many."""
    return remember_many([draft], now=now, actor=actor)[0]


def remember_many(
    drafts: Iterable[Draft],
    *,
    now: datetime,
    actor: str,
    locked: dict[int, Scope] | None = None,
    savepoint: bool = True,
) -> list[WriteResult]:
    """Store drafts in order, or strengthen the entries that already say the same; one result for each draft.

    1. Check every draft, before anything is written: all of them are stored, or none.
    2. Lock the scopes, so that two writers cannot both miss a duplicate.
    3. For each draft look for a duplicate, among what is stored and among the drafts before it.
    4. Repeat, reword or insert; count terms; write keywords, so that it can be found when the call returns.
    5. Queue what needs embedding; the worker is notified after the commit.

    Drafts of one call belong to one workspace; `locked` are their scopes, if the caller has locked them already. With
    these, or without `savepoint`, whoever calls it in a transaction loses all of that when it fails.
    What a machine offers of an erased person, or of a message in quarantine, is answered with an entry that is not
    stored; somebody who saves what was erased on purpose gets ContentErased. Raises InvalidDraft or ScopeFrozen, too.
    """
    drafts = list(drafts)
    for draft in drafts:
        check(draft)
        check_is_read(draft)
    drafts = [evidence.settled(guarded(draft)) for draft in drafts]
    if not drafts:
        return []
    with acting(actor, savepoint=savepoint and locked is None):
        writes = [PendingWrite.of(draft) for draft in drafts]
        context = begin_write(writes)
        results = _Writer(locked or context.scopes, context, now).write(writes)
        changed_entries = [result.entry for result in results if result.outcome in (Outcome.CREATED, Outcome.MERGED)]
        mark_contradicted(changed_entries, now=now, actor=actor)
        kept_pairs = (pair for pair in zip(results, drafts, strict=True) if pair[0].is_kept)
        evidence.add((result.entry, words) for result, draft in kept_pairs for words in draft.evidence)
    for result, draft in zip(results, drafts, strict=True):
        log.info(
            "memory_capture",
            user_id=result.entry.sender_id,
            scope=draft.scope.key,
            entry_key=str(result.entry.uid),
            content_len=len(result.entry.content),
            dedup_skipped=result.outcome == Outcome.SKIPPED,
            outcome=str(result.outcome),
        )
        telemetry.count_capture(result.outcome, text.count_tokens(result.entry.content))
    return results


@dataclass
class _Writer:
    """One call of remember_many, inside its transaction."""

    scopes: dict[int, Scope]
    context: WriteContext
    now: datetime
    pending: PendingIndex = field(default_factory=PendingIndex)
    waiting: list[PendingWrite] = field(default_factory=list)  # to be inserted
    suppressions: Suppressions = field(init=False)
    new: list[int] = field(default_factory=list)  # entries inserted by this call
    rows: dict[int, search_rows.KeywordRow] = field(default_factory=dict)  # of new and reworded; written at the end

    def write(self, writes: Sequence[PendingWrite]) -> list[WriteResult]:
        workspace = writes[0].draft.scope.workspace_id
        context = self.context
        choose_probes(writes, context.frequency)
        texts = [EchoCandidate(write.draft.scope.pk, write.content, write.terms) for write in writes]
        for write, echo in zip(writes, find_echoes(texts, context.frequency, workspace_id=workspace), strict=True):
            write.echo = echo
        repeats = ((write, text_of) for write, text_of in zip(writes, texts, strict=True) if write.echo != Echo.NONE)
        uses = ((entry, write.draft.at) for write, text_of in repeats for entry in text_of.repeated)
        count_uses(uses, workspace_id=workspace)
        self.suppressions = Suppressions(self.scopes, writes, are_any=context.has_suppressions)
        covered = Tombstones(self.scopes.values()).covering_writes(writes)
        for write, is_erased in zip(writes, covered, strict=True):
            write.is_erased, write.is_quarantined = is_erased, self.suppressions.quarantines(write)
        candidates = stored_candidates(writes, context.policies, self.now)
        decided = [self._decide(write, candidates[n]) for n, write in enumerate(writes)]
        self._insert_waiting()

        # new entries are linked to those they resemble, so that an operator can see both
        similar_pks = [
            [near.entry_id for near in write.resembling if near.entry_id not in (0, write.written.pk)]
            for write in writes
        ]
        links = [(write.written.pk, pk) for write, pks in zip(writes, similar_pks, strict=True) for pk in pks]
        if links:
            from_pks, to_pks = map(list, zip(*links, strict=True))
            values: dict[str, Any] = {"workspace": workspace, "from": from_pks, "to": to_pks, "now": self.now}
            with postgresql.cursor() as cursor:  # those that are not there yet
                cursor.execute(_LINK, values | {"kind": LinkKind.ALIKE.value})
        lengths = {scope_id: scope.index_length for scope_id, scope in self.scopes.items()}
        search_rows.write_and_enqueue(list(self.rows.values()), lengths, new=self.new)
        return [
            WriteResult(
                entry or write.written, outcome, tuple(pks), write.ends_suppression, is_quarantined=write.is_quarantined
            )
            for write, (entry, outcome), pks in zip(writes, decided, similar_pks, strict=True)
        ]

    def _decide(self, write: PendingWrite, candidates: list[DuplicateCandidate]) -> tuple[Entry | None, Outcome]:
        """What happens to a write, and the entry it comes to; None: one of its own."""
        if write.is_erased and write.draft.source not in MACHINE_SOURCES:
            raise ContentErased
        if write.is_erased or write.is_quarantined:
            return _new_entry(write, self.now), Outcome.SUPPRESSED
        if suppressed := self.suppressions.against(write):
            return suppressed, Outcome.SUPPRESSED
        write.ends_suppression = self.suppressions.lift(write)
        candidate, likeness, apart = best_candidate(write, [*candidates, *self.pending.like(write)])
        is_reworded = likeness is not Likeness.SAME
        if candidate and is_reworded and (_is_weaker(write, candidate) or not self._may_reword(write, candidate)):
            apart, candidate = [*apart, candidate], None
        if candidate is None:
            self.pending.add(write)
            self.waiting.append(write)
            write.resembling = apart
            return None, Outcome.CREATED
        if isinstance(candidate, PendingWrite):
            if candidate.entry is None:  # what is merged must be in the history
                self._insert_waiting()
            entry = candidate.written
        else:
            scope = write.draft.scope
            entry = Entry.objects.get(pk=candidate.entry_id, workspace_id=scope.workspace_id)
            entry.scope = scope
        if likeness is Likeness.SAME:
            with connection.cursor() as cursor:
                cursor.execute(_COUNT_REPEAT, [entry.pk, entry.workspace_id, write.draft.at])
            evidence.raise_trust(entry, write.draft)
        elif _is_weaker(entry, write) or not says_all(entry.content, write.draft.content):
            self.rows[entry.pk] = reword(entry, write.draft.content, write.counts, write.echo)
            entry.suspect = suspicion(write.draft) or entry.suspect
            candidate.content, candidate.fingerprint = write.draft.content, write.fingerprint
            evidence.lower_trust(entry, [write.draft])
        self._strengthen(entry, write.draft)
        candidate.verification = entry.verification
        return entry, Outcome.SKIPPED if likeness is Likeness.SAME else Outcome.MERGED

    def _may_reword(self, write: PendingWrite, candidate: DuplicateCandidate) -> bool:
        """Whether the words of a statement may take the place of what is there, which may be trusted more (A20)."""
        own = write.draft.trust
        if write.draft.type not in STATEMENTS or self.context.policies.may(own, Act.SUPERSEDE):
            return True
        if isinstance(candidate, PendingWrite):
            there = candidate.draft.trust
        else:
            there = Entry.objects.values_list("trust", flat=True).get(pk=candidate.entry_id)
        return Origin.lowest([there, own]) == there

    def _strengthen(self, entry: Entry, draft: Draft) -> None:
        """Merge a draft into an entry: chats, origins, slots, the higher importance and the later statement."""
        entry.chats = _union(entry.chats, draft.chats) if entry.chats and draft.chats else []
        entry.origins = _union(entry.origins, draft.origins)
        entry.importance = max(entry.importance, draft.weight)
        entry.stated_at = max(entry.stated_at, draft.at)
        entry.verification = max(entry.verification, draft.verification, key=_strength)
        before, entry.updated_at = entry.updated_at, self.now
        columns = [*TEXT_COLUMNS, "verification", "origin", "trust", "chats", "origins", "importance", "stated_at"]
        slots = draft.free_slots()
        had = dict(entry.slots.values_list("name", "value")) if slots else {}
        differing = {name: value for name, value in slots.items() if had.get(name) != value}
        if differing:  # a client with the version before this one can tell that the slots are new
            entry.version = F("version") + 1
            entry.updated_at = max(self.now, before + _MOMENT)  # a change within one call is recorded as one, too
            columns.append("version")
        entry.save(update_fields=[*columns, "updated_at"])
        write_slots(entry, differing)
        if differing:
            entry.refresh_from_db(fields=["version"])
        scope_statistics.raise_version(self.scopes[entry.scope_id])

    def _insert_waiting(self) -> None:
        """Insert the entries decided so far, in one statement a table, and count them into their scopes.

        Every value is taken as it is, as Django's bulk_create does.
        """
        writes, self.waiting = self.waiting, []
        if not writes:
            return
        entries = [_new_entry(write, self.now) for write in writes]
        rows = [{column.column: getattr(entry, column.attname) for column in _FIELDS} for entry in entries]
        values = {"entries": json.dumps(rows, default=str, ensure_ascii=False), **counting(self.scopes, entries)}
        ids = dict(postgresql.rows(_INSERT, values))
        for write, entry in zip(writes, entries, strict=True):
            entry.pk = ids[entry.uid]
            entry._state.adding, entry._state.db = False, connection.alias
            write.entry, write.entry_id = entry, entry.pk
        slots = [
            Slot(workspace_id=entry.workspace_id, entry=entry, name=name, value=value)
            for write, entry in zip(writes, entries, strict=True)
            for name, value in write.draft.free_slots().items()
        ]
        if slots:
            Slot.objects.bulk_create(slots)
        self.rows |= {entry.pk: search_rows.keyword_row(entry) for entry in entries}
        self.new.extend(entry.pk for entry in entries)


def _new_entry(write: PendingWrite, now: datetime) -> Entry:
    draft = write.draft
    return Entry(
        workspace_id=draft.scope.workspace_id,
        scope=draft.scope,
        terms=sorted(write.counts),
        length=write.counts.total(),
        fingerprint=write.fingerprint,
        echo=write.echo,
        suspect=suspicion(draft),
        importance=draft.weight,
        chats=list(draft.chats),
        origins=list(draft.origins),
        created_at=draft.at,
        stated_at=draft.at,
        updated_at=now,
        **{name: getattr(draft, name) for name in DRAFTED},
        **{name: draft.column(name) for name in COLUMN_SLOTS},
    )


def _strength(verification: str) -> int:
    """What may reword what: words nobody read never reword what was read, or what no model wrote."""
    return (Verification.QUOTED, Verification.VERIFIED, Verification.NONE).index(Verification(verification))


def _is_weaker(entry: Entry | DuplicateCandidate, other: DuplicateCandidate) -> bool:
    return _strength(entry.verification) < _strength(other.verification)


def _union(first: Sequence[str], second: Sequence[str]) -> list[str]:
    return list(dict.fromkeys([*first, *second]))
