"""What a file has left open at its end: a fence, a comment, a piece of HTML, which would take in what is added."""

import re

from memories.files.parsing import PARAGRAPH, Piece, pieces

_PROBE = "- x"
_FENCE = re.compile(r"`{3,}|~{3,}")
_LAST = 8  # fences that are tried: one of those may be open


def closing(text: str) -> str:
    """The lines that have to stand before a new list item, so that it is one; mostly none."""
    lines_back = (line.lstrip(" \t>") for line in reversed(text.split("\n")))
    fences = [found.group() for line in lines_back if (found := _FENCE.match(line))]
    for lines in ("", "\n", "-->\n\n", *(f"{fence}\n\n" for fence in list(dict.fromkeys(fences))[:_LAST])):
        if _ends_in_probe(f"{text}{lines}{_PROBE}\n"):
            return lines
    return ""


def _ends_in_probe(text: str) -> bool:
    found: list[Piece] = pieces(text)
    return bool(found) and (found[-1].kind, found[-1].raw) == (PARAGRAPH, "x")
