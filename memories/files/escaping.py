"""Words within markdown: what would begin a list, a heading or a fence is written with a backslash, and read without.

No content is lost or changed by being written to a file: `plain(written(content)) == content`.
"""

import re

from memories.files import comments

_INDENT = " \t"
#: How a line begins that is more than a line of its paragraph.
_BEGINS = re.compile(
    r"#{1,6}(?:[ \t]|$)|>|[-+*](?:[ \t]|$)|=+[ \t]*$|[-_*][-_* \t]*$|[|:-][|:\- \t]*$|```|~~~|<[A-Za-z/!?]"
)
_NUMBER = re.compile(r"([0-9]{1,9})(?:[.)](?:[ \t]|$)|\\[.)\\])")
_ESCAPED_NUMBER = re.compile(r"([0-9]{1,9})\\(?=[.)\\])")
_ESCAPABLE = frozenset("#>-+*=_|:`~<[\\")
_BREAK = re.compile(r"(?<!\\)(\\*)(<br ?/?>)")


def written(content: str, *, blank: str = "\\") -> list[str]:
    """The lines of a text as one paragraph of markdown holds them; an empty line is `blank`, or a lone backslash."""
    defines = "]:" in content
    lines = []
    for line in comments.escaped(content).split("\n"):
        rest = line.lstrip(_INDENT)
        indent = line[: len(line) - len(rest)]
        if not rest:
            lines.append(indent + blank)
        elif number := _NUMBER.match(rest):
            lines.append(f"{indent}{number.group(1)}\\{rest[number.end(1) :]}")
        else:
            begins = _BEGINS.match(rest) or (defines and rest[0] == "[")
            is_escape = rest[0] == "\\" and (rest[1:2] in _ESCAPABLE or not rest[1:2])
            lines.append(f"{indent}\\{rest}" if begins or is_escape else line)
    return lines


def plain(raw: str) -> str:
    """What the lines of a paragraph say."""
    if "\\" not in raw:
        return raw
    lines = []
    for line in raw.split("\n"):
        rest = line.lstrip(_INDENT)
        indent = line[: len(line) - len(rest)]
        if rest == "\\":
            lines.append(indent)
        elif rest[:1] == "\\" and rest[1:2] in _ESCAPABLE:
            lines.append(indent + rest[1:])
        else:
            lines.append(indent + _ESCAPED_NUMBER.sub(r"\1", rest, count=1) if _ESCAPED_NUMBER.match(rest) else line)
    return comments.unescaped("\n".join(lines))


def cell(content: str) -> str:
    """A text as one cell of a table holds it."""
    broken = _BREAK.sub(r"\1\\\2", comments.escaped(content))
    return broken.replace("|", r"\|").replace("\n", "<br>")


def plain_cell(raw: str) -> str:
    """What a cell says; its `\\|` is read as `|` already."""
    broken = _BREAK.sub(lambda place: place.group(1)[1:] + place.group(2) if place.group(1) else "\n", raw)
    return comments.unescaped(broken)
