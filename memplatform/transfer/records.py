"""The records of an export, as the models declare them: what a line holds, and reading it line by line.

A record refers to another by the id outsiders see, and to a message by its place in the conversation: both are the
same on every platform. Nothing derived is in it: no embeddings, search rows or counters of words; and nothing of who
calls: no keys, receipts or secrets.
"""

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

from django.core.exceptions import ValidationError
from django.db import connection
from django.db.models import DateTimeField, Model
from django.utils.translation import gettext as _

from memories.imports.bundle import ITEM_BYTES, FileRefused, OnBytesRead, check_depth, nested_too_deep
from memories.language import text
from memories.models import Entry
from memories.models.table import Export, tables
from sessions_app.models import SessionEvent, conversation_path, event_ids

_EVENT, _AT, _GONE = "/event-", "/position-", "/gone-"
#: A message by its session, conversation and position.
Place = tuple[UUID, int, int]

_FIND = """
SELECT s.uid, e.conversation, e.position, e.id
FROM unnest(%s::uuid[], %s::int[], %s::int[]) AS wanted (session, conversation, position)
JOIN sessions_app_session s ON s.uid = wanted.session AND s.workspace_id = %s
JOIN sessions_app_sessionevent e
    ON e.session_id = s.id AND e.conversation = wanted.conversation AND e.position = wanted.position
"""


def by_position(origins: Collection[str]) -> dict[str, str]:
    """The names of messages by position; of one that is gone a name that leads to no other message elsewhere."""
    rows = SessionEvent.objects.filter(pk__in=set(event_ids(origins))).select_related("session")
    names = {
        row.session.origin_of(row): f"{conversation_path(row.session.uid, row.conversation)}{_AT}{row.position}"
        for row in rows
    }
    return {origin: names.get(origin, origin.replace(_EVENT, _GONE)) for origin in origins}


def by_number(workspace: int, origins: Iterable[str], session_of: Callable[[Place], UUID]) -> dict[str, str]:
    """The names here of messages as an export names them; one that is not here keeps the name of its place."""
    places = {}
    for origin in origins:
        try:
            _head, session_uid, conversation_number, last = origin.split("/")
            # Where the message is gone its position is 0
            position = int(last.removeprefix(_AT[1:])) if last.startswith(_AT[1:]) else 0
            place = UUID(session_uid), int(conversation_number), position
        except ValueError:  # it is no name of a message
            continue
        places[origin] = (session_of(place), *place[1:])
    pks = numbers(workspace, [place for place in places.values() if place[2]])
    names = {}
    for origin, (session, conversation, position) in places.items():
        number = pks.get((session, conversation, position))
        last = origin.rpartition("/")[2] if number is None else f"event-{number}"
        names[origin] = f"{conversation_path(session, conversation)}/{last}"
    return names


def numbers(workspace: int, places: Iterable[Place]) -> dict[Place, int]:
    """The numbers of the messages that are here, by their place."""
    all_places = list(places)
    with connection.cursor() as cursor:
        cursor.execute(_FIND, [*([place[n] for place in all_places] for n in range(3)), workspace])
        return {(session, conversation, position): pk for session, conversation, position, pk in cursor.fetchall()}


#: In the data of an exported summary: the messages it tells nothing of, by position.
LEFT_OUT_AT = "left_out_at"
FORMAT = 1
HEAD, END = "export", "end"
RECORDS = "memory.jsonl"
#: An entry out of use and its successor, which may stand further down than the entry.
SUCCESSOR = "successor"


class RecordRefused(Exception):
    """A record cannot be read; the message says why."""


@dataclass(frozen=True)
class Kind:
    """One kind of record."""

    model: type[Model]
    columns: tuple[str, ...]
    references: Mapping[str, str] = field(default_factory=dict)  # by relation: the kind it refers to
    later: Mapping[str, Any] = field(default_factory=dict)  # of columns earlier exports do not have

    def written(self, row: Any) -> dict[str, Any]:
        """The columns of a row, as JSON."""
        return {name: as_json(getattr(row, name)) for name in self.columns}

    def read(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """The columns in a record, as Python values. Raises RecordRefused."""
        values: dict[str, Any] = {}
        for name in self.columns:
            if name not in record:
                if name not in self.later:
                    raise RecordRefused(_("“%(name)s” is missing.") % {"name": name})
                values[name] = self.later[name]
                continue
            column: Any = self.model._meta.get_field(name)
            if record[name] is None:
                if not column.null:
                    raise RecordRefused(_("“%(name)s” is empty.") % {"name": name})
                values[name] = None
                continue
            try:
                value = column.to_python(record[name])
                column.run_validators(value)
            except (ValidationError, ValueError, TypeError, AttributeError) as problem:
                why = " ".join(problem.messages) if isinstance(problem, ValidationError) else str(problem)
                raise RecordRefused(_("“%(name)s”: %(why)s") % {"name": name, "why": why}) from problem
            if column.choices and value not in ("", *(choice for choice, _label in column.flatchoices)):
                raise RecordRefused(_("“%(name)s”: “%(value)s” is not known.") % {"name": name, "value": value})
            if isinstance(column, DateTimeField) and value.tzinfo is None:
                raise RecordRefused(_("“%(name)s”: the time says no zone.") % {"name": name})
            values[name] = value
        return values


def _kind(model: type[Model], export: Export) -> Kind:
    """The kind a model declares: all its columns but what is left out, and of relations those it refers by."""
    columns = [column.name for column in model._meta.concrete_fields if not column.is_relation]
    exported = [name for name in columns if name not in ("id", *export.leaves_out)]
    return Kind(model, tuple(sorted(exported, key=lambda name: name == "version")), export.refers, export.later)


_DECLARED = {table.export.name: _kind(model, table.export) for model, table in tables() if table.export}
_HANGING = ("identity", "consent", "slot", "evidence", "change", "access")
IDENTITY, CONSENT, SLOT, EVIDENCE, CHANGE, ACCESS = (_DECLARED[name] for name in _HANGING)
#: What hangs on a person or an entry, in its own record: by its name there.
PARTS: Mapping[str, Mapping[str, Kind]] = {
    "person": {"identities": IDENTITY, "consents": CONSENT},
    "entry": {"slots": SLOT, "evidence": EVIDENCE, "history": CHANGE},
}
#: The records that stand by themselves.
KINDS: Mapping[str, Kind] = {
    **{name: kind for name, kind in _DECLARED.items() if name not in _HANGING},
    SUCCESSOR: Kind(Entry, ("version", "archived_at"), {"entry": "entry", "by": "entry"}),
}


def as_json(value: Any) -> Any:
    """A value of a column as JSON has it, to the microsecond."""
    match value:
        case datetime() | date():
            return value.isoformat()
        case UUID():
            return str(value)
        case _:
            return value


def reference(record: Mapping[str, Any], name: str) -> UUID | None:
    """The id by which a record refers to another; None: to none. Raises RecordRefused."""
    value = record.get(name)
    try:
        return None if value is None else UUID(value)
    except (ValueError, AttributeError, TypeError) as problem:
        raise RecordRefused(_("“%(name)s” is no id.") % {"name": name}) from problem


Line = tuple[int, dict[str, Any]]


@dataclass
class Contents:
    """What an export says it holds."""

    counts: Counter[str] = field(default_factory=Counter)
    scopes: set[UUID] = field(default_factory=set)
    sessions: set[UUID] = field(default_factory=set)
    remembered: set[UUID] = field(default_factory=set)  # memories and days
    is_whole: bool = False


def records_of(place: Path) -> Path:
    """The file of records of an export: this file, or the one in this folder."""
    return place / RECORDS if place.is_dir() else place


def is_export(place: Path) -> bool:
    """Whether a file or folder begins as an export does."""
    try:
        with records_of(place).open(encoding="utf-8") as file:
            head = json.loads(file.readline(10_000))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(head, dict) and head.get("record") == HEAD


def name_of_workspace(place: Path) -> str:
    """The name of the workspace that an export was made of. Raises FileRefused."""
    for _number, record in records_in(records_of(place)):
        if record.get("record") == "workspace" and isinstance(name := record.get("name"), str) and name:
            return name
    raise FileRefused(_("It names no workspace."))


def records_in(file: Path, on_bytes_read: OnBytesRead = lambda _bytes: None) -> Iterator[Line]:
    """The records of a file with their line numbers. Raises FileRefused."""
    bytes_read = 0
    with file.open("rb") as stream:
        for number, line in enumerate(iter(lambda: stream.readline(ITEM_BYTES + 1), b""), start=1):
            bytes_read += len(line)
            on_bytes_read(bytes_read)
            try:
                if len(line) > ITEM_BYTES:
                    message = _("It has over %(most)d MB; no line of an export is so long.")
                    raise RecordRefused(message % {"most": ITEM_BYTES // 1024 // 1024})
                record = json.loads(line)
                check_depth(record)
                if not isinstance(record, dict):
                    raise RecordRefused(_("It is no record."))
                if b"\\u" in line and not text.is_storable(json.dumps(record, ensure_ascii=False)):
                    raise RecordRefused(_("NUL and lone surrogates cannot be stored."))
            except RecursionError as problem:
                raise FileRefused(nested_too_deep(file.name, number)) from problem
            except (ValueError, RecordRefused) as problem:
                raise refused(number, problem) from problem
            yield number, record


def refused(number: int, problem: Exception) -> FileRefused:
    """The error that names a line."""
    return FileRefused(_("Line %(number)d: %(why)s") % {"number": number, "why": problem})


def check_file(file: Path, on_bytes_read: OnBytesRead) -> Contents:
    """Read a whole export before anything of it is written. Raises FileRefused with the first line that is wrong."""
    contents = Contents()
    number = 0
    for number, record in records_in(file, on_bytes_read):
        try:
            _check_record(number, record, contents)
        except RecordRefused as problem:
            raise refused(number, problem) from problem
    if not contents.is_whole:
        message = _("The file ends at line %(number)d, before its end: the export was interrupted, or the copy.")
        raise FileRefused(message % {"number": number})
    return contents


def _check_record(number: int, record: dict[str, Any], contents: Contents) -> None:
    kind = record.get("record")
    if (kind == HEAD) != (number == 1) or contents.is_whole:
        raise RecordRefused(_("This is no export, or two in one file."))
    if kind == HEAD:
        if record.get("format") != FORMAT:
            message = _("This export has format %(format)s; this version reads %(supported)d.")
            raise RecordRefused(message % {"format": record.get("format"), "supported": FORMAT})
    elif kind == END:
        contents.is_whole = True
        if record.get("counts") != dict(contents.counts):
            raise RecordRefused(_("Lines are missing: the counts at the end are others."))
    elif kind not in KINDS:
        raise RecordRefused(_("“%(kind)s” is no kind of record.") % {"kind": kind})
    else:
        contents.counts[str(kind)] += 1
        KINDS[str(kind)].read(record)
        known_uids = {"scope": contents.scopes, "session": contents.sessions}
        for name, of in KINDS[str(kind)].references.items():
            uid = reference(record, name)
            if of in known_uids and uid and uid not in known_uids[of] and kind != "session":
                raise RecordRefused(_("“%(name)s” names none of this file.") % {"name": name})
        if kind in known_uids:
            known_uids[kind].add(UUID(str(record["uid"])))
        if kind in ("entry", "day"):
            contents.remembered.add(UUID(str(record["uid"])))
        for part, shape in PARTS.get(str(kind), {}).items():
            for hanging in record.get(part) or ():
                shape.read(hanging)
                field_name = {"slots": "number", "history": "slot"}.get(part)
                if field_name and not isinstance(hanging.get(field_name, ""), int | None):
                    raise RecordRefused(_("“%(name)s” is missing.") % {"name": field_name})
        if kind == "entry" and record.get("access"):
            ACCESS.read(record["access"])


Row = tuple[int, dict[str, Any], dict[str, Any]]  # line, record, columns


def columns_of(kind: str, page: Sequence[Line]) -> list[Row]:
    """The lines of a page with the columns they hold."""
    return [(number, record, KINDS[kind].read(record)) for number, record in page]
