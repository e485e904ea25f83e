"""Writing an export: a page of rows at a time, so that memory stays flat, and a run that was killed can go on."""

import json
import os
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from datetime import datetime
from functools import partial
from itertools import groupby, islice
from pathlib import Path
from types import MappingProxyType
from typing import Any

from django.db import connection, transaction
from django.db.models import F, Max, Q, QuerySet
from django.utils.translation import gettext as _

from channels_app.models import Channel, Consent, Identity, Person
from memories.choices import EntryType, Operation
from memories.entries.files import folder_of
from memories.exceptions import PlatformError
from memories.files.layout import folder_name
from memories.models import (
    BufferedTurn,
    Change,
    DailyEvent,
    Entry,
    EntryAccess,
    Evidence,
    Link,
    Policy,
    Scope,
    Slot,
    Suppression,
    Workspace,
)
from memories.tenancy import access
from memplatform.transfer.records import (
    ACCESS,
    CHANGE,
    CONSENT,
    END,
    EVIDENCE,
    FORMAT,
    HEAD,
    IDENTITY,
    KINDS,
    LEFT_OUT_AT,
    RECORDS,
    SLOT,
    SUCCESSOR,
    as_json,
    by_position,
)
from sessions_app.models import LEFT_OUT, EventKind, Flush, Session, SessionEvent

Record = dict[str, Any]
_OWNERS = {
    **dict.fromkeys(("day", "entry", SUCCESSOR, "suppression"), "scope_id"),
    **dict.fromkeys(("message", "flush"), "session_id"),
    "link": "from_entry__scope_id",
}
#: Kinds of which an export holds what was there when it began, however late it is resumed; and whose owners do as well.
_BOUNDED = ("scope", "session", "message", "flush")
_OWNING = {"scope_id": "scope", "session_id": "session", "from_entry__scope_id": "scope"}


@dataclass(frozen=True)
class Section:
    """One kind of record: its rows, in the order of what they belong to, and how a page of these is written."""

    kind: str
    rows: QuerySet[Any]
    tell: Callable[[Sequence[Any]], Iterable[Record]] | None = None
    owner: str = "workspace_id"  # an import brings in together what belongs together

    def pages(
        self, after: Sequence[int], size: int, ends: Mapping[str, int] = MappingProxyType({})
    ) -> Iterator[list[Any]]:
        """The rows after one that is named by its owner and its number, read as one stream.

        None of them, and none of their owners, lies beyond the end of its kind.
        """
        rows = self.rows.annotate(owner_number=F(self.owner)).order_by("owner_number", "pk")
        for column, kind in (("pk", self.kind), ("owner_number", _OWNING.get(self.owner, ""))):
            if kind in ends:
                rows = rows.filter(**{f"{column}__lte": ends[kind]})
        if after:
            rows = rows.filter(Q(owner_number__gt=after[0]) | Q(owner_number=after[0], pk__gt=after[1]))
        stream = rows.iterator(chunk_size=size)
        while page := list(islice(stream, size)):
            yield page

    def records(self, page: Sequence[Any]) -> Iterable[Record]:
        return self.tell(page) if self.tell else (plain(self.kind, row) for row in page)


def sections(workspace: Workspace, scope: Scope | None, *, history: bool) -> Iterator[Section]:
    """The sections of a workspace, or of one scope of it, in the order in which they are brought in again."""
    of_scope = Q(scope=scope) if scope else Q()
    session_filter = Q(user_scope=scope, is_group=False) | Q(chat_scope=scope, is_group=True) if scope else Q()
    sessions = Session.objects.filter(session_filter, workspace=workspace)
    of_sessions = Q(session__in=sessions.values("pk")) if scope else Q()
    linked = Q(from_entry__scope=scope, to_entry__scope=scope) if scope else Q()
    if scope is None:
        yield Section("workspace", Workspace.objects.filter(pk=workspace.pk), owner="pk")
        yield Section("policy", Policy.objects.filter(workspace=workspace))
        yield Section("channel", Channel.objects.filter(workspace=workspace))
        yield Section("person", Person.objects.filter(workspace=workspace), _people)
    yield _referring("scope", Scope.objects.filter(Q(pk=scope.pk) if scope else Q(), workspace=workspace))
    yield _referring("session", sessions)
    yield _referring("message", SessionEvent.objects.filter(of_sessions, workspace=workspace), _messages)
    yield _referring("flush", Flush.objects.filter(of_sessions, workspace=workspace))
    yield _referring("day", DailyEvent.objects.filter(of_scope, workspace=workspace), _days)
    entries = Entry.objects.filter(of_scope, workspace=workspace).exclude(subtype=access.SUBTYPE)
    yield _referring("entry", entries, partial(_entries, history=history))
    yield _referring(SUCCESSOR, entries.filter(superseded_by__uid__isnull=False))
    yield _referring("link", Link.objects.filter(linked, workspace=workspace))
    of_entries = Suppression.objects.filter(of_scope, workspace=workspace, entry__isnull=False)
    yield _referring("suppression", of_entries, _days)


def _referring(
    kind: str, rows: QuerySet[Any], tell: Callable[[Sequence[Any]], Iterable[Record]] | None = None
) -> Section:
    """A section whose rows come with the ids of what they refer to."""
    names = KINDS[kind].references
    owner = _OWNERS.get(kind, "workspace_id")
    if kind == SUCCESSOR:
        return Section(kind, rows.annotate(entry_uid=F("uid"), by_uid=F("superseded_by__uid")), tell, owner)
    return Section(kind, rows.annotate(**{f"{name}_uid": F(f"{name}__uid") for name in names}), tell, owner)


def plain(kind: str, row: Any) -> Record:
    """A row by its columns and references."""
    names = KINDS[kind].references
    return {
        "record": kind,
        **{name: as_json(getattr(row, f"{name}_uid")) for name in names},
        **KINDS[kind].written(row),
    }


def _messages(page: Sequence[SessionEvent]) -> Iterator[Record]:
    """The records of messages; those that a summary leaves out are named by position, and what is gone is not."""
    numbers = {row.pk: row.data[LEFT_OUT] for row in page if row.kind == EventKind.SUMMARY and LEFT_OUT in row.data}
    left_out = SessionEvent.objects.in_bulk({pk for pks in numbers.values() for pk in pks})
    for row in page:
        record = plain("message", row)
        if row.pk in numbers:
            events = [left_out[pk] for pk in numbers[row.pk] if pk in left_out]
            here = (row.session_id, row.conversation)
            positions = sorted(event.position for event in events if (event.session_id, event.conversation) == here)
            record["data"] = {name: value for name, value in row.data.items() if name != LEFT_OUT}
            record["data"][LEFT_OUT_AT] = positions
        yield record


def _days(page: Sequence[DailyEvent | Suppression]) -> Iterator[Record]:
    renamed = by_position({origin for row in page for origin in row.origins})
    kind = "day" if isinstance(page[0], DailyEvent) else "suppression"
    for row in page:
        yield plain(kind, row) | {"origins": [renamed.get(origin, origin) for origin in row.origins]}


def _entries(page: Sequence[Entry], *, history: bool) -> Iterator[Record]:
    pks = [entry.pk for entry in page]
    slots, evidence = _by_owner(Slot, pks), _by_owner(Evidence, pks)
    accesses = EntryAccess.objects.in_bulk(pks)
    past = _history(page, slots) if history else {}
    origins = {origin for entry in page for origin in entry.origins}
    renamed = by_position(origins | {row.origin for rows in evidence.values() for row in rows})
    for entry in page:
        record = plain("entry", entry)
        record["origins"] = [renamed.get(origin, origin) for origin in entry.origins]
        if entry.superseded_by_id is not None and record["superseded_by"] is None:  # its successor is gone
            record["archived_at"] = record["archived_at"] or record["updated_at"]
        record["slots"] = [{"number": slot.pk, **SLOT.written(slot)} for slot in slots[entry.pk]]
        record["evidence"] = [
            EVIDENCE.written(row) | {"origin": renamed.get(row.origin, row.origin)} for row in evidence[entry.pk]
        ]
        record["quarantined_at"] = as_json(entry.quarantined_at)  # for people: elsewhere it is suppressed
        record["access"] = ACCESS.written(accesses[entry.pk]) if entry.pk in accesses else None
        if history:
            record["history"] = past.get(entry.pk, [])
        yield record


def _by_owner(model: type[Slot | Evidence], entries: Sequence[int]) -> defaultdict[int, list[Any]]:
    rows: defaultdict[int, list[Any]] = defaultdict(list)
    for row in model.objects.filter(entry__in=entries).order_by("pk"):
        rows[row.entry_id].append(row)
    return rows


def _history(page: Sequence[Entry], slots: dict[int, list[Slot]]) -> dict[int, list[Record]]:
    """The changes of entries and of their slots, the removed ones too, oldest first."""
    workspace, table = page[0].workspace_id, Slot._meta.db_table
    changes = Change.objects.filter(workspace_id=workspace)
    owner = {slot.pk: entry for entry, rows in slots.items() for slot in rows}
    removed_slots = changes.filter(
        table_name=table, op=Operation.DELETE, old__entry_id__in=[entry.pk for entry in page]
    ).values_list("row_id", "old__entry_id")
    owner |= dict(removed_slots)
    by_entry: defaultdict[int, list[Record]] = defaultdict(list)
    of_rows = Q(table_name=Entry._meta.db_table, row_id__in=[entry.pk for entry in page])
    rows = list(changes.filter(of_rows | Q(table_name=table, row_id__in=list(owner))).order_by("pk"))
    successors = {row.old["superseded_by_id"] for row in rows if row.old.get("superseded_by_id")}
    uids = dict(Entry.objects.filter(pk__in=successors).values_list("pk", "uid"))
    for row in rows:
        is_slot = row.table_name == table
        old = dict(row.old)
        if "superseded_by_id" in old:
            old["superseded_by_id"] = as_json(uids.get(old["superseded_by_id"]))
        by_entry[owner[row.row_id] if is_slot else row.row_id].append(
            {
                **CHANGE.written(row),
                "slot": row.row_id if is_slot else None,
                "old": old,
            }
        )
    return by_entry


def _people(page: Sequence[Person]) -> Iterator[dict[str, Any]]:
    """The records of people, each with their identities and consents."""
    parts: defaultdict[str, defaultdict[int, list[dict[str, Any]]]] = defaultdict(lambda: defaultdict(list))
    for identity in Identity.objects.filter(person__in=page).order_by("platform", "peer"):
        parts["identities"][identity.person_id].append(IDENTITY.written(identity))
    for consent in Consent.objects.filter(person__in=page).order_by("at", "pk"):
        parts["consents"][consent.person_id].append(CONSENT.written(consent))
    for person in page:
        hanging = {name: parts[name][person.pk] for name in ("identities", "consents")}
        yield {"record": "person", **KINDS["person"].written(person), **hanging}


_FACTS, _CONVERSATIONS = "# Facts", "# What was said"


def write_markdown(workspace: Workspace, only: Scope | None, files: Path, markdown: Path) -> int:
    """Copy the files of scopes and write what is remembered there; how many files were copied."""
    count = 0
    for scope in [only] if only else Scope.objects.filter(workspace=workspace).order_by("pk").iterator():
        folder = folder_of(scope)
        for document in [*folder.files(), *folder.transcripts()]:
            (files / document.path).parent.mkdir(parents=True, exist_ok=True)
            with suppress(FileNotFoundError):  # files are written and renamed meanwhile
                shutil.copy2(folder.workspace / document.path, files / document.path, follow_symlinks=False)
                count += 1
        # What is remembered: entries by themselves, and the events of each day
        pages = markdown / folder_name(scope.key)
        (pages / "memory").mkdir(parents=True, exist_ok=True)
        live = Entry.objects.in_scope(scope).live().exclude(subtype=access.SUBTYPE)
        live = live.order_by("type", "tier", "project", "pk")
        with (pages / "MEMORY.md").open("w", encoding="utf-8") as file:
            file.writelines(_markdown_lines(live.exclude(type=EntryType.CHAT_TURN).iterator(chunk_size=2_000), _FACTS))
            file.writelines(
                _markdown_lines(live.filter(type=EntryType.CHAT_TURN).iterator(chunk_size=2_000), _CONVERSATIONS)
            )
        events = DailyEvent.objects.in_use().filter(scope=scope, workspace_id=scope.workspace_id)
        rows = events.order_by("local_date", "pk").iterator(chunk_size=2_000)
        for day, of_day in groupby(rows, key=lambda event: event.local_date):
            text = "\n\n".join(event.content for event in of_day) + "\n"
            (pages / "memory" / f"{day.isoformat()}.md").write_text(text, encoding="utf-8")
    return count


def _markdown_lines(entries: Iterable[Entry], heading: str) -> Iterator[str]:
    for n, entry in enumerate(entries):
        if n == 0:
            yield f"{heading}\n\n" if heading == _FACTS else f"\n{heading}\n\n"
        at = f" <!-- at={entry.written_at.isoformat()} -->" if entry.written_at else ""
        yield "- {}{}\n".format("\n  ".join(entry.content.splitlines()), at)


FILES, MARKDOWN = "files", "markdown"
_UNFINISHED, _POSITION = f"{RECORDS}.unfinished", f"{RECORDS}.position"
PAGE = 1_000
Report = Callable[[int, int], None]


class ExportRefused(PlatformError):
    """It cannot be exported there."""


@dataclass
class Position:
    """How far an export is: what is whole in its file, and the last row of the section it is at."""

    head: dict[str, Any]
    size: int = 0
    kind: str = ""
    after: list[int] = field(default_factory=list)  # its owner and its number
    counts: dict[str, int] = field(default_factory=dict)
    ends: dict[str, int] = field(default_factory=dict)  # by kind: the last row there was when it began


@dataclass
class ExportReport:
    """What an export wrote."""

    counts: dict[str, int]
    files: int
    waiting: int  # turns that wait to be extracted, which no export holds
    resumed: bool


def export(
    workspace: Workspace,
    scope: Scope | None,
    folder: Path,
    *,
    now: datetime,
    history: bool = False,
    resume: bool = False,
    report: Report | None = None,
) -> ExportReport:
    """Export a workspace, or one scope of it, into a folder; the records are of one moment unless it was resumed.

    Then too scopes and conversations are those there were when it began: none is torn.
    Raises ExportRefused or OSError.
    """
    head = head_of(workspace, scope, history=history)
    position = _begin(folder, head, resume=resume)
    resumed, all_sections = bool(position.size), list(sections(workspace, scope, history=history))
    with one_moment(), (folder / _UNFINISHED).open("ab") as file:
        file.truncate(position.size)
        if not resumed:
            _write(file, [head | {"at": now.isoformat()}])
            models = {section.kind: section.rows.model for section in all_sections if section.kind in _BOUNDED}
            position.ends = {
                kind: model._base_manager.aggregate(last=Max("pk"))["last"] or 0 for kind, model in models.items()
            }
        total = sum(section.rows.count() for section in all_sections) if report else 0
        kinds = [section.kind for section in all_sections]
        for section in all_sections[kinds.index(position.kind) if position.kind else 0 :]:
            after = position.after if position.kind == section.kind else []
            for rows in section.pages(after, PAGE, position.ends):
                page, last = list(section.records(rows)), [rows[-1].owner_number, rows[-1].pk]
                _write(file, page)
                position.counts[section.kind] = position.counts.get(section.kind, 0) + len(page)
                position.size, position.kind, position.after = file.tell(), section.kind, last
                # How far it is stands on the disk whole, or as it stood before
                draft = folder / f"{_POSITION}.new"
                draft.write_text(json.dumps(asdict(position)))
                os.replace(draft, folder / _POSITION)
                if report:
                    report(sum(position.counts.values()), total)
        _write(file, [{"record": END, "counts": position.counts}])
        files = write_markdown(workspace, scope, folder / FILES, folder / MARKDOWN)
    os.replace(folder / _UNFINISHED, folder / RECORDS)
    (folder / _POSITION).unlink(missing_ok=True)
    waiting = BufferedTurn.objects.filter(workspace_id=workspace.pk).count()
    return ExportReport(position.counts, files, waiting, resumed)


def head_of(workspace: Workspace, scope: Scope | None, *, history: bool) -> dict[str, Any]:
    """What the first line says, but for the time."""
    return {
        "record": HEAD,
        "format": FORMAT,
        "workspace": str(workspace.uid),
        "scope": str(scope.uid) if scope else None,
        "history": history,
    }


def _begin(folder: Path, head: dict[str, Any], *, resume: bool) -> Position:
    """Where it begins. Raises ExportRefused where something else is in the way."""
    if (folder / RECORDS).exists():
        raise ExportRefused(_("In “%(folder)s” lies an export already; name another folder.") % {"folder": folder})
    if not (folder / _POSITION).exists():
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return Position(head)
    if not resume:
        message = _("In “%(folder)s” lies an export that was interrupted; --resume goes on with it.")
        raise ExportRefused(message % {"folder": folder})
    position = Position(**json.loads((folder / _POSITION).read_text()))
    if position.head != head:
        message = _("The export in “%(folder)s” is of something else, or another version made it; name another folder.")
        raise ExportRefused(message % {"folder": folder})
    return position


@contextmanager
def one_moment() -> Iterator[None]:
    """A transaction that sees one moment, whatever is written meanwhile; inside another one, what that sees."""
    is_outermost = not connection.in_atomic_block
    with transaction.atomic(), connection.cursor() as cursor:
        if is_outermost:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        yield


def as_lines(records: Iterable[dict[str, Any]]) -> bytes:
    """Records as JSON Lines, in UTF-8."""
    return "".join(json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n" for record in records).encode()


def _write(file: Any, records: list[dict[str, Any]]) -> None:
    file.write(as_lines(records))
    file.flush()
    os.fsync(file.fileno())
