"""Answers in a model's text: picked out of whatever stands around them, and always validated."""

import json
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from memories.exceptions import AnswerInvalid
from memories.llm.schemas import WHICH_IDS, Given

T = TypeVar("T", bound=BaseModel)
#: Characters read of an answer, and places in it where an object may begin.
_CHARS, _TRIES = 400_000, 50
_PROBLEMS = 5
#: More ids than these are not listed in a schema.
_VOCABULARY = 60
_THINKING = "</think>"
#: Parts of a JSON schema that are sent to servers.
_SENT = {"type", "properties", "items", "enum", "$ref", "$defs", "anyOf"}


def parse(text: str, schema: type[T], given: Given, judge: Callable[[T], str | None] | None = None) -> T:
    """The last object in a text that is an answer: models think aloud, quote examples and fence what they write.

    Raises AnswerInvalid with what is wrong, in words that repeat nothing but ids.
    """
    problem = "there is no JSON object in it"
    for candidate in reversed(list(objects(text))):
        try:
            answer = schema.model_validate(candidate, context=given)
        except ValidationError as error:
            problem = describe_errors(error)
            continue
        if judge and (objection := judge(answer)):
            raise AnswerInvalid(objection)
        return answer
    raise AnswerInvalid(problem)


def parse_in_part(
    text: str, schema: type[T], given: Given, part: str, judge: Callable[[T], str | None] | None = None
) -> tuple[T, int] | None:
    """The last object that is an answer without some items of one of its lists, and how many these are.

    None where anything else is wrong with it, or nothing is left of the list.
    """
    for candidate in reversed(list(objects(text))):
        wrong: set[Any] = set()
        try:
            schema.model_validate(candidate, context=given)
        except ValidationError as error:
            places = [(*problem["loc"], None, None) for problem in _problems(error)]
            wrong = {place[1] if place[0] == part else None for place in places}
        if None not in wrong and (not wrong or len(wrong) < len(candidate[part])):
            if wrong:
                candidate[part] = [item for n, item in enumerate(candidate[part]) if n not in wrong]
            try:  # what an answer must be as a whole is asked only where every field is valid
                answer = schema.model_validate(candidate, context=given)
            except ValidationError:
                continue
            return None if judge and judge(answer) else (answer, len(wrong))
    return None


def _problems(error: ValidationError) -> list[Any]:
    return list(error.errors(include_url=False, include_input=False, include_context=False))


def objects(text: str) -> Iterator[dict[str, Any]]:
    """Every JSON object that stands in a text by itself, in order."""
    text = text.rpartition(_THINKING)[2][:_CHARS]
    decoder = json.JSONDecoder(parse_constant=_no_number)
    at = text.find("{")
    for _try in range(_TRIES):
        if at < 0:
            return
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            yield value
        at = text.find("{", end)


def _no_number(word: str) -> float:
    raise ValueError(f"{word} is no number")


def describe_errors(error: ValidationError) -> str:
    """What is wrong, field by field, without repeating what was answered."""
    problems = _problems(error)
    lines = [f"{'.'.join(map(str, problem['loc'])) or 'answer'}: {problem['msg']}" for problem in problems[:_PROBLEMS]]
    more = len(problems) - _PROBLEMS
    return "; ".join([*lines, f"and {more} more"] if more > 0 else lines)


def wire_schema(schema: type[BaseModel], given: Given) -> dict[str, Any]:
    """The schema as servers take it: types, vocabularies, and the ids it was given, where they are not too many.

    Lengths and bounds are left out: some servers refuse them, others build grammars of them that take minutes. All are
    validated here.
    """
    without_bounds: dict[str, Any] = _without_bounds(schema.model_json_schema(), given)
    return without_bounds


def _without_bounds(part: Any, given: Given) -> Any:
    if not isinstance(part, dict):
        return part
    node: dict[str, Any] = {}
    for name, value in part.items():
        if name in ("properties", "$defs"):
            node[name] = {}
            for field, shape in value.items():
                listed = shape.get("items", {}).get(WHICH_IDS)
                if listed is None or "default" not in shape or getattr(given, listed):  # else it could name nothing
                    node[name][field] = _without_bounds(shape, given)
        elif name == WHICH_IDS:
            ids = sorted(getattr(given, value), key=lambda pk: (len(pk), pk))
            if 0 < len(ids) <= _VOCABULARY:
                node["enum"] = [int(pk) for pk in ids] if part["type"] == "integer" else ids
        elif name in _SENT:
            is_list = isinstance(value, list)
            node[name] = [_without_bounds(each, given) for each in value] if is_list else _without_bounds(value, given)
    if "properties" in node:
        node |= {"required": list(node["properties"]), "additionalProperties": False}
    return node
