"""How finely the code is cut, and how many modules a call passes: `python -m tests.support.grain` prints the counts."""

import ast
import statistics
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from tests import ROOT

APPS = ("memories", "sessions_app", "channels_app", "memplatform")
SMALL_LINES = 60


@dataclass(frozen=True)
class Grain:
    """What is counted of the product's modules; migrations and tests are left out."""

    files: int
    lines: int
    functions: int
    median: int  # lines of a function
    ninety_fifth: int  # the same, of all but the longest twentieth
    longest: int
    called_once: int  # private functions that their module names once
    handed_on: int  # of these, what is named as a value and called by others: actions, readers, keys of a sort
    small_modules: int  # under 60 lines, `__init__` left out

    @property
    def per_thousand(self) -> float:
        """Functions of a thousand lines."""
        return self.functions / self.lines * 1000

    @property
    def called_once_share(self) -> float:
        """Of all functions the private ones with one caller."""
        return self.called_once / self.functions

    def __str__(self) -> str:
        return (
            f"{self.files} files, {self.lines} lines, {self.functions} functions ({self.per_thousand:.0f} a thousand "
            f"lines; median, 95 %, longest: {self.median}, {self.ninety_fifth}, {self.longest} lines), "
            f"private with one caller {self.called_once} ({self.called_once_share:.0%}), "
            f"{self.handed_on} of them only handed on, "
            f"modules under {SMALL_LINES} lines {self.small_modules}"
        )


def grain(root: Path = ROOT) -> Grain:
    """The counts of a checkout."""
    modules = [path for app in APPS for path in (root / app).rglob("*.py")]
    modules = [path for path in modules if "migrations" not in path.relative_to(root).parts]
    lines = small_modules = called_once = handed_on = 0
    sizes: list[int] = []
    for path in modules:
        text = path.read_text()
        length = text.count("\n")
        nodes = list(ast.walk(ast.parse(text)))
        functions = [node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
        uses = Counter(node.id for node in nodes if isinstance(node, ast.Name))
        uses.update(node.attr for node in nodes if isinstance(node, ast.Attribute))
        lines += length
        small_modules += length < SMALL_LINES and path.name != "__init__.py"
        sizes += [(node.end_lineno or node.lineno) - node.lineno + 1 for node in functions]
        own = [node.name for node in functions if node.name.startswith("_") and not node.name.startswith("__")]
        called = {
            getattr(node.func, "id", getattr(node.func, "attr", "")) for node in nodes if isinstance(node, ast.Call)
        }
        called_once += sum(uses[name] == 1 for name in own)
        handed_on += sum(uses[name] == 1 and name not in called for name in own)
    sizes.sort()
    return Grain(
        files=len(modules),
        lines=lines,
        functions=len(sizes),
        median=round(statistics.median(sizes)),
        ninety_fifth=sizes[int(len(sizes) * 0.95)],
        longest=sizes[-1],
        called_once=called_once,
        handed_on=handed_on,
        small_modules=small_modules,
    )


@contextmanager
def rooms_entered() -> Iterator[set[str]]:
    """The modules of the product whose functions this thread calls meanwhile, by their dotted names.

    What a module runs while it is imported, and what generators and comprehensions run, counts for its module alike.
    """
    rooms: set[str] = set()

    def note(frame: FrameType, event: str, _argument: Any) -> None:
        if event == "call" and frame.f_code.co_name != "<module>":
            name = frame.f_globals.get("__name__", "")
            if name.partition(".")[0] in APPS:
                rooms.add(name)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        yield rooms
    finally:
        sys.setprofile(before)


if __name__ == "__main__":
    print(grain())
