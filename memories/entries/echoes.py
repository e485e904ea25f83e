"""Which turns tell nothing new, because only a question was asked and memory repeated (A7)."""

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

from memories import prepared
from memories.choices import Echo
from memories.index import search_rows
from memories.language import text
from memories.language.turns import new_sentences, repeated_memories, sides_of, telling_sentences
from memories.models import Entry, EntryVector

PROBES = 4  # rarest terms of an answer, by which the memories it may repeat are found
CANDIDATES = 20
NEWEST = 2**63 - 1
_CANDIDATES = """
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
        """What of it tells nothing new, by all that is known of it so far."""
        if self.sides is None:
            return Echo.NONE
        user, answer = self.sides
        known = [memory.content for memory in self.memories]
        if new_sentences(answer, question=user, memories=known) if known else self.unasked:
            return Echo.NONE
        return Echo.ANSWER if telling_sentences(user) else Echo.TURN

    @property
    def repeated(self) -> set[int]:
        """The entries that the answer of an echo repeats."""
        if self.sides is None or not self.memories or self.echo == Echo.NONE:
            return set()
        user, answer = self.sides
        contents = [memory.content for memory in self.memories]
        found = repeated_memories(answer, question=user, memories=contents)
        return {self.memories[n].entry for n in found} - {0}


def find_echoes(
    texts: Sequence[EchoCandidate], frequency: Mapping[tuple[int, int], int], *, workspace_id: int
) -> list[Echo]:
    """What of each text is an echo; `frequency` tells how many stored entries of a scope hold a term.

    An answer is compared with the memories that share its rarest terms, the texts before it included.
    """
    found: list[Echo] = []
    unclear: dict[int, EchoCandidate] = {}
    earlier: dict[tuple[int, int], list[str]] = defaultdict(list)
    for n, one in enumerate(texts):
        echo = one.echo
        if one.sides and echo == Echo.NONE and _choose_probe(one, frequency, earlier):
            unclear[n] = one
        if echo != Echo.TURN and len(texts) > 1:
            for term in one.terms:
                earlier[one.scope_id, term].append(one.content)
        found.append(echo)
    _read_memories(unclear, workspace_id)
    for n, one in unclear.items():
        found[n] = one.echo
    return found


def _choose_probe(
    one: EchoCandidate, frequency: Mapping[tuple[int, int], int], earlier: Mapping[tuple[int, int], list[str]]
) -> bool:
    """Choose the rarest known terms of what is new in an answer; whether there are any."""
    user, _answer = one.sides or ("", "")
    new = text.terms("\n".join(one.unasked)).keys() - text.terms(user).keys()
    pending = {term: earlier.get((one.scope_id, term), []) for term in new}
    counts = {term: frequency.get((one.scope_id, term), 0) + len(pending[term]) for term in new}
    one.probe = sorted((term for term in counts if counts[term]), key=lambda term: (counts[term], term))[:PROBES]
    one.memories = [StoredMemory(content) for term in one.probe for content in pending[term][-CANDIDATES:]]
    return bool(one.probe)


def _read_memories(texts: Mapping[int, EchoCandidate], workspace_id: int) -> None:
    if not texts:
        return
    wanted = [
        {"n": n, "scope": one.scope_id, "before": one.before, "probe": one.probe, "echo": Echo.TURN}
        for n, one in texts.items()
    ]
    rows = prepared.rows(_CANDIDATES, [workspace_id, json.dumps(wanted), CANDIDATES])
    for n, entry, content, echo in sorted(rows, key=lambda row: row[3] == Echo.ANSWER):  # last what repeats as well
        texts[n].memories.append(StoredMemory(content, 0 if echo == Echo.ANSWER else entry))


def count_uses(used: Iterable[tuple[int, datetime]], *, workspace_id: int) -> None:
    """Count entries that an answer repeats as used at that time; not where a recall served them, which counts (D2)."""
    rows = [{"id": entry, "at": at.isoformat()} for entry, at in used]
    if not rows:
        return
    with prepared.cursor() as cursor:
        cursor.execute(_COUNT_USES, {"used": json.dumps(rows), "workspace": workspace_id, "within": SERVED_WITHIN})


def mark_echoes(entries: Sequence[Entry], found: Sequence[Echo]) -> None:
    """Mark stored entries, and have their search rows made anew."""
    by_echo = {echo: [entry.pk for entry, one in zip(entries, found, strict=True) if one == echo] for echo in Echo}
    changed = [*by_echo[Echo.ANSWER], *by_echo[Echo.TURN]]
    search_rows.enqueue(changed)  # with their neighbours, before echoes are nobody's
    for echo, ids in by_echo.items():
        Entry.objects.filter(pk__in=ids).update(echo=echo)
    EntryVector.objects.filter(entry__in=by_echo[Echo.ANSWER]).delete()
