"""The search rows of entries: written with the entry, blended with its neighbours soon after, rebuilt at any time.

What became part of an entry goes on being found through it: its words and its vector count for the entry (D6). A source
counts as long as it is archived, over any number of merges. What people took out of use counts for nothing.

Of an entry its substance is embedded and counted, under the headings of its file (C1). Inner products are linear, so
context can be blended in when a row is written: one keyword vector and one embedding carry the entry and what stands
around it, and a search reads two columns instead of six.
"""

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db import connection, transaction
from django.db.models import F

from memories import postgresql
from memories.choices import SECRET, Echo, EntryType, LinkKind
from memories.conf import conf
from memories.language import text
from memories.language.quoting import substance_of
from memories.language.text import DIMENSIONS
from memories.models import EmbeddingModel, Entry, EntryVector, Scope
from memories.models.entry import LIVE_SQL
from memories.models.lease import wake_on_commit
from memories.models.state import live_sql

#: Of a path nothing says what a line is about where the file is a day's, or the long-term one.
_PLACE = re.compile(r"memory/(?:scopes/[^/]+/)?(?=.)|\.md$")
_PLAIN = re.compile(r"(?:MEMORY|LONG_TERM|\d{4}-\d{2}-\d{2})\.md$")


def heading_of(path: str, heading: str) -> str:
    """`projects/alpha › Decisions`; empty for what is no line of a file, or stands under no heading."""
    place = "" if not path or _PLAIN.search(path) else _PLACE.sub("", path)
    return " › ".join(filter(None, [place, heading]))


def indexed_text(content: str, echo: str | None = None, path: str = "", heading: str = "") -> str:
    """The text an entry is searched by: the headings of a line of a file, then its substance."""
    return "\n".join(filter(None, [heading_of(path, heading), substance_of(content, echo)]))


def bm25_weights(counts: Counter[int], length: float, average: float) -> dict[int, float]:
    """The document side of BM25: how much each term says about a text of this length (Robertson, Zaragoza 2009)."""
    k1, b = conf.BM25_K1, conf.BM25_B
    norm = k1 * (1 - b + b * length / average) if average > 0 else k1
    return {term: count * (k1 + 1) / (count + norm) for term, count in counts.items()}


def blend_keywords(own: Counter[int], neighbours: Sequence[Counter[int]], average: float) -> dict[int, float]:
    """Keyword weights of an entry with its neighbours; at most conf.INDEX_TERMS, its own terms first.

    To the entry's own weights come those of one text made of it and its neighbours: a term twice around an entry
    says less than twice as much about it. `average` is the length of the scope's entries.
    """
    around = neighbours if conf.BLEND_KEYWORDS else ()
    joint = sum(around, Counter(own))
    weights = bm25_weights(joint, joint.total(), average * (len(around) + 1))
    for term, weight in bm25_weights(own, own.total(), average).items():
        weights[term] += weight
    heaviest = sorted(weights, key=lambda term: (term in own, weights[term]), reverse=True)
    return {term: weights[term] for term in heaviest[: conf.INDEX_TERMS]}


def full_match(idf_total: float) -> float:
    """The keyword score of a text that could not match these words better: all of them, again and again."""
    return 2 * (conf.BM25_K1 + 1) * idf_total


def blend_embedding(own: Sequence[float], neighbours: Sequence[Sequence[float]]) -> list[float]:
    """An entry's embedding with the mean of its neighbours', of length 1."""
    if not neighbours:
        return normalise(own)
    share = conf.BLEND_VECTOR / len(neighbours)
    return normalise([x + share * sum(column) for x, *column in zip(own, *neighbours, strict=True)])


def normalise(vector: Sequence[float]) -> list[float]:
    length = math.sqrt(sum(x * x for x in vector))
    return [x / length for x in vector] if length else list(vector)


def sparse_literal(weights: dict[int, float]) -> str:
    """A keyword vector as PostgreSQL reads it."""
    return "{" + ",".join(f"{term}:{weights[term]:.4g}" for term in sorted(weights)) + f"}}/{DIMENSIONS}"


def dense_literal(vector: Sequence[float]) -> str:
    """An embedding as PostgreSQL reads it; five digits are more than halfvec keeps."""
    return "[" + ",".join(f"{x:.5g}" for x in vector) + "]"


#: Memories of messages whose vectors are compared, the latest; and facts they are compared with.
_MESSAGES_MOST, _FACTS_MOST = 40, 1_000
_OF_TEXT = "v.entry_id = e.id AND v.model_id = %(model)s AND v.fingerprint = e.fingerprint"
_NEAREST = f"""
    WITH messages AS MATERIALIZED (
        SELECT v.embedding FROM memories_entry e JOIN memories_entryvector v ON {_OF_TEXT}
        WHERE e.scope_id = %(scope)s AND e.session_id = ANY(%(sessions)s::varchar[]) AND e.session_id <> ''
            AND e.created_at >= %(since)s AND e.type <> %(fact)s AND e.origins && %(origins)s::varchar[]
            AND {live_sql("e")}
        ORDER BY e.created_at DESC, e.id DESC LIMIT {_MESSAGES_MOST}
    ), facts AS MATERIALIZED (
        SELECT e.id, v.embedding FROM (
            SELECT * FROM memories_entry e
            WHERE e.scope_id = %(scope)s AND e.type = %(fact)s AND e.category <> ALL(%(secret)s::varchar[])
                AND {live_sql("e")}
            ORDER BY e.stated_at DESC, e.id DESC LIMIT {_FACTS_MOST}
        ) e JOIN memories_entryvector v ON {_OF_TEXT}
    )
    SELECT facts.id FROM facts CROSS JOIN messages
    GROUP BY facts.id ORDER BY min(facts.embedding <#> messages.embedding), facts.id DESC LIMIT %(most)s
"""  # noqa: S608 (names of ours)


def raw_vectors(entries: Iterable[int], model_id: int) -> dict[int, list[float]]:
    """Raw embeddings of the entries' present texts; those of an older wording are not used."""
    rows = EntryVector.objects.filter(entry__in=list(entries), model_id=model_id, fingerprint=F("entry__fingerprint"))
    return dict(rows.values_list("entry_id", "embedding"))


def facts_near_messages(
    scope: Scope,
    model: EmbeddingModel,
    *,
    origins: Iterable[str],
    sessions: Iterable[str],
    since: datetime,
    most: int,
) -> list[int]:
    """The facts of a scope that are nearest to what it remembers of these messages, nearest first; no secrets.

    By the vectors both have: nothing is embedded. `since` is before any of it was written.
    """
    values: dict[str, Any] = {
        "scope": scope.pk,
        "model": model.pk,
        "origins": sorted(set(origins)),
        "sessions": sorted(set(sessions)),
        "since": since,
        "fact": EntryType.FACT.value,
        "secret": [category.value for category in SECRET],
        "most": most,
    }
    with connection.cursor() as cursor:
        cursor.execute(_NEAREST, values)
        return [pk for (pk,) in cursor.fetchall()]


def write_vectors(texts: Sequence[tuple[int, str]], vectors: Sequence[Sequence[float]], *, model_id: int) -> None:
    """Store the raw embeddings of entries, each given with the fingerprint of the text that was embedded."""
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO memories_entryvector (workspace_id, entry_id, model_id, fingerprint, embedding)"
            " SELECT e.workspace_id, e.id, %s, new.fingerprint, new.embedding::halfvec"
            " FROM unnest(%s::bigint[], %s::text[], %s::text[]) AS new (entry, fingerprint, embedding)"
            " JOIN memories_entry e ON e.id = new.entry"
            " ON CONFLICT ON CONSTRAINT entryvector_once_a_model DO UPDATE"
            " SET fingerprint = excluded.fingerprint, embedding = excluded.embedding",
            [
                model_id,
                [entry for entry, _ in texts],
                [fingerprint for _, fingerprint in texts],
                [dense_literal(vector) for vector in vectors],
            ],
        )


#: That an entry `e` counts for another it was merged into.
COUNTS_SQL = f"""(e.archived_at IS NOT NULL AND e.expired_at IS NULL AND e.suppressed_at IS NULL AND EXISTS (
    SELECT 1 FROM memories_link l WHERE l.to_entry_id = e.id AND l.kind = '{LinkKind.MERGED_FROM}'))"""  # noqa: S608 (a name of ours)
#: Entries with what became part of them, over any number of merges.
_SOURCES = f"""
WITH RECURSIVE part (keeper, source) AS (
    SELECT from_entry_id, to_entry_id FROM memories_link
    WHERE from_entry_id = ANY(%s) AND kind = '{LinkKind.MERGED_FROM}'
    UNION
    SELECT part.keeper, l.to_entry_id FROM part
    JOIN memories_link l ON l.from_entry_id = part.source AND l.kind = '{LinkKind.MERGED_FROM}'
)
SELECT part.keeper, e.id FROM part JOIN memories_entry e ON e.id = part.source
WHERE part.source <> part.keeper
    AND e.archived_at IS NOT NULL AND e.expired_at IS NULL AND e.suppressed_at IS NULL ORDER BY 1, 2
"""  # noqa: S608 (names of ours)
_KEEPERS = f"""
WITH RECURSIVE whole (keeper) AS (
    SELECT from_entry_id FROM memories_link WHERE to_entry_id = ANY(%s) AND kind = '{LinkKind.MERGED_FROM}'
    UNION
    SELECT l.from_entry_id FROM whole
    JOIN memories_link l ON l.to_entry_id = whole.keeper AND l.kind = '{LinkKind.MERGED_FROM}'
)
SELECT keeper FROM whole ORDER BY 1
"""  # noqa: S608 (names of ours)


def sources_of(entries: Iterable[int]) -> dict[int, list[int]]:
    """By entry, those that became part of it and count for it."""
    sources: dict[int, list[int]] = {}
    with connection.cursor() as cursor:
        cursor.execute(_SOURCES, [list(entries)])
        for keeper, source in cursor.fetchall():
            sources.setdefault(keeper, []).append(source)
    return sources


def keepers_of(entries: Iterable[int]) -> list[int]:
    """The entries that any of these became part of."""
    with connection.cursor() as cursor:
        cursor.execute(_KEEPERS, [list(entries)])
        return [keeper for (keeper,) in cursor.fetchall()]


#: Advisory locks differ by their highest byte.
BLEND_LOCK = 3 << 56
CHANNEL = "memplatform_stale"
#: What a search row is first made of: entry, workspace, scope, how often each term occurs, and whether it is an echo.
KeywordRow = tuple[int, int, int, Counter[int], bool]


@dataclass
class _Row:
    """What is needed of one entry to blend it."""

    scope_id: int
    workspace_id: int
    average: float
    counts: Counter[int]
    is_echo: bool = False
    neighbours: list[int] = field(default_factory=list)
    sources: list[int] = field(default_factory=list)  # that became part of it


def keyword_row(entry: Entry, parts: Iterable[str] = ()) -> KeywordRow:
    """The search row of an entry by its own words, and those of the texts that became part of it."""
    counts = text.terms(indexed_text(entry.content, entry.echo, entry.path, entry.heading))
    for part in parts:
        counts |= text.terms(part)
    return entry.pk, entry.workspace_id, entry.scope_id, counts, entry.echo == Echo.TURN


def keyword_rows(entries: Iterable[Entry]) -> list[KeywordRow]:
    """The search rows of entries that others may have become part of."""
    rows = list(entries)
    parts = sources_of(entry.pk for entry in rows)
    texts = dict(Entry.objects.filter(pk__in=set().union(*parts.values())).values_list("pk", "content"))
    return [keyword_row(entry, [texts[pk] for pk in parts.get(entry.pk, ()) if pk in texts]) for entry in rows]


def write_keywords(rows: Sequence[KeywordRow], average: dict[int, float]) -> None:
    """Search rows of new or reworded entries, found by their own keywords at once (A13).

    The embedding and the neighbours' share follow in the background. Rows are written in the order of their entries,
    here and when they are blended, so that nobody waits in a circle.
    """
    if not rows:
        return
    with connection.cursor() as cursor:
        cursor.execute(_WRITE, _columns(rows, average))


def _columns(rows: Sequence[KeywordRow], average: dict[int, float]) -> dict[str, list[Any]]:
    literals = [sparse_literal(blend_keywords(counts, [], average[scope])) for _, _, scope, counts, _ in rows]
    columns: dict[str, list[Any]] = {"keywords": literals}
    for n, name in ((0, "rows"), (1, "workspaces"), (2, "scopes"), (4, "echoes")):
        columns[name] = [row[n] for row in rows]
    return columns


_WRITE = """
    INSERT INTO memories_entryindex (entry_id, workspace_id, scope_id, keywords, is_echo)
    SELECT entry, workspace, scope, keywords::sparsevec, is_echo FROM unnest(%(rows)s::bigint[],
        %(workspaces)s::bigint[], %(scopes)s::bigint[], %(keywords)s::text[], %(echoes)s::bool[])
        AS new (entry, workspace, scope, keywords, is_echo) ORDER BY entry
    ON CONFLICT ON CONSTRAINT memories_entryindex_pkey
    DO UPDATE SET keywords = excluded.keywords, is_echo = excluded.is_echo,
        model_id = NULL, embedding = NULL
"""

_NEIGHBOURS = f"""
    SELECT e.id AS entry_id, near.id AS neighbour_id
    FROM memories_entry e
    CROSS JOIN LATERAL (
        (SELECT b.id FROM memories_entry b
         WHERE b.scope_id = e.scope_id AND b.session_id = e.session_id AND b.chat_id = e.chat_id
           AND {live_sql("b")} AND b.session_id <> '' AND b.echo IS DISTINCT FROM 'turn'
           AND (b.created_at, b.id) < (e.created_at, e.id)
         ORDER BY b.created_at DESC, b.id DESC LIMIT %(reach)s)
        UNION ALL
        (SELECT a.id FROM memories_entry a
         WHERE a.scope_id = e.scope_id AND a.session_id = e.session_id AND a.chat_id = e.chat_id
           AND {live_sql("a")} AND a.session_id <> '' AND a.echo IS DISTINCT FROM 'turn'
           AND (a.created_at, a.id) > (e.created_at, e.id)
         ORDER BY a.created_at, a.id LIMIT %(reach)s)
    ) near
    WHERE e.id = ANY(%(entries)s) AND e.session_id <> '' AND e.echo IS DISTINCT FROM 'turn'
"""  # noqa: S608 (names of ours)


def neighbours(entries: Iterable[int]) -> dict[int, list[int]]:
    """The live entries within two places of each, in the same scope, session and chat; echoes are nobody's."""
    near: dict[int, list[int]] = {entry: [] for entry in entries}
    with connection.cursor() as cursor:
        cursor.execute(_NEIGHBOURS, {"entries": list(near), "reach": conf.BLEND_REACH})
        for entry, neighbour in cursor.fetchall():
            near[entry].append(neighbour)
    return near


def enqueue(entries: Sequence[int], *, new: Sequence[int] = ()) -> None:
    """Have these entries, their neighbours and what they are part of blended anew; `new` ones are part of nothing yet.

    The embedder hears of it when the transaction commits.
    """
    if not entries and not new:
        return
    with connection.cursor() as cursor:
        cursor.execute(f"WITH {_ENQUEUE}", _marks(entries, new))
    wake_on_commit(CHANNEL)


def write_and_enqueue(rows: Sequence[KeywordRow], average: dict[int, float], *, new: Collection[int]) -> None:
    """Write search rows and have their entries blended, in one statement; `new` entries are part of nothing yet."""
    if not rows:
        return
    marks = _marks([row[0] for row in rows if row[0] not in new], new)
    with postgresql.cursor() as cursor:
        cursor.execute(f"WITH written AS ({_WRITE}), {_ENQUEUE}", _columns(rows, average) | marks)
    wake_on_commit(CHANNEL)


def _marks(entries: Sequence[int], new: Collection[int]) -> dict[str, Any]:
    keepers = keepers_of(entries) if entries else []
    return {"entries": [*new, *entries], "reach": conf.BLEND_REACH, "keepers": keepers}


#: Marked ids are joined, not «id = … OR id IN …»: that reads every entry of everybody.
_ENQUEUE = f"""
    near AS ({_NEIGHBOURS}),
    marked AS (
        SELECT unnest(%(entries)s::bigint[]) AS id UNION SELECT neighbour_id FROM near
        UNION SELECT unnest(%(keepers)s::bigint[])
    )
    INSERT INTO memories_indexqueueitem (entry_id, workspace_id, since, failures)
    SELECT e.id, e.workspace_id, clock_timestamp(), 0 FROM marked JOIN memories_entry e ON e.id = marked.id
    ORDER BY e.id
    ON CONFLICT (entry_id) DO UPDATE SET since = excluded.since, failures = 0, retry_at = NULL
"""  # noqa: S608 (constants)


def enqueue_neighbours(entries: Sequence[int]) -> None:
    """Have what stood beside these entries, and what they are part of, blended without them."""
    beside = set().union(*neighbours(entries).values())
    beside.update(keepers_of(entries))
    if beside:
        with connection.cursor() as cursor:
            cursor.execute(
                "INSERT INTO memories_indexqueueitem (entry_id, workspace_id, since, failures)"
                " SELECT id, workspace_id, clock_timestamp(), 0 FROM memories_entry WHERE id = ANY(%s) ORDER BY id"
                " ON CONFLICT (entry_id) DO UPDATE SET since = excluded.since, failures = 0, retry_at = NULL",
                [list(beside)],
            )
        wake_on_commit(CHANNEL)


def enqueue_scope(scope_id: int) -> None:
    """Have every search row of a scope made anew, after what is new there."""
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO memories_indexqueueitem (entry_id, workspace_id, since, failures)"
            " SELECT entry_id, workspace_id, clock_timestamp(), 0 FROM memories_entryindex WHERE scope_id = %s"
            " ORDER BY entry_id ON CONFLICT (entry_id) DO UPDATE SET since = excluded.since",
            [scope_id],
        )
    wake_on_commit(CHANNEL)


def blend(entries: Iterable[int], *, model_id: int | None) -> int:
    """Make the search rows of these entries from what is stored now; how many.

    Blends of one scope are made one after another, so that two processes cannot each miss the other's new vector.
    """
    near = neighbours(set(entries))
    if not near:
        return 0
    with transaction.atomic():
        lock_scopes(near)
        raise_versions(make_rows(near, model_id=model_id))
    return len(near)


def make_rows(entries: Iterable[int], *, model_id: int | None) -> set[int]:
    """Make search rows while nobody else makes any of their scopes; the scopes.

    An entry that was reworded since it was read here has had its words written by who did, before these: again.
    """
    near = neighbours(entries)
    parts = sources_of(near)
    entry_ids = set(near).union(*near.values(), *parts.values())
    rows: dict[int, _Row] = {}
    fingerprints: dict[int, str] = {}
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT e.id, e.scope_id, e.workspace_id, s.index_length, e.content, e.echo, e.path, e.heading,"
            " e.fingerprint FROM memories_entry e JOIN memories_scope s ON s.id = e.scope_id WHERE e.id = ANY(%s)",
            [list(entry_ids)],
        )
        for entry, scope, workspace, average, content, echo, path, heading, fingerprint in cursor.fetchall():
            fingerprints[entry] = fingerprint
            counts = text.terms(indexed_text(content, echo, path, heading))
            rows[entry] = _Row(
                scope, workspace, average, counts, echo == Echo.TURN, near.get(entry, []), parts.get(entry, [])
            )
    vectors = raw_vectors(rows, model_id) if model_id is not None else {}
    new_rows = {entry: row for entry, row in rows.items() if entry in near}
    _write(rows, new_rows, vectors, model_id)
    if new_rows:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT e.id FROM memories_entry e JOIN unnest(%s::bigint[], %s::text[]) AS read (id, fingerprint)"
                " ON e.id = read.id WHERE e.fingerprint <> read.fingerprint",
                [list(new_rows), [fingerprints[entry] for entry in new_rows]],
            )
            reworded = [entry for (entry,) in cursor.fetchall()]
        if reworded:
            make_rows(reworded, model_id=model_id)
    return {row.scope_id for row in new_rows.values()}


def raise_versions(scopes: Iterable[int]) -> None:
    """What was answered from these scopes no longer holds; a scope that is being written to is raised by its writer."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE memories_scope SET version = version + 1 WHERE id IN (SELECT id FROM memories_scope"
            " WHERE id = ANY(%s) ORDER BY id FOR NO KEY UPDATE SKIP LOCKED)",
            [list(scopes)],
        )


def lock_scopes(near: Iterable[int]) -> None:
    """Have the blends of the scopes of these entries wait until the transaction ends."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_advisory_xact_lock(%s + scope_id) FROM (SELECT DISTINCT scope_id FROM memories_entry"
            " WHERE id = ANY(%s) ORDER BY scope_id) scopes",
            [BLEND_LOCK, list(near)],
        )


def _write(
    around: dict[int, _Row], rows: dict[int, _Row], vectors: dict[int, list[float]], model_id: int | None
) -> None:
    """Blend rows with those around them, and write them."""
    keywords, embeddings = [], []
    for entry, row in rows.items():
        near = [around[n].counts for n in row.neighbours if n in around]
        counts = Counter(row.counts)  # a copy: its neighbours are blended with its own words alone
        for part in row.sources:
            counts |= around[part].counts if part in around else Counter()
        keywords.append(sparse_literal(blend_keywords(counts, near, row.average)))
        own = vectors.get(entry)
        mixed = own and blend_embedding(own, [vectors[n] for n in (*row.neighbours, *row.sources) if n in vectors])
        embeddings.append(dense_literal(mixed) if mixed else None)
    unstage(rows)  # of a model to come: their neighbours or words are others now
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO memories_entryindex (entry_id, workspace_id, scope_id, keywords, embedding, model_id, is_echo)"
            " SELECT entry, workspace, scope, keywords::sparsevec, embedding::halfvec,"
            " CASE WHEN embedding IS NOT NULL THEN %s::bigint END, is_echo"
            " FROM unnest(%s::bigint[], %s::bigint[], %s::bigint[], %s::text[], %s::text[], %s::bool[])"
            " AS new (entry, workspace, scope, keywords, embedding, is_echo) ORDER BY entry"
            " ON CONFLICT ON CONSTRAINT memories_entryindex_pkey DO UPDATE SET keywords = excluded.keywords,"
            " embedding = excluded.embedding, model_id = excluded.model_id, is_echo = excluded.is_echo",
            [
                model_id,
                list(rows),
                [row.workspace_id for row in rows.values()],
                [row.scope_id for row in rows.values()],
                keywords,
                embeddings,
                [row.is_echo for row in rows.values()],
            ],
        )


def unstage(entries: Iterable[int]) -> None:
    """Have the staged vectors of these entries made anew; where no model is changing there are none."""
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM memories_stagedvector WHERE entry_id = ANY(%s)", [list(entries)])


def rebuild(scope_id: int, *, model_id: int | None) -> int:
    """Make every search row of a scope anew from its entries and raw embeddings; how many.

    What is out of use is not searched; its row is made anew when it comes back.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT id FROM memories_entry e WHERE scope_id = %s AND {LIVE_SQL} ORDER BY id",  # noqa: S608 (names of ours)
            [scope_id],
        )
        entries = [row[0] for row in cursor.fetchall()]
    return sum(blend(entries[start : start + 500], model_id=model_id) for start in range(0, len(entries), 500))
