"""One import as one batch: what it would bring, what is written, and what is left out."""

import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain, islice
from random import Random
from uuid import uuid4

from django.db import connection, transaction
from django.db.models import Count, QuerySet, TextChoices
from django.utils.translation import pgettext_lazy

from memories import batches
from memories.batches.steps import CreateStep, PlanRow
from memories.choices import BatchState, BatchVerb, ChangeState, Outcome, SkipReason
from memories.entries.daily_events import SuppressedContent
from memories.exceptions import PlatformError, ScopeFrozen
from memories.language.confidential import find_secrets
from memories.language.text import ENGLISH_STOPWORDS, has_han, words
from memories.models import Batch, BatchChange, Entry, Scope


class LeftOutReason(TextChoices):
    """Why something is not imported."""

    LINK = "link", pgettext_lazy("left out", "it is a link, and links are not followed")
    NO_FILE = "no_file", pgettext_lazy("left out", "it is no file")
    NAME = "name", pgettext_lazy("left out", "it is neither MEMORY.md nor named by its day, as 2026-01-31.md is")
    NO_DAY = "no_day", pgettext_lazy("left out", "there is no such day")
    TOO_LARGE = "too_large", pgettext_lazy("left out", "it is too large to be read as a whole")
    NO_TEXT = "no_text", pgettext_lazy("left out", "it is no text in UTF-8")
    UNREADABLE = "unreadable", pgettext_lazy("left out", "it cannot be read")
    EMPTY = "empty", pgettext_lazy("left out", "nothing stands in it")
    SUPPRESSED = "suppressed", pgettext_lazy("left out", "people took these words out of use before")
    ERASED = "erased", pgettext_lazy("left out", "it belongs to a person who was erased")
    NO_ENTRY = "no_entry", pgettext_lazy("left out", "what it refers to is not there")
    UNSTORABLE = "unstorable", pgettext_lazy("left out", "it cannot be stored")
    PROGRAM = "program", pgettext_lazy("left out", "the program or one of its tools speaks here, no person")
    INSTRUCTIONS = "instructions", pgettext_lazy("left out", "it tells the other program how to behave")
    NO_WORDS = "no_words", pgettext_lazy("left out", "it holds no words: a picture, a recording or a file")
    OTHER_BRANCH = "other_branch", pgettext_lazy("left out", "the conversation went on without it")
    ENDED = "ended", pgettext_lazy("left out", "it does not hold any more, as the file says")
    NOT_WANTED = "not_wanted", pgettext_lazy("left out", "its owner did not want it remembered")
    OTHER_FILE = "other_file", pgettext_lazy("left out", "no memories are read from it")
    OTHER_PERSON = "other_person", pgettext_lazy("left out", "it belongs to somebody else than was named")
    NO_MEMORY = "no_memory", pgettext_lazy("left out", "it is no memory of this format")
    SLOT = "slot", pgettext_lazy("left out", "a detail beside the memory does not fit; the memory is brought")


#: What is named of what an import leaves out; of the rest there is the number.
MOST_NAMED = 1_000


@dataclass(frozen=True)
class LeftOut:
    """A file, or a line or row of one, that is not imported."""

    path: str
    reason: LeftOutReason
    line: int | None = None
    detail: str = ""


@dataclass
class AllLeftOut:
    """What an import leaves out: how much, and the first of it. A file of millions of such rows takes no more room."""

    count: int = 0
    first: list[LeftOut] = field(default_factory=list)
    reasons: Counter[LeftOutReason] = field(default_factory=Counter)

    def add(self, left_out: LeftOut, times: int = 1) -> None:
        """Count this, so many times."""
        self.first += [left_out] * min(times, MOST_NAMED - len(self.first))
        self.count += times
        self.reasons[left_out.reason] += times

    def __iter__(self) -> Iterator[LeftOut]:
        return iter(self.first)


NAME = "import"
#: How the run of an import begins that waits until somebody approves it.
ASKED = "import-asked:"
#: Two imports into one scope at once would both miss what the other plans.
_IMPORT_LOCK = 12 << 56
_OPEN = (BatchState.PROPOSED, BatchState.APPLYING, BatchState.APPLIED)
#: How far it is: of files, or of the bytes of one, that are read, then of rows that are written.
Report = Callable[[str, int, int], None]
FILES, READ, ROWS = "files", "bytes", "rows"


class TooMuch(PlatformError):
    """It holds more than is planned at once here: bring it in by the command, which takes any number of rows."""


#: Memories questions are made from, drawn evenly from all of them.
SAMPLE = 50
_KANA, _HANGUL = re.compile(r"[\u3040-\u30ff]"), re.compile(r"[\uac00-\ud7af]")
#: So many of a hundred words of an English text are among its most frequent ones, at least.
_ENGLISH_SHARE = 0.12


@dataclass
class Preview:
    """What the memories of an import are: how many hold secrets, in which languages they are, and some of them."""

    memories: int = 0
    secrets: int = 0
    languages: Counter[str] = field(default_factory=Counter)
    sample: list[str] = field(default_factory=list)
    _random: Random = field(default_factory=lambda: Random(0))  # noqa: S311

    def add(self, content: str) -> None:
        """Look at one memory."""
        self.memories += 1
        self.secrets += bool(find_secrets(content))
        self.languages[language_of(content)] += 1
        if len(self.sample) < SAMPLE:
            self.sample.append(content)
        elif (place := self._random.randrange(self.memories)) < SAMPLE:
            self.sample[place] = content


def language_of(content: str) -> str:
    """The language of a text by its letters and most frequent words: ja, ko, zh, en, or other."""
    if _KANA.search(content):
        return "ja"
    if _HANGUL.search(content):
        return "ko"
    if has_han(content):
        return "zh"
    split = [word for word in words(content) if word.isalpha()]
    is_latin = all(word.isascii() for word in split)
    share = sum(word in ENGLISH_STOPWORDS for word in split) / len(split) if split else 0.0
    return "en" if is_latin and (share >= _ENGLISH_SHARE or len(split) < 4) else "other"


@dataclass
class ImportReport:
    """What an import wrote or, tried out, would write."""

    files: int = 0
    read: int = 0  # rows the source holds: memories, turns, and what is left out
    facts: int = 0
    events: int = 0
    merged: int = 0  # lines that became part of one that says nearly the same
    already: int = 0  # lines and days that are there already
    continued: int = 0  # rows of an import that was killed
    left_out: AllLeftOut = field(default_factory=AllLeftOut)
    profile: int = 0  # lines of the scope's profile after it
    batch: Batch | None = None
    preview: Preview = field(default_factory=Preview)  # of what was tried out

    def foresee(self, row: PlanRow) -> None:
        """Count a row that would be written."""
        if isinstance(row.step, CreateStep):
            self.facts += 1
            self.preview.add(row.step.draft.content)
        else:
            self.events += 1

    def count(self, batch: Batch) -> None:
        """Count what became of each row of a batch."""
        rows = BatchChange.objects.filter(batch=batch).order_by()
        for verb, state, note, count in rows.values_list("verb", "state", "note").annotate(rows=Count("*")):
            if state == ChangeState.LEFT:
                reason = LeftOutReason.SUPPRESSED if note == SkipReason.SUPPRESSED else LeftOutReason.UNSTORABLE
                self.left_out.add(LeftOut("", reason), count)
            elif note == Outcome.MERGED:
                self.merged += count
            elif note == Outcome.SKIPPED:
                self.already += count
            elif verb == BatchVerb.CREATE:
                self.facts += count
            else:
                self.events += count


def carry_out(
    scope: Scope,
    rows: Iterator[PlanRow],
    import_report: ImportReport,
    *,
    name: str,
    now: datetime,
    actor: str,
    is_dry: bool = False,
    report: Report | None = None,
) -> ImportReport:
    """Import rows, which are read meanwhile, into a scope, after what a killed import has left to do; dry, only count
    them. Raises ScopeFrozen, and what reading them does.
    """
    if Scope.objects.get(pk=scope.pk).frozen:
        raise ScopeFrozen
    if is_dry:
        for row in rows:
            import_report.foresee(row)
    else:
        unfinished = Batch.objects.filter(scope=scope, name=NAME, state__in=(BatchState.PROPOSED, BatchState.APPLYING))
        unfinished = unfinished.exclude(state=BatchState.PROPOSED, run__startswith=ASKED)
        for batch in list(unfinished.order_by("pk")):
            import_report.continued += BatchChange.objects.filter(batch=batch, state=ChangeState.PLANNED).count()
            _apply(batch, now, report)
        import_report.batch = _plan(scope, rows, now=now, actor=actor, name=name)
        if import_report.batch:
            _apply(import_report.batch, now, report)
            import_report.count(import_report.batch)
    import_report.profile = Entry.objects.in_scope(scope).live().filter(tier=1).count()
    return import_report


def propose(
    scope: Scope,
    rows: Iterator[PlanRow],
    import_report: ImportReport,
    *,
    name: str,
    now: datetime,
    actor: str,
    most: int,
) -> ImportReport:
    """Plan an import of at most so many rows without writing it: it waits until somebody approves it.

    Raises ScopeFrozen, TooMuch, and what reading them does.
    """

    def looked_at() -> Iterator[PlanRow]:
        for number, row in enumerate(rows):
            if number >= most:
                raise TooMuch
            import_report.foresee(row)
            yield row

    import_report.batch = _plan(scope, looked_at(), now=now, actor=actor, name=name, run=f"{ASKED}{uuid4()}")
    return import_report


def _plan(
    scope: Scope, rows: Iterator[PlanRow], *, now: datetime, actor: str, name: str, run: str = ""
) -> Batch | None:
    """The plan of what is not there yet; None where there is nothing."""
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_IMPORT_LOCK + scope.pk])
        first = list(islice(rows, 1))
        if not first:
            return None
        run = run or f"{NAME}:{uuid4()}"
        return batches.plan(scope, chain(first, rows), name=NAME, run=run, actor=actor, now=now, reason=name)


def _apply(batch: Batch, now: datetime, report: Report | None) -> None:
    rows = BatchChange.objects.filter(batch=batch)
    total, before = rows.count(), rows.exclude(state=ChangeState.PLANNED).count()
    batches.apply_batch(batch, now=now, report=lambda count: report(ROWS, before + count, total) if report else None)


class AlreadyThere:
    """What a scope holds already, as hashes: however much that is, it takes little room."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.hashes: set[Hashable] = set()
        self._suppressed = SuppressedContent([scope])

    def is_suppressed(self, content: str) -> bool:
        return self._suppressed.covers(self.scope, content, ())

    def has(self, digest: Hashable) -> bool:
        """Whether it is there; from now on it is."""
        count = len(self.hashes)
        self.hashes.add(digest)
        return len(self.hashes) == count


def imported(scope: Scope) -> QuerySet[BatchChange, tuple[str | None, str | None, str | None]]:
    """Words, day and topic of all that imports brought into a scope, or are about to bring, and nobody undid."""
    rows = BatchChange.objects.filter(batch__scope=scope, batch__name=NAME, batch__state__in=_OPEN)
    rows = rows.filter(workspace_id=scope.workspace_id, state__in=(ChangeState.PLANNED, ChangeState.APPLIED))
    return rows.order_by().values_list("draft__content", "draft__date", "draft__topic")
