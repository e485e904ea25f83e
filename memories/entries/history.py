"""The history of an entry: who changed which value when, and how the words differ (F2)."""

import difflib
import json
import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.db import connection, models
from django.db.models import Min, Q, QuerySet

from memories.choices import ChangeState, LinkKind, Operation, SkipReason
from memories.entries.draft import FIELDS, REVERTIBLE, SLOT_FIELD, Use, read_columns
from memories.exceptions import VersionNotFound
from memories.language.text import COMPATIBLE_HAN, HAN, KANA, RARE_HAN, cut
from memories.language.word_lists import source
from memories.models import Batch, BatchChange, Change, DailyEvent, Entry, Link, RecallTrace, Scope, Slot, Suppression
from memories.models.state import MARKS

#: The content of a version stands in the first change of it after that version; without one it is today's.
_CONTENT = """
SELECT v.version, (
    SELECT c.old ->> 'content' FROM memories_change c
    WHERE c.table_name = %(table)s AND c.row_id = a.row_id AND c.workspace_id = %(workspace)s
      AND c.version > v.version AND c.old ? 'content'
    ORDER BY c.version, c.id LIMIT 1
), (
    SELECT c.at FROM memories_change c
    WHERE c.table_name = %(table)s AND c.row_id = a.row_id AND c.workspace_id = %(workspace)s AND c.version = v.version
    ORDER BY c.id LIMIT 1
)
FROM unnest(%(rows)s::bigint[], %(versions)s::int[], %(times)s::timestamptz[])
    WITH ORDINALITY AS a (row_id, version, at, n)
CROSS JOIN LATERAL (
    SELECT coalesce(a.version, (
        SELECT max(c.version) FROM memories_change c
        WHERE c.table_name = %(table)s AND c.row_id = a.row_id AND c.workspace_id = %(workspace)s AND c.at <= a.at
    ), 1) AS version
) v
ORDER BY a.n
"""


@dataclass(frozen=True)
class PointInHistory:
    """A row at a version or, where that is unknown, at a time."""

    row_id: int
    version: int | None
    at: datetime


def contents_at(
    model: type[Entry] | type[DailyEvent], workspace_id: int, moments: Sequence[PointInHistory]
) -> list[tuple[int, str | None, datetime | None]]:
    """The version, content and time of the version at each of these points, in one query.

    No content: that of today. No time: older than the history.
    """
    if not moments:
        return []
    parameters: dict[str, Any] = {
        "table": model._meta.db_table,
        "workspace": workspace_id,
        "rows": [moment.row_id for moment in moments],
        "versions": [moment.version for moment in moments],
        "times": [moment.at for moment in moments],
    }
    with connection.cursor() as cursor:
        cursor.execute(_CONTENT, parameters)
        rows: list[tuple[int, str | None, datetime | None]] = cursor.fetchall()
    return rows


def stored_columns(row: Any) -> dict[str, Any]:
    """The columns of a row as the history writes them down; nothing where the row is gone."""
    table = connection.ops.quote_name(row._meta.db_table)
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT to_jsonb(t)::text FROM {table} t WHERE id = %s AND workspace_id = %s",  # noqa: S608 (quoted)
            [row.pk, row.workspace_id],
        )
        record = cursor.fetchone()
    columns: dict[str, Any] = json.loads(record[0]) if record else {}
    return columns


def as_of_version(row: Any, version: int) -> dict[str, Any]:
    """The columns of a recorded row that changed since a version, with their values in it. Raises VersionNotFound."""
    if not 1 <= version <= row.version:
        raise VersionNotFound
    was: dict[str, Any] = {}
    for change in changes_of(row).filter(version__gt=version).order_by("-version", "-id"):
        was.update(change.old)
    return was


def columns_and_slots(entry: Entry, version: int) -> tuple[dict[str, Any], dict[str, str | None]]:
    """The revertible columns changed since a version, and every slot, with their values then; None: no such slot.

    Raises VersionNotFound.
    """
    old = as_of_version(entry, version)
    columns = read_columns({name: value for name, value in old.items() if name in REVERTIBLE})

    # slots that are rows of their own, as they were until the next version began
    slots = _slots(entry)
    absent_slots: dict[str, str | None] = dict.fromkeys(slot.name for slot in entry.slots.all())
    following = changes_of(entry).filter(version__gt=version).order_by("version", "id").first()
    if following is not None:
        for change in slot_changes_of(entry).filter(at__gte=following.at).order_by("-id"):
            undo(change, slots)
    return columns, absent_slots | {slot["name"]: slot["value"] for slot in slots.values()}


def differences(entry: Entry, version: int) -> dict[str, tuple[Any, Any]]:
    """The fields that differ from a version: as they were then, and as they are. Raises VersionNotFound."""
    columns, slots = columns_and_slots(entry, version)
    has = {slot.name: slot.value for slot in entry.slots.all()}
    pairs = {name: (value, getattr(entry, name)) for name, value in columns.items()}
    pairs |= {f"{SLOT_FIELD}{name}": (value, has.get(name)) for name, value in slots.items()}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def undo(change: Change, slots: dict[int, dict[str, str]]) -> None:
    """Take one change of a slot back, in the slots as they were after it."""
    if change.op == Operation.INSERT:
        slots.pop(change.row_id, None)
    elif change.op == Operation.DELETE:
        slots[change.row_id] = {name: change.old[name] for name in ("name", "value")}
    elif change.row_id in slots:
        slots[change.row_id].update(change.old)


def changes_of(row: Any) -> QuerySet[Change]:
    """The changes of a recorded row itself."""
    return Change.objects.filter(workspace_id=row.workspace_id, table_name=row._meta.db_table, row_id=row.pk)


def slot_changes_of(entry: Entry) -> QuerySet[Change]:
    """The changes of an entry's slots, also of removed ones, whose whole row the history keeps."""
    table = Slot._meta.db_table
    removals = Change.objects.filter(
        workspace_id=entry.workspace_id, table_name=table, op=Operation.DELETE, old__entry_id=entry.pk
    )
    rows = {*removals.values_list("row_id", flat=True), *_slots(entry)}
    return Change.objects.filter(Q(table_name=table, row_id__in=rows), workspace_id=entry.workspace_id)


def _slots(entry: Entry) -> dict[int, dict[str, str]]:
    """The name and value of its slots that are rows of their own, by their ids."""
    rows = Slot.objects.filter(workspace_id=entry.workspace_id, entry=entry)
    return {slot.pk: {"name": slot.name, "value": slot.value} for slot in rows}


#: The column of a batch's rows that refers to a table.
_REFERENCE = {Entry._meta.db_table: "entry_id", DailyEvent._meta.db_table: "event_id"}


@dataclass
class PriorRow:
    """A row as it was before a batch."""

    is_new: bool = False  # made by the batch
    columns: dict[str, Any] = field(default_factory=dict)  # the changed ones; all of them when it removed the row
    last_change: int = 0  # the batch's last change of the row

    @property
    def restorable(self) -> dict[str, Any]:
        """The columns an undo puts back: not names, nor what rises with every change."""
        return {name: value for name, value in self.columns.items() if name not in _KEPT}


_KEPT = frozenset({"id", "uid", "workspace_id", "scope_id", "version", "updated_at"})


def rows_before(batch: int, table: str, rows: Collection[int]) -> dict[int, PriorRow]:
    """These rows of a table as a batch found them: the earliest value of every column it changed."""
    prior: defaultdict[int, PriorRow] = defaultdict(PriorRow)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT row_id, id, op, old::text FROM memories_change"
            " WHERE batch_id = %s AND table_name = %s AND row_id = ANY(%s) ORDER BY id",
            [batch, table, list(rows)],
        )
        for row_id, change_id, op, old in cursor.fetchall():
            row = prior[row_id]
            row.is_new = row.is_new or (op == Operation.INSERT and not row.last_change)
            row.columns = {**json.loads(old), **row.columns}
            row.last_change = change_id
    return dict(prior)


#: Neither a change that was undone nor its undo counts, when both came after the change named.
_SINCE = """
    SELECT DISTINCT c.row_id
    FROM unnest(%(rows)s::bigint[], %(lasts)s::bigint[], %(keeps_marks)s::boolean[]) AS put (row_id, last, keeps_marks)
    JOIN memories_change c ON c.table_name = %(table)s AND c.row_id = put.row_id AND c.id > put.last
    WHERE c.batch_id IS DISTINCT FROM %(by)s AND (%(columns)s::text[] = '{{}}' OR c.old ?| %(columns)s)
      AND NOT (put.keeps_marks AND c.actor LIKE 'job:%%' AND c.op = 'U' AND c.old - %(marks)s::text[] = '{{}}'::jsonb)
      AND (c.batch_id IS NULL OR NOT (
        EXISTS (
            SELECT 1 FROM memories_batchchange u JOIN memories_batch b ON b.id = u.batch_id
            WHERE u.{named} = c.row_id AND u.verb = 'undo' AND u.state = 'applied'
              AND coalesce((u.draft ->> 'of')::bigint, b.undoes_id) = c.batch_id
        ) OR EXISTS (
            SELECT 1 FROM memories_batchchange u JOIN memories_batch b ON b.id = u.batch_id
            JOIN memories_change f ON f.batch_id = coalesce((u.draft ->> 'of')::bigint, b.undoes_id)
              AND f.table_name = c.table_name AND f.row_id = c.row_id
            WHERE u.{named} = c.row_id AND u.verb = 'undo' AND u.state = 'applied' AND u.batch_id = c.batch_id
              AND f.id > put.last
        )
    ))
"""


#: What a job sets when it has used a row up or takes it out of use; the words stay as they are.
_JOB_MARKS = ("compressed_at", *MARKS.values())


def changed_since_batch(prior: Mapping[int, PriorRow], *, by: int = 0, table: str = Entry._meta.db_table) -> set[int]:
    """Of rows as they were before a batch, those that anything but batch `by` has changed since it.

    That a job marked a row since, as made into facts or as replaced, counts only where the batch set such a mark too:
    not where it gave a day other words, which are made into facts anew.
    """
    keeps_marks = {
        pk
        for pk, row in prior.items()
        if row.columns.keys().isdisjoint(_JOB_MARKS) or {"content", "compressed_at"} <= row.columns.keys()
    }
    return changed_since(
        {pk: row.last_change for pk, row in prior.items()}, by=by, table=table, keeps_marks=keeps_marks
    )


def changed_since(
    lasts: Mapping[int, int],
    *,
    by: int = 0,
    table: str = Entry._meta.db_table,
    columns: Collection[str] = (),
    keeps_marks: Collection[int] = (),
) -> set[int]:
    """Rows changed after the change `lasts` names, by anything but batch `by`, where that was not undone since.

    With `columns`, only changes of one of these count. Of the rows in `keeps_marks` it does not count that a job marked
    them.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            _SINCE.format(named=_REFERENCE[table]),
            {
                "rows": list(lasts),
                "lasts": list(lasts.values()),
                "by": by,
                "table": table,
                "columns": list(columns),
                "keeps_marks": [row in keeps_marks for row in lasts],
                "marks": [*_JOB_MARKS, "updated_at"],
            },
        )
        return {row[0] for row in cursor.fetchall()}


@dataclass(frozen=True)
class ServedVersion:
    """The version of an entry that a recall served."""

    version: int
    words: str
    is_reworded: bool  # since then
    since: datetime  # when it came to say so


def served_versions(
    trace: RecallTrace, entries: Mapping[int, Entry], versions: Mapping[int, int] | None = None
) -> dict[int, ServedVersion]:
    """The versions of these entries at the time of a recall; `versions` names those of candidates not served."""
    by_trace = served_versions_by_trace([trace], entries, versions or {})
    return {entry: version for (_trace, entry), version in by_trace.items()}


def served_versions_by_trace(
    traces: Sequence[RecallTrace], entries: Mapping[int, Entry], candidates: Mapping[int, int] | None = None
) -> dict[tuple[int, int], ServedVersion]:
    """By trace and entry, in one query at most; where a trace kept no versions, the version at its time.

    With `candidates`, versions of candidates that were not served, all entries are looked up instead of the served
    ones.
    """
    points = {}
    for trace in traces:
        versions = dict(zip(trace.served, trace.versions, strict=False))
        for pk in entries if candidates is not None else trace.served:
            if pk in entries:
                version = versions.get(pk, (candidates or {}).get(pk))
                points[trace.pk, pk] = PointInHistory(pk, version, trace.created_at)
    changed_keys = [key for key, point in points.items() if entries[point.row_id].version != point.version]
    workspace = traces[0].workspace_id if traces else 0
    past = dict(zip(changed_keys, contents_at(Entry, workspace, [points[key] for key in changed_keys]), strict=True))
    versions_by_key = {}
    for key in points:
        now = entries[key[1]]
        version, words, since = past.get(key, (now.version, None, now.updated_at))
        words = now.content if words is None else words
        versions_by_key[key] = ServedVersion(version, words, words != now.content, since or now.created_at)
    return versions_by_key


def suppressed_entries(entries: Mapping[int, Entry]) -> set[int]:
    """The suppressed ones of these entries: no bot is given their words (A15)."""
    out = Suppression.objects.filter(entry__in=list(entries)).values_list("entry_id", flat=True)
    return {*out, *(pk for pk, entry in entries.items() if entry.suppressed_at)}


ENTRIES = Entry._meta.db_table
#: Columns that mark an entry as replaced.
_REPLACED = ("superseded_by_id", "archived_at")


def blocked_by_dependents(
    scope: Scope,
    expiring: Collection[int],
    *,
    of: int,
    by: int | None,
    force: bool,
    restored: Collection[int] = (),
) -> dict[int, tuple[SkipReason, str]]:
    """Of entries that undoing batch `of` would take out of use, those it must skip, each with reason and detail.

    STANDS, with the batches to undo first: another batch made the entry replace others since. CHANGED: the undo would
    not put back what it replaced, because that was changed since. Entries replaced before the batch do not count: they
    were out of use then, nor do those `restored` before. `by` is the undo; None: an undo of everything.
    """
    dependents = _replaced_since(scope, expiring, of, by)
    if not dependents:
        return {}

    # of those it replaced: what the undo puts back, and what it does not because that was changed
    undone_pks = {other for others in dependents.values() for other in others}
    if by is not None:
        rows = BatchChange.objects.filter(batch=by, entry__in=undone_pks).exclude(state=ChangeState.LEFT)
        undone_pks = {pk for pk in rows.values_list("entry_id", flat=True) if pk is not None}
    prior = rows_before(of, ENTRIES, undone_pks)
    last_changes = {pk: row.last_change for pk, row in prior.items() if not row.columns.keys().isdisjoint(_REPLACED)}
    changed_pks = set() if force else changed_since(last_changes, by=by or 0)
    back = (last_changes.keys() - changed_pks).union(restored)
    blocked = {pk: others - back for pk, others in dependents.items() if others - back}

    # of the others the end of the id of the batch that replaced each
    standing = {other for others in blocked.values() for other in others - changed_pks}
    gave = Change.objects.filter(table_name=ENTRIES, row_id__in=standing, batch_id__isnull=False)
    gave = gave.filter(old__has_any_keys=list(_REPLACED)).order_by("row_id", "-id").distinct("row_id")
    last = {row: batch for row, batch in gave.values_list("row_id", "batch_id") if batch is not None}
    uids = dict(Batch.objects.filter(pk__in=last.values()).values_list("pk", "uid"))
    batches = {row: f"…{uids[batch].hex[-8:]}" for row, batch in last.items() if batch in uids}
    skipped = {}
    for pk, others in blocked.items():
        names = sorted({batches[other] for other in others - changed_pks if other in batches})
        skipped[pk] = (SkipReason.STANDS, ", ".join(names) or "—") if others - changed_pks else (SkipReason.CHANGED, "")
    return skipped


def _replaced_since(scope: Scope, expiring: Collection[int], of: int, by: int | None) -> dict[int, set[int]]:
    """By entry, those out of use only because it replaced them, in batch `of` or after it."""
    dependents: defaultdict[int, set[int]] = defaultdict(set)
    rows = Entry.objects.in_scope(scope).filter(expired_at=None, suppressed_at=None)
    superseded = rows.filter(superseded_by__in=expiring, archived_at=None)
    for other, entry in superseded.values_list("pk", "superseded_by"):
        dependents[entry or 0].add(other)
    merged = Link.objects.filter(workspace_id=scope.workspace_id, kind=LinkKind.MERGED_FROM, from_entry__in=expiring)
    archived = rows.filter(archived_at__isnull=False, superseded_by=None)
    for entry, other in merged.filter(to_entry__in=archived).values_list("from_entry", "to_entry"):
        dependents[entry].add(other)

    changes = Change.objects.filter(batch_id=of, table_name=ENTRIES, row_id__in=dependents).order_by()
    began = dict(changes.values_list("row_id").annotate(first=Min("id")))
    before_batch: dict[int, int] = {}
    for entry, others in dependents.items():
        for other in others:
            before_batch[other] = min(before_batch.get(other, began[entry]), began[entry] - 1)
    replaced = changed_since(before_batch, by=by or 0, columns=_REPLACED)
    return {entry: others & replaced for entry, others in dependents.items() if others & replaced}


#: Slots are written just after their entry; changes by one actor within this time are one revision.
TOGETHER = timedelta(seconds=5)
_MONTH = rf"(?:{source('calendar', 'months')}|{source('calendar', 'short_months')})(?![a-z])\.?"
#: Dates and times of day stand for one thing: with another number they are another.
_DATE = re.compile(
    r"((?<!\d)\d{1,4}[-/.:]\d{1,2}(?:[-/.:]\d{1,4})?(?:[T ]\d{1,2}:\d{2}(?::\d{2})?)?(?!\d)"
    rf"|(?<!\d)\d{{1,2}}(?:st|nd|rd|th)?(?: of)? {_MONTH}(?:,? \d{{4}}(?!\d))?"
    rf"|(?<![a-z]){_MONTH} \d{{1,2}}(?!\d)(?:st|nd|rd|th)?(?:,? \d{{4}}(?!\d))?"
    r"|(?:(?<!\d)[\d〇零一二三四五六七八九]{2,4}年)?(?<!\d)[\d一二三四五六七八九十]{1,3}月[\d一二三四五六七八九十]{1,3}[日号])",
    re.IGNORECASE,
)
_PIECE = re.compile(rf"[{KANA}{HAN}{COMPATIBLE_HAN}{RARE_HAN}]+|[^\W_]+|\s+|.", re.DOTALL)
_COLUMNS: dict[str, Any] = {column.attname: column for column in Entry._meta.concrete_fields}

Before = Any
After = Any


@dataclass(kw_only=True)
class Revision:
    """The columns and slots one actor changed at once, each with its value before and after."""

    version: int
    at: datetime
    actor: str
    operation: Operation
    batch_id: int | None = None
    run: str = ""
    columns: dict[str, tuple[Before, After]] = field(default_factory=dict)
    slots: dict[str, tuple[str | None, str | None]] = field(default_factory=dict)

    @property
    def wording(self) -> list[tuple[str, str]] | None:
        """The difference of the content; None when it was not changed."""
        before, after = self.columns.get("content", (None, None))
        return None if before is None or after is None else word_diff(before, after)


def history_of(entry: Entry) -> list[Revision]:
    """The revisions of an entry, oldest first; changes of slots join the one they were written with, or its version."""
    revisions: list[Revision] = []
    for step in sorted([*_entry_steps(entry), *_slot_steps(entry)], key=lambda step: step.at):
        last = revisions[-1] if revisions else None
        if step.version or last is None:
            revisions.append(step)
            continue
        is_same_act = (last.actor, last.batch_id, last.run) == (step.actor, step.batch_id, step.run)
        if is_same_act and step.at - last.at <= TOGETHER:
            last.slots.update(step.slots)
        else:
            step.version = last.version
            revisions.append(step)
    return revisions


def word_diff(old: str, new: str) -> list[tuple[str, str]]:
    """The difference of two texts, as runs of words that are kept (=), removed (-) or added (+).

    Kept and removed runs joined are the old text, kept and added runs the new one. Chinese is cut into words.
    """
    ours, theirs = _pieces(old), _pieces(new)
    runs: list[tuple[str, str]] = []
    for kind, a, b, c, d in difflib.SequenceMatcher(None, ours, theirs).get_opcodes():
        if kind == "equal":
            runs.append(("=", "".join(ours[a:b])))
            continue
        runs.extend((sign, text) for sign, text in (("-", "".join(ours[a:b])), ("+", "".join(theirs[c:d]))) if text)
    return runs


def _pieces(text: str) -> list[str]:
    pieces: list[str] = []
    for n, part in enumerate(_DATE.split(text)):
        if n % 2:
            pieces.append(part)
            continue
        for piece in _PIECE.findall(part):
            pieces.extend(cut(piece) if piece[0] >= "\u3040" else [piece])
    return pieces


def _entry_steps(entry: Entry) -> list[Revision]:
    """Walk back from today's row: a change holds the values before it, the row or the next change those after it."""
    steps = []
    row = stored_columns(entry)
    for change in changes_of(entry).order_by("-version", "-id"):
        created = change.op == Operation.INSERT
        step = _step(change, change.version)
        for attname, before in (dict.fromkeys(row) if created else change.old).items():
            column, after = _COLUMNS.get(attname), row.get(attname)
            if column is None or Use.SHOW not in FIELDS[column.name] or (created and after in (None, "", [], False)):
                continue
            is_time = isinstance(column, models.DateTimeField)
            values = (column.to_python(before), column.to_python(after)) if is_time else (before, after)
            step.columns[column.name] = values
        steps.append(step)
        row.update(change.old)
    return steps[::-1]


def _slot_steps(entry: Entry) -> list[Revision]:
    """The changes of an entry's slots, oldest first, without a version yet."""
    slots, steps = _slots(entry), []
    for change in slot_changes_of(entry).order_by("-id"):
        after = dict(slots.get(change.row_id, {}))
        undo(change, slots)
        before = slots.get(change.row_id, {})
        step = _step(change, 0)
        for name in filter(None, [before.get("name"), after.get("name")]):
            was, became = (side["value"] if side.get("name") == name else None for side in (before, after))
            step.slots[name] = was, became
        steps.append(step)
    return steps[::-1]


def _step(change: Change, version: int) -> Revision:
    return Revision(
        version=version,
        at=change.at,
        actor=change.actor,
        operation=Operation(change.op) if version else Operation.UPDATE,
        batch_id=change.batch_id,
        run=change.run,
    )
