"""The pieces a file of markdown is made of, each with what a change of it has to know: where it lies, what is around.

Only the structure of blocks is read (markdown-it, rules of blocks only): what words look like does not matter here.

Which memories a text holds: lines that end a sentence, items of a list, parts of what is too long for one.

«My name is Xue.» and «I live in Chengdu.» on two lines are two; a paragraph that was only wrapped stays one.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from django.utils.translation import gettext as _
from markdown_it import MarkdownIt
from markdown_it.token import Token

from memories.conf import conf
from memories.exceptions import FileUnreadable
from memories.files import comments
from memories.language.text import is_blank

_ENDS = re.compile(r"(?:[.!?]|[。！？…])[\"'”’»」』）)\]*_`~]*$")
#: A point that ends no sentence: «Dr.», «e.g.», the initial of a name.
_ABBREVIATED = re.compile(
    r"(?:^|[\s(])(?:mr|mrs|ms|dr|prof|st|vs|no|approx|ca|inc|ltd|jr|sr|[a-z]|(?:[a-z]\.)+[a-z])\.$", re.I
)
_ITEM = re.compile(r"(?:[-+*•]|[0-9]{1,9}[.)、])[ \t]+(?=\S)")
_BLANK = re.compile(r"\n\s*\n")
_FENCES = ("```", "~~~")


def starts(lines: Sequence[str]) -> list[int]:
    """The lines of a paragraph that begin a memory, the first among them."""
    begins = [0]
    for n in range(1, len(lines)):
        if _is_ended("\n".join(lines[begins[-1] : n])) and not lines[n][:1].islower():
            begins.append(n)
    return begins


def _is_ended(text: str) -> bool:
    """Whether these lines end with a sentence; within a comment nothing ends."""
    bare, _comments = comments.parted(text)
    bare = bare.rstrip()
    is_open = bare.rfind(comments.OPEN) >= 0
    return not is_open and bool(_ENDS.search(bare)) and not _ABBREVIATED.search(bare)


def saved_lines(content: str) -> list[str]:
    """The memories of a text that is saved, each to be a line of its own.

    Every line is one, and so is every item of a list, whose sign goes where all have one. Of prose, whose last line
    ends a sentence, those lines are one that were only wrapped. An indented line belongs to the one above it, and code
    between fences is not taken apart. What nobody sees is none; there may be nothing left.
    """
    if any(fence in content for fence in _FENCES):
        return [content.strip()]
    memories: list[str] = []
    for paragraph in _BLANK.split(content.strip()):
        lines = [line.rstrip() for line in paragraph.splitlines()]
        ends = set(starts(lines)) if _is_ended(lines[-1]) else range(len(lines))
        begins = [
            n for n, line in enumerate(lines) if n == 0 or (not line[:1].isspace() and (n in ends or _ITEM.match(line)))
        ]
        for first, end in zip(begins, [*begins[1:], len(lines)], strict=True):
            memory = "\n".join(lines[first:end])
            if not is_blank(_ITEM.sub("", memory, count=1)):
                memories.append(memory)
    if len(memories) > 1 and all(map(_ITEM.match, memories)):
        return [_ITEM.sub("", memory, count=1) for memory in memories]
    return memories


_CUTS = ("\n\n", "\n", "。", "！", "？", ". ", "! ", "? ", "；", "; ", "，", ", ", " ")


@dataclass(frozen=True)
class Part:
    """A part of a text, and its first and last line within it, from 0."""

    text: str
    first_line: int
    last_line: int


def parts(text: str, limit: int) -> Iterator[Part]:
    """The parts of a text, none longer than `limit`, cut where a paragraph, a line, a sentence or a word ends."""
    start = line = 0
    while start < len(text):
        end = start + limit if len(text) - start > limit else len(text)
        if end < len(text):
            half = start + (end - start) // 2
            cuts = ((text.rfind(sign, half, end), sign) for sign in _CUTS)
            end = next((at + len(sign) for at, sign in cuts if at >= 0), end)
        whole = text[start:end]
        if words := whole.strip():
            first = line + whole[: len(whole) - len(whole.lstrip())].count("\n")
            yield Part(words, first, first + words.count("\n"))
        line += whole.count("\n")
        start = end


PARAGRAPH, ROW, FENCE, CODE, HTML = "paragraph", "row", "fence", "code", "html"
BOM = "\ufeff"
HEADING_CHARS = 300  # of the headings above a piece
_NESTING = 120  # lists within quotes within lists …; deeper is not read
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_TAG = re.compile(r"<[^<>]*>")
_YAML = re.compile(r"[\w\"'][^:\n]{0,200}:(?:\s|$)|#|\[")
_EMPTY_TASKS = {"[ ]", "[x]", "[X]"}
_FRONT = {"---": {"---", "..."}, "+++": {"+++"}}

_MARKDOWN = MarkdownIt("commonmark", {"maxNesting": _NESTING}).enable("table")
_MARKDOWN.core.ruler.enableOnly(["normalize", "block"])


@dataclass
class Piece:
    """A paragraph, a table's row, a piece of code or of HTML; its lines are numbered from 0, `end` excluded."""

    kind: str
    start: int
    end: int
    raw: str  # its lines as markdown, without what surrounds them
    heading: str
    item: int = 0  # the list item it belongs to, by number; 0: none
    columns: int = 0  # of a row
    cells: list[str] = field(default_factory=list)
    markup: str = ""  # of a fence
    origins: Mapping[str, comments.Stamp] = field(default_factory=dict)  # that its file names

    def says(self) -> tuple[str, list[str]]:
        """Its text, and the comments in it."""
        if self.kind in (FENCE, CODE):
            return self.raw.strip("\n").rstrip(), []
        if self.kind == ROW:
            split = [comments.parted(raw) for raw in self.cells]
            cells = [comments.plain_cell(raw).strip() for raw, _comments in split]
            while cells and not cells[-1]:
                cells.pop()
            return " | ".join(cells).strip(), [comment for _raw, marks in split for comment in marks]
        raw, marks = comments.parted(self.raw)
        if self.kind == HTML:
            text = raw.partition(comments.OPEN)[0].strip()  # a comment that is not closed is one to the end
            return (text if _TAG.sub("", text).strip() else ""), marks
        words = comments.plain(raw).strip()
        return ("" if words in _EMPTY_TASKS and not marks else words), marks


def lines_of(text: str) -> list[str]:
    """The lines of a text with their ends, as markdown counts them."""
    return _LINE.findall(text)


def pieces(text: str) -> list[Piece]:
    """All pieces of a text in order, headings and archives left out. Raises FileUnreadable for one that is too long."""
    if len(text) > conf.FILE_MAX_BYTES:
        raise FileUnreadable(_("This text is too long to be read as a whole."))
    tokens = _MARKDOWN.parse(_without_front_matter(text.removeprefix(BOM)))
    # The lines of archives; of one that is not closed none
    archives: set[int] = set()
    begun = None
    for token in tokens:
        if token.type == "html_block" and token.map:
            mark = token.content.strip()
            if begun is None and comments.ARCHIVE.fullmatch(mark):
                begun = token.map[0]
            elif begun is not None and mark == comments.ARCHIVE_END:
                archives.update(range(begun, token.map[1]))
                begun = None
    # Paragraphs of one list item that follow one another are its own text
    joined: list[Piece] = []
    for piece in _Reader(archives, comments.origins_in(text)).read(tokens):
        last = joined[-1] if joined else None
        if last and piece.item and last.item == piece.item and last.kind == piece.kind == PARAGRAPH:
            last.raw += "\n" * (piece.start - last.end + 1) + piece.raw
            last.end = piece.end
        else:
            joined.append(piece)
    return [piece for piece in joined if piece.kind]


def _without_front_matter(text: str) -> str:
    """The text with its front matter, if it has one, as empty lines."""
    if text[:3] not in _FRONT:
        return text
    lines = lines_of(text)
    ends = _FRONT[text[:3]]
    if lines[0].strip() not in _FRONT or len(lines) < 2 or not (_YAML.match(lines[1]) or text[0] == "+"):
        return text
    end = next((n for n, line in enumerate(lines[1:], start=1) if line.strip() in ends), 0)
    return "\n" * (end + 1) + "".join(lines[end + 1 :]) if end else text


class _Reader:
    """Walks over the tokens of a file once."""

    def __init__(self, archives: set[int], origins: Mapping[str, comments.Stamp]) -> None:
        self.archives, self.origins = archives, origins
        self.around: list[int] = []  # quotes, lists and items we are in: the number of an item, else 0
        self.headings: list[tuple[int, int, str]] = []  # how deep in these, of which level, what it says
        self.items = 0
        self.head: list[str] = []  # of the table we are in
        self.row: Piece | None = None
        self.is_head = False

    def read(self, tokens: list[Token]) -> Iterator[Piece]:
        for number, token in enumerate(tokens):
            match token.type:
                case "blockquote_open" | "bullet_list_open" | "ordered_list_open":
                    self.around.append(0)
                case "list_item_open":
                    self.items += 1
                    self.around.append(self.items)
                case "blockquote_close" | "bullet_list_close" | "ordered_list_close" | "list_item_close":
                    self.around.pop()
                    self.headings = [heading for heading in self.headings if heading[0] <= len(self.around)]
                    yield Piece("", 0, 0, "", "")  # what comes next is not joined to what came before
                case "thead_open" | "thead_close":
                    self.is_head = token.type == "thead_open"
                    self.head = [] if self.is_head else self.head
                case "tr_open":
                    self.row = self._piece(ROW, token)
                case "tr_close":
                    yield from self._ended_row()
                case "inline":
                    opened = tokens[number - 1]
                    if opened.type == "heading_open":
                        if (token.map or [0])[0] not in self.archives:
                            level = int(opened.tag[1:])
                            depth = len(self.around)
                            self.headings = [above for above in self.headings if above[0] < depth or above[1] < level]
                            self.headings.append((depth, level, _one_line(token.content)))
                    elif self.row is not None:
                        self.row.cells.append(token.content)
                    else:
                        piece = self._piece(PARAGRAPH, opened, token.content)
                        piece.item = self.around[-1] if self.around else 0
                        for fact in _facts_of(piece) if not piece.item else [piece]:
                            yield from self._outside_archive(fact)
                case "fence" | "code_block" | "html_block":
                    kind = {"fence": FENCE, "code_block": CODE, "html_block": HTML}[token.type]
                    yield from self._outside_archive(self._piece(kind, token, token.content))

    def _ended_row(self) -> Iterator[Piece]:
        row, self.row = self.row, None
        if row is None:
            return
        row.columns, row.raw = len(row.cells), " | ".join(row.cells)
        if self.is_head:
            self.head = [words for cell in row.cells if (words := _one_line(cell))]
            return
        row.heading = _path_of([row.heading, " | ".join(self.head)])
        yield from self._outside_archive(row)

    def _piece(self, kind: str, token: Token, raw: str = "") -> Piece:
        start, end = token.map or [0, 0]
        heading = _path_of(says for _depth, _level, says in self.headings)
        return Piece(kind, start, end, raw, heading, markup=token.markup, origins=self.origins)

    def _outside_archive(self, piece: Piece) -> Iterator[Piece]:
        if piece.start not in self.archives:
            yield piece


def _path_of(headings: Iterable[str]) -> str:
    """Headings one below another; of many words the last."""
    path = " › ".join(filter(None, headings))
    return path if len(path) <= HEADING_CHARS else f"…{path[-HEADING_CHARS + 1 :]}"


def _one_line(raw: str) -> str:
    return " ".join(comments.plain(comments.parted(raw)[0]).split())


def _facts_of(piece: Piece) -> Iterator[Piece]:
    """A paragraph, cut after each line that ends a sentence: every part is a memory of its own."""
    lines = piece.raw.split("\n")
    begins = starts(lines) if len(lines) == piece.end - piece.start else [0]
    for first, end in zip(begins, [*begins[1:], len(lines)], strict=True):
        raw = "\n".join(lines[first:end])
        yield replace(piece, start=piece.start + first, end=piece.start + end, raw=raw) if len(begins) > 1 else piece


#: A list item that is put at the end, to see whether it is one there.
_PROBE = "- x"
_FENCE = re.compile(r"`{3,}|~{3,}")
_LAST = 8  # fences that are tried: one of those may be open


def closing(text: str) -> str:
    """The lines that have to stand before a new list item, so that it is one; mostly none."""
    lines_back = (line.lstrip(" \t>") for line in reversed(text.split("\n")))
    fences = [fence.group() for line in lines_back if (fence := _FENCE.match(line))]
    for lines in ("", "\n", "-->\n\n", *(f"{fence}\n\n" for fence in list(dict.fromkeys(fences))[:_LAST])):
        last = pieces(f"{text}{lines}{_PROBE}\n")[-1:]
        if last and (last[0].kind, last[0].raw) == (PARAGRAPH, "x"):
            return lines
    return ""
