"""Saving to a file: a line is added, on the disk when this returns, and remembered as an entry of it (C2, E3)."""

from dataclasses import dataclass, field, replace
from datetime import datetime, tzinfo
from enum import StrEnum

import structlog
from django.db import InterfaceError, OperationalError
from django.db.models import Q
from django.utils.translation import gettext as _

from memories import entries
from memories.choices import EntryType
from memories.conf import conf
from memories.entries.draft import check_content
from memories.entries.files import folder_of
from memories.exceptions import FileUnreadable, ScopeFrozen
from memories.files import disk, markdown
from memories.files.comments import CLOSE, Stamp, origin_line
from memories.files.layout import ScopeFolder
from memories.files.parsing import saved_lines
from memories.language.text import fingerprint
from memories.models import Entry, Scope
from memories.notes.index import ACTOR, sync_file

log = structlog.get_logger(__name__)
#: In `degraded`: the line is in its file, and is found by the words of files until the database is back.
DATABASE = "database"


class Target(StrEnum):
    """The file a line is added to: today's note, or the one that stays."""

    DAILY = "daily"
    LONG_TERM = "long-term"


@dataclass(frozen=True)
class AppendedLine:
    """A line in its file."""

    path: str
    line: int


@dataclass(frozen=True)
class SavedNote(AppendedLine):
    """A line that was saved, with its entry; None: the database is away, it is remembered later."""

    entry: Entry | None = None
    ended_suppression: bool = False  # people had taken it out of use, and it was saved on purpose
    degraded: list[str] = field(default_factory=list)


def path_of(folder: ScopeFolder, target: Target, *, now: datetime, zone: tzinfo) -> str:
    """The file of a target: the long-term one, or that of the local day."""
    return folder.long_term if target == Target.LONG_TERM else folder.daily(now.astimezone(zone).date())


def append_line(
    folder: ScopeFolder, path: str, content: str, *, now: datetime, zone: tzinfo, session: str = "", call: str = ""
) -> AppendedLine:
    """Add lines to a file, each with its stamp, once for each `call` that is named; needs no database.

    Raises InvalidDraft, PathNotAllowed, OSError, and FileUnreadable for a file in which nobody would find it again.
    """
    check_content(content)
    lines = saved_lines(content)
    check_content("\n".join(lines))  # of a list without words nothing is left
    at = now.astimezone(zone).replace(microsecond=0)
    title = f"# {at.date()}" if path == folder.daily(at.date()) else ""
    stamp = Stamp(at, session, folder.scope_key)
    first, *others = lines
    items = [markdown.item(first, replace(stamp, call=call)), *(markdown.item(other, stamp) for other in others)]
    text, origin = "\n".join(items), origin_line(session, folder.scope_key)
    line = f"{text}\n{origin}\n"
    file = disk.read(folder, path)
    if file is not None and file.size + len(line.encode()) + len("\r\n\n") > conf.FILE_MAX_BYTES:
        raise FileUnreadable(_("This file is full; save to another one."))
    once = f".{call} {CLOSE}" if call else ""
    return AppendedLine(path, disk.append(folder, path, text, first_line=title, once=once, below=origin))


def line_of_same(scope: Scope, path: str, content: str, *, now: datetime) -> Entry | None:
    """The line of a note of this scope that says the same: of the long-term file that very file's, else any file's.

    None: there is none, or the text is several lines. Raises InvalidDraft.
    """
    check_content(content)
    lines = saved_lines(content)
    if len(lines) != 1:
        return None
    same = Entry.objects.in_scope(scope).live().filter(
        Q(expires_at__isnull=True) | Q(expires_at__gt=now), type=EntryType.NOTE, fingerprint=fingerprint(lines[0])
    )  # fmt: skip
    same = same.filter(path=path) if path == folder_of(scope).long_term else same.exclude(path="")
    for file in sorted(set(same.values_list("path", flat=True))):
        sync_file(scope, file, now=now)  # somebody may have changed it by hand
    return same.order_by("pk").first()


def line_of_same_in_file(folder: ScopeFolder, path: str, content: str) -> int | None:
    """The number of the line of a file that says the same; needs no database. Raises InvalidDraft."""
    check_content(content)
    lines, file = saved_lines(content), disk.read(folder, path)
    if len(lines) != 1 or file is None:
        return None
    digest = fingerprint(lines[0])
    return next((block.line_from for block in markdown.blocks(file.text) if fingerprint(block.text) == digest), None)


def save_note(
    scope: Scope, path: str, content: str, *, now: datetime, session: str = "", call: str = "", actor: str = ACTOR
) -> SavedNote:
    """Add a line to a file of a scope and index it; saved on purpose, it ends its suppression (A15).

    A database that goes away meanwhile costs no line. Raises ScopeFrozen before anything is written, and what
    append_line raises.
    """
    if scope.frozen:
        raise ScopeFrozen
    zone = scope.workspace.zone()
    place = append_line(folder_of(scope), path, content, now=now, zone=zone, session=session, call=call)
    try:
        lifted = [entries.lift_suppression(scope, line, now=now, actor=actor) for line in saved_lines(content)]
        sync_file(scope, path, now=now)
        here = Entry.objects.in_scope(scope).live().filter(path=path, line_from=place.line)
        return SavedNote(place.path, place.line, here.first(), any(lifted))
    except (OperationalError, InterfaceError):
        log.warning("note.saved_without_database", scope=scope.key)
        return SavedNote(place.path, place.line, degraded=[DATABASE])
