"""Every pattern of the product, and texts made to keep it busy.

A pattern is slow where a text can be read in many ways: `<at\\b[^>]*>` begins anew at each `<at` and runs to the end.
Such texts are made from the pattern itself: pieces it takes, repeated, with and without a beginning and an end.
"""

import ast
import importlib
import pkgutil
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, reduce
from itertools import chain
from operator import or_
from pathlib import Path
from re import _constants as sre  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from types import ModuleType
from typing import Any

from memories.language import word_lists

PACKAGES = ("memories", "sessions_app", "channels_app", "memplatform")
_CALLS = {"compile", "search", "match", "fullmatch", "sub", "subn", "split", "findall", "finditer"}
_USED = re.compile(rf"\.\s*(?:{'|'.join(_CALLS)})\b")
_OPENINGS = 120  # of a pattern that are tried
_ANCHORED = {"match", "fullmatch"}
_SAMPLES = 6  # of one piece of a pattern
_NAME = "zhangsan"  # stands in a pattern where the product puts a name


def modules() -> Iterator[ModuleType]:
    """Every module of the product; what needs an interpreter of its own to import is left out."""
    for name in PACKAGES:
        package = importlib.import_module(name)
        yield package
        for walk_package in pkgutil.walk_packages(package.__path__, f"{name}."):
            if ".migrations." not in walk_package.name:
                yield importlib.import_module(walk_package.name)


@dataclass(frozen=True)
class Used:
    """A pattern of the product, where it stands, and whether it is only ever held to the beginning of a text."""

    name: str
    pattern: re.Pattern[str]
    is_anchored: bool

    def run(self, text: str) -> None:
        """Do with a text what the product does with it, to its end."""
        if self.is_anchored:
            self.pattern.match(text)
            self.pattern.fullmatch(text)
        else:
            for _match in self.pattern.finditer(text):
                pass


@cache
def patterns() -> list[Used]:
    """Every pattern, compiled in a module or written where it is used."""
    data: dict[tuple[int, str], Used] = {}
    every = list(modules())
    calls = {module.__name__: _calls(Path(module.__file__ or "").read_text()) for module in every}
    uses = _uses(chain.from_iterable(calls.values()))
    for module in every:
        for name, value in list(vars(module).items()):
            for place, pattern in _held(value, name, set()):
                anchored = place == name and bool(uses[name]) and uses[name] <= _ANCHORED
                _keep(data, Used(f"{module.__name__}.{place}", pattern, anchored))
    for module in every:
        for line, pattern, call in _inline(module, calls[module.__name__]):
            if call == "compile" and (pattern.flags, pattern.pattern) in data:
                continue  # it has a name
            _keep(data, Used(f"{module.__name__}:{line}", pattern, call in _ANCHORED))
    return sorted(data.values(), key=lambda one: one.name)


def _keep(found: dict[tuple[int, str], Used], one: Used) -> None:
    key = (one.pattern.flags, one.pattern.pattern)
    if key not in found or not one.is_anchored:
        found[key] = one if key not in found or found[key].is_anchored else found[key]


def _calls(text: str) -> list[ast.AST]:
    """What may be a use of a pattern in a module; one without any is not even parsed."""
    if not _USED.search(text):
        return []
    return [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Attribute | ast.Call)]


def _uses(nodes: Iterable[ast.AST]) -> defaultdict[str, set[str]]:
    """By the name of a pattern what is called on it; passed on to others, it may meet anything."""
    uses: defaultdict[str, set[str]] = defaultdict(set)
    for node in nodes:
        if isinstance(node, ast.Attribute) and node.attr in _CALLS and isinstance(node.value, ast.Name | ast.Attribute):
            uses[node.value.id if isinstance(node.value, ast.Name) else node.value.attr].add(node.attr)
    return uses


def _held(value: Any, place: str, seen: set[int]) -> Iterator[tuple[str, re.Pattern[str]]]:
    """The patterns in a value, however deep in what holds it."""
    if id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, word_lists.DeferredPattern):
        value = value.compiled
    if isinstance(value, re.Pattern):
        if isinstance(value.pattern, str):
            yield place, value
    elif isinstance(value, dict):
        for key, one in value.items():
            yield from _held(key, f"{place}[{key!r}]", seen)
            yield from _held(one, f"{place}[{key!r}]", seen)
    elif isinstance(value, list | tuple | set | frozenset):
        for number, one in enumerate(value):
            yield from _held(one, f"{place}[{number}]", seen)
    elif type(value).__module__.split(".")[0] in PACKAGES and hasattr(value, "__dict__"):
        for name, one in vars(value).items():
            yield from _held(one, f"{place}.{name}", seen)


def _inline(module: ModuleType, nodes: Iterable[ast.AST]) -> Iterator[tuple[int, re.Pattern[str], str]]:
    """Patterns given to `re` where they are used; what is only known there is replaced by a name."""
    for node in nodes:
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _CALLS):
            continue
        if not (isinstance(node.func.value, ast.Name) and node.func.value.id == "re" and node.args):
            continue
        written = _evaluated(node.args[0], vars(module))
        if written is not None:
            yield node.lineno, re.compile(written, _flags(node)), node.func.attr


def _evaluated(node: ast.expr, names: dict[str, Any]) -> str | None:
    """The text of a pattern; a part only known at run time is a name. None: a pattern made elsewhere."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(_evaluated(part, names) or "" for part in node.values)
    if isinstance(node, ast.FormattedValue):
        return _evaluated(node.value, names) or _NAME
    if isinstance(node, ast.Name) and isinstance(names.get(node.id), str):
        return str(names[node.id])
    return None


def _flags(node: ast.Call) -> int:
    results = [*node.args[1:], *(word.value for word in node.keywords)]
    named = re.findall(r"re\.([A-Z]+)\b", " ".join(map(ast.unparse, results)))
    return reduce(or_, (int(getattr(re, name)) for name in named), 0)


@dataclass(frozen=True)
class Pumped:
    """A text of any length: a beginning, a piece again and again, and an end."""

    begin: str
    again: str
    end: str = ""

    def of(self, size: int) -> str:
        """The text with that many characters."""
        middle = size - len(self.begin) - len(self.end)
        return self.begin + (self.again * (middle // len(self.again) + 1))[:middle] + self.end


def pumped(pattern: re.Pattern[str]) -> Iterator[Pumped]:
    """Texts that can be read in as many ways as the pattern allows."""
    pieces = _pieces(_parser.parse(pattern.pattern, pattern.flags & ~re.DEBUG))
    yield from (Pumped("", piece) for piece in dict.fromkeys(pieces) if piece)
    openings = list(dict.fromkeys(_openings(pieces)))
    for begin, again in openings[:: len(openings) // _OPENINGS + 1]:
        yield Pumped(begin, again, "\x00")


def _openings(pieces: list[str]) -> Iterator[tuple[str, str]]:
    """What a pattern begins with, and a piece of it that may follow without end."""
    again = [fromkey for fromkey in dict.fromkeys(pieces) if 0 < len(fromkey) <= 3][:8]
    for begin in dict.fromkeys(piece for piece in pieces if piece):
        for item in again:
            yield begin, item


def _pieces(parsed: Any) -> list[str]:
    """What each part of a pattern takes, and what each of its beginnings takes."""
    results: list[str] = []
    for nodes in _sequences(parsed):
        ways = [_ways(op, arg) for op, arg in nodes]
        for begin in range(len(ways)):
            for end in range(begin + 1, min(len(ways), begin + 8) + 1):
                results += _joined(ways[begin:end])[:2]
        results += _joined(ways)
    return results


def _sequences(parsed: Any) -> Iterator[list[Any]]:
    nodes = list(parsed)
    yield nodes
    for op, arg in nodes:
        for inner in _inside(op, arg):
            yield from _sequences(inner)


def _inside(op: Any, arg: Any) -> list[Any]:
    if op is sre.SUBPATTERN:
        return [arg[3]]
    if op is sre.BRANCH:
        return list(arg[1])
    if op in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
        return [arg[2]]
    if op in (sre.ASSERT, sre.ASSERT_NOT):
        return [arg[1]]
    if op is sre.ATOMIC_GROUP:
        return [arg]
    return []


def _samples(nodes: list[Any]) -> list[str]:
    """A few texts a sequence takes."""
    return _joined(_ways(op, arg) for op, arg in nodes)


def _joined(parts: Iterable[list[str]]) -> list[str]:
    whole = [""]
    for ways in parts:
        whole = [(begin + way) for begin in whole for way in ways][:_SAMPLES] if ways else whole
    return whole


def _ways(op: Any, arg: Any) -> list[str]:
    if op is sre.LITERAL:
        return [chr(arg)]
    if op is sre.NOT_LITERAL:
        return ["a" if arg != ord("a") else "b"]
    if op is sre.ANY:
        return ["a", " "]
    if op is sre.IN:
        return _of_class(tuple(arg))
    if op in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
        least, most, inner = arg
        once = _samples(list(inner))[:2]
        times = {max(least, 1), min(int(most), least + 3)}
        return [item * count for item in once for count in sorted(times) if count <= 64] + ([""] if least == 0 else [])
    if op is sre.BRANCH:
        return [way for branch in arg[1] for way in _samples(list(branch))[:1]][:12]
    inside = _inside(op, arg)
    if op is sre.ASSERT_NOT or not inside:
        return []
    return _samples(list(inside[0])) if op is not sre.ASSERT else []


_EXAMPLES = "a1 A_-.,;:!?/@\"'的一\n+=#<>"


@cache
def _of_class(arg: tuple[Any, ...]) -> list[str]:
    pattern = [char for char in _EXAMPLES if _takes(arg, char)]
    literal = [chr(value) for op, value in arg if op is sre.LITERAL]
    ranges = [chr(value[0]) for op, value in arg if op is sre.RANGE]
    return (pattern[:3] or literal[:2] or ranges[:2])[:3]


_CATEGORIES = {
    sre.CATEGORY_DIGIT: r"\d",
    sre.CATEGORY_NOT_DIGIT: r"\D",
    sre.CATEGORY_SPACE: r"\s",
    sre.CATEGORY_NOT_SPACE: r"\S",
    sre.CATEGORY_WORD: r"\w",
    sre.CATEGORY_NOT_WORD: r"\W",
}


def _takes(arg: tuple[Any, ...], char: str) -> bool:
    inverted = arg[0][0] is sre.NEGATE
    for op, value in arg:
        if (
            (op is sre.LITERAL and chr(value) == char)
            or (op is sre.RANGE and value[0] <= ord(char) <= value[1])
            or (op is sre.CATEGORY and re.match(_CATEGORIES[value], char))
        ):
            return not inverted
    return inverted
