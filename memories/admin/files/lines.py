"""A file with its lines, and beside each what is remembered of it."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from django.urls import reverse
from django.utils import timezone

from memories.admin.files.tree import meant_lines
from memories.entries.files import folder_of
from memories.exceptions import FileUnreadable
from memories.files import comments, disk, markdown
from memories.files.comments import Stamp, Struck, read_stamp
from memories.models import Entry, Policy, Scope
from memories.models.state import State, state_of
from memories.notes.condition import FileCondition

PAGE = 500
_HEADING_SIGNS = 6


@dataclass
class ShownLine:
    """A line of a file, as a reader sees it."""

    number: int
    text: str
    stamp: Stamp | None = None
    entry: Entry | None = None  # that begins here
    state: State | None = None
    level: int = 0  # of a heading
    is_inside: bool = False  # an entry that began above
    is_struck: bool = False
    struck: Entry | None = None  # that can be restored
    is_taken_out: bool = False  # by people, and not remembered again

    @property
    def session_url(self) -> str:
        listed = reverse("admin:sessions_app_session_changelist")
        return f"{listed}?q={self.stamp.session}" if self.stamp and self.stamp.session else ""


@dataclass(frozen=True)
class FilePage:
    """Some hundred lines of a file."""

    lines: list[ShownLine]
    first: int
    is_more: bool
    count: int  # of all lines, when it was indexed

    @property
    def last(self) -> int:
        return self.first + len(self.lines) - 1

    @property
    def before(self) -> int | None:
        """The first line of the page before."""
        return max(self.first - PAGE, 1) if self.first > 1 else None

    @property
    def after(self) -> int | None:
        return self.first + PAGE if self.is_more else None


def page_of(scope: Scope, file: FileCondition, line: int) -> FilePage:
    """The page a line stands on. Raises PathNotAllowed, FileUnreadable."""
    first = (line - 1) // PAGE * PAGE + 1
    texts, is_more = disk.read_lines(folder_of(scope), file.path, first, PAGE)
    origins = _origins(scope, file.path)
    shown = [_line(first + n, text, origins) for n, text in enumerate(texts)]
    last = first + len(texts) - 1
    _add_entries(shown, scope, _entries(scope, file.path, first, last))
    _strike(shown, scope, file.path, "\n".join(texts), origins)
    for line_meant in meant_lines(file):
        if first <= line_meant <= last:
            shown[line_meant - first].is_taken_out = True
    return FilePage(shown, first, is_more, file.state.line_count if file.state else 0)


def _origins(scope: Scope, path: str) -> Mapping[str, Stamp]:
    """What the ids in the stamps of a file stand for; of a file that is not read as a whole nobody knows."""
    try:
        file = disk.read(folder_of(scope), path)
    except FileUnreadable:
        return {}
    return comments.origins_in(file.text) if file else {}


def _line(number: int, text: str, origins: Mapping[str, Stamp]) -> ShownLine:
    """A line without its stamp."""
    stamps = [comment for comment in comments.parted(text)[1] if comment.startswith(comments.STAMPS)]
    for comment in stamps:
        text = text.replace(comment, "")
    stamp = read_stamp(stamps, origins)
    return ShownLine(number, text.rstrip(), stamp if stamp.at or stamp.session else None)


def _entries(scope: Scope, path: str, first: int, last: int) -> Iterable[Entry]:
    here = Entry.objects.in_scope(scope).live().filter(path=path, line_from__lte=last, line_to__gte=first)
    return here.select_related("access").defer("terms").order_by("line_from", "pk")


def _add_entries(lines: Sequence[ShownLine], scope: Scope, entries: Iterable[Entry]) -> None:
    by_number = {line.number: line for line in lines}
    policies, now = Policy.objects.of(scope.workspace_id), timezone.now()
    for entry in entries:
        entry.scope = scope  # whose kind says when it ends
        begin, end = entry.line_from or 0, entry.line_to or 0
        for number in range(begin, end + 1):
            if line := by_number.get(number):
                line.is_inside = True
        if (first := by_number.get(begin)) and first.entry is None:
            first.entry, first.state = entry, state_of(entry, policies.end_of(entry), now)
    for line in lines:
        signs = len(line.text) - len(line.text.lstrip("#"))
        if not line.is_inside and 0 < signs <= _HEADING_SIGNS and line.text[signs : signs + 1] in ("", " ", "\t"):
            line.level = signs


def _strike(lines: Sequence[ShownLine], scope: Scope, path: str, text: str, origins: Mapping[str, Stamp]) -> None:
    """Show what was struck as it was, with the entry that can be restored."""
    struck = list(comments.struck_texts(text))
    if not struck:
        return
    entries = _expired(scope, path, {words for one in struck for words in _words_of(one)})
    for one in struck:
        begin, end = text.count("\n", 0, one.start), text.count("\n", 0, one.end)
        for line in lines[begin : end + 1]:
            line.is_struck, line.text, line.level = True, "", 0
        raw = _line(0, one.raw, origins)
        lines[begin].text, lines[begin].stamp = raw.text, raw.stamp
        lines[begin].struck = next((entries[words] for words in _words_of(one) if words in entries), None)


def _words_of(one: Struck) -> Iterator[str]:
    yield from (block.text for block in markdown.blocks(one.raw))


def _expired(scope: Scope, path: str, words: Collection[str]) -> dict[str, Entry]:
    """The newest entry of each of these words that is out of use."""
    here = Entry.objects.in_scope(scope).filter(path=path, content__in=words, expired_at__isnull=False)
    return {entry.content: entry for entry in here.order_by("expired_at", "pk")}
