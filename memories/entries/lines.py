"""Lines of files as entries: reworded, moved and ended as their file says; the file itself is left alone (C2, C12)."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from django.db import connection
from django.db.models import Value
from django.db.models.functions import Concat, Substr

from memories.choices import Echo
from memories.entries.changes import BulkOutcome, expire_many, reword
from memories.entries.locks import lock_scopes
from memories.index import scope_statistics, search_rows
from memories.index.contextual import heading_of, indexed_text
from memories.language import text
from memories.models import Entry, EntryVector, Scope
from memories.models.change import acting

_MOVE = """
UPDATE memories_entry e SET line_from = moved.first, line_to = moved.last
FROM unnest(%s::bigint[], %s::int[], %s::int[]) AS moved (id, first, last) WHERE e.id = moved.id AND e.scope_id = %s
"""


@dataclass(frozen=True, kw_only=True)
class FileLine:
    """What a file says in these lines."""

    content: str
    heading: str
    at: datetime
    line_from: int
    line_to: int
    session: str = ""  # from which it was saved, as its stamp says


def lines_of(scope: Scope, paths: Collection[str]) -> dict[str, list[Entry]]:
    """The entries in use of some files, in the order of each, with what the file can change of them."""
    columns = ("content", "heading", "created_at", "path", "line_from", "line_to", "scope")
    found: dict[str, list[Entry]] = {path: [] for path in paths}
    for entry in Entry.objects.in_scope(scope).live().filter(path__in=found).only(*columns).order_by("line_from", "pk"):
        found[entry.path].append(entry)
    return found


def reword_lines(scope: Scope, lines: Mapping[int, FileLine], *, now: datetime, actor: str) -> None:
    """Give entries the words, headings and times their file gives them now. Raises ScopeFrozen."""
    if not lines:
        return
    with acting(actor):
        locked = lock_scopes([scope])[scope.pk]
        entries = Entry.objects.in_scope(locked).select_for_update().in_bulk(list(lines))
        turned = [
            pk
            for pk, entry in entries.items()
            if heading_of(entry.path, entry.heading) != heading_of(entry.path, lines[pk].heading)
        ]
        EntryVector.objects.filter(entry__in=turned).delete()  # made of other words, under the same fingerprint
        rows = []
        for pk, entry in sorted(entries.items()):
            line = lines[pk]
            entry.heading, entry.created_at, entry.stated_at, entry.updated_at = line.heading, line.at, line.at, now
            entry.line_from, entry.line_to = line.line_from, line.line_to
            counts = text.terms(indexed_text(line.content, Echo.NONE, entry.path, line.heading))
            rows.append(reword(entry, line.content, counts))
            columns = ("content", "fingerprint", "terms", "length", "echo", "heading", "line_from", "line_to")
            entry.save(update_fields=[*columns, "created_at", "stated_at", "updated_at"])
        search_rows.write_keywords(rows, {locked.pk: locked.index_length})
        search_rows.enqueue(sorted(entries))
        scope_statistics.learn_names(locked, list(entries.values()))
        scope_statistics.raise_version(locked)


def move_lines(scope: Scope, moves: Mapping[int, tuple[int, int]]) -> None:
    """Note where in their file entries stand now; that is no change of what they say, and not in their history."""
    if moves:
        with connection.cursor() as cursor:
            first, last = zip(*moves.values(), strict=True)
            cursor.execute(_MOVE, [list(moves), list(first), list(last), scope.pk])


def move_files(scope: Scope, before: str, after: str, *, actor: str) -> None:
    """Have the lines of all files below a folder stand below another, whether they are in use or not.

    Raises ScopeFrozen.
    """
    with acting(actor):
        locked = lock_scopes([scope])[scope.pk]
        below = Entry.objects.in_scope(locked).filter(path__startswith=f"{before}/")
        below.update(path=Concat(Value(after), Substr("path", len(before) + 1)))
        scope_statistics.raise_version(locked)


def end_lines(scope: Scope, entries: Iterable[int], *, now: datetime, actor: str) -> BulkOutcome:
    """Take entries out of use whose lines are gone from their file; written there again, they are remembered again."""
    with acting(actor):
        return expire_many(scope, dict.fromkeys(entries), now=now, actor=actor, in_files=False)
