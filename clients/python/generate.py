"""Writes the types and calls of the client from the platform's OpenAPI description, and those of TypeScript.

python manage.py spectacular --format openapi-json | python clients/python/generate.py
"""

import json
import keyword
import re
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Schema = dict[str, Any]
TARGET = Path(__file__).parent / "memplatform_client"
TYPESCRIPT = Path(__file__).parent.parent / "typescript" / "generate_typescript.py"
NOTE = "Made by generate.py from the API's description."
TYPES = f'''"""What calls take and answer. {NOTE}"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Generic, Literal, NotRequired, TypedDict, TypeVar

T = TypeVar("T")


class Page(TypedDict, Generic[T]):
    """A part of a list; `cursor` asks for the next one, and is None on the last."""

    results: list[T]
    next: str | None
    cursor: str | None
'''
CALLS = f'''"""{{about}}, described once for both clients. {NOTE}"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal, Unpack

from memplatform_client import types
from memplatform_client.call import Call, {{imported}}


class {{name}}:
    """{{what}} of the API, by the names of its description."""
'''
#: By tag the calls that start from an address or a session; the others are `Calls`, which has them too.
OF_CONVERSATIONS = {"channels", "context", "messages", "scopes", "session_events", "sessions", "turns"}
TIMES = "datetime | str"  # as they are sent; answers have texts


@dataclass(frozen=True)
class Language:
    """How a language writes the types of values."""

    plain: dict[str, str]
    nothing: dict[str, str]  # of types that hold one value that is none
    null: str
    unknown: str
    choice: Callable[[list[Any]], str]
    list_of: Callable[[str], str]
    mapping_to: Callable[[str], str]

    def kind_of(self, shape: Schema, times: str = "") -> str:
        """The type of a value; `times` of a time, which is a text unless another is given."""
        kind = self._kind_of(shape, times)
        may_be_null = shape.get("nullable") and not kind.endswith((self.null, self.unknown))
        return f"{kind} | {self.null}" if may_be_null else kind

    def _kind_of(self, shape: Schema, times: str) -> str:
        match shape:
            case {"$ref": str(place)}:
                name = place.rpartition("/")[2]
                return self.nothing.get(name, name)
            case {"allOf": [one]}:
                return self.kind_of(one, times)
            case {"oneOf": several}:
                return " | ".join(self.kind_of(one, times) for one in several)
            case {"enum": values}:
                return self.choice(values)
            case {"type": "array", "items": items}:
                return self.list_of(self.kind_of(items, times))
            case {"type": "object"}:
                return self.mapping_to(self.kind_of(shape.get("additionalProperties", {}), times))
            case {"format": "date-time"}:
                return times or self.plain["string"]
            case {"type": plain}:
                return self.plain[plain]
        return self.unknown


PYTHON = Language(
    plain={"string": "str", "integer": "int", "number": "float", "boolean": "bool"},
    nothing={"NullEnum": "None", "BlankEnum": 'Literal[""]'},
    null="None",
    unknown="Any",
    choice=lambda values: f"Literal[{', '.join(map(json.dumps, values))}]",
    list_of="list[{}]".format,
    mapping_to="dict[str, {}]".format,
)
kind_of = PYTHON.kind_of
#: A list is narrowed by `slot.<name>`: parameters that have no name of their own.
BY_SLOTS = "list_entries"
LINES = "application/x-ndjson"


def main() -> None:
    description = sys.stdin.read()
    for name, text in generated(json.loads(description)).items():
        (TARGET / name).write_text(text)
    subprocess.run([sys.executable, TYPESCRIPT], input=description, text=True, check=True)


def generated(schema: Schema) -> dict[str, str]:
    """The text of each file."""
    texts = {"types.py": types(schema), **calls(schema)}
    return {name: formatted(text) for name, text in texts.items()}


def formatted(code: str) -> str:
    """Laid out, without the imports it has no use for."""
    for command in (["check", "--fix-only", "--select=F401"], ["format"]):
        ruff = [sys.executable, "-m", "ruff", *command, "--quiet", "--stdin-filename", str(TARGET / "calls.py"), "-"]
        code = subprocess.run(ruff, input=code, capture_output=True, text=True, check=True).stdout
    return code


def types(schema: Schema) -> str:
    shapes: dict[str, Schema] = schema["components"]["schemas"]
    bodies = {body_of(call) for _method, _path, call in operations(schema)}
    pages = {name: shape for name, shape in shapes.items() if is_page(shape)}
    values = [f"{name} = {kind_of(shape)}" for name, shape in shapes.items() if any(shape.get("enum", ()))]
    objects = [
        class_of(name, shape, name in bodies)
        for name, shape in shapes.items()
        if "properties" in shape and name not in pages
    ]
    lists = [f'{name} = Page["{kind_of(shape["properties"]["results"]["items"])}"]' for name, shape in pages.items()]
    return "\n".join([TYPES, *values, *objects, *lists])


def is_page(shape: Schema) -> bool:
    return set(shape.get("properties", ())) == {"results", "next", "cursor"}


def class_of(name: str, shape: Schema, is_body: bool) -> str:
    """A TypedDict. Fields of a body are arguments: one that is a word of Python ends in an underscore."""
    times = TIMES if shape.get("additionalProperties") is False else "str"  # what the platform reads is strict
    kinds = {
        argument(field) if is_body else field: kind_of(value, times) for field, value in shape["properties"].items()
    }
    needed = {argument(field) if is_body else field for field in shape.get("required", ())}
    kinds = {field: kind if field in needed else f"NotRequired[{kind}]" for field, kind in kinds.items()}
    if any(map(keyword.iskeyword, kinds)):
        return f'{name} = TypedDict("{name}", {{{", ".join(f"{field!r}: {kind!r}" for field, kind in kinds.items())}}})'
    lines = [documented(shape.get("description", "")), *(f"{field}: {kind}" for field, kind in kinds.items())]
    return f"class {name}(TypedDict):\n" + textwrap.indent("\n".join(lines), "    ")


def calls(schema: Schema) -> dict[str, str]:
    """The text of each file of calls."""
    shapes = schema["components"]["schemas"]
    pages = {name for name, shape in shapes.items() if is_page(shape)}
    choices = {tuple(shape["enum"]): name for name, shape in shapes.items() if len(shape.get("enum", ())) > 1}
    parts: dict[bool, list[str]] = {True: [], False: []}
    for method, path, call in operations(schema):
        parts[call["tags"][0] in OF_CONVERSATIONS].append(described(method, path, call, pages, choices))
    above = "Lines, Listing, Method, new_key\nfrom memplatform_client.conversations import ConversationCalls"
    about = "Calls of sessions and channels"
    lower = CALLS.format(about=about, imported="Listing, Method, new_key", name="ConversationCalls", what=about)
    upper = CALLS.format(about="Every call", imported=above, name="Calls(ConversationCalls)", what="The calls")
    return {"conversations.py": "\n".join([lower, *parts[True]]), "calls.py": "\n".join([upper, *parts[False]])}


def named(shape: Schema, choices: dict[tuple[Any, ...], str]) -> str:
    """The type of a parameter: choices that the description has a name for go by it."""
    name = choices.get(tuple(shape.get("enum", ())))
    return f"types.{name}" if name else kind_of(shape, TIMES)


def operations(schema: Schema) -> Iterator[tuple[str, str, Schema]]:
    """Method, path and description of each call."""
    for path, methods in schema["paths"].items():
        yield from ((method.upper(), path, call) for method, call in methods.items())


def body_of(call: Schema) -> str | None:
    """The name of what is sent."""
    body = call.get("requestBody")
    return body and kind_of(body["content"]["application/json"]["schema"])


def answer_of(call: Schema) -> str:
    """The type of what is answered; one, whatever the success is called. Of lines: of each of them."""
    answers = [answer["content"] for code, answer in call["responses"].items() if code[0] == "2"]
    if is_in_lines(call):
        return "dict[str, Any]"
    (name,) = {kind_of(answer["application/json"]["schema"]) for answer in answers}
    return f"types.{name}"


def is_in_lines(call: Schema) -> bool:
    return LINES in call["responses"].get("200", {}).get("content", ())


def described(method: str, path: str, call: Schema, pages: set[str], choices: dict[tuple[Any, ...], str]) -> str:
    """A method of the clients, which says what is to be sent."""
    body, answer = body_of(call), answer_of(call)
    places, query, headers = (
        {one["name"]: named(one["schema"], choices) for one in call.get("parameters", ()) if one["in"] == place}
        for place in ("path", "query", "header")
    )
    places = {name: places[name] for name in re.findall(r"{(\w+)}", path)}  # in the order of the path
    taken = [f"{argument(name)}: {kind} | None = None" for name, kind in query.items()]
    sent = {"places": mapping(places), "query": mapping(query), "body": "body" if body else ""}
    if call["operationId"] == BY_SLOTS:
        taken.append("slots: Mapping[str, str] = {}")
        sent["query"] += ' | {f"slot.{name}": value for name, value in slots.items()}'
    if "If-Match" in headers:
        taken.append("if_match: int | None = None")
        sent["version"] = "if_match"
    if "Idempotency-Key" in headers:
        taken.append("idempotency_key: str | None = None")
        sent["once"] = "idempotency_key or new_key()"
    arguments = ["self", *(f"{name}: {kind}" for name, kind in places.items()), *(["*"] if taken else []), *taken]
    arguments += [f"**body: Unpack[types.{body}]"] if body else []
    values = [f"{name}={value}" for name, value in sent.items() if value]
    decorator = "Lines" if is_in_lines(call) else "Listing" if answer.removeprefix("types.") in pages else "Method"
    return textwrap.indent(
        f"@{decorator}\n"
        f"def {call['operationId']}({', '.join(arguments)}) -> Call[{answer}]:\n"
        + textwrap.indent(documented(call["description"]), "    ")
        + f"\n    return Call({', '.join([repr(method), repr(path), *values])})\n",
        "    ",
    )


def mapping(names: Iterable[str]) -> str:
    """What is sent by its names, as an expression."""
    pairs = ", ".join(f"{name!r}: {argument(name)}" for name in names)
    return f"{{{pairs}}}" if pairs else ""


def argument(name: str) -> str:
    return f"{name}_" if keyword.iskeyword(name) else name


def documented(text: str) -> str:
    return '"""' + "\n".join(textwrap.wrap(text, 100)) + '"""'


if __name__ == "__main__":
    main()
