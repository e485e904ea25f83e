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
    lines, mark = lines_of(text), f"<!-- archive {day.isoformat()} -->"
    # No word of the note can end its block, or begin something that goes on behind it
    block = "\n".join([mark, *escaping.written(note.strip(), blank=""), ARCHIVE_END, ""])
    place = _place(lines, mark)
    if place is not None:
        begin, end = place
        if not note and end == len(lines) and begin > 1 and not lines[begin - 1].strip():
            begin -= 1  # the empty line that was put before it at the end
        changed = "".join([*lines[:begin], block if note else "", *lines[end:]])
    elif not note:
        changed = text
    elif not text.strip():
        changed = f"# {day.isoformat()}\n\n{block}"
    else:
        lead = ("" if lines[-1].endswith("\n") else "\n") + ("\n" if lines[-1].strip() else "")
        changed = f"{text}{lead}{block}"
    if changed != text:
        before, after = ([(piece.text, piece.heading) for piece in blocks(each)] for each in (text, changed))
        if before != after:
            raise FileUnwritable
    return text if (changed.replace("\r\n", "\n") == text.replace("\r\n", "\n")) else changed


def _place(lines: list[str], mark: str) -> tuple[int, int] | None:
    """The lines of the block with this mark; None: there is none. Raises FileUnwritable for half of one."""
    place: tuple[int, int] | None = None
    begin, start = "", 0
    for n, line in enumerate(lines):
        bare = line.strip()
        if bare != ARCHIVE_END and not ARCHIVE.fullmatch(bare):
            continue
        if bool(begin) != (bare == ARCHIVE_END):
            raise FileUnwritable
        if begin == mark and place is None:
            place = start, n + 1
        begin, start = ("", 0) if bare == ARCHIVE_END else (bare, n)
    if begin:
        raise FileUnwritable
    return place
