"""A text that is too long for one memory, in parts."""

from collections.abc import Iterator
from dataclasses import dataclass

_ENDS = ("\n\n", "\n", "。", "！", "？", ". ", "! ", "? ", "；", "; ", "，", ", ", " ")


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
            end = _cut(text, start, end)
        whole = text[start:end]
        if said := whole.strip():
            first = line + whole[: len(whole) - len(whole.lstrip())].count("\n")
            yield Part(said, first, first + said.count("\n"))
        line += whole.count("\n")
        start = end


def _cut(text: str, start: int, end: int) -> int:
    half = start + (end - start) // 2
    for sign in _ENDS:
        if (found := text.rfind(sign, half, end)) >= 0:
            return found + len(sign)
    return end
