"""Changing the state of entries: expire, restore, merge, supersede; each change is in the history (F2, F3, A15).

Verbs for many entries run inside the caller's transaction, take entries of one scope with the version each must have,
and report a reason for each entry they skip. The same verb for one entry opens its own transaction, and raises instead.

Lines of files are reworded, moved and ended as their file says; the file itself is left alone (C2, C12).
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal

from django.db import connection
from django.db.models import Value
from django.db.models.functions import Concat, Substr
from django.utils.translation import gettext as _

from memories.choices import Echo, EntryType, LinkKind, ScopeKind, SkipReason
from memories.entries import evidence, files, history, suppression
from memories.entries.draft import (
    COLUMN_SLOTS,
    DRAFTED,
    RESERVED_SLOTS,
    REVERTIBLE,
    SLOT_FIELD,
    Draft,
    check,
    marks_of,
    suspicion,
)
from memories.exceptions import EntryNotFound, InvalidDraft, VersionConflict
from memories.index import scope_statistics, search_rows
from memories.index.search_rows import heading_of, indexed_text
from memories.language import text
from memories.language.quoting import suspicion_of
from memories.models import Entry, EntryVector, Link, Policy, Scope, Slot, Suppression
from memories.models.change import acting
from memories.models.entry import EntryQuerySet
from memories.models.state import without_marks
from memories.models.tenancy import lock_scopes
from memories.tenancy.resolver import key_of_speaker

Expected = Mapping[int, int | None]  # entry → the version it must have; None: any
#: What a rewording changes.
TEXT_COLUMNS = ("content", "fingerprint", "terms", "length", "echo", "suspect")


@dataclass
class BulkOutcome:
    """Which entries of one call were changed, and which were skipped, each with the reason."""

    applied: list[int] = field(default_factory=list)
    skipped: dict[int, SkipReason] = field(default_factory=dict)
    details: dict[int, str] = field(default_factory=dict)  # of some that were skipped

    def skip(self, entries: Iterable[int], reason: SkipReason) -> None:
        self.skipped.update(dict.fromkeys(entries, reason))
        self.applied = [pk for pk in self.applied if pk not in self.skipped]


def expire_many(
    scope: Scope,
    expected: Expected,
    *,
    now: datetime,
    actor: str,
    column: Literal["expired_at", "archived_at"] = "expired_at",
    suppress: bool = False,
    only_live: bool = True,
    in_files: bool = True,
) -> BulkOutcome:
    """Take entries out of use; those not live are skipped, or with `only_live` off marked as well.

    With `suppress` no machine writes them again (A15). Lines of files are struck there, unless `in_files` is off.
    """
    locked, outcome, entries = lock_entries(scope, expected)
    if only_live:
        _skip_unless_live(outcome, entries)
    if outcome.applied:
        unmarked = [pk for pk in outcome.applied if getattr(entries[pk], column) is None]
        rows_of(locked, unmarked).update(**{column: now}, updated_at=now)
        if suppress:
            suppression.suppress(locked, [entries[pk] for pk in outcome.applied], now=now, actor=actor)
        search_rows.enqueue_neighbours(unmarked)
        scope_statistics.raise_version(locked)
        if in_files:
            files.strike_lines(locked, [entries[pk] for pk in unmarked], now=now, must=not suppress)
    return outcome


def expire(
    entry: Entry, *, now: datetime, actor: str, expected_version: int | None = None, suppress: bool = True
) -> Entry:
    """Take one entry out of use, and keep machines from writing it again (A15).

    Raises VersionConflict, EntryNotFound or ScopeFrozen.
    """
    expected = {entry.pk: expected_version}
    with acting(actor):
        outcome = expire_many(entry.scope, expected, now=now, actor=actor, suppress=suppress, only_live=False)
        return _reload(entry, outcome)


def restore_many(scope: Scope, expected: Expected, *, now: datetime, term: timedelta | None) -> BulkOutcome:
    """Bring entries back into use, for `term` from now, or for as long as their policy allows from now on.

    What is in quarantine is skipped: undoing its batch lets it back.
    """
    locked, outcome, entries = lock_entries(scope, expected)
    outcome.skip((pk for pk, entry in entries.items() if entry.quarantined_at), SkipReason.QUARANTINED)
    if outcome.applied:
        restored = [entries[pk] for pk in outcome.applied]
        by_end: defaultdict[datetime | None, list[int]] = defaultdict(list)
        if term is not None:
            by_end[now + term] = outcome.applied
        else:
            policies = Policy.objects.of(locked.workspace_id)
            for entry in restored:
                entry.scope = locked
                by_end[policies.end_of_restored(entry, now)].append(entry.pk)
        for expires_at, ids in by_end.items():
            rows_of(locked, ids).update(**without_marks(), expires_at=expires_at, updated_at=now)
        suppression.release(locked, restored, now=now)
        search_rows.enqueue(outcome.applied)
        scope_statistics.raise_version(locked)
        files.restore_lines(locked, restored)
    return outcome


def restore(
    entry: Entry, *, now: datetime, actor: str, term: timedelta | None = None, expected_version: int | None = None
) -> Entry:
    """Bring one entry back into use. Raises VersionConflict, EntryNotFound or ScopeFrozen."""
    with acting(actor):
        return _reload(entry, restore_many(entry.scope, {entry.pk: expected_version}, now=now, term=term))


def _reload(entry: Entry, outcome: BulkOutcome) -> Entry:
    """The one entry of an outcome, as it is now. Raises EntryNotFound or VersionConflict where it was skipped."""
    raise_skipped(entry, outcome)
    return Entry.objects.select_related("scope").get(pk=entry.pk)


def raise_skipped(entry: Entry, outcome: BulkOutcome) -> None:
    reason = outcome.skipped.get(entry.pk)
    if reason is not None:
        raise EntryNotFound if reason == SkipReason.GONE else VersionConflict


def merge(scope: Scope, keeper_id: int, expected: Expected, *, now: datetime) -> BulkOutcome:
    """Archive entries that became part of another, which names them as its sources.

    Their chats, messages, latest statement and importance count for the keeper (A3, A9); it is found by their words.
    """
    return _replace(scope, keeper_id, expected, LinkKind.MERGED_FROM, now)


def supersede(scope: Scope, successor_id: int, expected: Expected, *, now: datetime) -> BulkOutcome:
    """Let a successor take the place of entries that no longer hold; they are kept, with a link and their dates."""
    return _replace(scope, successor_id, expected, LinkKind.SUPERSEDES, now)


def _replace(scope: Scope, successor_id: int, expected: Expected, kind: LinkKind, now: datetime) -> BulkOutcome:
    locked, outcome, entries = lock_entries(scope, expected)
    successor = Entry.objects.in_scope(locked).live().filter(pk=successor_id).first()
    if successor is None:
        return BulkOutcome(skipped=dict.fromkeys(expected, SkipReason.NO_SUCCESSOR))
    _skip_unless_live(outcome, entries)
    outcome.applied = [pk for pk in outcome.applied if pk != successor.pk]
    if not outcome.applied:
        return outcome
    replaced, changed_pks = [entries[pk] for pk in outcome.applied], outcome.applied
    if kind == LinkKind.MERGED_FROM:
        # what they have counts for the successor; where the chat of one is unknown, no chat may hear it
        everyone = [successor, *replaced]
        all_chats = sorted({chat for entry in everyone for chat in entry.chats})
        successor.chats = all_chats if all(entry.chats for entry in everyone) else []
        successor.origins = list(dict.fromkeys(origin for entry in everyone for origin in entry.origins))
        successor.suspect = next((entry.suspect for entry in everyone if entry.suspect), "")
        successor.importance = max(entry.importance for entry in everyone)
        successor.stated_at = max(entry.stated_at for entry in everyone)
        evidence.lower_trust(successor, replaced)
        successor.updated_at = now
        successor.save(update_fields=["chats", "origins", "suspect", "importance", "stated_at", "trust", "updated_at"])
        evidence.inherit_quotes(successor, replaced)
        rows_of(locked, outcome.applied).update(archived_at=now, updated_at=now)
        changed_pks = [successor.pk, *changed_pks]
    else:
        rows_of(locked, outcome.applied).update(superseded_by=successor, updated_at=now)
    link = {"workspace_id": locked.workspace_id, "from_entry": successor, "kind": kind, "created_at": now}
    Link.objects.bulk_create((Link(to_entry=entry, **link) for entry in replaced), ignore_conflicts=True)
    if kind == LinkKind.MERGED_FROM:  # it is found by their words when this returns
        search_rows.write_keywords(search_rows.keyword_rows([successor]), {locked.pk: locked.index_length})
    search_rows.enqueue(changed_pks)
    scope_statistics.raise_version(locked)
    files.strike_lines(locked, replaced, now=now)
    return outcome


def link_sources(scope: Scope, entry_id: int, sources: Iterable[int], *, now: datetime) -> None:
    """Link an entry to those it was made from that stay in use beside it; it is trusted no more than they are."""
    source_entries = Entry.objects.in_scope(scope).filter(pk__in=list(sources)).exclude(pk=entry_id)
    link = {"workspace_id": scope.workspace_id, "to_entry_id": entry_id, "kind": LinkKind.SOURCE_OF, "created_at": now}
    rows = list(source_entries.order_by("pk").only("pk", "trust"))
    Link.objects.bulk_create([Link(from_entry=source, **link) for source in rows], ignore_conflicts=True)
    entry = rows_of(scope, [entry_id]).only("pk", "trust").first() if rows else None
    if entry and evidence.lower_trust(entry, rows):
        rows_of(scope, [entry_id]).update(trust=entry.trust, updated_at=now)


def lock_entries(scope: Scope, expected: Expected) -> tuple[Scope, BulkOutcome, dict[int, Entry]]:
    """The scope and these entries of it, locked; the outcome already skips entries that are gone or were changed.

    Raises ScopeFrozen.
    """
    locked = lock_scopes([scope])[scope.pk]
    entries = Entry.objects.in_scope(locked).select_for_update().in_bulk(list(expected))
    outcome = BulkOutcome(applied=sorted(entries))
    outcome.skip(expected.keys() - entries.keys(), SkipReason.GONE)
    changed_pks = (pk for pk, entry in sorted(entries.items()) if expected[pk] not in (None, entry.version))
    outcome.skip(changed_pks, SkipReason.CHANGED)
    return locked, outcome, entries


def _skip_unless_live(outcome: BulkOutcome, entries: Mapping[int, Entry]) -> None:
    outcome.skip((pk for pk in outcome.applied if not entries[pk].is_live()), SkipReason.ALREADY)


def rows_of(scope: Scope, entries: Sequence[int]) -> EntryQuerySet:
    return Entry.objects.in_scope(scope).filter(pk__in=entries)


@dataclass(frozen=True, kw_only=True)
class Edit:
    """New values of columns and slots, by name; None removes a slot."""

    columns: Mapping[str, Any] = field(default_factory=dict)
    slots: Mapping[str, str | None] = field(default_factory=dict)


def update_many(scope: Scope, columns: Mapping[str, Any], expected: Expected, *, now: datetime) -> BulkOutcome:
    """Give many entries the same values in columns that neither words nor slots follow from."""
    locked, outcome, _entries = lock_entries(scope, expected)
    if outcome.applied:
        rows_of(locked, outcome.applied).update(**columns, updated_at=now)
        scope_statistics.raise_version(locked)
    return outcome


def update(entry: Entry, edit: Edit, *, now: datetime, actor: str, expected_version: int | None = None) -> Entry:
    """Change an entry on behalf of a person or bot; it passes the checks of a draft.

    Raises InvalidDraft, VersionConflict, ScopeFrozen or EntryNotFound; of a line of a file LineChanged.
    """
    with _locked(entry, actor, expected_version) as (row, scope):
        slots = {name: getattr(row, name) for name in COLUMN_SLOTS if getattr(row, name)}
        slots |= {slot.name: slot.value for slot in row.slots.all()}
        slots = {name: value for name, value in {**slots, **edit.slots}.items() if value is not None}
        values = {name: getattr(row, name) for name in (*DRAFTED, "importance")}
        values |= {name: value for name, value in edit.columns.items() if name in values}
        draft = Draft(scope=row.scope, at=row.created_at, slots=slots, chats=tuple(row.chats), **values)
        check(draft)

        before, columns = row.content, dict(edit.columns)
        if "content" in columns and "category" not in columns:
            columns |= marks_of(row, columns["content"])
        if "content" in columns:
            columns["suspect"] = suspicion(draft)
        if columns.get("content", before) != before:
            columns |= evidence.reworded_by(row, actor)
        for name, value in columns.items():
            setattr(row, name, value)
        for name in COLUMN_SLOTS:
            if name in edit.slots:
                setattr(row, name, edit.slots[name] or "")
        _save(row, scope, now, [*columns, *(set(edit.slots) & set(COLUMN_SLOTS))], edit.slots)
        files.reword_line(scope, row, before)
    row.refresh_from_db(fields=["version"])
    return row


def revert(
    entry: Entry,
    version: int,
    *,
    now: datetime,
    actor: str,
    only: Collection[str] | None = None,
    expected_version: int | None = None,
) -> Entry:
    """Give an entry's words, attributes and slots back the values they had in a version: all, or `only` these.

    A slot is named as `slots.env`. Raises VersionNotFound, or InvalidDraft for a field no version holds.
    """
    with _locked(entry, actor, expected_version) as (row, scope):
        columns, slots = history.columns_and_slots(row, version)
        if only is not None:
            unknown = set(only) - set(REVERTIBLE) - {f"{SLOT_FIELD}{name}" for name in slots}
            if unknown:
                message = _("“%(name)s” is nothing a version brings back.")
                raise InvalidDraft(message % {"name": sorted(unknown)[0]}, field="only")
            columns = {name: value for name, value in columns.items() if name in only}
            slots = {name: value for name, value in slots.items() if f"{SLOT_FIELD}{name}" in only}
        before = row.content
        for name, value in columns.items():
            setattr(row, name, value)
        _save(row, scope, now, list(columns), slots)
        files.reword_line(scope, row, before)
    row.refresh_from_db()
    return row


@contextmanager
def _locked(entry: Entry, actor: str, expected_version: int | None) -> Iterator[tuple[Entry, Scope]]:
    """The entry as it is now and its scope, locked until the change is made, which raises the scope's version."""
    with acting(actor):
        scope, outcome, entries = lock_entries(entry.scope, {entry.pk: expected_version})
        raise_skipped(entry, outcome)
        row = entries[entry.pk]
        row.scope = scope
        yield row, scope
        scope_statistics.raise_version(scope)


def mark_read(workspace_id: int, messages: Mapping[str, datetime], *, now: datetime) -> int:
    """Note of the turns that rest on these messages, by their time, that a model drew facts from them (A9).

    From here on they have the term of a turn; before, what they say stands nowhere else. A turn is made of the first of
    its messages, so that only those since then are read.
    """
    if not messages:
        return 0
    unread = Entry.objects.filter(workspace_id=workspace_id, type=EntryType.CHAT_TURN, read_at__isnull=True)
    since = min(messages.values())
    return unread.filter(created_at__gte=since, origins__overlap=list(messages)).update(read_at=now)


def _save(entry: Entry, scope: Scope, now: datetime, columns: list[str], slots: Mapping[str, str | None]) -> None:
    """Save columns, what is derived from them, and slots as one change; changed slots raise the version, too."""
    had = {slot.name: slot.value for slot in entry.slots.all()}
    free = {name: value or None for name, value in slots.items() if name not in (*COLUMN_SLOTS, *RESERVED_SLOTS)}
    differing = {name: value for name, value in free.items() if had.get(name) != value}
    if differing:
        entry.version += 1
        columns = [*columns, "version"]
    if "content" in columns:  # it is found by the new words when this returns
        words = indexed_text(entry.content, path=entry.path, heading=entry.heading)
        keywords = reword(entry, entry.content, text.terms(words))
        search_rows.write_keywords([keywords], {scope.pk: scope.index_length})
        columns = [*columns, "terms", "length", "fingerprint", "echo"]
    if not {"project", "content", "speaker", "names"}.isdisjoint(columns):
        scope_statistics.learn_names(scope, [entry])
    entry.updated_at = now
    entry.save(update_fields=list(dict.fromkeys([*columns, "updated_at"])))
    search_rows.enqueue([entry.pk])
    write_slots(entry, differing)


def reword(entry: Entry, content: str, counts: Counter[int], echo: str | None = Echo.NONE) -> search_rows.KeywordRow:
    """Give an entry, not saved yet, other words and what is derived from them; `counts` are their terms.

    Text written by hand is no echo. Term counts of the scope are updated; the row of keywords is for the caller to
    write.
    """
    difference = Counter(dict.fromkeys(scope_statistics.counted_terms(entry), -1))
    entry.content, entry.fingerprint = content, text.fingerprint(content)
    entry.terms, entry.length, entry.echo = sorted(counts), counts.total(), echo
    difference.update(scope_statistics.counted_terms(entry))
    scope_statistics.count_terms(entry.workspace_id, {entry.scope_id: difference})
    return search_rows.keyword_rows([entry])[0]


def write_slots(entry: Entry, slots: Mapping[str, str | None]) -> None:
    """Set slots that are rows of their own; None removes one."""
    here = Slot.objects.filter(workspace_id=entry.workspace_id, entry=entry)
    here.filter(name__in=[name for name, value in slots.items() if value is None]).delete()
    for name, value in slots.items():
        if value is not None:
            Slot.objects.update_or_create(
                workspace_id=entry.workspace_id, entry=entry, name=name, defaults={"value": value}
            )


Reach = Callable[[str], bool]


def anywhere(scope_key: str) -> bool:
    """The reach of a caller that sees the whole workspace."""
    return True


def copies_of(entries: Iterable[Entry], reach: Reach = anywhere) -> list[Entry]:
    """Other entries that rest on the same messages, in order of their ids.

    They are looked for in the scopes of the entries, of the chats they came from, and of the speakers there.
    """
    by_workspace: defaultdict[int, list[Entry]] = defaultdict(list)
    for entry in entries:
        by_workspace[entry.workspace_id].append(entry)
    copies: list[Entry] = []
    for workspace, group in by_workspace.items():
        origins = sorted({origin for entry in group for origin in entry.origins})
        if not origins:
            continue
        others = Entry.objects.filter(workspace_id=workspace, origins__overlap=origins)
        others = others.exclude(pk__in=[entry.pk for entry in group]).select_related("scope")
        own = {entry.scope_id for entry in group}
        here = list(others.filter(scope__in=own))
        copies += here

        # the other scopes that statements in a group were written to
        keys = set()
        for entry in [*group, *here]:
            if entry.chats != [entry.scope.key]:
                keys.update(entry.chats)
            if entry.scope.kind == ScopeKind.CHAT and entry.sender_id:
                keys.add(key_of_speaker(entry.channel, entry.sender_id))
        if keys:
            copies += others.filter(scope__key__in=keys).exclude(scope__in=own)
    return sorted((copy for copy in copies if reach(copy.scope.key)), key=lambda copy: copy.pk)


def is_own_statement(entry: Entry) -> bool:
    """Whether an entry is a statement of one person, so that by default its copies are expired with it."""
    return entry.scope.kind == ScopeKind.USER or bool(entry.sender_id)


def copies_to_expire(entries: Sequence[Entry], reach: Reach = anywhere) -> list[Entry]:
    """Copies in other scopes that are expired with these entries: the same statement, or derived from it alone.

    In the entries' own scopes their suppression covers what rests on the same messages.
    """
    return [copy for copy in copies_of(entries, reach) if any(_expires_with(entry, copy) for entry in entries)]


def _expires_with(entry: Entry, copy: Entry) -> bool:
    shared = set(entry.origins) & set(copy.origins)
    is_same = copy.type == entry.type or shared == set(copy.origins)
    return bool(shared) and is_same and copy.scope_id != entry.scope_id and copy.is_live()


def copies_to_restore(entries: Sequence[Entry], reach: Reach = anywhere) -> list[Entry]:
    """The copies that were expired together with these entries: by the same actor, at the same moment."""
    copies = [copy for copy in copies_of(entries, reach) if copy.expired_at]
    rows = Suppression.objects.filter(
        workspace_id__in={entry.workspace_id for entry in entries}, entry__in=[*entries, *copies]
    )
    acts = {entry: (at, actor) for entry, at, actor in rows.values_list("entry_id", "created_at", "actor")}
    return [
        copy
        for copy in copies
        if copy.pk in acts
        and any(acts.get(entry.pk) == acts[copy.pk] for entry in entries if set(entry.origins) & set(copy.origins))
    ]


def expire_with_copies(
    entry: Entry, *, along: bool, reach: Reach, now: datetime, actor: str, expected_version: int | None = None
) -> tuple[Entry, list[Entry]]:
    """Expire an entry, `along` with its copies; returns it, and the copies in use before, as they are now.

    Raises VersionConflict, EntryNotFound, or ScopeFrozen when one of the scopes is.
    """
    with acting(actor):
        live = [copy for copy in copies_of([entry], reach) if copy.is_live()]
        copies = [copy for copy in live if along and _expires_with(entry, copy)]
        lock_scopes([entry.scope, *(copy.scope for copy in copies)])
        expired = expire(entry, now=now, actor=actor, expected_version=expected_version)
        for copy in copies:
            expire(copy, now=now, actor=actor)
        return expired, _current_entries(live)


def restore_with_copies(
    entry: Entry,
    *,
    along: bool,
    reach: Reach,
    now: datetime,
    actor: str,
    term: timedelta | None = None,
    expected_version: int | None = None,
) -> tuple[Entry, list[Entry]]:
    """Restore an entry, `along` with the copies expired with it; returns it, and the copies out of use before.

    Raises VersionConflict, EntryNotFound, or ScopeFrozen when one of the scopes is.
    """
    with acting(actor):
        expired = [copy for copy in copies_of([entry], reach) if not copy.is_live()]
        copies = copies_to_restore([entry], reach) if along else []
        lock_scopes([entry.scope, *(copy.scope for copy in copies)])
        restored = restore(entry, now=now, actor=actor, term=term, expected_version=expected_version)
        for copy in copies:
            restore(copy, now=now, actor=actor, term=term)
        return restored, _current_entries(expired)


def _current_entries(entries: Sequence[Entry]) -> list[Entry]:
    rows = Entry.objects.filter(workspace_id__in={entry.workspace_id for entry in entries})
    current = rows.select_related("scope").in_bulk([entry.pk for entry in entries])
    return [current[entry.pk] for entry in entries if entry.pk in current]


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
    entries_by_path: dict[str, list[Entry]] = {path: [] for path in paths}
    rows = Entry.objects.in_scope(scope).live().filter(path__in=paths).only(*columns)
    for entry in rows.order_by("line_from", "pk"):
        entries_by_path[entry.path].append(entry)
    return entries_by_path


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
            entry.suspect = suspicion_of(line.content)
            place_and_time = ["heading", "line_from", "line_to", "created_at", "stated_at", "updated_at"]
            entry.save(update_fields=[*TEXT_COLUMNS, *place_and_time])
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
