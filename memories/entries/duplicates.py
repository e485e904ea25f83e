"""Finding the entry that already says what a draft says (A10)."""

import json
import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from itertools import islice

from memories import postgresql
from memories.choices import Echo, EntryType, Verification, type_rule
from memories.conf import conf
from memories.entries.draft import Draft
from memories.index import search_rows
from memories.index.search_rows import indexed_text
from memories.language import text
from memories.language.likeness import Likeness, compare
from memories.language.quoting import new_sentences, repeated_memories, sides_of, telling_sentences
from memories.models import Entry, EntryVector
from memories.models.policy import Policies
from memories.models.state import live_sql

#: Terms leave out what is common, so that texts which share most words may share a little less of their terms.
TERM_SLACK = 0.25
#: Characters of the drafts that candidates are read for at a time: each draft may bring dozens as long as it is.
CHARS_AT_ONCE = 100_000


@dataclass(kw_only=True, eq=False)
class DuplicateCandidate:
    """An entry that may say the same as a draft."""

    content: str
    fingerprint: str
    terms: frozenset[int]
    stated_at: datetime
    pinned: bool = False
    echo: str | None = Echo.NONE
    verification: str = Verification.NONE
    entry_id: int = 0  # 0: it is not stored yet


@dataclass(kw_only=True, eq=False)
class PendingWrite(DuplicateCandidate):
    """A draft on its way to becoming an entry, and a candidate for the drafts after it."""

    draft: Draft
    counts: Counter[int]
    probe: list[int] = field(default_factory=list)  # terms to find candidates by
    resembling: list[DuplicateCandidate] = field(default_factory=list)  # kept beside it, not merged with it
    is_erased: bool = False  # it repeats what was erased with a person
    is_quarantined: bool = False  # it rests on what is in quarantine
    ends_suppression: bool = False
    entry: Entry | None = None

    @classmethod
    def of(cls, draft: Draft) -> "PendingWrite":
        counts = text.terms(indexed_text(draft.content, path=draft.path, heading=draft.heading))
        return cls(
            content=draft.content,
            fingerprint=text.fingerprint(draft.content),
            terms=frozenset(counts),
            stated_at=draft.at,
            pinned=draft.pinned,
            verification=draft.verification,
            draft=draft,
            counts=counts,
        )

    @property
    def written(self) -> Entry:
        """The entry, once it is stored."""
        if self.entry is None:
            raise AssertionError("no entry is stored of this yet")
        return self.entry

    @cached_property
    def place(self) -> tuple[object, ...]:
        """What duplicates have in common: scope, type, chat, sender; facts also their project and topic."""
        draft = self.draft
        subject = (draft.project, draft.topic) if draft.type == EntryType.FACT else ()
        return (draft.scope.pk, draft.type, draft.column("chat_id"), *_sender(draft), *subject)


def _sender(draft: Draft) -> tuple[str, str]:
    return draft.column("sender_id"), draft.column("speaker")


def choose_probes(writes: Sequence[PendingWrite], frequency: dict[tuple[int, int], int]) -> None:
    """Give every write the rarest of its terms, among stored and pending entries, to find candidates by.

    A text that shares so many of the terms misses only a few: among a few more than those, it has at least one.
    """
    least = min(conf.DEDUPE_THRESHOLD, conf.DEDUPE_TURN_THRESHOLD) - TERM_SLACK
    pending = Counter((write.draft.scope.pk, term) for write in writes for term in write.counts)
    for write in writes:
        scope = write.draft.scope.pk
        counts = {term: frequency.get((scope, term), 0) + pending[scope, term] for term in write.counts}
        rarest = sorted(counts, key=lambda term: (counts[term], term))
        write.probe = rarest[: len(rarest) - math.ceil(len(rarest) * least) + 1]


_COLUMNS = (
    *("id", "content", "fingerprint", "terms", "pinned", "echo", "verification", "stated_at", "expires_at"),
    *("type", "chat_id", "sender_id", "speaker", "project", "topic"),
)


def _select(alias: str) -> str:
    return ", ".join(f"{alias}.{name}" for name in _COLUMNS)


#: First what is compared first: the position of the draft, whether its words are the same, and the terms.
_CANDIDATES = f"""
    SELECT d.n, e.fingerprint = d.fingerprint, e.terms, e.id, e.content, e.fingerprint, e.pinned, e.echo,
        e.verification, e.stated_at::text, e.expires_at::text
    FROM jsonb_to_recordset(%(wanted)s::jsonb) AS d (
        n int, scope bigint, type text, chat text, sender text, speaker text, project text, topic text,
        fingerprint text
    )
    JOIN (
        SELECT w.n, {_select("f")}
        FROM jsonb_to_recordset(%(wanted)s::jsonb) AS w (n int, scope bigint, fingerprint text)
        JOIN memories_entry f ON f.scope_id = w.scope AND f.fingerprint = w.fingerprint AND {live_sql("f")}
        UNION ALL
        SELECT near.n, {_select("t")}
        FROM memplatform_entries_sharing(%(workspace)s::bigint, %(wanted)s::jsonb, %(most)s::int) near
        JOIN memories_entry t ON t.id = near.entry
    ) e ON e.n = d.n
    WHERE e.type = d.type AND e.chat_id = d.chat AND e.sender_id = d.sender AND e.speaker = d.speaker
      AND (d.type <> 'fact' OR (e.project = d.project AND e.topic = d.topic))
    ORDER BY d.n, e.id
"""  # noqa: S608 (names of ours)


def stored_candidates(
    writes: Sequence[PendingWrite], policies: Policies, now: datetime
) -> dict[int, list[DuplicateCandidate]]:
    """Entries in use that may say the same, by the position of the write; one statement, for long texts several.

    Most share a rare word with the draft and little else: what is too far apart is left where it is.
    """
    merged = ((n, write) for n, write in enumerate(writes) if type_rule(write.draft.type).is_merged)
    probe_rows = [(len(write.content), _probe_row(n, write)) for n, write in merged]
    candidates: dict[int, list[DuplicateCandidate]] = defaultdict(list)
    if not probe_rows:
        return candidates
    ttls = [policies.ttl(write.draft.type, write.draft.scope.kind) for write in writes]
    least = min(conf.DEDUPE_THRESHOLD, conf.DEDUPE_TURN_THRESHOLD) - TERM_SLACK
    parameters = {"workspace": writes[0].draft.scope.workspace_id, "most": conf.DEDUPE_CANDIDATES}
    for part in _parts(probe_rows):
        for n, is_same, terms, *columns in postgresql.rows(_CANDIDATES, parameters | {"wanted": json.dumps(part)}):
            if not is_same and _share(terms, writes[n].counts) < least:
                continue
            pk, content, fingerprint, pinned, echo, verification, stated_at, expires_at = columns
            candidate = DuplicateCandidate(
                content=content,
                fingerprint=fingerprint,
                terms=frozenset(terms),
                stated_at=datetime.fromisoformat(stated_at),
                pinned=pinned,
                echo=echo,
                verification=verification,
                entry_id=pk,
            )
            # once its time is up it is not served any more
            ends_at, ttl = datetime.fromisoformat(expires_at) if expires_at else None, ttls[n]
            if ends_at is None and ttl is not None and not pinned:
                ends_at = candidate.stated_at + ttl
            if ends_at is None or ends_at > now:
                candidates[n].append(candidate)
    return candidates


def _parts(probe_rows: Iterable[tuple[int, dict[str, object]]]) -> Iterator[list[dict[str, object]]]:
    """Rows that ask for candidates, each given with the length of its draft, in parts of CHARS_AT_ONCE."""
    part: list[dict[str, object]] = []
    room = CHARS_AT_ONCE
    for chars, row in probe_rows:
        if part and chars > room:
            yield part
            part, room = [], CHARS_AT_ONCE
        part.append(row)
        room -= chars
    yield part


def _probe_row(n: int, write: PendingWrite) -> dict[str, object]:
    draft = write.draft
    sender, speaker = _sender(draft)
    return {
        "n": n,
        "scope": draft.scope.pk,
        "type": draft.type,
        "chat": draft.column("chat_id"),
        "sender": sender,
        "speaker": speaker,
        "project": draft.project,
        "topic": draft.topic,
        "fingerprint": write.fingerprint,
        "probe": write.probe,
    }


class PendingIndex:
    """The pending writes that become entries of their own, found by the writes after them."""

    def __init__(self) -> None:
        self._by_fingerprint: dict[tuple[object, ...], DuplicateCandidate] = {}
        self._by_term: dict[tuple[object, ...], list[DuplicateCandidate]] = defaultdict(list)

    def add(self, write: PendingWrite) -> None:
        self._by_fingerprint[*write.place, write.fingerprint] = write
        for term in write.counts:
            self._by_term[*write.place, term].append(write)

    def like(self, write: PendingWrite) -> list[DuplicateCandidate]:
        """Those that share the rarest terms, latest first, at most as many as are looked for among stored entries."""
        if not type_rule(write.draft.type).is_merged:
            return []
        sharing = (reversed(self._by_term.get((*write.place, term), [])) for term in write.probe)
        near = (candidate for candidates in sharing for candidate in candidates)
        candidates = dict.fromkeys(islice(near, conf.DEDUPE_CANDIDATES))
        if same := self._by_fingerprint.get((*write.place, write.fingerprint)):
            candidates[same] = None
        return list(candidates)


def best_candidate(
    write: PendingWrite, candidates: Iterable[DuplicateCandidate]
) -> tuple[DuplicateCandidate | None, Likeness, list[DuplicateCandidate]]:
    """The candidate a draft repeats or rewords, how alike they are, and those it only resembles."""
    apart: list[DuplicateCandidate] = []
    best: tuple[float, DuplicateCandidate] | None = None
    plain, recent, window = conf.DEDUPE_THRESHOLD, conf.DEDUPE_TURN_THRESHOLD, conf.DEDUPE_TURN_WINDOW
    is_turn = write.draft.type == EntryType.CHAT_TURN
    for candidate in candidates:
        if candidate.fingerprint == write.fingerprint:
            return candidate, Likeness.SAME, []
        if (candidate.echo == Echo.TURN) != (write.echo == Echo.TURN):
            continue  # a question that is asked again takes the place of no statement
        threshold = recent if is_turn and abs(write.draft.at - candidate.stated_at) <= window else plain
        if _share(candidate.terms, write.counts) < min(plain, recent) - TERM_SLACK:
            continue  # far apart: not worth a look at every word
        likeness, alike = compare(candidate.content, write.draft.content, threshold=threshold)
        if likeness is Likeness.SAME:  # of a time when fingerprints were taken otherwise
            return candidate, Likeness.SAME, []
        if likeness is Likeness.ALIKE and not candidate.pinned:
            best = max(best or (0.0, candidate), (alike, candidate), key=lambda pair: pair[0])
        elif likeness is not Likeness.OTHER:
            apart.append(candidate)
    return (best[1], Likeness.ALIKE, apart) if best else (None, Likeness.OTHER, apart)


def _share(ours: Collection[int], theirs: Counter[int]) -> float:
    """Jaccard of index terms, each once; 1 where one side has none, since its words are all common ones."""
    common = len(theirs.keys() & ours)
    return common / (len(ours) + len(theirs) - common) if ours and theirs else 1.0


PROBES = 4  # rarest terms of an answer, by which the memories it may repeat are found
CANDIDATES = 20
NEWEST = 2**63 - 1
_REPEATABLE = """
    SELECT near.n, e.id, e.content, e.echo
    FROM memplatform_entries_sharing(%s::bigint, %s::jsonb, %s::int) near JOIN memories_entry e ON e.id = near.entry
    ORDER BY near.n, e.id DESC
"""
#: What a recall served so shortly before or after a turn is counted as served, and not as repeated beside.
SERVED_WITHIN = "1 hour"
_COUNT_USES = """
    INSERT INTO memories_entryaccess AS access (entry_id, workspace_id, access_count, last_accessed, repeat_count)
    SELECT used.id, %(workspace)s, count(*), max(used.at), 0
    FROM jsonb_to_recordset(%(used)s::jsonb) AS used (id bigint, at timestamptz)
    WHERE NOT EXISTS (
        SELECT FROM memories_recalltrace r WHERE r.workspace_id = %(workspace)s AND used.id = ANY(r.served)
        AND NOT r.query ? 'as_of'
        AND r.created_at BETWEEN used.at - %(within)s::interval AND used.at + %(within)s::interval)
    GROUP BY used.id ORDER BY used.id
    ON CONFLICT (entry_id) DO UPDATE SET access_count = access.access_count + excluded.access_count,
        last_accessed = greatest(access.last_accessed, excluded.last_accessed)
"""


@dataclass(frozen=True)
class StoredMemory:
    """A memory an answer may repeat; `entry` is 0 where it is no entry yet, or knows the same from another."""

    content: str
    entry: int = 0


@dataclass
class EchoCandidate:
    """A text that may be an echo, and the memories its answer may repeat: those of its scope `before` this entry."""

    scope_id: int
    content: str
    terms: Collection[int]
    before: int = NEWEST
    probe: list[int] = field(default_factory=list)
    memories: list[StoredMemory] = field(default_factory=list)

    @cached_property
    def sides(self) -> tuple[str, str] | None:
        return sides_of(self.content)

    @cached_property
    def unasked(self) -> list[str]:
        """The sentences of its answer that tell what the question does not."""
        user, answer = self.sides or ("", "")
        return new_sentences(answer, question=user)

    @property
    def echo(self) -> Echo:
        """What of it tells nothing new, as far as it was compared."""
        if self.sides is None:
            return Echo.NONE
        user, answer = self.sides
        contents = [memory.content for memory in self.memories]
        if new_sentences(answer, question=user, memories=contents) if contents else self.unasked:
            return Echo.NONE
        return Echo.ANSWER if telling_sentences(user) else Echo.TURN

    @property
    def repeated(self) -> set[int]:
        """The entries that the answer of an echo repeats."""
        if self.sides is None or not self.memories or self.echo == Echo.NONE:
            return set()
        user, answer = self.sides
        contents = [memory.content for memory in self.memories]
        positions = repeated_memories(answer, question=user, memories=contents)
        return {self.memories[n].entry for n in positions} - {0}


def find_echoes(
    texts: Sequence[EchoCandidate], frequency: Mapping[tuple[int, int], int], *, workspace_id: int
) -> list[Echo]:
    """What of each text is an echo; `frequency` tells how many stored entries of a scope hold a term.

    An answer is compared with the memories that share its rarest terms, the texts before it included.
    """
    echoes: list[Echo] = []
    unclear: dict[int, EchoCandidate] = {}
    earlier: dict[tuple[int, int], list[str]] = defaultdict(list)
    for n, candidate in enumerate(texts):
        scope, echo = candidate.scope_id, candidate.echo
        if candidate.sides and echo == Echo.NONE:
            # the rarest terms of what is new in the answer that are in any memory
            new = text.terms("\n".join(candidate.unasked)).keys() - text.terms(candidate.sides[0]).keys()
            pending = {term: earlier.get((scope, term), []) for term in new}
            counts = {term: frequency.get((scope, term), 0) + len(pending[term]) for term in new}
            probe = sorted((term for term in counts if counts[term]), key=lambda term: (counts[term], term))[:PROBES]
            candidate.probe = probe
            candidate.memories = [StoredMemory(content) for term in probe for content in pending[term][-CANDIDATES:]]
            if probe:
                unclear[n] = candidate
        if echo != Echo.TURN and len(texts) > 1:
            for term in candidate.terms:
                earlier[scope, term].append(candidate.content)
        echoes.append(echo)
    probe_rows = [
        {"n": n, "scope": candidate.scope_id, "before": candidate.before, "probe": candidate.probe, "echo": Echo.TURN}
        for n, candidate in unclear.items()
    ]
    rows = postgresql.rows(_REPEATABLE, [workspace_id, json.dumps(probe_rows), CANDIDATES]) if probe_rows else []
    for n, entry, content, echo in sorted(rows, key=lambda row: row[3] == Echo.ANSWER):  # last what repeats as well
        unclear[n].memories.append(StoredMemory(content, 0 if echo == Echo.ANSWER else entry))
    for n, candidate in unclear.items():
        echoes[n] = candidate.echo
    return echoes


def count_uses(uses: Iterable[tuple[int, datetime]], *, workspace_id: int) -> None:
    """Count entries that an answer repeats as used at that time; not where a recall served them, which counts (D2)."""
    rows = [{"id": entry, "at": at.isoformat()} for entry, at in uses]
    if not rows:
        return
    with postgresql.cursor() as cursor:
        cursor.execute(_COUNT_USES, {"used": json.dumps(rows), "workspace": workspace_id, "within": SERVED_WITHIN})


def mark_echoes(entries: Sequence[Entry], echoes: Sequence[Echo]) -> None:
    """Mark stored entries, and have their search rows made anew."""
    by_echo = {echo: [entry.pk for entry, own in zip(entries, echoes, strict=True) if own == echo] for echo in Echo}
    marked_pks = [*by_echo[Echo.ANSWER], *by_echo[Echo.TURN]]
    search_rows.enqueue(marked_pks)  # with their neighbours, before echoes are nobody's
    for echo, ids in by_echo.items():
        Entry.objects.filter(pk__in=ids).update(echo=echo)
    EntryVector.objects.filter(entry__in=by_echo[Echo.ANSWER]).delete()
