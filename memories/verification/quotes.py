"""Finding a quote in the message it is taken from: by its characters, whatever their width, case and spaces (D5)."""

import re
import unicodedata
from dataclasses import dataclass

#: Marks that are typed in several ways.
_ALIKE = str.maketrans({"‘": "'", "’": "'", "“": '"', "”": '"', "–": "-", "—": "-", "−": "-", "…": "..."})
#: Where a quote leaves words out.
_GAP = re.compile(r"\[?(?:\.{3,}|…+)\]?")
_EDGES = " \t\n\"'“”‘’「」『』«»()（）[]【】,，.。;；:：!！?？、-–—"


@dataclass(frozen=True)
class Span:
    """A part of a message, by the positions of its characters."""

    start: int
    end: int

    def text(self, content: str) -> str:
        return content[self.start : self.end]


def find(quote: str, content: str) -> list[Span]:
    """Where a message holds a quote, a span for each of its parts in order; none where any part is missing.

    «A … B» quotes two parts. A quote of nothing but marks is in no message.
    """
    characters, positions = _folded(content)
    spans: list[Span] = []
    begin = 0
    for part in filter(None, (_fold(piece) for piece in _GAP.split(quote))):
        at = characters.find(part, begin)
        if at < 0:
            return []
        begin = at + len(part)
        spans.append(Span(positions[at], positions[begin - 1] + 1))
    return spans


def _fold(piece: str) -> str:
    """A part of a quote as it is looked for: without the marks at its ends."""
    stripped = piece.strip(_EDGES)
    return _folded(stripped)[0] if any(char.isalnum() for char in stripped) else ""


def _folded(content: str) -> tuple[str, list[int]]:
    """The characters of a text without spaces, in one width and case, and where each of them stands."""
    characters: list[str] = []
    positions: list[int] = []
    for position, char in enumerate(content):
        for one in unicodedata.normalize("NFKC", char.translate(_ALIKE)).casefold():
            if not one.isspace():
                characters.append(one)
                positions.append(position)
    return "".join(characters), positions
