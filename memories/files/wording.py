"""The ways a piece of a file can be reworded or struck out; whoever asks takes the first that does no harm."""

import re
from collections.abc import Iterator
from datetime import datetime
from itertools import product

from memories.files import comments, escaping
from memories.files.parsing import CODE, FENCE, HTML, ROW, Piece

_MARKER = re.compile(r"(?:[-+*]|[0-9]{1,9}[.)])$")
_AROUND = " \t>"
_END = "\r\n"
_EXTRA_INDENT = 3  # a paragraph may begin so far in


def reworded(lines: list[str], piece: Piece, content: str) -> Iterator[str]:
    """The file with other words in a piece, in one way after another."""
    first = lines[piece.start]
    if piece.kind == ROW:
        prefix = first[: len(first) - len(first.lstrip(_AROUND))]
        yield from (_put(lines, piece, [prefix + row]) for row in _rows(piece, content))
        return
    if piece.kind == FENCE:
        yield _put(lines, piece, _fenced(lines, piece, content))
        return
    prefix, tail = _prefix(first, piece.raw), _kept_comments(piece)
    if piece.kind in (CODE, HTML):
        yield _put(lines, piece, _prefixed(prefix, content.split("\n")))
    if "\n" not in content:
        new = _prefixed(prefix, _with_tail(escaping.written(content), tail))
        yield _put(lines, piece, new)
        yield from _apart(lines, piece, new)
        return
    for blank in ("", "\\"):
        new = _with_tail(escaping.written(content, blank=blank), tail)
        for indent in range(_EXTRA_INDENT + 1):  # of its first line, beyond that of what it stands in
            yield _put(lines, piece, _prefixed(prefix, new, indent))
        yield from _apart(lines, piece, _prefixed(f"{prefix}- ", new))


def _apart(lines: list[str], piece: Piece, new: list[str]) -> Iterator[str]:
    """The file with these lines for a piece, and an empty one where the next line would go on with them."""
    behind = new[0][: len(new[0]) - len(new[0].lstrip(_AROUND))].rstrip()
    yield _put(lines, piece, [*new, behind])
    yield _put(lines, piece, [behind, *new])
    yield _put(lines, piece, [behind, *new, behind])


def struck_out(lines: list[str], piece: Piece, at: datetime) -> Iterator[str]:
    """The file with a piece as a comment: in place of its lines, all on one line, and behind its marker."""
    raw = "".join(lines[piece.start : piece.end]).rstrip(_END)
    if piece.kind == ROW:
        around = raw[: len(raw) - len(raw.lstrip(_AROUND))]
        struck = comments.strike(raw[len(around) :], at, in_row=True)
        yield _put(lines, piece, [f"{around}| {struck} |"])
        return
    prefix = _prefix(lines[piece.start], piece.raw if piece.kind != FENCE else piece.markup)
    container = _MARKER.sub("", prefix.rstrip()) if _MARKER.search(prefix.rstrip()) else prefix
    places = [container, prefix]
    if piece.kind == CODE:  # a comment that is indented like code would be code
        places = [prefix[: len(prefix) - indent] for indent in (4, 1, 2, 3) if prefix[-indent:].isspace()]
    for around, one_line in product(places, (False, True)):
        struck = comments.strike(raw[len(around) :], at, one_line=one_line)
        yield _put(lines, piece, [around + struck])


def _put(lines: list[str], piece: Piece, new: list[str]) -> str:
    """The file with other lines in the place of a piece, ending as its lines ended."""
    old = lines[piece.start : piece.end]
    last_end = old[-1][len(old[-1].rstrip(_END)) :]
    end = old[0][len(old[0].rstrip(_END)) :] or ("\r\n" if lines[0].endswith("\r\n") else "\n")
    return "".join([*lines[: piece.start], end.join(new) + last_end, *lines[piece.end :]])


def _prefix(line: str, raw: str) -> str:
    """What stands before the words of a piece on its first line: quotes, indent, markers of lists."""
    bare, words = line.rstrip(), raw.strip("\n").split("\n")[0].rstrip()
    return bare[: len(bare) - len(words)] if bare.endswith(words) else bare[: len(bare) - len(bare.lstrip(_AROUND))]


def _prefixed(prefix: str, new: list[str], indent: int = 0) -> list[str]:
    """Lines behind a prefix; from the second on the marker of a list is only its width, and `indent` is left out."""
    behind = "".join(char if char in _AROUND else " " for char in prefix)
    behind = behind[: len(behind) - indent] if behind.endswith(" " * indent) else behind
    return [prefix + new[0], *((behind + line).rstrip(" ") if not line.strip() else behind + line for line in new[1:])]


def _kept_comments(piece: Piece) -> list[str]:
    return [] if piece.kind == CODE else [" ".join(comment.split("\n")) for comment in comments.parted(piece.raw)[1]]


def _with_tail(new: list[str], tail: list[str]) -> list[str]:
    return [*new[:-1], " ".join([new[-1], *tail])]


def _fenced(lines: list[str], piece: Piece, content: str) -> list[str]:
    """A fence around other lines: longer where one of them would close it."""
    opening, closing = (lines[n].rstrip(_END) for n in (piece.start, piece.end - 1))
    prefix = opening[: opening.index(piece.markup)]
    is_closed = piece.end - piece.start == piece.raw.count("\n") + 2
    sign, size = piece.markup[0], len(piece.markup)
    runs = [len(bare) - len(bare.lstrip(sign)) for line in content.split("\n") if (bare := line.lstrip())]
    longer = sign * max(size, *(run + 1 for run in runs if run >= size), size)
    body = _prefixed(prefix, ["", *content.split("\n")])[1:]
    new = [prefix + longer + opening[len(prefix) + size :], *body]
    return [*new, closing.replace(piece.markup, longer, 1)] if is_closed else new


def _rows(piece: Piece, content: str) -> Iterator[str]:
    """A table's row: its cells between ` | ` as far as there are columns; else all in the first."""
    tail = [comment.replace("|", r"\|") for comment in _kept_comments(piece)]
    cells = content.split(" | ", piece.columns - 1)
    for made in (cells, [content]):
        filled = [escaping.cell(cell) for cell in made] + [""] * (piece.columns - len(made))
        yield f"| {' | '.join([*filled[:-1], ' '.join(filter(None, [filled[-1], *tail]))])} |"
