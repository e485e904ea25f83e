"""Importing what another program exported or keeps into a scope, as one batch that can be undone.

What is understood is declared in `memories.imports.formats`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any
from uuid import uuid5

from django.utils.translation import gettext as _

from memories.batches.steps import CreateStep, EventStep, PlanRow
from memories.choices import EntryType, ScopeKind, Source
from memories.conf import conf
from memories.entries.daily_events import EventDraft
from memories.entries.draft import COLUMN_SLOTS, RESERVED_SLOTS, UnscopedDraft, check
from memories.exceptions import InvalidDraft
from memories.files.layout import readable
from memories.imports.batch import (
    READ,
    AlreadyThere,
    ImportReport,
    LeftOut,
    LeftOutReason,
    Report,
    carry_out,
    imported,
    propose,
)
from memories.imports.bundle import Bundle, FileItem, FileRefused, Reader
from memories.imports.folder import parts
from memories.imports.formats import FORMATS
from memories.language import text
from memories.models import DailyEvent, Entry, Policy, Scope
from memories.tenancy.resolver import LOCAL_PEER, owner_of_key

#: That turns of another program last, from when they were brought in; a policy may let them last longer.
TURN_TERM = timedelta(days=365)


def import_file(
    scope: Scope,
    path: Path,
    *,
    kind: str,
    now: datetime,
    actor: str,
    who: str | None = None,
    is_dry: bool = False,
    report: Report | None = None,
) -> ImportReport:
    """Import a file into a scope, of several people's memories only those of `who`; dry, only say what would be.

    Raises FileRefused or ScopeFrozen.
    """
    import_report = ImportReport(files=1)
    rows = _Reading(scope, Bundle(path), kind, who, now, import_report, report).rows()
    return carry_out(
        scope, rows, import_report, name=readable(path.name), now=now, actor=actor, is_dry=is_dry, report=report
    )


def propose_file(
    scope: Scope, path: Path, *, kind: str, now: datetime, actor: str, most: int, who: str | None = None
) -> ImportReport:
    """Plan the import of a file of at most so many rows, and say what it would bring; approved, it is written.

    Raises FileRefused, ScopeFrozen or TooMuch.
    """
    import_report = ImportReport(files=1)
    rows = _Reading(scope, Bundle(path), kind, who, now, import_report, None).rows()
    return propose(scope, rows, import_report, name=readable(path.name), now=now, actor=actor, most=most)


@dataclass
class _Reading:
    """A file, read into the rows of a plan."""

    scope: Scope
    bundle: Bundle
    kind: str
    who: str | None
    now: datetime
    done: ImportReport
    report: Report | None

    def rows(self) -> Iterator[PlanRow]:
        """A row for everything that is not there yet; the others are counted."""
        there, people = _AlreadyThere(self.scope), set()
        for item in self._items():
            self.done.read += 1
            if isinstance(item, LeftOut):
                self.done.left_out.add(item)
                continue
            if self.who is not None and self.who not in (item.who, *item.also):
                self._leave_out(item, LeftOutReason.OTHER_PERSON, item.who)
                continue
            if self.who is None:
                people.add(item.who)
            if len(people) > 1:
                message = _("The file holds memories of several: %(people)s, … Name one by --who; each has a scope.")
                raise FileRefused(message % {"people": ", ".join(sorted(people))})
            if text.is_blank(item.content):
                self._leave_out(item, LeftOutReason.EMPTY)
            for content in parts(item.content.strip(), conf.CONTENT_MAX_CHARS):
                try:
                    rows = self._rows(item, content)
                except InvalidDraft as problem:
                    self._leave_out(item, LeftOutReason.UNSTORABLE, str(problem))
                    continue
                if there.is_suppressed(content):
                    self._leave_out(item, LeftOutReason.SUPPRESSED)
                    continue
                days = (row.step.local_date.isoformat() if isinstance(row.step, EventStep) else "" for row in rows)
                new = [row for row, day in zip(rows, days, strict=True) if not there.has(_hash(content, day))]
                self.done.already += len(rows) - len(new)
                yield from new

    def _items(self) -> Reader:
        """What the source holds, and what lies in it that is not read. Raises FileRefused."""
        if self.report:
            report, size = self.report, self.bundle.size
            self.bundle.on_bytes_read = lambda count: report(READ, count, size)
        try:
            yield from FORMATS[self.kind].read(self.bundle)
        except (AttributeError, TypeError, KeyError, ValueError) as problem:  # a word where an object is to be, …
            message = _("After its item %(number)d it is not shaped as files of %(format)s are.")
            names = {"number": self.done.read, "format": FORMATS[self.kind].title}
            raise FileRefused(message % names) from problem
        rest = list(self.bundle.rest())
        yield from rest
        self.done.files = len(self.bundle.opened)

    def _rows(self, item: FileItem, content: str) -> list[PlanRow]:
        """What is to be written of it: a memory, and of a turn the event of its day. Raises InvalidDraft."""
        at = min(item.at or self.now, self.now)
        # The slots of an item that fit; one that bears a name with a meaning here becomes `metadata.NAME`
        fitting: dict[str, str] = {}
        for slot, value in item.slots.items():
            name = f"metadata.{slot}" if slot in COLUMN_SLOTS or slot in RESERVED_SLOTS else slot
            is_short = 0 < len(name) <= conf.SLOT_NAME_CHARS and len(value) <= conf.SLOT_VALUE_CHARS
            if is_short and len(fitting) < conf.SLOT_LIMIT and text.is_storable(name + value):
                fitting[name] = value
            else:
                self._leave_out(item, LeftOutReason.SLOT, slot[:100])
        fields: dict[str, Any] = {"slots": fitting, **item.fields}
        if item.is_turn:
            # The message it is part of, which is not here itself: a memory and its day have it in common
            conversation, place = item.message
            origins = ((f"session_events/{uuid5(self.scope.uid, conversation)}/1/gone-{place}"),)
            ends = {"expires_at": self.end_of_turns}
            if self.scope.kind == ScopeKind.USER:
                fields["slots"] = {"sender_id": self.owner, **fields["slots"]}
            fields |= {"type": EntryType.CHAT_TURN, "heading": item.title[:300], "origins": origins, **ends}
        draft = UnscopedDraft(content=content, source=Source.MIGRATION, at=at, **fields)
        check(draft.in_scope(self.scope))
        rows = [PlanRow(step=CreateStep(draft=draft))]
        if item.is_turn:
            day = at.astimezone(self.scope.workspace.zone()).date()
            event = EventDraft(
                scope=self.scope, local_date=day, content=content, source=Source.MIGRATION, origins=origins
            )
            rows.append(PlanRow(step=EventStep.of(event)))
        return rows

    @cached_property
    def end_of_turns(self) -> datetime | None:
        """When turns that were brought in end: their term counts from now, not from their own time.

        Nobody has read them here, so that they stay a year at least.
        """
        term = Policy.objects.of(self.scope.workspace_id).ttl(EntryType.CHAT_TURN, self.scope.kind)
        return None if term is None else self.now + max(term, TURN_TERM)

    @cached_property
    def owner(self) -> str:
        """Who spoke: the person whose memory it goes into, as far as its key says."""
        platform_and_peer = owner_of_key(self.scope.key)
        return platform_and_peer[1][:200] if platform_and_peer else LOCAL_PEER

    def _leave_out(self, item: FileItem, reason: LeftOutReason, detail: str = "") -> None:
        self.done.left_out.add(LeftOut(readable(item.path), reason, item.number, detail))


def _hash(content: str, day: str) -> bytes:
    """The hash of a memory, or of the event of a day."""
    return bytes.fromhex(text.fingerprint(content)) + day.encode()


class _AlreadyThere(AlreadyThere):
    """Memories, and events of days, of an import as well: of a file of a million memories some 100 MB."""

    def __init__(self, scope: Scope) -> None:
        super().__init__(scope)
        live = Entry.objects.in_scope(scope).live().values_list("fingerprint", flat=True)
        self.hashes.update(bytes.fromhex(fingerprint) for fingerprint in live.iterator(chunk_size=2_000))
        days = DailyEvent.objects.in_use().filter(scope=scope, source=Source.MIGRATION)
        for day, content in days.values_list("local_date", "content").iterator(chunk_size=2_000):
            self.hashes.add(_hash(content, day.isoformat()))
        for words, on, _topic in imported(scope).iterator(chunk_size=2_000):
            if words:
                self.hashes.add(_hash(words, on or ""))
