"""A folder of markdown, read and brought in."""

import hashlib
import os
import re
import stat
import textwrap
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path

from django.db.models import Q
from django.utils.translation import gettext as _

from memories.batches.steps import CreateStep, EventStep, PlanRow
from memories.choices import EntryType, Source
from memories.conf import conf
from memories.entries.daily_events import EventDraft
from memories.entries.draft import UnscopedDraft
from memories.exceptions import FolderRefused
from memories.files import layout, markdown
from memories.files.layout import readable
from memories.imports.batch import (
    FILES,
    AlreadyThere,
    ImportReport,
    LeftOut,
    LeftOutReason,
    Report,
    carry_out,
    imported,
)
from memories.imports.bundle import PROJECT, TOPIC, fact, profile
from memories.language import text
from memories.models import DailyEvent, Entry, Scope

LONG_TERM, USER, NOTES = "MEMORY.md", "USER.md", "memory"
#: What tells the other program how to behave, and is no memory.
INSTRUCTIONS = {
    "AGENTS.md",
    "BOOT.md",
    "BOOTSTRAP.md",
    "CLAUDE.md",
    "HEARTBEAT.md",
    "IDENTITY.md",
    "SOUL.md",
    "TOOLS.md",
}
#: The notes of a day, or of one conversation of it: 2026-01-31.md, 2026-01-31-vendor-pitch.md.
_DAILY = re.compile(r"(\d{4}-\d{2}-\d{2})(?:-[^/]+)?\.md")
_ITEM = re.compile(r"^(\s*)(?:[-+*]|\d{1,9}[.)])\s")
_FENCE = re.compile(r"^\s*(?:```|~~~)")
#: What the template of USER.md says where nothing was filled in: «- **Name:**», «_(What do they care about?)_».
_UNFILLED = re.compile(r"\*\*[^*]+(?:[:：]\*\*|\*\*[:：])(?:\s*_[(（][^_]*[)）]_)?|_[^_]*_")
#: A special file such as a pipe must not keep the import waiting.
_OPENING = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(frozen=True)
class FoundFile:
    """A file to import: what is to be remembered at all times, the notes of a day, or notes of one subject."""

    path: str  # in the folder, of whatever bytes: where it is shown or stored, as far as it is readable
    on: date | None = None  # None: MEMORY.md, USER.md, or a subject

    @property
    def subject(self) -> str:
        """The subject of notes that are neither of a day nor for all times."""
        name = os.path.basename(readable(self.path))
        return "" if self.on or name in (LONG_TERM, USER) else name.removesuffix(".md")


def open_folder(name: str | Path) -> Path:
    """The folder of this name, with all links on the way to it followed. Raises FolderRefused."""
    shown = {"name": readable(str(name))}
    try:
        folder = Path(name).expanduser().resolve(strict=True)
        is_folder = folder.is_dir()
    except (OSError, RuntimeError, ValueError) as problem:
        raise FolderRefused(_("There is no folder “%(name)s”.") % shown) from problem
    if not is_folder:
        raise FolderRefused(_("“%(name)s” is no folder.") % shown)
    is_live = False  # the folder of the platform's own files, or in it, however it is spelled
    with suppress(OSError):  # there are none yet
        is_live = any(place.samefile(layout.root()) for place in (folder, *folder.parents))
    if is_live:
        message = _("“%(name)s” lies among the platform's own files: these are indexed by themselves, never imported.")
        raise FolderRefused(message % shown)
    return folder


def find_files(folder: Path) -> tuple[list[FoundFile], list[LeftOut]]:
    """The files to import, MEMORY.md first and days in their order, and what else of markdown lies there.

    Raises FolderRefused where nothing of the kind is there.
    """
    files: list[FoundFile] = []
    left_out: list[LeftOut] = []
    for path, kind in sorted(_markdown_files(folder)):
        name, reason = os.path.basename(path), None
        if kind != stat.S_IFREG:
            reason = LeftOutReason.LINK if kind == stat.S_IFLNK else LeftOutReason.NO_FILE
        elif _DAILY.fullmatch(name):
            reason = None if _day_of(path) else LeftOutReason.NO_DAY
        elif name in INSTRUCTIONS:
            reason = LeftOutReason.INSTRUCTIONS
        elif name not in (LONG_TERM, USER) and not path.startswith(f"{NOTES}{os.sep}"):
            reason = LeftOutReason.NAME
        if reason:
            left_out.append(LeftOut(readable(path), reason))
        else:
            files.append(FoundFile(path, _day_of(path)))
    if not (files or left_out):
        raise FolderRefused(
            _("Nothing to import in “%(name)s”: neither MEMORY.md nor 2026-01-31.md, nor in its folder memory.")
            % {"name": readable(str(folder))}
        )
    return sorted(files, key=lambda file: (file.on or date.min, file.path)), left_out


def _markdown_files(folder: Path) -> Iterator[tuple[str, int]]:
    """Path and kind of all that is named as markdown, at the root and anywhere in memory/. Raises FolderRefused."""
    places = ["", NOTES]
    while places:
        place = places.pop()
        if place and (folder / place).is_symlink():
            yield place, stat.S_IFLNK
            continue
        try:
            with os.scandir(folder / place) as names:
                for name in names:
                    if name.name.endswith(".md"):
                        yield os.path.join(place, name.name), stat.S_IFMT(name.stat(follow_symlinks=False).st_mode)
                    elif place and name.is_dir() and not name.name.startswith("."):
                        places.append(os.path.join(place, name.name))
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as problem:
            raise FolderRefused(_("“%(name)s” cannot be read.") % {"name": readable(str(folder / place))}) from problem


def _day_of(path: str) -> date | None:
    match = _DAILY.fullmatch(os.path.basename(path))
    try:
        return date.fromisoformat(match[1]) if match else None
    except ValueError:
        return None


def read_file(folder: Path, file: FoundFile) -> str | LeftOut:
    """The text of a file, its lines ended by LF alone, without a byte order mark; or why it is left out."""
    path = readable(file.path)
    try:
        with os.fdopen(os.open(folder / file.path, _OPENING), "rb") as opened:
            about = os.fstat(opened.fileno())
            if not stat.S_ISREG(about.st_mode):
                return LeftOut(path, LeftOutReason.NO_FILE)
            if about.st_size > conf.FILE_MAX_BYTES:
                return LeftOut(path, LeftOutReason.TOO_LARGE)
            raw = opened.read(conf.FILE_MAX_BYTES)
        content = raw.decode("utf-8-sig")
    except OSError:
        return LeftOut(path, LeftOutReason.UNREADABLE)
    except UnicodeDecodeError:
        return LeftOut(path, LeftOutReason.NO_TEXT)
    if not text.is_storable(content):
        return LeftOut(path, LeftOutReason.NO_TEXT)
    if text.is_blank(content):
        return LeftOut(path, LeftOutReason.EMPTY)
    return content.replace("\r\n", "\n").replace("\r", "\n")


def lines_of(content: str, limit: int) -> Iterator[str]:
    """The lines of a text, those of more characters than `limit` in pieces."""
    for line in content.splitlines():
        if len(line) <= limit:
            yield line
        else:
            bare = line.strip()
            yield from (bare[start : start + limit] for start in range(0, len(bare), limit))


def parts(content: str, limit: int) -> Iterator[str]:
    """A text in parts of at most so many characters, cut between lines."""
    part: list[str] = []
    length = 0
    for line in lines_of(content, limit):
        if part and length + len(line) > limit:
            yield "\n".join(part).strip()
            part, length = [], 0
        if part or not text.is_blank(line):  # none begins with nothing
            part.append(line)
            length += len(line) + 1
    if part:
        yield "\n".join(part).strip()


HEADING_CHARS, LABEL_CHARS = 300, 100
_DIGEST = 8  # bytes of the hash of a line


@dataclass(frozen=True)
class LineInContext:
    """A line of markdown that is to last, with all it stands under: headings, the lines it is nested in."""

    number: int
    words: str
    heading: str
    at: datetime | None


def lines_with_context(content: str, subject: str = "") -> Iterator[LineInContext]:
    """The blocks of a file under their headings, a nested line with the lines it is nested in before it.

    A line that ends with a colon and has lines nested in it is part of each, and a line of its own as well where it is
    too long for that. Code stays between its fences, under the line that introduces it.
    """
    lines = content.split("\n")
    parents: list[_Parent] = []
    lead: tuple[int, str] = (0, "")  # the last line and the words of what ends with a colon
    blocks = [block for block in markdown.blocks(content) if not text.is_blank(block.text)]
    for block, after in zip(blocks, [*blocks[1:], None], strict=False):
        indent = _indent(lines, block)
        parents = [parent for parent in parents if parent.indent < indent and parent.heading == block.heading]
        labels = [parent.label for parent in parents]
        heading = " › ".join(filter(None, [subject, block.heading]))
        label = block.text.partition("\n")[0][:LABEL_CHARS].rstrip(":： ")
        is_introduction = block.text.endswith((":", "："))
        is_item = bool(_ITEM.match(lines[block.line_from - 1]))
        has_nested = bool(is_item and after and after.heading == block.heading and _indent(lines, after) > indent)
        if _FENCE.match(lines[block.line_from - 1]):
            is_next = lead[0] and not any(map(str.strip, lines[lead[0] : block.line_from - 1]))
            heading = " › ".join(filter(None, [heading, *labels, lead[1] if is_next else ""]))
            words = textwrap.dedent("\n".join(lines[block.line_from - 1 : block.line_to]))
            yield LineInContext(block.line_from, words, heading, block.at)
        elif not (is_introduction and has_nested and block.text.rstrip(":： ") == label):
            words = f"{' › '.join(labels)}: {block.text}" if labels else block.text
            words = words if len(words) <= conf.CONTENT_MAX_CHARS else block.text
            yield LineInContext(block.line_from, words, heading, block.at)
        if is_item:
            parents.append(_Parent(indent, label, block.heading))
        lead = (block.line_to, "" if has_nested else label) if is_introduction else (0, "")


@dataclass(frozen=True)
class _Parent:
    """An item of a list that others may be nested in."""

    indent: int
    label: str
    heading: str


def _indent(lines: Sequence[str], block: markdown.Block) -> int:
    first = lines[block.line_from - 1]
    return len(first) - len(first.lstrip())


def import_folder(
    scope: Scope, folder: Path, *, now: datetime, actor: str, is_dry: bool = False, report: Report | None = None
) -> ImportReport:
    """Import a folder into a scope, after what a killed import has left to do; dry, only say what would be written.

    Raises FolderRefused or ScopeFrozen.
    """
    files, left_out = find_files(folder)
    import_report = ImportReport(files=len(files))
    for file in left_out:
        import_report.left_out.add(file)
        import_report.read += 1
    rows = _rows(scope, folder, files, import_report, now=now, report=report)
    name = readable(folder.name)
    carry_out(scope, rows, import_report, name=name, now=now, actor=actor, is_dry=is_dry, report=report)
    import_report.profile += import_report.facts if is_dry else 0
    return import_report


def _rows(
    scope: Scope,
    folder: Path,
    files: Sequence[FoundFile],
    done: ImportReport,
    *,
    now: datetime,
    report: Report | None,
) -> Iterator[PlanRow]:
    """The files of a folder, read one after another: a row for everything that is not there yet.

    The others are counted.
    """
    there = _AlreadyThere(scope)
    for n, file in enumerate(files, start=1):
        path = readable(file.path)
        content = read_file(folder, file)
        if isinstance(content, LeftOut):
            done.left_out.add(content)
            continue
        if file.on is None:
            # A fact of each block: of the profile, or of notes of a subject
            fields = fact([file.subject]) if file.subject else profile()
            for line in lines_with_context(content, file.subject):
                done.read += 1
                if os.path.basename(file.path) == USER and _UNFILLED.fullmatch(line.words):
                    done.left_out.add(LeftOut(path, LeftOutReason.EMPTY, line.number))
                elif there.is_suppressed(line.words):
                    done.left_out.add(LeftOut(path, LeftOutReason.SUPPRESSED, line.number))
                elif there.has((text.fingerprint(line.words), fields["topic"])):
                    done.already += 1
                else:
                    at = min(line.at or now, now)
                    heading = line.heading[-HEADING_CHARS:]
                    draft = UnscopedDraft(content=line.words, source=Source.MIGRATION, at=at, heading=heading, **fields)
                    yield PlanRow(step=CreateStep(draft=draft))
        else:
            yield from _day(there, done, path, file.on, content)
        if report:
            report(FILES, n, len(files))


def _day(there: "_AlreadyThere", done: ImportReport, path: str, on: date, content: str) -> Iterator[PlanRow]:
    """An event of what is new; where the file has grown, the event it made before, with the new lines in it."""
    done.read += 1
    lines = _lines(content)
    new_lines = there.news_of(on, lines)
    if all(map(text.is_blank, new_lines)):
        done.already += 1
        return
    grown = there.event_within(on, lines) if len(new_lines) < len(set(map(str.strip, lines))) else None
    if grown:
        new_lines |= {"", *_stripped(grown.content)}
    news = "\n".join(line for line in lines if line.strip() in new_lines)
    for part in parts(news.strip(), conf.CONTENT_MAX_CHARS):
        draft = EventDraft(scope=there.scope, local_date=on, content=part, source=Source.MIGRATION)
        if there.is_suppressed(part):
            done.left_out.add(LeftOut(path, LeftOutReason.SUPPRESSED))
        elif grown is None:
            yield PlanRow(step=EventStep.of(draft))
        elif part != grown.content:
            yield PlanRow(step=EventStep.of(draft), event_id=grown.pk, version=grown.version)
        grown = None  # what does not fit into it is an event of its own


class _AlreadyThere(AlreadyThere):
    """Lines of the profile and of notes of subjects, by their topics; and lines of days."""

    def __init__(self, scope: Scope) -> None:
        super().__init__(scope)
        lasting = Q(project=PROJECT, topic=TOPIC) | Q(source=Source.MIGRATION)
        facts = Entry.objects.in_scope(scope).live().filter(lasting, type=EntryType.FACT)
        self.hashes.update(facts.values_list("fingerprint", "topic"))  # the same words of two subjects are two facts
        self._lines: defaultdict[str, bytearray] = defaultdict(bytearray)  # by day, in so little room
        self._day, self._of_day = "", set[bytes]()
        self._grown: set[int] = set()
        for content, on, topic in imported(scope).iterator(chunk_size=2_000):
            if content and on:
                self._lines[on] += b"".join(_line_hashes(_lines(content)))
            elif content:
                self.hashes.add((text.fingerprint(content), topic or ""))
        days = DailyEvent.objects.in_use().filter(scope=scope, workspace_id=scope.workspace_id, source=Source.MIGRATION)
        for day, content in days.values_list("local_date", "content").iterator(chunk_size=2_000):
            self._lines[day.isoformat()] += b"".join(_line_hashes(_lines(content)))

    def news_of(self, day: date, lines: Sequence[str]) -> set[str]:
        """The lines of the notes of a day that are not there yet, without spaces around them; now all of them are."""
        if self._day != day.isoformat():  # files of one day come one after another
            self._day, there = day.isoformat(), bytes(self._lines.pop(day.isoformat(), b""))
            self._of_day = {there[start : start + _DIGEST] for start in range(0, len(there), _DIGEST)}
        hashed = _line_hashes(lines)
        news = {line.strip() for digest, line in zip(hashed, lines, strict=True) if digest not in self._of_day}
        self._of_day.update(hashed)
        return news

    def event_within(self, day: date, lines: Sequence[str]) -> DailyEvent | None:
        """The newest event that a file of a day made and whose lines all stand in these; each is given once."""
        events = DailyEvent.objects.in_use().filter(workspace_id=self.scope.workspace_id, scope=self.scope)
        events = events.filter(local_date=day, source=Source.MIGRATION, origins=[]).exclude(pk__in=self._grown)
        there = set(map(str.strip, lines))
        newest = next((event for event in events.order_by("-pk") if _stripped(event.content) <= there), None)
        if newest:
            self._grown.add(newest.pk)
        return newest


def _lines(content: str) -> list[str]:
    return list(lines_of(content, conf.CONTENT_MAX_CHARS))


def _stripped(content: str) -> set[str]:
    return {line.strip() for line in content.splitlines()}


def _line_hashes(lines: Iterable[str]) -> list[bytes]:
    """A hash of each line of the notes of a day, on which spaces around it do not count."""
    return [hashlib.blake2b(line.strip().encode(), digest_size=_DIGEST).digest() for line in lines]
