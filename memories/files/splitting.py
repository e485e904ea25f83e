"""Which memories a text holds: lines that end a sentence, items of a list, parts of what is too long for one.

«My name is Xue.» and «I live in Chengdu.» on two lines are two; a paragraph that was only wrapped stays one.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from memories.files import comments

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
    between fences is not taken apart.
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
            memories.append("\n".join(lines[first:end]))
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
