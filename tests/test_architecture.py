"""The arrows, layers, doors and sizes of the code, held by reading it (CONTRIBUTING.md, «The house»).

Every rule is a function from a source to what is wrong with it. It is tried on snippets that break it, on snippets that
only look like it, and then on all there is.
"""

import ast
import re
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import pytest

from tests import ROOT

AROUND = ("tests", "benchmarks", "cluster", "examples", "integrations")
PACKAGES = ["memories", "sessions_app", "channels_app", "memplatform", "evals"]  # bottom to top
#: Six layers, lowest first, and in each its packages in order: a package uses those named before it, and nothing else.
#: Verbs are strangers to one another.
LAYERS = {
    "words": "exceptions choices conf telemetry language verification",
    "tables": "postgresql tenancy models visibility staff audit",
    "providers": "secrets offline endpoint files embeddings reranker llm",
    "doors": "index entries batches",
    "verbs": "recall consolidation lifecycle notes imports webhooks",
    "faces": "apps evaluation tasks jobs api admin management",
}
FACES = set(LAYERS["faces"].split())
#: Parts of one app that still import both ways; a change may take one away and adds none.
BOTH_WAYS = {
    "channels_app: api, doors",  # a door calls the API in this process, and the API leaves calls to the files
    "memplatform: settings, wsgi",  # Django's own way
}
NAMELESS = {"util", "utils", "helper", "helpers", "service", "services", "common", "core", "managers", "constants"}
FILE_LINES, FUNCTION_LINES = 600, 50

CLOCKS = {
    *("timezone.now", "datetime.now", "datetime.utcnow", "datetime.today", "date.today", "timezone.localdate"),
    *("time.time", "time.time_ns", "time.localtime", "time.gmtime", "functions.Now"),
}
MAY_READ_THE_CLOCK = {
    "memories.models.ids",  # an id sorts by when it was made; nothing ever reads that as a time
}
#: What keys of scopes are made of, and what is done to texts that are made of something.
KEY_PART = re.compile(r"(?:^|:)direct_|:group_|^group_$")
TEXT_WORK = {"format", "join", "replace", "startswith", "removeprefix", "partition", "rpartition", "split", "rsplit"}
WRITES = {"create", "bulk_create", "get_or_create", "update_or_create", "update", "bulk_update", "save"}
ENTRY_SQL = re.compile(r"\b(?:INSERT\s+INTO|UPDATE|MERGE\s+INTO|COPY)\s+memories_entry\b", re.IGNORECASE)


@dataclass(frozen=True)
class Source:
    """A module, by its dotted name."""

    name: str
    text: str
    is_package: bool = False

    @cached_property
    def nodes(self) -> list[ast.AST]:
        return list(ast.walk(ast.parse(self.text)))

    @property
    def package(self) -> str:
        return self.name.split(".")[0]

    @property
    def unit(self) -> str:
        """The part of its package a module belongs to."""
        return unit_of(self.name)

    @property
    def is_face(self) -> bool:
        """Whether it meets the world, as the pages of a noun do, all of memplatform, and what measures."""
        return self.package in ("memplatform", "evals") or self.unit in FACES or self.name.endswith(".admin")

    def imports(self) -> Iterator[str]:
        """Everything imported anywhere in the module, deferred, relative or by a dotted path in a string."""
        for node in self.nodes:
            match node:
                case ast.Import(names=names):
                    yield from (alias.name for alias in names)
                case ast.ImportFrom(module=module, names=names, level=level):
                    base = ".".join(filter(None, [self._above(level), module]))
                    yield from (f"{base}.{alias.name}" for alias in names)
                case ast.Constant(value=str(path)) if re.fullmatch(r"\w+(?:\.\w+)+", path) and is_module(path):
                    yield path

    def _above(self, level: int) -> str:
        if not level:
            return ""
        parts = self.name.split(".")
        return ".".join(parts[: len(parts) - level + self.is_package])


def unit_of(name: str) -> str:
    return (name.split(".") + [""])[1]


def is_module(path: str) -> bool:
    """Whether a dotted path leads into one of our modules."""
    package, module = path.split(".")[:2]
    place = ROOT / package / module
    return package in PACKAGES and (place.is_dir() or place.with_suffix(".py").is_file())


@cache
def sources() -> list[Source]:
    """Every module of the four packages; migrations are written by Django."""
    paths = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
    return [_read(path) for path in paths if "migrations" not in path.relative_to(ROOT).parts]


@cache
def everything() -> list[Source]:
    """All Python there is: the packages, what starts them, and what tries them."""
    around = [*ROOT.glob("*.py"), *(p for d in AROUND for p in (ROOT / d).rglob("*.py"))]
    return sources() + [_read(path) for path in sorted(around)]


def _read(path: Path) -> Source:
    parts = path.relative_to(ROOT).with_suffix("").parts
    is_package = parts[-1] == "__init__"
    return Source(".".join(parts[:-1] if is_package else parts), path.read_text(), is_package)


def dotted(node: ast.AST) -> list[str]:
    """The names of a chain such as `Entry.objects.filter(…).update`, in order; the calls between them left out."""
    match node:
        case ast.Name(id=name):
            return [name]
        case ast.Attribute(value=value, attr=attr):
            return [*dotted(value), attr]
        case ast.Call(func=func):
            return dotted(func)
        case _:
            return [""]


def upward_imports(source: Source) -> list[str]:
    above = PACKAGES[PACKAGES.index(source.package) + 1 :]
    return [f"imports {name}, which is above it" for name in source.imports() if name.split(".")[0] in above]


def broken_layers(source: Source) -> list[str]:
    if source.package != "memories" or source.name == "memories":
        return []
    own = layer_of(source.unit)
    if own is None:
        return ["has no layer"]
    others = {unit_of(name) for name in source.imports() if name.startswith("memories.")} - {source.unit, ""}
    return [
        f"{source.unit} ({own}) imports {other} ({layer_of(other)})"
        for other in sorted(others)
        if not _is_below(other, source.unit)
    ]


def layer_of(unit: str) -> str | None:
    return next((layer for layer, units in LAYERS.items() if unit in units.split()), None)


def _is_below(unit: str, other: str) -> bool:
    """Whether `other` may use `unit`: it is named before it; within a layer only verbs are strangers to one another."""
    order = [name for units in LAYERS.values() for name in units.split()]
    strangers = layer_of(unit) == layer_of(other) == "verbs"
    return unit in order and order.index(unit) < order.index(other) and not strangers


def parts_both_ways(read: list[Source]) -> set[str]:
    """Which two parts of one app, folders or modules of its top level, use each other.

    A task is no part here: it is named by the path that the queue knows, and nobody imports it.
    """
    arrows = {
        (source.package, source.unit, unit_of(name))
        for source in read
        for name in source.imports()
        if name.split(".")[0] == source.package and unit_of(name) not in ("", source.unit, "tasks")
    }
    return {
        f"{package}: {part}, {other}"
        for package, part, other in arrows
        if part and part < other and (package, other, part) in arrows
    }


def read_clocks(source: Source) -> list[str]:
    return [] if source.is_face or source.name in MAY_READ_THE_CLOCK else clocks_of(source)


def clocks_of(source: Source) -> list[str]:
    used = {".".join(dotted(node)[-2:]) for node in source.nodes if isinstance(node, ast.Attribute)}
    brought = {".".join(name.split(".")[-2:]) for name in source.imports()}
    return [f"reads the clock by {name}" for name in sorted(CLOCKS & (used | brought))]


def nameless_modules(source: Source) -> list[str]:
    return [f"{part} names nothing" for part in source.name.split(".") if part in NAMELESS]


def signals(source: Source) -> list[str]:
    return [
        f"uses {name}: call it, or make a row or a schedule of it"
        for name in source.imports()
        if name.startswith("django.dispatch") or (name.startswith("django.") and "signals" in name.split("."))
    ]


def undeclared_actions(source: Source) -> list[str]:
    """What people do to rows is an Action: Django's and unfold's decorators would say a part of it again."""
    if source.name == "memories.admin.actions":
        return []
    calls = [node for node in source.nodes if isinstance(node, ast.Attribute) and node.attr == "action"]
    marked = [node for node in calls if isinstance(node.value, ast.Name) and node.value.id == "admin"]
    brought = [name for name in source.imports() if name in ("unfold.decorators.action", "django.contrib.admin.action")]
    return [f"line {node.lineno}: admin.action" for node in marked] + [f"uses {name}" for name in brought]


def broad_excepts(source: Source) -> list[str]:
    handlers = [node for node in source.nodes if isinstance(node, ast.ExceptHandler)]
    caught = [node for handler in handlers for node in ast.walk(handler.type or ast.Name(id="Exception"))]
    return ["catches everything" for node in caught if dotted(node)[-1] in ("Exception", "BaseException")]


def back_doors(source: Source) -> list[str]:
    """Inserting or changing an Entry anywhere but in memories.entries."""
    if source.package == "memories" and source.unit == "entries":
        return []
    results = [
        f"line {call.lineno}: {'.'.join(chain)}" for call, chain in _calls(source) if _writes_entry(source, chain)
    ]
    texts = [node.value for node in source.nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    return results + [f"SQL: {match.group()}" for text in texts if (match := ENTRY_SQL.search(text))]


def _calls(source: Source) -> Iterator[tuple[ast.Call, list[str]]]:
    for node in source.nodes:
        if isinstance(node, ast.ClassDef) and node.name == "EntryQuerySet":
            own = (call for call in ast.walk(node) if isinstance(call, ast.Call))
            yield from ((call, ["Entry", *dotted(call)]) for call in own if dotted(call)[0] == "self")
        elif isinstance(node, ast.Call):
            yield node, dotted(node)


def _writes_entry(source: Source, chain: list[str]) -> bool:
    imported = (alias for node in source.nodes if isinstance(node, ast.ImportFrom) for alias in node.names)
    entry = {"Entry"} | {alias.asname for alias in imported if alias.name == "Entry" and alias.asname}
    is_entry = not entry.isdisjoint(chain[:-1]) or "entries" in chain[1:-1]
    return chain[-1] in entry or (is_entry and chain[-1] in WRITES) or chain[-2:] == ["entry", "save"]


#: Where SHA-1 is the signature a vendor calls with, and no key of ours.
SIGNED_BY_SHA1 = {"channels_app.platforms.tencent"}


def computed_keys(source: Source) -> list[str]:
    """A scope's or session's key made or read anywhere but in the one resolver and its module of keys (E2)."""
    if source.name in ("memories.tenancy.resolver", "memories.tenancy.resolver"):
        return []
    private = [name for name in source.imports() if name.startswith("memories.tenancy.resolver._")]
    hashed = [name for name in source.imports() if name == "hashlib.sha1"]
    hashed += ["sha1" for node in source.nodes if isinstance(node, ast.Attribute) and node.attr == "sha1"]
    if source.name in SIGNED_BY_SHA1:
        hashed = []
    words = [text for node in source.nodes for text in _composed(node) if KEY_PART.search(text)]
    return [f"has {what} of a key" for what in [*private, *hashed, *words]]


def _composed(node: ast.AST) -> list[str]:
    """The texts an expression puts together, or takes apart."""
    match node:
        case ast.JoinedStr(values=parts):
            among: list[ast.AST] = [*parts]
        case ast.BinOp(op=ast.Add() | ast.Mod(), left=left, right=right):
            among = [left, right]
        case ast.Call(func=ast.Attribute(value=value, attr=attr), args=args) if attr in TEXT_WORK:
            among = [value, *(inner for arg in args for inner in ast.walk(arg))]
        case _:
            among = []
    return [part.value for part in among if isinstance(part, ast.Constant) and isinstance(part.value, str)]


def oversize(source: Source) -> list[str]:
    lines = len(source.text.splitlines())
    long = [
        f"{node.name} has {length} lines"
        for node in source.nodes
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (length := (node.end_lineno or 0) - node.lineno + 1) >= FUNCTION_LINES
    ]
    return long + ([f"has {lines} lines"] if lines >= FILE_LINES else [])


Rule = Callable[[Source], list[str]]
OF_THE_PACKAGES: list[Rule] = [upward_imports, broken_layers, read_clocks, signals, broad_excepts, back_doors]
OF_THE_PACKAGES += [computed_keys, undeclared_actions]
OF_ALL: list[Rule] = [nameless_modules, oversize]


@pytest.mark.parametrize("rule", [*OF_THE_PACKAGES, *OF_ALL])
def test_the_code_keeps_its_rules(rule: Rule) -> None:
    read = everything() if rule in OF_ALL else sources()
    assert len(read) > 50
    assert {source.name: wrong for source in read if (wrong := rule(source))} == {}


def test_no_two_parts_of_an_app_import_both_ways() -> None:
    both = [
        Source("memories.entries.write", "from memories.index import worker"),
        Source("memories.index.worker", "from memories.entries import write"),
        Source("memories.tasks", "from memories.index import worker"),
        Source("memories.index.queue", "TASK = 'memories.tasks.drain'"),
    ]
    assert parts_both_ways(both) == {"memories: entries, index"}
    assert parts_both_ways(sources()) <= BOTH_WAYS


def test_every_module_named_in_a_layer_is_named_once() -> None:
    named = [unit for units in LAYERS.values() for unit in units.split()]
    assert len(named) == len(set(named))


def test_no_exemption_outlives_its_reason() -> None:
    assert [source.name for source in sources() if source.name in MAY_READ_THE_CLOCK and clocks_of(source)] == sorted(
        MAY_READ_THE_CLOCK
    )


def test_no_two_kinds_of_advisory_lock_share_a_number() -> None:
    packages = ("memories", "sessions_app", "channels_app", "memplatform")
    code = "\n".join(path.read_text("utf-8") for package in packages for path in (ROOT / package).rglob("*.py"))
    numbers = re.findall(r"(\d+) << 56(?!\) - 1)", code)
    assert len(numbers) > 4 and len(numbers) == len(set(numbers))


def test_nothing_that_git_ignores_is_committed() -> None:
    """A link to an environment, say, would take the place of the environment wherever it is checked out."""
    listed = ["git", "ls-files", "--cached", "--ignored", "--exclude-standard"]
    assert subprocess.run(listed, cwd=ROOT, capture_output=True, text=True).stdout == ""
