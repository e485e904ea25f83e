"""Writes types.ts and calls.ts of the client from the platform's OpenAPI description.

python manage.py spectacular --format openapi-json | python clients/typescript/generate_typescript.py
"""

import json
import re
import sys
import textwrap
from collections.abc import Iterable
from pathlib import Path

TARGET = Path(__file__).parent / "src"
sys.path.insert(0, str(TARGET.parent.parent / "python"))

from generate import BY_SLOTS, LINES, Language, Schema, body_of, is_in_lines, is_page, operations  # noqa: E402 (it lies beside)

NOTE = "Made by generate_typescript.py from the API's description."
TYPES = f"""/** What calls take and answer. {NOTE} */

/** A part of a list; `cursor` asks for the next one, and is null on the last. */
export interface Page<T> {{
  results: T[];
  next: string | null;
  cursor: string | null;
}}
"""
CALLS = f"""/** Every call, by the name of its description. {NOTE} */

import {{ at, type Call, type Options, type VersionedOptions, withSlots, type WriteOptions }} from "./call.ts";
import type * as types from "./types.ts";

export abstract class Calls {{
  protected abstract send<T>(call: Call): Promise<T>;
  protected abstract rows<T>(call: Call): AsyncGenerator<T, void, undefined>;
  protected abstract lines<T extends {{ record: string }}>(call: Call): AsyncGenerator<T, void, undefined>;
"""
TYPESCRIPT = Language(
    plain={"string": "string", "integer": "number", "number": "number", "boolean": "boolean"},
    nothing={"NullEnum": "null", "BlankEnum": '""'},
    null="null",
    unknown="unknown",
    choice=lambda values: " | ".join(map(json.dumps, values)),
    list_of=lambda kind: f"({kind})[]" if " | " in kind else f"{kind}[]",
    mapping_to="Record<string, {}>".format,
)
kind_of = TYPESCRIPT.kind_of
TIMES = "Date | string"  # as they are sent; answers have texts
WIDTH = 116


def main() -> None:
    for name, text in generated(json.load(sys.stdin)).items():
        (TARGET / name).write_text(text)


def generated(schema: Schema) -> dict[str, str]:
    """The text of each file."""
    return {"types.ts": types(schema), "calls.ts": calls(schema)}


def types(schema: Schema) -> str:
    shapes: dict[str, Schema] = schema["components"]["schemas"]
    parts = [TYPES]
    for name, shape in shapes.items():
        if any(shape.get("enum", ())):
            parts.append(f"export type {name} = {kind_of(shape)};\n")
        elif is_page(shape):
            parts.append(f"export type {name} = Page<{kind_of(shape['properties']['results']['items'])}>;\n")
        elif "properties" in shape:
            parts.append(interface_of(name, shape))
    for _method, _path, call in operations(schema):
        if query := query_of(call):
            parts.append(interface_of(named_after(call, "Query"), query))
        if is_in_lines(call):
            parts.append(interface_of(named_after(call, "Line"), call["responses"]["200"]["content"][LINES]["schema"]))
    return "\n".join(parts)


def interface_of(name: str, shape: Schema) -> str:
    """An object by its fields, each with what its description says."""
    times = TIMES if shape.get("additionalProperties") is False else "string"  # what the platform reads is strict
    required = shape.get("required", ())
    lines = [documented(shape.get("description", "")), f"export interface {name} {{"]
    for field, value in shape["properties"].items():
        if value.get("description"):
            lines.append(textwrap.indent(documented(value["description"]), "  "))
        lines.append(f"  {field}{'' if field in required else '?'}: {kind_of(value, times)};")
    if shape.get("additionalProperties") == {}:
        lines.append("  [name: string]: unknown;")
    return "\n".join([line for line in lines if line] + ["}\n"])


def calls(schema: Schema) -> str:
    pages = {
        name: kind_of(shape["properties"]["results"]["items"])
        for name, shape in schema["components"]["schemas"].items()
        if is_page(shape)
    }
    return "\n".join([CALLS, *(described(*operation, pages) for operation in operations(schema))]) + "}\n"


def described(method: str, path: str, call: Schema, pages: dict[str, str]) -> str:
    """A method of the client, which says what is to be sent."""
    answer, ask = answer_of(call, pages)
    parameters = call.get("parameters", ())
    kinds = {one["name"]: kind_of(one["schema"], TIMES) for one in parameters if one["in"] == "path"}
    arguments = [f"{name}: {kinds[name]}" for name in re.findall(r"{(\w+)}", path)]
    template = f"at`{path.replace('{', '${')}`" if "{" in path else json.dumps(path)
    sent = [f"method: {json.dumps(method)}", f"path: {template}"]
    if body := body_of(call):
        is_required = call["requestBody"].get("required")
        arguments.append(f"body: types.{body}{'' if is_required else ' = {}'}")
        sent.append("body")
    if query_of(call):
        is_by_slots = call["operationId"] == BY_SLOTS
        arguments.append(
            f"{'{ slots, ...query }' if is_by_slots else 'query'}: types.{named_after(call, 'Query')} = {{}}"
        )
        sent.append("query: withSlots(query, slots)" if is_by_slots else "query")
    headers = {one["name"] for one in parameters if one["in"] == "header"}
    kind = "Versioned" if "If-Match" in headers else "Write" if "Idempotency-Key" in headers else ""
    arguments.append(f"options: {kind}Options = {{}}")
    sent += ["writes: true", "options"] if "Idempotency-Key" in headers else ["options"]
    line = documented(call["description"])
    head = wrapped(f"{camel(call['operationId'])}(", arguments, f"): {answer} {{")
    return textwrap.indent(f"{line}\n{head}\n  {wrapped(f'return this.{ask}({{', sent, '});', 2)}\n}}\n", "  ")


def answer_of(call: Schema, pages: dict[str, str]) -> tuple[str, str]:
    """The type of what a method answers, and what it asks by."""
    if is_in_lines(call):
        return f"AsyncGenerator<types.{named_after(call, 'Line')}, void, undefined>", "lines"
    answers = [answer["content"] for code, answer in call["responses"].items() if code[0] == "2"]
    (name,) = {kind_of(answer["application/json"]["schema"]) for answer in answers}
    if name in pages:
        return f"AsyncGenerator<types.{pages[name]}, void, undefined>", "rows"
    return f"Promise<types.{name}>", "send"


def query_of(call: Schema) -> Schema | None:
    """The parameters of a call as one object; None where it takes none."""
    fields = {
        one["name"]: {**one["schema"], "description": one.get("description", "")}
        for one in call.get("parameters", ())
        if one["in"] == "query"
    }
    if call["operationId"] == BY_SLOTS:  # parameters that have no name of their own
        fields["slots"] = {"type": "object", "additionalProperties": {"type": "string"}}
    return {"properties": fields, "additionalProperties": False} if fields else None


def named_after(call: Schema, kind: str) -> str:
    """The name of a type that a call has for itself."""
    return f"{call['operationId'].title().replace('_', '')}{kind}"


def wrapped(head: str, parts: Iterable[str], tail: str, indent: int = 0) -> str:
    """On one line, or each part on a line of its own."""
    edge = " " if head.endswith("{") else ""
    line = f"{head}{edge}{', '.join(parts)}{edge}{tail}"
    if len(line) + indent <= WIDTH:
        return line
    between = "\n" + " " * indent
    return head + "".join(f"{between}  {part}," for part in parts) + between + tail


def camel(name: str) -> str:
    first, *more = name.split("_")
    return first + "".join(map(str.title, more))


def documented(text: str) -> str:
    """A comment; of several lines where one is not enough."""
    if not text:
        return ""
    lines = [line for part in text.splitlines() for line in textwrap.wrap(part, 110)]
    return f"/** {lines[0]} */" if len(lines) == 1 else "\n".join(["/**", *(f" * {line}" for line in lines), " */"])


if __name__ == "__main__":
    main()
