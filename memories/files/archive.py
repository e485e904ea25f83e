"""The marked block of a daily file: what the platform condensed the day into, beside what people write there (C10).

It is no memory of its own, as the day's note is one already: nothing of it is indexed. Everything around it stays.
"""

from datetime import date

from memories.exceptions import FileUnwritable
from memories.files import escaping
from memories.files.comments import ARCHIVE, ARCHIVE_END
from memories.files.markdown import blocks
from memories.files.parsing import lines_of


def archived(text: str, day: date, note: str) -> str:
    """The text of a file with this note as the block of the day: in the place of the one there is, or at the end.

    An empty note takes the block out. Raises FileUnwritable where the block cannot stand without changing what the
    lines around it say, as in a piece of code that is not closed.
    """
    lines = lines_of(text)
    place = _place(lines, day)
    if place is None:
        changed = _with_block(text, day, note) if note else text
    else:
        begin, end = place
        changed = "".join([*lines[:begin], _block(day, note), *lines[end:]]) if note else _without(lines, begin, end)
    if changed != text and _says(changed) != _says(text):
        raise FileUnwritable
    return text if (changed.replace("\r\n", "\n") == text.replace("\r\n", "\n")) else changed


def _place(lines: list[str], day: date) -> tuple[int, int] | None:
    """The lines of the block of a day with its marks; None: there is none. Raises FileUnwritable for half of one."""
    found: tuple[int, int] | None = None
    begin, start = "", 0
    for n, line in enumerate(lines):
        bare = line.strip()
        if bare != ARCHIVE_END and not ARCHIVE.fullmatch(bare):
            continue
        if bool(begin) != (bare == ARCHIVE_END):
            raise FileUnwritable
        if begin == _mark(day) and found is None:
            found = start, n + 1
        begin, start = ("", 0) if bare == ARCHIVE_END else (bare, n)
    if begin:
        raise FileUnwritable
    return found


def _mark(day: date) -> str:
    return f"<!-- archive {day.isoformat()} -->"


def _block(day: date, note: str) -> str:
    """The lines of a block. No word of the note can end it, or begin something that goes on behind it."""
    return "\n".join([_mark(day), *escaping.written(note.strip(), blank=""), ARCHIVE_END, ""])


def _with_block(text: str, day: date, note: str) -> str:
    if not text.strip():
        return f"# {day.isoformat()}\n\n{_block(day, note)}"
    last = lines_of(text)[-1]
    lead = ("" if last.endswith("\n") else "\n") + ("\n" if last.strip() else "")
    return f"{text}{lead}{_block(day, note)}"


def _without(lines: list[str], begin: int, end: int) -> str:
    """The text without a block, and without the empty line that was put before it at the end."""
    is_last = end == len(lines)
    before = begin - 1 if is_last and begin > 1 and not lines[begin - 1].strip() else begin
    return "".join([*lines[:before], *lines[end:]])


def _says(text: str) -> list[tuple[str, str]]:
    return [(block.text, block.heading) for block in blocks(text)]
