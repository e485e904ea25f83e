"""memory_get: some lines of a file, a memory, a day or a message by its path, word for word; and memory_list (C1, C4).

A path that leads out of the place is refused in the same words whether there is something or not. Of files what the
platform wrote for itself, and what was taken out of use, is not shown; the lines keep their numbers.
"""

import re
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, time
from uuid import UUID

from channels_app.doors.tools.place import Place
from channels_app.doors.tools.search import ENTRIES, NOTES, SOURCES
from memories.choices import ScopeKind
from memories.entries.daily_events import SuppressedContent
from memories.exceptions import FileUnreadable, PathNotAllowed, SessionNotFound
from memories.files import comments, disk, markdown
from memories.files.layout import read_reference, resolve_path
from memories.language import quoting
from memories.models import Policy, Scope, Suppression
from memories.recall.eligibility import credential_guard, readable_entry
from memories.recall.events import readable_day
from memories.recall.people import Sender, sender_of, sender_with_id
from memories.recall.query import opening_of
from sessions_app.models import EventKind, in_language
from sessions_app.visibility import session_and_scope, visible_message

LINES, LINES_MOST = 40, 300
CHARS_MOST = 60_000  # of one answer
DAYS, MESSAGES = SOURCES["daily_event"], SOURCES["session_event"]
_UUID = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_ROW = re.compile(f"({ENTRIES}|{DAYS})/({_UUID})")
_MESSAGE = re.compile(f"{MESSAGES}/({_UUID})/([0-9]{{1,9}})/event-([0-9]{{1,19}})")

NOTHING_THERE = {
    "en": "{path}: there is nothing. Search again with memory_search; do not guess.",
    "zh-hans": "{path}：没有内容。请用 memory_search 重新检索，不要猜测。",
}
MORE = {"en": "(There is more: go on with from={next}.)", "zh-hans": "（后面还有：用 from={next} 继续读取。）"}


@dataclass(frozen=True, kw_only=True)
class Excerpt:
    """Some lines, as they stand there."""

    path: str
    kind: str
    first: int
    lines: list[str] = field(default_factory=list)
    is_found: bool = True
    is_truncated: bool = False  # there is more after these lines
    at: datetime | None = None
    speaker: str = ""
    language: str = "en"  # of the text for the model
    note: str = ""  # why there is no text, where `is_found` does not say it
    degraded: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    @property
    def next(self) -> int | None:
        """The line to go on from; None: this is the end."""
        return self.first + len(self.lines) if self.is_truncated else None


@dataclass(frozen=True)
class _Passage:
    """A text by its path, with whose it is."""

    text: str
    at: datetime | None = None
    speaker: str = ""


def memory_get(place: Place, *, path: str, first: int | None = None, count: int | None = None) -> Excerpt:
    """Lines of what a path leads to, from `first` on, at most LINES_MOST; empty where there is nothing.

    A path may name its line itself: `memory/2026-11-23.md:12`. Raises PathNotAllowed, InvalidAddress, ScopeNotFound.
    """
    path, line = read_reference(path)
    begin, many, now = first or line or 1, min(count or LINES, LINES_MOST), place.now
    row, message = _ROW.fullmatch(path), _MESSAGE.fullmatch(path)
    if row is not None:
        kind, uid = row[1], UUID(row[2])
        if kind == ENTRIES:
            query = place.query("", limit=1)
            entry = readable_entry(query, uid, opening_of(query, now=now).policies, now) if query.places else None
            if entry is None:
                raise PathNotAllowed
            at = entry.written_at and entry.written_at.astimezone(place.caller.zone)
            passage = _Passage(entry.content, at, sender_of(entry, entry.scope, query.asker).label)
        else:
            day = readable_day(uid, place.places, Policy.objects.of(place.caller.workspace_id), now)
            if day is None or reveals(place, day.content, [f"{DAYS}/{uid}", *day.origins]):
                raise PathNotAllowed
            passage = _Passage(day.content, datetime.combine(day.local_date, time(12), place.caller.zone))
        return _excerpt(path, kind, passage, begin, many, place.caller.language)
    if message is not None:
        passage = _message(place, UUID(message[1]), int(message[2]), int(message[3]))
        return _excerpt(path, MESSAGES, passage, begin, many, place.caller.language)
    return lines_of_file(place, path, begin, many)


def is_row(path: str) -> bool:
    """Whether a path leads to a memory, a day or a message, and not to a file."""
    return bool(_ROW.fullmatch(path) or _MESSAGE.fullmatch(path))


def uid_in(path: str) -> UUID | None:
    """The memory a path of one names, or its id alone; None: it names none."""
    reference = read_reference(path)[0]
    row = _ROW.fullmatch(reference if "/" in reference else f"{ENTRIES}/{reference}")
    return UUID(row[2]) if row and row[1] == ENTRIES else None


def day_in(path: str) -> UUID | None:
    """The event of a day a path names; None: it names none."""
    row = _ROW.fullmatch(read_reference(path)[0])
    return UUID(row[2]) if row and row[1] == DAYS else None


def lines_of_file(place: Place, path: str, first: int, count: int) -> Excerpt:
    """Lines of a file of the place. Raises PathNotAllowed."""
    folder, _place = resolve_path(place.folders, path)
    language = place.caller.language
    try:
        whole = disk.read(folder, path)
    except FileUnreadable:  # too large to be read as a whole, or no UTF-8
        lines, has_more = disk.read_lines(folder, path, first, count)
        shown_excerpt = [comments.shown(line) for line in lines]
        return _cut(path, NOTES, shown_excerpt, first, has_more=has_more, language=language)
    if whole is None:
        return Excerpt(path=path, kind=NOTES, first=first, is_found=False, language=language)
    text = _with_plain_ends(whole.text)
    scopes = Scope.objects.in_workspace(place.caller.workspace_id).filter(key=folder.scope_key)
    scope = None if place.is_of_files else scopes.first()
    if scope is not None and Suppression.objects.filter(scope=scope).exists():
        # What people took out of use is emptied, so that the other lines keep their numbers (A15)
        taken_out, lines = SuppressedContent([scope], is_shown=True), text.split("\n")
        with suppress(FileUnreadable):
            for block in markdown.blocks(text):
                if taken_out.covers(scope, block.text, ()):
                    lines[block.line_from - 1 : block.line_to] = [""] * (block.line_to - block.line_from + 1)
        text = "\n".join(lines)
    text = comments.shown(text).rstrip("\n")  # lines of ours may end it
    return _excerpt(path, NOTES, _Passage(text), first, count, language)


def _message(place: Place, uid: UUID, conversation: int, number: int) -> _Passage:
    """A message of a conversation of this place; that of another is refused, there or not.

    A person's private messages are read in no group.
    """
    keys = {ref.key for ref in place.refs if not (ref.in_group and ref.kind == ScopeKind.USER)}
    try:
        session, scope = session_and_scope(place.caller, uid)
    except SessionNotFound as unknown:
        raise PathNotAllowed from unknown
    if scope.key not in keys:
        raise PathNotAllowed
    message = visible_message(session, scope, conversation, number, now=place.now)
    if message is None or reveals(place, message.content, [session.origin(conversation, number)]):
        return _Passage("")
    is_user = message.kind == EventKind.USER
    asker = place.resolution.address.speaker if place.resolution else ""
    sender = sender_with_id(message.sender_id, scope, asker, name_then=message.sender_name) if is_user else Sender()
    return _Passage(message.content, message.at.astimezone(place.caller.zone), sender.label or str(message.kind))


def reveals(place: Place, content: str, origins: list[str]) -> bool:
    """Whether it tells a group a credential."""
    guard = credential_guard(place.caller.workspace_id, [searched.scope for searched in place.places])
    return guard.reveals(content, origins)


def _with_plain_ends(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _excerpt(path: str, kind: str, passage: _Passage, first: int, count: int, language: str) -> Excerpt:
    if not passage.text:
        is_there = kind == NOTES  # an empty file
        return Excerpt(path=path, kind=kind, first=first, is_found=is_there, language=language)
    every = _with_plain_ends(passage.text).removesuffix("\n").split("\n")
    lines, has_more = every[first - 1 : first - 1 + count], len(every) >= first + count
    return _cut(path, kind, lines, first, has_more=has_more, language=language, at=passage.at, speaker=passage.speaker)


def _cut(
    path: str,
    kind: str,
    lines: list[str],
    first: int,
    *,
    has_more: bool,
    language: str,
    at: datetime | None = None,
    speaker: str = "",
) -> Excerpt:
    """Whole lines, as many as fit; of a single line that is too long its beginning."""
    length, line_count = 0, 0
    for line in lines:
        length += len(line) + 1
        if length > CHARS_MOST:
            break
        line_count += 1
    whole_lines = lines[:line_count] or [line[:CHARS_MOST] for line in lines[:1]]
    return Excerpt(
        path=path,
        kind=kind,
        first=first,
        lines=whole_lines,
        is_truncated=has_more or len(whole_lines) < len(lines) or (line_count == 0 and bool(lines)),
        at=at,
        speaker=speaker,
        language=language,
    )


def shown_excerpt(excerpt: Excerpt) -> str:
    """The text for a model: where it stands, the words, each line as a quotation, and whether there is more."""
    if excerpt.note:
        return excerpt.note
    if not excerpt.lines:
        return in_language(NOTHING_THERE, excerpt.language).format(path=f"{excerpt.path}:{excerpt.first}")
    when = f"{excerpt.at:%Y-%m-%d}" if excerpt.at else ""
    about = ", ".join(filter(None, [excerpt.speaker, when]))
    head = f"[{excerpt.path}:{excerpt.first}]{f' ({about})' if about else ''}"
    more = in_language(MORE, excerpt.language).format(next=excerpt.next) if excerpt.next else ""
    notice = quoting.notice_in(excerpt.language)
    return "\n".join(filter(None, [notice, head, quoting.as_quotation(excerpt.lines), more]))


FILES_MOST = 100  # of one answer
NOTE, TRANSCRIPT = "note", "transcript"
KINDS = (NOTE, TRANSCRIPT)

NONE_THERE = {
    "en": "There are no files here yet. memory_save begins one.",
    "zh-hans": "这里还没有文件。memory_save 会新建。",
}
HEAD = {
    "en": "Files of memory, changed last first ({first} to {last} of {total}). Read one with memory_get.",
    "zh-hans": "记忆文件，最近改动的在前（第 {first} 到 {last} 个，共 {total} 个）。用 memory_get 读取。",
}
MORE_FILES = {"en": "(There are more: go on with from={next}.)", "zh-hans": "（后面还有：用 from={next} 继续。）"}


@dataclass(frozen=True, kw_only=True)
class ListedFile:
    """A file that memory_get reads here."""

    path: str
    kind: str  # note or transcript
    scope: str
    bytes: int
    at: datetime  # changed last


@dataclass(frozen=True, kw_only=True)
class FileList:
    """Some of the files of a place, those changed last first."""

    files: list[ListedFile]
    first: int
    total: int
    language: str = "en"  # of the text for the model
    degraded: list[str] = field(default_factory=list)

    @property
    def next(self) -> int | None:
        """The number of the file to go on from; None: this is the end."""
        after = self.first + len(self.files)
        return after if self.files and after <= self.total else None


def memory_list(place: Place, *, first: int | None = None) -> FileList:
    """The files of a place, from the one with the number `first` on. Raises InvalidAddress, ScopeNotFound."""
    begin = first or 1
    files = [
        ListedFile(
            path=file.path,
            kind=kind,
            scope=folder.scope_key,
            bytes=file.size,
            at=datetime.fromtimestamp(file.mtime_ns / 1e9, place.caller.zone).replace(microsecond=0),
        )
        for folder in place.folders
        for kind, listed in ((NOTE, folder.files()), (TRANSCRIPT, folder.transcripts()))
        for file in listed
        if not file.is_linked
    ]
    every = sorted(files, key=lambda file: (file.at, file.path), reverse=True)
    return FileList(
        files=every[begin - 1 : begin - 1 + FILES_MOST],
        first=begin,
        total=len(every),
        language=place.caller.language,
        degraded=list(place.degraded),
    )


def shown_files(answer: FileList) -> str:
    """The text for a model."""
    if not answer.files:
        return in_language(NONE_THERE, answer.language)
    last = answer.first + len(answer.files) - 1
    head = in_language(HEAD, answer.language).format(first=answer.first, last=last, total=answer.total)
    lines = [f"- [{file.path}] {file.at:%Y-%m-%d %H:%M}, {file.bytes:,} B" for file in answer.files]
    more = [in_language(MORE_FILES, answer.language).format(next=answer.next)] if answer.next else []
    return "\n".join([head, *lines, *more])
