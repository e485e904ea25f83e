"""The word lists and word patterns of `memories/language/data`: plain UTF-8 files, each read once.

A file is made of sections. `# …` is a comment, `[name]` begins a list of words separated by spaces or line ends, in
which `_` stands for the space within a phrase. `[name: pattern]` begins the alternatives of a regular expression, one a
line; an indented line goes on with the one before it. All of another section is put in by `@file.name` in a list of
words, by `{name}` or `{file.name}` in a pattern.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any, cast
from weakref import WeakSet

DATA = Path(__file__).parent / "data"
_HEADING = re.compile(r"\[(?P<name>[a-z][a-z0-9_]*)(?P<pattern>: pattern)?\]")
_REFERENCE = re.compile(r"\{(?:(?P<file>[a-z][a-z0-9_]*)\.)?(?P<section>[a-z][a-z0-9_]*)\}")

_waiting: WeakSet["DeferredPattern"] = WeakSet()


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


class DeferredPattern:
    """A pattern that is compiled when it is first asked for something.

    All of them together take two seconds, and most commands look for no words.
    """

    def __init__(self, text: str, flags: int, place: str) -> None:
        self._text, self._flags, self._place = text, flags, place

    @cached_property
    def compiled(self) -> re.Pattern[str]:
        """Raises WordListError where the section is no regular expression."""
        try:
            return re.compile(self._text, self._flags)
        except re.error as error:
            raise WordListError(f"{self._place} is no regular expression: {error}") from error

    def __getattr__(self, name: str) -> Any:
        """A method of the compiled one, which stays here: it is found at once the next time."""
        if name.startswith("__"):
            raise AttributeError(name)
        self.__dict__[name] = value = getattr(self.compiled, name)
        return value


def deferred(text: str, flags: int = 0, *, place: str = "this") -> re.Pattern[str]:
    """A regular expression that is compiled at its first use; the place it stands at is named where it is none."""
    pattern = DeferredPattern(text, flags, place)
    _waiting.add(pattern)
    return cast("re.Pattern[str]", pattern)


def compile_all() -> None:
    """Compile what waits."""
    for pattern in list(_waiting):
        _ = pattern.compiled


def patterns(file: str, section: str, flags: int = 0) -> list[re.Pattern[str]]:
    """Each line of a section as a pattern of its own."""
    place = f"{file}.txt: [{section}]"
    return [deferred(_resolved(file, line), flags, place=place) for line in _section(file, section).lines]


def source(file: str, section: str) -> str:
    """A section as the source of a regular expression.

    Raises WordListError where it refers to a section that is missing.
    """
    return _resolved(file, "|".join(_section(file, section).alternatives()))


def _resolved(file: str, whole: str) -> str:
    return _REFERENCE.sub(lambda match: source(match["file"] or file, match["section"]), whole)


def pattern(file: str, section: str, flags: int = 0) -> re.Pattern[str]:
    """A section as a regular expression, compiled at its first use."""
    return deferred(source(file, section), flags, place=f"{file}.txt: [{section}]")


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
