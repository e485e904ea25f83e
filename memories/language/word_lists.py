"""The word lists and word patterns of `memories/language/data`: plain UTF-8 files, each read once.

A file is made of sections. `# …` is a comment, `[name]` begins a list of words separated by spaces or line ends, in
which `_` stands for the space within a phrase. `[name: pattern]` begins the alternatives of a regular expression, one a
line; an indented line goes on with the one before it. All of another section is put in by `@file.name` in a list of
words, by `{name}` or `{file.name}` in a pattern.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

DATA = Path(__file__).parent / "data"
_HEADING = re.compile(r"\[(?P<name>[a-z][a-z0-9_]*)(?P<pattern>: pattern)?\]")
_REFERENCE = re.compile(r"\{(?:(?P<file>[a-z][a-z0-9_]*)\.)?(?P<section>[a-z][a-z0-9_]*)\}")


class WordListError(ValueError):
    """A file of word lists is malformed; the message names the file, the line and what is wrong with it."""


@dataclass
class _Section:
    is_pattern: bool
    lines: list[str] = field(default_factory=list)

    def alternatives(self) -> list[str]:
        if self.is_pattern:
            return self.lines
        return [re.escape(word).replace("_", " ") for line in self.lines for word in _included(line.split())]


def words(file: str, section: str) -> list[str]:
    """The words of a section in their order."""
    return [word for line in groups(file, section) for word in line]


def word_set(file: str, *sections: str) -> frozenset[str]:
    """The words of some sections of a file together."""
    return frozenset(word for section in sections for word in words(file, section))


def groups(file: str, section: str) -> list[list[str]]:
    """The words of a section, line by line; `;` ends a group like a line does."""
    lines = [part for line in _section(file, section).lines for part in line.split(";")]
    return [list(_included(line.split())) for line in lines if line.strip()]


def _included(entries: Iterable[str]) -> Iterator[str]:
    for word in entries:
        if word.startswith("@"):
            yield from words(*word[1:].split(".", 1))
        else:
            yield word


def classes(file: str, section: str) -> dict[str, str]:
    """Each word of a section with the first of its group, which names the class."""
    return {word: group[0] for group in groups(file, section) for word in group}


def phrases(entries: Iterable[str]) -> str:
    """Phrases as alternatives of a pattern, the longest first, with any space for the one within."""
    return "|".join(phrase.replace("_", r"\s+") for phrase in sorted(set(entries), key=len, reverse=True))


def patterns(file: str, section: str, flags: int = 0) -> list[re.Pattern[str]]:
    """Each line of a section as a pattern of its own."""
    return [re.compile(line, flags) for line in _section(file, section).lines]


def source(file: str, section: str) -> str:
    """A section as the source of a regular expression.

    Raises WordListError where it refers to a section that is missing.
    """
    whole = "|".join(_section(file, section).alternatives())
    return _REFERENCE.sub(lambda match: source(match["file"] or file, match["section"]), whole)


def pattern(file: str, section: str, flags: int = 0) -> re.Pattern[str]:
    """A section as a compiled regular expression.

    Raises WordListError where it is none.
    """
    try:
        return re.compile(source(file, section), flags)
    except re.error as error:
        raise WordListError(f"{file}.txt: [{section}] is no regular expression: {error}") from error


def _section(file: str, section: str) -> _Section:
    try:
        return _sections(file)[section]
    except KeyError:
        raise WordListError(f"{file}.txt: there is no section [{section}]") from None


@cache
def _sections(file: str) -> dict[str, _Section]:
    path = DATA / f"{file}.txt"
    return parse(path.read_text(encoding="utf-8"), path.name)


def parse(content: str, name: str) -> dict[str, _Section]:
    """The sections of a file by their names.

    Raises WordListError for words before the first heading, a heading that is malformed or there twice, a
    continuation of nothing, and a section that is empty.
    """
    sections: dict[str, _Section] = {}
    section: _Section | None = None
    for number, line in enumerate(content.splitlines(), start=1):
        if not line.strip() or line.startswith("# "):
            continue
        if line.startswith("[") and line.rstrip().endswith("]") and (heading := _HEADING.fullmatch(line.rstrip())):
            if heading["name"] in sections:
                raise WordListError(f"{name}:{number}: [{heading['name']}] is there twice")
            section = sections[heading["name"]] = _Section(heading["pattern"] is not None)
        elif section is None:
            raise WordListError(f"{name}:{number}: words before the first heading")
        elif line.startswith("[") and not section.is_pattern:
            raise WordListError(f"{name}:{number}: a heading is «[name]» or «[name: pattern]»")
        elif not line.startswith(" "):
            section.lines.append(line)
        elif section.is_pattern and section.lines:
            section.lines[-1] += line.strip()
        else:
            raise WordListError(f"{name}:{number}: an indented line with no alternative to go on with")
    for heading_name, body in sections.items():
        if not body.lines:
            raise WordListError(f"{name}: [{heading_name}] is empty")
    return sections
