"""`/api/v1` only gets additions: what clients of the released version send and read goes on.

`released.txt` is its surface, a line a promise (docs/reference/versions.md). `write()` writes it anew when a version is
released; until 0.1.0 is out also for a change that the changelog names.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import ROOT
from tests.support.described import api_description

RELEASED = Path(__file__).with_name("released.txt")
METHODS = ("get", "post", "put", "patch", "delete")
_SEVERAL = ("allOf", "oneOf", "anyOf")


class Surface:
    """Every promise of a description of the API."""

    def __init__(self, described: dict[str, Any]) -> None:
        self.components = described["components"]["schemas"]
        self.lines = set(self._lines(described["paths"]))

    def _lines(self, paths: dict[str, Any]) -> Iterator[str]:
        for path, operations in paths.items():
            if not path.startswith("/api/v1/"):
                continue
            for method in METHODS:
                if operation := operations.get(method):
                    call = f"{method.upper()} {path}"
                    yield call
                    yield from (f"{call} {line}" for line in self._of_call(operation))

    def _of_call(self, operation: dict[str, Any]) -> Iterator[str]:
        for parameter in operation.get("parameters", []):
            name = f"takes {parameter['in']}:{parameter['name']}"
            yield name
            if not parameter.get("required"):
                yield f"{name} optional"
            yield from self._values(name, parameter.get("schema", {}))
        for content in operation.get("requestBody", {}).get("content", {}).values():
            for name, field, is_required in self._fields(content.get("schema", {})):
                yield f"takes {name}"
                if not is_required:
                    yield f"takes {name} optional"
                yield from self._values(f"takes {name}", field)
        for status, answer in operation.get("responses", {}).items():
            if not status.startswith("2"):
                continue
            yield f"answers {status}"
            for content in answer.get("content", {}).values():
                for name, field, is_required in self._fields(content.get("schema", {})):
                    yield f"answers {status} {name}"
                    if is_required:
                        yield f"answers {status} {name} always"
                    yield from (f"answers {status} {name} is {kind}" for kind in self._kinds(field) if kind != "null")
                    if "null" not in self._kinds(field):
                        yield f"answers {status} {name} never null"

    def _values(self, name: str, schema: dict[str, Any]) -> Iterator[str]:
        yield from (f"{name} is {kind}" for kind in self._kinds(schema))
        yield from (f"{name} = {value}" for part in self._parts(schema) for value in part.get("enum", []))

    def _fields(self, schema: dict[str, Any], prefix: str = "", seen: tuple[int, ...] = ()) -> Iterator[Any]:
        """Each field at any depth: its place, its schema, and whether it has to be there where its parent is."""
        if id(schema) in seen:
            return
        for part in self._parts(schema):
            if id(part) in seen:
                continue
            for name, field in part.get("properties", {}).items():
                place = f"{prefix}{name}"
                yield place, field, name in part.get("required", [])
                yield from self._fields(field, f"{place}.", (*seen, id(schema), id(part)))
            if "items" in part:
                yield from self._fields(part["items"], f"{prefix}[].", (*seen, id(schema), id(part)))

    def _parts(self, schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """A schema and what it is put together of."""
        if "$ref" in schema:
            yield from self._parts(self.components[schema["$ref"].rpartition("/")[2]])
            return
        yield schema
        for word in _SEVERAL:
            for part in schema.get(word, []):
                yield from self._parts(part)

    def _kinds(self, schema: dict[str, Any]) -> set[str]:
        kinds = set()
        for part in self._parts(schema):
            kind = part.get("type", [])
            kinds |= {kind} if isinstance(kind, str) else set(kind)
            kinds |= {"null"} if part.get("nullable") or None in part.get("enum", []) else set()
        return kinds


def now() -> set[str]:
    return Surface(api_description()).lines


def broken(released: set[str], current: set[str]) -> list[str]:
    """The promises that are not kept, and what a call needs now that it did not need then."""
    gone = [f"gone: {line}" for line in released - current]
    calls = {line for line in released if len(line.split()) == 2}
    needed = []
    for line in current - released:
        words = line.split()
        if len(words) != 4 or words[2] != "takes" or f"{line} optional" in current:
            continue
        parent = re.sub(r"\.?[^.]+$", "", words[3]).removesuffix(".[]")
        if " ".join(words[:2]) in calls and (not parent or f"{' '.join(words[:3])} {parent}" in released):
            needed.append(f"needed now: {line}")
    return sorted(gone + needed)


def test_nothing_that_was_released_is_gone_and_nothing_new_is_demanded() -> None:
    released = read()
    assert len(released) > 1000
    assert broken(released, now()) == []


CALL = "POST /api/v1/things"
THINGS = {CALL, f"{CALL} takes name", f"{CALL} takes kind", f"{CALL} takes kind optional", f"{CALL} takes kind = a"}
THINGS |= {f"{CALL} answers 201", f"{CALL} answers 201 id", f"{CALL} answers 201 id always"}


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda lines: lines - {CALL}, f"gone: {CALL}"),
        (lambda lines: lines - {f"{CALL} takes kind optional"}, f"gone: {CALL} takes kind optional"),
        (lambda lines: lines - {f"{CALL} takes kind = a"}, f"gone: {CALL} takes kind = a"),
        (lambda lines: lines - {f"{CALL} answers 201 id always"}, f"gone: {CALL} answers 201 id always"),
        (lambda lines: lines | {f"{CALL} takes colour"}, f"needed now: {CALL} takes colour"),
    ],
)
def test_a_change_that_breaks_a_client_is_named(change: Any, what: str) -> None:
    assert broken(THINGS, change(set(THINGS))) == [what]


def test_an_addition_breaks_nobody() -> None:
    more = {"GET /api/v1/others", f"{CALL} takes colour", f"{CALL} takes colour optional", f"{CALL} answers 201 colour"}
    assert broken(THINGS, THINGS | more | {f"{CALL} takes kind = b"}) == []


def test_the_page_of_versions_says_what_this_holds() -> None:
    for page in ("versions.md", "versions.zh-hans.md"):
        assert "/api/v1" in (ROOT / "docs" / "reference" / page).read_text()


def read() -> set[str]:
    """The lines of the file, where those of a call stand below it without repeating it."""
    lines, call = set(), ""
    for line in RELEASED.read_text().splitlines():
        call = call if line.startswith(" ") else line
        lines.add(call + line if line.startswith(" ") else call)
    return lines


def write() -> None:
    """`manage.py shell -v0 -c "from tests.frozen.test_released import write; write()"`, at a release."""
    lines = []
    for line in sorted(now(), key=str.split):
        words = line.split(" ", 2)
        lines.append(f" {words[2]}" if len(words) > 2 else line)
    RELEASED.write_text("\n".join(lines) + "\n")
