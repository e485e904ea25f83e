"""What a file of markdown says, block by block: read, written, reworded, struck out and put back (C2, E3).

A block is one memory: a paragraph, the own text of a list item, a row of a table, a piece of code. Headings, and the
head of a table, are its context. Front matter, comments, rules, definitions of links and archives are no blocks. When
one was written the file alone says: a new index and an old one agree.

A change touches the lines of its block and nothing else: what comes of it is read again, and where any other block
would be another, the change is written in another way, or refused. Many blocks are changed at once: the file is read a
few times, however many they are. Where any other block would be another, each half is tried apart, down to a single
block, for which there are more ways.

The ways a piece of a file can be reworded or struck out; whoever asks takes the first that does no harm.

The marked block of a daily file: what the platform condensed the day into, beside what people write there (C10).

It is no memory of its own, as the day's note is one already: nothing of it is indexed. Everything around it stays.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time, tzinfo
from itertools import islice, product

from django.utils.translation import gettext as _

from memories.conf import conf
from memories.exceptions import FileUnwritable, InvalidDraft, LineChanged
from memories.files import comments
from memories.files.comments import ARCHIVE, ARCHIVE_END, Stamp, Struck, read_stamp, stamped
from memories.files.layout import day_of
from memories.files.parsing import BOM, CODE, FENCE, HTML, ROW, Piece, lines_of, parts, pieces

_MARKER = re.compile(r"(?:[-+*]|[0-9]{1,9}[.)])$")
_AROUND = " \t>"
_END = "\r\n"
_EXTRA_INDENT = 3  # a paragraph may begin so far in


def reworded(lines: list[str], piece: Piece, content: str) -> Iterator[str]:
    """The file with other words in a piece, in one way after another."""
    first = lines[piece.start]
    if piece.kind == ROW:
        # Its cells between ` | ` as far as there are columns; else all in the first
        prefix = first[: len(first) - len(first.lstrip(_AROUND))]
        tail = [comment.replace("|", r"\|") for comment in _kept_comments(piece)]
        for cells in (content.split(" | ", piece.columns - 1), [content]):
            filled = [comments.cell(cell) for cell in cells] + [""] * (piece.columns - len(cells))
            row = f"| {' | '.join([*filled[:-1], ' '.join(filter(None, [filled[-1], *tail]))])} |"
            yield _put(lines, piece, [prefix + row])
        return
    if piece.kind == FENCE:
        # A fence around other lines: longer where one of them would close it
        opening, closing = (lines[n].rstrip(_END) for n in (piece.start, piece.end - 1))
        prefix = opening[: opening.index(piece.markup)]
        is_closed = piece.end - piece.start == piece.raw.count("\n") + 2
        sign, size = piece.markup[0], len(piece.markup)
        runs = [len(bare) - len(bare.lstrip(sign)) for line in content.split("\n") if (bare := line.lstrip())]
        longer = sign * max(size, *(run + 1 for run in runs if run >= size), size)
        body = _prefixed(prefix, ["", *content.split("\n")])[1:]
        new = [prefix + longer + opening[len(prefix) + size :], *body]
        yield _put(lines, piece, [*new, closing.replace(piece.markup, longer, 1)] if is_closed else new)
        return
    prefix, tail = _prefix(first, piece.raw), _kept_comments(piece)
    if piece.kind in (CODE, HTML):
        yield _put(lines, piece, _prefixed(prefix, content.split("\n")))
    if "\n" not in content:
        new = _prefixed(prefix, _with_tail(comments.written(content), tail))
        yield _put(lines, piece, new)
        yield from _apart(lines, piece, new)
        return
    for blank in ("", "\\"):
        new = _with_tail(comments.written(content, blank=blank), tail)
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


@dataclass(frozen=True)
class Block:
    """One memory of a file; its lines are numbered from 1."""

    line_from: int
    line_to: int
    text: str
    heading: str
    at: datetime | None
    session: str
    scope_key: str


def blocks(text: str) -> list[Block]:
    """The blocks of a file, in order. Raises FileUnreadable for a text that is too long."""
    return [block for piece in pieces(text) for block in _blocks_of(piece)]


def rendered(content: str, *, at: datetime, session: str = "", scope_key: str = "", call: str = "") -> str:
    """A text as one list item that ends in its stamp: `blocks(rendered(content, …))[0].text == content.strip()`.

    Below it follows the line that says what the stamp stands for, where a session or a scope is named.
    """
    origin = comments.origin_line(session, scope_key)
    return item(content, Stamp(at, session, scope_key, call)) + (f"\n{origin}" if origin else "")


def item(content: str, stamp: Stamp) -> str:
    """A text as one list item that ends in its stamp; what the id in it stands for is left out."""
    text, mark = content.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\ufffd").strip(), stamped(stamp)
    line = _item(comments.written(text, blank=""), mark)
    if "\n" in text and [block.text for block in blocks(line)] != [text]:  # an empty line that ends the item
        return _item(comments.written(text), mark)
    return line


def replaced(text: str, block: Block, content: str) -> str:
    """The text with other words in a block, its marker, indent, comments and stamp kept.

    Raises LineChanged where the block is not there, InvalidDraft where its place cannot hold these words.
    """
    bom, text = _without_bom(text)
    piece, here = _piece_of(text, block)
    words = content.replace("\r\n", "\n").replace("\r", "\n")
    words = words.strip("\n").rstrip() if piece.kind in (FENCE, CODE) else words.strip()
    before = blocks(text)
    expected, place = [_words_of(each) for each in before], before.index(here)
    expected[place] = (words, *expected[place][1:])
    if len(words) <= conf.CONTENT_MAX_CHARS and words:
        for new_text in reworded(lines_of(text), piece, words):
            if [_words_of(each) for each in blocks(new_text)] == expected:
                return bom + new_text
    raise InvalidDraft(_("This place of the file cannot hold that text; change it in the file."), field="content")


def struck(text: str, block: Block, at: datetime) -> str:
    """The text with a block struck out: a comment holds its lines as they were.

    Raises LineChanged where the block is not there.
    """
    bom, text = _without_bom(text)
    piece, here = _piece_of(text, block)
    before = blocks(text)
    before.remove(here)
    expected = [_words_of(each) for each in before]
    for new_text in struck_out(lines_of(text), piece, at):
        if [_words_of(each) for each in blocks(new_text)] == expected:
            return bom + new_text
    raise InvalidDraft(_("This cannot be struck out here; change it in the file."), field="content")


def unstruck(text: str, content: str) -> str | None:
    """The text with the last struck block of these words put back as it was; None: no struck line says that."""
    words = content.strip()
    before: int | None = None  # how many blocks there are; counted when a struck line may be it
    begins = _letters_of(words.split("\n")[0])[:20]
    for line in reversed(list(comments.struck_texts(text))):
        if begins not in _letters_of(line.raw) and begins not in _letters_of(comments.parted(line.raw)[0]):
            continue  # with its comments, which are text in code, and without them
        before = len(blocks(text)) if before is None else before
        for start, end in _places_of(text, line):
            new_text = text[:start] + line.raw + text[end:]
            now, number = blocks(new_text), len(lines_of(text[:start] + "x"))
            if len(now) == before + 1 and any(
                block.text.strip() == words and block.line_from == number for block in now
            ):
                return new_text
    return None


def _pieces_with_blocks(text: str) -> Iterator[tuple[Piece, Block]]:
    """Every block of a text with the piece that says it."""
    return ((piece, block) for piece in pieces(text) for block in _blocks_of(piece))


def _places_of(text: str, line: Struck) -> Iterator[tuple[int, int]]:
    """What a struck line took the place of: that of its comment, or of the row that holds nothing else."""
    if text[: line.start].endswith("| ") and text[line.end :].startswith(" |"):
        yield line.start - 2, line.end + 2
    yield line.start, line.end


def _blocks_of(piece: Piece) -> Iterator[Block]:
    words, marks = piece.says()
    if not words:
        return
    stamp = read_stamp(marks, piece.origins) if marks else Stamp()
    first, last = piece.start + 1, piece.end
    if len(words) <= conf.CONTENT_MAX_CHARS:
        yield Block(first, last, words, piece.heading, stamp.at, stamp.session, stamp.scope_key)
        return
    shift = 1 if piece.kind == FENCE else 0
    for part in parts(words, conf.CONTENT_MAX_CHARS):
        begin, end = min(first + shift + part.first_line, last), min(first + shift + part.last_line, last)
        yield Block(begin, end, part.text, piece.heading, stamp.at, stamp.session, stamp.scope_key)


def _item(lines: list[str], stamp: str) -> str:
    first, *others = lines
    return "\n".join([f"- {first}", *(f"  {line}" if line else "" for line in others)]) + f" {stamp}"


def _words_of(block: Block) -> tuple[str, str, datetime | None, str, str]:
    """What a block says, wherever it stands."""
    return (block.text, block.heading, block.at, block.session, block.scope_key)


def _piece_of(text: str, block: Block) -> tuple[Piece, Block]:
    """The piece that says what a block says, where it was or nearest to it. Raises LineChanged."""
    pairs = list(_pieces_with_blocks(text))
    same = [pair for pair in pairs if pair[1].text == block.text]
    if not same:
        there = [each.text for _piece, each in pairs if each.line_from <= block.line_from <= each.line_to]
        raise LineChanged(text=block.text, found=there[0] if there else "")
    piece, here = min(same, key=lambda pair: abs(pair[1].line_from - block.line_from))
    if sum(1 for other, _block in pairs if other is piece) > 1:
        raise InvalidDraft(_("This is part of a longer text; change it in the file."), field="content")
    return piece, here


def _without_bom(text: str) -> tuple[str, str]:
    """The byte order mark of a text, if it has one, and the rest."""
    rest = text.removeprefix(BOM)
    return text[: len(text) - len(rest)], rest


def _letters_of(text: str) -> str:
    """The letters and digits of a text, without the signs of markdown."""
    return "".join(filter(str.isalnum, text))


def time_of(path: str, block: Block, zone: tzinfo) -> datetime | None:
    """By its stamp; else the day of its file, at noon; None: it says nothing of a time."""
    if block.at is not None:
        return block.at
    day = day_of(path)
    if day is None:
        return None
    return datetime.combine(day, time(12), tzinfo=zone)


_WAYS = 4  # of striking, that are tried for all at once


def struck_all(text: str, targets: Sequence[Block], at: datetime) -> tuple[str, list[InvalidDraft]]:
    """The text with these blocks of it struck out, and the refusals of those that cannot be struck where they stand."""
    targets = sorted(targets, key=lambda block: block.line_from)
    if len(targets) < 2:
        try:
            return struck(text, targets[0], at) if targets else text, []
        except InvalidDraft as refusal:
            return text, [refusal]
    new_text = _struck_at_once(text, targets, at)
    if new_text is not None:
        return new_text, []
    half = len(targets) // 2  # the lower first: those above stay in their lines
    text, refused = struck_all(text, targets[half:], at)
    text, others = struck_all(text, targets[:half], at)
    return text, refused + others


def unstruck_all(text: str, contents: Sequence[str]) -> tuple[str, list[str]]:
    """The text with struck blocks of these words put back, and the words that no struck line says."""
    # For each of some words the last struck text that says them and is none other's, in order of the text
    by_words: defaultdict[str, list[Struck]] = defaultdict(list)
    for line in comments.struck_texts(text):
        read = blocks(line.raw)
        by_words[_letters_of(read[0].text if len(read) == 1 else line.raw)].append(line)
    same = ((by_words[_letters_of(content)], content) for content in contents)
    last = [(lines.pop(), content) for lines, content in same if lines]
    lines = sorted(last, key=lambda pair: pair[0].start)
    contents_left = list(contents)
    if len(lines) > 1:
        new_text = _put_back(text, lines)
        if new_text is None:
            half = len(contents) // 2
            text, missing = unstruck_all(text, contents[:half])
            text, others = unstruck_all(text, contents[half:])
            return text, missing + others
        text, back, contents_left = new_text, Counter(content for _line, content in lines), []
        for content in contents:
            back[content] -= 1
            if back[content] < 0:
                contents_left.append(content)
    missing = []
    for content in contents_left:
        new_text = unstruck(text, content)
        if new_text is None:
            missing.append(content)
        else:
            text = new_text
    return text, missing


def without_struck(text: str, contents: Collection[str]) -> str:
    """The text without the struck blocks of these words: nothing is left of them."""
    words = {content.strip() for content in contents}
    pieces, begin = [], 0
    for line in comments.struck_texts(text):
        if words.isdisjoint(block.text for block in blocks(line.raw)):
            continue
        pieces.append(text[begin : line.start])
        begin = line.end
        if line.start == 0 or text[line.start - 1] == "\n":
            begin += text[begin:].startswith("\r")
            begin += text[begin:].startswith("\n")
    return "".join([*pieces, text[begin:]])


def _struck_at_once(text: str, targets: Sequence[Block], at: datetime) -> str | None:
    """The text with all of these struck out in one of the ways; None where any other block would be another then."""
    bom, text = _without_bom(text)
    pairs = list(_pieces_with_blocks(text))
    target_set = set(targets)
    target_pieces = [piece for piece, block in pairs if block in target_set]
    if len(target_pieces) != len(targets) or len({piece.start for piece in target_pieces}) != len(targets):
        return None
    expected = [_words_of(block) for _piece, block in pairs if block not in target_set]
    lines = lines_of(text)
    for way in range(_WAYS):
        # Each piece by itself in one of the ways, or the last of those it has
        out: list[str] = []
        begin = 0
        for piece in target_pieces:
            part = lines[piece.start : piece.end]
            own = replace(piece, start=0, end=len(part))
            ways = list(islice(struck_out(part, own, at), way + 1))
            if not ways or piece.start < begin:
                return None
            out += [*lines[begin : piece.start], ways[-1]]
            begin = piece.end
        new_text = "".join([*out, *lines[begin:]])
        if [_words_of(block) for block in blocks(new_text)] == expected:
            return bom + new_text
    return None


def _put_back(text: str, lines: Sequence[tuple[Struck, str]]) -> str | None:
    """The text with all of these as they were; None where it would say anything else then."""
    out, begin = [], 0
    for line, _content in lines:
        start, end = next(_places_of(text, line))
        out += [text[begin:start], line.raw]
        begin = end
    new_text = "".join([*out, text[begin:]])
    expected = Counter(block.text for block in blocks(text))
    expected.update(content.strip() for _line, content in lines)
    return new_text if Counter(block.text for block in blocks(new_text)) == expected else None


def archived(text: str, day: date, note: str) -> str:
    """The text of a file with this note as the block of the day: in the place of the one there is, or at the end.

    An empty note takes the block out. Raises FileUnwritable where the block cannot stand without changing what the
    lines around it say, as in a piece of code that is not closed.
    """
    lines, mark = lines_of(text), f"<!-- archive {day.isoformat()} -->"
    # No word of the note can end its block, or begin something that goes on behind it
    block = "\n".join([mark, *comments.written(note.strip(), blank=""), ARCHIVE_END, ""])
    place = _place(lines, mark)
    if place is not None:
        begin, end = place
        if not note and end == len(lines) and begin > 1 and not lines[begin - 1].strip():
            begin -= 1  # the empty line that was put before it at the end
        new_text = "".join([*lines[:begin], block if note else "", *lines[end:]])
    elif not note:
        new_text = text
    elif not text.strip():
        new_text = f"# {day.isoformat()}\n\n{block}"
    else:
        lead = ("" if lines[-1].endswith("\n") else "\n") + ("\n" if lines[-1].strip() else "")
        new_text = f"{text}{lead}{block}"
    if new_text != text:
        before, after = ([(piece.text, piece.heading) for piece in blocks(each)] for each in (text, new_text))
        if before != after:
            raise FileUnwritable
    return text if (new_text.replace("\r\n", "\n") == text.replace("\r\n", "\n")) else new_text


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
