"""What a file says beside what is stored of it: which lines are as they were, which were reworded, new or gone."""

from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import TypeVar

from memories.entries.lines import FileLine
from memories.models import Entry

Item = TypeVar("Item", Entry, FileLine)
#: Of two texts in one place, from where on one is the other, reworded (difflib's ratio, 0–1).
REWORDED = 0.5
#: Of long texts so many characters are compared.
_COMPARED = 500


@dataclass
class LineChanges:
    """The changes that bring the entries of a file in step with it."""

    new: list[FileLine] = field(default_factory=list)
    reworded: dict[int, FileLine] = field(default_factory=dict)  # by entry; also under other headings, or dated anew
    moved: dict[int, tuple[int, int]] = field(default_factory=dict)  # entry → its first and last line now
    ended: list[int] = field(default_factory=list)

    @property
    def longest(self) -> int:
        """The length of the longest list of changes that are applied a few hundred at a time."""
        return max(len(self.new), len(self.reworded), len(self.ended))


def compare(stored: Sequence[Entry], lines: Sequence[FileLine]) -> LineChanges:
    """What changed between the entries of a file, in its order, and its lines.

    The same words keep their entry wherever they stand. A line that came where another went, and resembles it, is that
    line reworded.
    """
    same = _with_same_words(stored, lines)
    changes = LineChanges()
    for n, entry in same.items():
        _keep(entry, lines[n], changes)
    kept = {entry.pk for entry in same.values()}
    gone = _by_neighbour((entry, entry.pk if entry.pk in kept else None) for entry in stored)
    came = _by_neighbour((line, same[n].pk if n in same else None) for n, line in enumerate(lines))
    for place, others in came.items():
        _pair(gone.pop(place, []), others, changes)
    changes.ended += [entry.pk for others in gone.values() for entry in others]
    return changes


def _with_same_words(stored: Sequence[Entry], lines: Sequence[FileLine]) -> dict[int, Entry]:
    """The entries of lines with the same words, by the position of the line."""
    by_words: defaultdict[str, deque[Entry]] = defaultdict(deque)
    for entry in stored:
        by_words[entry.content].append(entry)
    return {n: by_words[line.content].popleft() for n, line in enumerate(lines) if by_words[line.content]}


def _keep(entry: Entry, line: FileLine, changes: LineChanges) -> None:
    if (entry.heading, entry.created_at) != (line.heading, line.at):
        changes.reworded[entry.pk] = line
    elif (entry.line_from, entry.line_to) != (line.line_from, line.line_to):
        changes.moved[entry.pk] = (line.line_from, line.line_to)


def _by_neighbour(items: Iterable[tuple[Item, int | None]]) -> dict[int, list[Item]]:
    """What has no entry in common, by the last entry before it that has; 0: there is none."""
    places: defaultdict[int, list[Item]] = defaultdict(list)
    before = 0
    for item, entry in items:
        if entry is None:
            places[before].append(item)
        else:
            before = entry
    return dict(places)


def _pair(gone: list[Entry], came: Sequence[FileLine], changes: LineChanges) -> None:
    """Find the lines that are others reworded, in their order; the rest went and came."""
    left = deque(gone)
    for line in came:
        passed: list[Entry] = []
        while left and not _resemble(left[0].content, line.content):
            passed.append(left.popleft())
        if left:
            changes.reworded[left.popleft().pk] = line
            changes.ended += [entry.pk for entry in passed]
        else:
            left.extend(passed)
            changes.new.append(line)
    changes.ended += [entry.pk for entry in left]


def _resemble(one: str, other: str) -> bool:
    matcher = SequenceMatcher(None, one[:_COMPARED], other[:_COMPARED], autojunk=False)
    return matcher.quick_ratio() >= REWORDED and matcher.ratio() >= REWORDED
