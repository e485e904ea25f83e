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
    return [_line(line, defines, blank) for line in comments.escaped(content).split("\n")]


def plain(raw: str) -> str:
    """What the lines of a paragraph say."""
    if "\\" not in raw:
        return raw
    return comments.unescaped("\n".join(_plain_line(line) for line in raw.split("\n")))


def cell(content: str) -> str:
    """A text as one cell of a table holds it."""
    broken = _BREAK.sub(r"\1\\\2", comments.escaped(content))
    return broken.replace("|", r"\|").replace("\n", "<br>")


def plain_cell(raw: str) -> str:
    """What a cell says; its `\\|` is read as `|` already."""
    broken = _BREAK.sub(lambda found: found.group(1)[1:] + found.group(2) if found.group(1) else "\n", raw)
    return comments.unescaped(broken)


def _line(line: str, defines: bool, blank: str) -> str:
    rest = line.lstrip(_INDENT)
    indent = line[: len(line) - len(rest)]
    if not rest:
        return indent + blank
    if number := _NUMBER.match(rest):
        return f"{indent}{number.group(1)}\\{rest[number.end(1) :]}"
    begins = _BEGINS.match(rest) or (defines and rest[0] == "[")
    is_escape = rest[0] == "\\" and (rest[1:2] in _ESCAPABLE or not rest[1:2])
    return f"{indent}\\{rest}" if begins or is_escape else line


def _plain_line(line: str) -> str:
    rest = line.lstrip(_INDENT)
    indent = line[: len(line) - len(rest)]
    if rest == "\\":
        return indent
    if rest[:1] == "\\" and rest[1:2] in _ESCAPABLE:
        return indent + rest[1:]
    return indent + _ESCAPED_NUMBER.sub(r"\1", rest, count=1) if _ESCAPED_NUMBER.match(rest) else line
