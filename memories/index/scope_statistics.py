"""The words of a scope, counted: how many entries hold a term, how long entries are, who speaks."""

import json
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from django.db import connection
from django.db.models import F, Q

from memories import postgresql
from memories.choices import Echo
from memories.index import search_rows
from memories.language import names, persons, text
from memories.models import Entry, Scope

#: Of speakers and projects a scope remembers so many names.
NAMES_KEPT = 200
#: Entries may become longer or shorter by so much before every search row of their scope is made anew.
LENGTH_DRIFT = 1.15
#: Search rows whose scope is counted anew are weighed with the power of this number nearest to the average length.
LENGTH_STEP = 1.05


def frequencies(scope_ids: Iterable[int], terms: Iterable[int]) -> dict[tuple[int, int], int]:
    """In how many entries of each scope each term occurs; terms that do not occur are missing."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT scope_id, term, entries FROM memories_scopeterm WHERE scope_id = ANY(%s) AND term = ANY(%s)",
            [list(scope_ids), list(terms)],
        )
        return {(scope, term): entries for scope, term, entries in cursor.fetchall()}


def term_weights(scope: Scope, contents: Iterable[str]) -> Callable[[int], float]:
    """The inverse document frequency of each term of these texts among the entries of a scope, as BM25 has it."""
    own = {term for content in contents for term in text.terms(content)}
    counts = {term: count for (_scope, term), count in frequencies([scope.pk], own).items()}
    entries = max([scope.entry_count, *counts.values(), 1])
    return lambda term: math.log(1 + (entries - counts.get(term, 0) + 0.5) / (counts.get(term, 0) + 0.5))


def counted_terms(entry: Entry) -> Sequence[int]:
    """The terms by which an entry counts among those of its scope; an echo counts for nothing."""
    return () if entry.echo == Echo.TURN else entry.terms


_COUNT_TERMS = """
    INSERT INTO memories_scopeterm (workspace_id, scope_id, term, entries)
    SELECT %(workspace)s, scope, term, by FROM unnest(%(of)s::bigint[], %(terms)s::int[], %(by)s::int[])
        AS change (scope, term, by)
    ON CONFLICT (scope_id, term) DO UPDATE SET entries = memories_scopeterm.entries + excluded.entries
"""
#: What is kept of the entries of a scope, and raises its version.
_COUNTED = {
    "entry_count": "int",
    "average_length": "float8",
    "index_length": "float8",
    "speakers": "varchar[]",
    "projects": "varchar[]",
    "nicknames": "jsonb",
    "sender_names": "jsonb",
}
#: Two parts of a statement, whose values `counting` gives.
COUNT_NEW = f"""
    counted_terms AS ({_COUNT_TERMS}),
    counted_scopes AS (
        UPDATE memories_scope s SET version = s.version + 1, {", ".join(f"{name} = new.{name}" for name in _COUNTED)}
        FROM jsonb_to_recordset(%(scopes)s::jsonb)
            AS new (id bigint, {", ".join(f"{name} {kind}" for name, kind in _COUNTED.items())}) WHERE s.id = new.id
    )
"""  # noqa: S608 (names of ours)


def count_terms(workspace_id: int, changes: dict[int, Counter[int]]) -> None:
    """Add to the term counts of scopes; a negative count takes away."""
    columns = _term_columns(workspace_id, changes)
    if columns["terms"]:
        with connection.cursor() as cursor:
            cursor.execute(_COUNT_TERMS, columns)


def _term_columns(workspace_id: int, changes: dict[int, Counter[int]]) -> dict[str, Any]:
    rows = [(scope, term, by) for scope, terms in changes.items() for term, by in sorted(terms.items()) if by]
    columns: dict[str, Any] = {name: [row[n] for row in rows] for n, name in enumerate(("of", "terms", "by"))}
    return columns | {"workspace": workspace_id}


def counting(scopes: Mapping[int, Scope], entries: Sequence[Entry]) -> dict[str, Any]:
    """The values of COUNT_NEW: new entries of one workspace, and their terms, are counted into their scopes.

    The versions of the scopes are raised. `scopes`, by id, are changed with them.
    """
    by_scope: defaultdict[int, list[Entry]] = defaultdict(list)
    for entry in entries:
        by_scope[entry.scope_id].append(entry)
    rows: list[dict[str, Any]] = []
    counts: dict[int, Counter[int]] = {}
    for pk, new_entries in by_scope.items():
        scope, telling = scopes[pk], [entry.length for entry in new_entries if entry.echo != Echo.TURN]
        total = scope.average_length * scope.entry_count + sum(telling)
        scope.entry_count += len(telling)
        scope.average_length = total / scope.entry_count if scope.entry_count else 0.0
        # The search rows follow the average length once it has drifted. All rows of a scope are weighed with one
        # length, so that they can be rebuilt with the same weights at any time
        if not scope.index_length / LENGTH_DRIFT <= scope.average_length <= scope.index_length * LENGTH_DRIFT:
            scope.index_length = scope.average_length
            search_rows.enqueue_scope(pk)
        for name, value in _names_with(scope, new_entries).items():
            setattr(scope, name, value)
        rows.append({"id": pk, **{name: getattr(scope, name) for name in _COUNTED}})
        counts[pk] = Counter(term for entry in new_entries for term in counted_terms(entry))
    return _term_columns(entries[0].workspace_id, counts) | {"scopes": json.dumps(rows)}


def count_new(scopes: Mapping[int, Scope], entries: Sequence[Entry]) -> None:
    """Count entries that are stored already into their scopes."""
    if entries:
        with postgresql.cursor() as cursor:
            cursor.execute(f"WITH {COUNT_NEW} SELECT", counting(scopes, entries))


def settle_index_length(scope: Scope) -> bool:
    """Weigh the search rows with a length that follows from the scope's entries alone; whether it was another.

    However its entries came and went, a scope of these entries has these rows.
    """
    average = scope.average_length
    settled = LENGTH_STEP ** round(math.log(average, LENGTH_STEP)) if average > 0 else 0.0
    differs = scope.index_length != settled
    if differs:
        scope.index_length = settled
        search_rows.enqueue_scope(scope.pk)
    return differs


def learn_names(scope: Scope, entries: Sequence[Entry]) -> None:
    """Have a scope keep what entries that are in it already say now: who speaks, of which project, and the names."""
    columns = _names_with(scope, entries)
    if any(getattr(scope, column) != value for column, value in columns.items()):
        for column, value in columns.items():
            setattr(scope, column, value)
        Scope.objects.filter(pk=scope.pk).update(**columns)


def _names_with(scope: Scope, entries: Sequence[Entry]) -> dict[str, Any]:
    """The names of a scope, by column, with those in some entries; a sender's new name takes the place of the old."""
    sender_names = dict(scope.sender_names)
    for entry in entries:
        is_named = entry.sender_id and entry.speaker not in ("", entry.sender_id)
        if is_named and (entry.sender_id in sender_names or len(sender_names) < NAMES_KEPT):
            sender_names[entry.sender_id] = entry.speaker
    return {
        "speakers": _kept_names(scope.speakers, [entry.speaker for entry in entries]),
        "projects": _kept_names(scope.projects, [entry.project for entry in entries]),
        "nicknames": _nicknames(entries, scope.nicknames),
        "sender_names": sender_names,
    }


def _nicknames(entries: Iterable[Entry], earlier: Mapping[str, str]) -> dict[str, str]:
    """These nicknames and relations and those the entries teach; one that means several people means nobody."""
    nicknames = dict(earlier)
    for entry in entries:
        speaker = entry.speaker or f"{names.UNNAMED}{entry.sender_id}"
        own_names = {
            names.fold(name): entry.names[0] for name in entry.names
        }  # every name of what it is about means that
        for alias, name in (
            names.learn(entry.content, speaker) | persons.learn_relations(entry.content) | own_names
        ).items():
            if alias in nicknames:
                nicknames[alias] = nicknames[alias] if names.fold(nicknames[alias]) == names.fold(name) else ""
            elif len(nicknames) < NAMES_KEPT:
                nicknames[alias] = name
    return nicknames


def reread_names(scope: Scope) -> tuple[list[str], dict[str, str]]:
    """The projects and nicknames of a scope as its live entries have them."""
    live = Entry.objects.in_scope(scope).live()
    projects = set(live.exclude(project="").values_list("project", flat=True).distinct())
    still_used = [name for name in scope.projects if name in projects]
    teaching = (
        live.filter(Q(content__regex=f"{names.TRIGGER}|{persons.TRIGGER}") | ~Q(names=[]))
        .order_by("pk")
        .only("content", "speaker", "sender_id", "names")
    )
    return _kept_names(still_used, sorted(projects)), _nicknames(teaching.iterator(), {})


def _kept_names(names: Sequence[str], more: Iterable[str]) -> list[str]:
    """These names and the new ones among the others, up to as many as are worth comparing a message with."""
    return [name for name in dict.fromkeys([*names, *more]) if name][:NAMES_KEPT]


def raise_version(scope: Scope, **values: object) -> None:
    """Raise the version of a scope: whatever was computed from it no longer holds."""
    Scope.objects.filter(pk=scope.pk).update(version=F("version") + 1, **values)
