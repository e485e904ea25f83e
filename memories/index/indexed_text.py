"""What of an entry is embedded and counted in its search row: its substance, under the headings of its file (C1)."""

import re

from memories.language.turns import substance_of

#: Of a path nothing tells what a line is about where the file is a day's, or the long-term one.
_PLACE = re.compile(r"memory/(?:scopes/[^/]+/)?(?=.)|\.md$")
_PLAIN = re.compile(r"(?:MEMORY|LONG_TERM|\d{4}-\d{2}-\d{2})\.md$")


def heading_of(path: str, heading: str) -> str:
    """`projects/alpha › Decisions`; empty for what is no line of a file, or stands under no heading."""
    place = "" if not path or _PLAIN.search(path) else _PLACE.sub("", path)
    return " › ".join(filter(None, [place, heading]))


def indexed_text(content: str, echo: str | None = None, path: str = "", heading: str = "") -> str:
    """The text an entry is searched by: the headings of a line of a file, then its substance."""
    return "\n".join(filter(None, [heading_of(path, heading), substance_of(content, echo)]))
