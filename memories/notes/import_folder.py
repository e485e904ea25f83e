"""Importing a folder of markdown another program kept into a scope, as one batch that can be undone (D8).

Every block of MEMORY.md becomes a line of the profile, every daily file an event of its day. What an import brought
once, and nobody undid, is not brought again: whatever people made of it since stays as it is.
"""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import date, datetime
from itertools import chain, islice
from pathlib import Path
from uuid import uuid4

from django.db import connection, transaction
from django.db.models import Count, QuerySet

from memories import batches
from memories.batches.steps import CreateStep, EventStep, PlanRow
from memories.choices import BatchState, BatchVerb, Category, ChangeState, EntryType, Outcome, SkipReason, Source
from memories.conf import conf
from memories.entries.daily_events import EventDraft, SuppressedContent
from memories.entries.draft import UnscopedDraft
from memories.exceptions import ScopeFrozen
from memories.files import markdown
from memories.files.markdown import Block
from memories.language import text
from memories.models import Batch, BatchChange, DailyEvent, Entry, Scope
from memories.notes.foreign_folder import (
    FileLeftOut,
    FoundFile,
    LeftOut,
    LeftOutReason,
    find_files,
    lines_of,
    parts,
    read_file,
    readable,
)

NAME = "import"
PROJECT, TOPIC = "_global", "_profile"
HEADING_CHARS = 300
#: Two imports into one scope at once would both miss what the other plans.
_IMPORT_LOCK = 12 << 56
_OPEN = (BatchState.PROPOSED, BatchState.APPLYING, BatchState.APPLIED)
#: How far it is: of files that are read, then of rows that are written.
Report = Callable[[str, int, int], None]
FILES, ROWS = "files", "rows"


@dataclass
class ImportReport:
    """What an import wrote or, tried out, would write."""

    files: int = 0
    facts: int = 0
    events: int = 0
    merged: int = 0  # lines that became part of one that says nearly the same
    already: int = 0  # lines and days that are there already
    continued: int = 0  # rows of an import that was killed
    left_out: list[LeftOut] = field(default_factory=list)
    profile: int = 0  # lines of the scope's profile after it
    batch: Batch | None = None


def import_folder(
    scope: Scope, folder: Path, *, now: datetime, actor: str, is_dry: bool = False, report: Report | None = None
) -> ImportReport:
    """Import a folder into a scope, after what a killed import has left to do; dry, only say what would be written.

    Raises FolderRefused or ScopeFrozen.
    """
    if Scope.objects.get(pk=scope.pk).frozen:
        raise ScopeFrozen
    files, left_out = find_files(folder)
    done = ImportReport(files=len(files), left_out=left_out)
    if not is_dry:
        for batch in _unfinished(scope):
            done.continued += BatchChange.objects.filter(batch=batch, state=ChangeState.PLANNED).count()
            _apply(batch, now, report)
    reading = _Reading(scope, folder, files, now, done, report)
    if is_dry:
        for row in reading.rows():
            _count(done, row)
    else:
        done.batch = _plan(scope, reading, now=now, actor=actor, name=readable(folder.name))
        if done.batch:
            _apply(done.batch, now, report)
            _count_written(done, done.batch)
    done.profile = Entry.objects.in_scope(scope).live().filter(tier=1).count() + (done.facts if is_dry else 0)
    return done


def _unfinished(scope: Scope) -> list[Batch]:
    unfinished = Batch.objects.filter(scope=scope, name=NAME, state__in=(BatchState.PROPOSED, BatchState.APPLYING))
    return list(unfinished.order_by("pk"))


def _plan(scope: Scope, reading: "_Reading", *, now: datetime, actor: str, name: str) -> Batch | None:
    """The plan of what is not there yet; None where there is nothing."""
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_IMPORT_LOCK + scope.pk])
        rows = reading.rows()
        first = list(islice(rows, 1))
        if not first:
            return None
        run = f"{NAME}:{uuid4()}"
        return batches.plan(scope, chain(first, rows), name=NAME, run=run, actor=actor, now=now, reason=name)


def _apply(batch: Batch, now: datetime, report: Report | None) -> None:
    rows = BatchChange.objects.filter(batch=batch)
    total, before = rows.count(), rows.exclude(state=ChangeState.PLANNED).count()
    batches.apply_batch(batch, now=now, report=lambda done: report(ROWS, before + done, total) if report else None)


def _count(done: ImportReport, row: PlanRow) -> None:
    if isinstance(row.step, CreateStep):
        done.facts += 1
    else:
        done.events += 1


def _count_written(done: ImportReport, batch: Batch) -> None:
    """What became of each row of the batch."""
    rows = BatchChange.objects.filter(batch=batch).order_by()
    for verb, state, note, count in rows.values_list("verb", "state", "note").annotate(rows=Count("*")):
        if state == ChangeState.LEFT:
            reason = LeftOutReason.SUPPRESSED if note == SkipReason.SUPPRESSED else LeftOutReason.UNSTORABLE
            done.left_out += [LeftOut("", reason)] * count
        elif note == Outcome.MERGED:
            done.merged += count
        elif note == Outcome.SKIPPED:
            done.already += count
        elif verb == BatchVerb.CREATE:
            done.facts += count
        else:
            done.events += count


@dataclass
class _Reading:
    """The files of a folder, read one after another into the rows of a plan."""

    scope: Scope
    folder: Path
    files: list[FoundFile]
    now: datetime
    done: ImportReport
    report: Report | None

    def rows(self) -> Iterator[PlanRow]:
        """A row for everything that is not there yet; the others are counted."""
        there = _AlreadyThere(self.scope)
        for n, file in enumerate(self.files, start=1):
            try:
                content = read_file(self.folder, file)
            except FileLeftOut as problem:
                self.done.left_out.append(LeftOut(file.path, problem.reason))
                continue
            yield from self._rows_of(file, content, there)
            if self.report:
                self.report(FILES, n, len(self.files))

    def _rows_of(self, file: FoundFile, content: str, there: "_AlreadyThere") -> Iterator[PlanRow]:
        if file.on is not None:
            yield from self._day(file.path, file.on, there.news_of(file.on, content), there)
            return
        for block in markdown.blocks(content):
            if there.is_suppressed(block.text):
                self.done.left_out.append(LeftOut(file.path, LeftOutReason.SUPPRESSED, block.line_from))
            elif there.knows(block.text):
                self.done.already += 1
            else:
                yield self._line(block)

    def _day(self, path: str, on: date, news: str, there: "_AlreadyThere") -> Iterator[PlanRow]:
        if not news:
            self.done.already += 1
        for part in parts(news, conf.CONTENT_MAX_CHARS):
            if there.is_suppressed(part):
                self.done.left_out.append(LeftOut(path, LeftOutReason.SUPPRESSED))
            else:
                event = EventDraft(scope=self.scope, local_date=on, content=part, source=Source.MIGRATION)
                yield PlanRow(step=EventStep.of(event))

    def _line(self, block: Block) -> PlanRow:
        draft = UnscopedDraft(
            type=EntryType.FACT,
            content=block.text,
            source=Source.MIGRATION,
            at=min(block.at or self.now, self.now),
            tier=1,
            category=Category.IDENTITY,
            project=PROJECT,
            topic=TOPIC,
            importance=1.0,
            heading=block.heading[:HEADING_CHARS],
        )
        return PlanRow(step=CreateStep(draft=draft))


def _imported(scope: Scope) -> QuerySet[BatchChange, tuple[str | None, str | None]]:
    """Words and day of all that imports brought into a scope, or are about to bring, and nobody undid."""
    rows = BatchChange.objects.filter(batch__scope=scope, batch__name=NAME, batch__state__in=_OPEN)
    rows = rows.filter(workspace_id=scope.workspace_id, state__in=(ChangeState.PLANNED, ChangeState.APPLIED))
    return rows.order_by().values_list("draft__content", "draft__date")


class _AlreadyThere:
    """What a scope holds already, as hashes: however much that is, it takes little room."""

    def __init__(self, scope: Scope) -> None:
        self._scope, self._suppressed = scope, SuppressedContent([scope])
        facts = Entry.objects.in_scope(scope).live().filter(type=EntryType.FACT, project=PROJECT, topic=TOPIC)
        self._facts = set(facts.values_list("fingerprint", flat=True))
        self._lines: set[int] = set()
        for content, on in _imported(scope).iterator(chunk_size=2_000):
            if content and on:
                self._lines.update(_hashed(on, content))
            elif content:
                self._facts.add(text.fingerprint(content))
        days = DailyEvent.objects.in_use().filter(scope=scope, workspace_id=scope.workspace_id, source=Source.MIGRATION)
        for day, content in days.values_list("local_date", "content").iterator(chunk_size=2_000):
            self._lines.update(_hashed(day.isoformat(), content))

    def is_suppressed(self, said: str) -> bool:
        return self._suppressed.covers(self._scope, said, ())

    def knows(self, said: str) -> bool:
        """Whether this line of the profile is there; from now on it is."""
        count = len(self._facts)
        self._facts.add(text.fingerprint(said))
        return len(self._facts) == count

    def news_of(self, day: date, content: str) -> str:
        """What of the notes of a day is not there yet: of a file that has grown, what was added; now all of it is."""
        lines, hashed = list(lines_of(content, conf.CONTENT_MAX_CHARS)), _hashed(day.isoformat(), content)
        news = [line for line, digest in zip(lines, hashed, strict=True) if digest not in self._lines]
        self._lines.update(hashed)
        return "\n".join(news if len(news) < len(lines) else lines).strip()


def _hashed(day: str, content: str) -> list[int]:
    """A number for each line of the notes of a day, on which spaces around it do not count."""
    lines = lines_of(content, conf.CONTENT_MAX_CHARS)
    digests = (hashlib.blake2b(f"{day} {line.strip()}".encode(), digest_size=8) for line in lines)
    return [int.from_bytes(digest.digest(), "big") for digest in digests]
