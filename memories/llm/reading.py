"""From what a model wrote to an answer: found among whatever stands around it, and always validated."""

import json
from collections.abc import Iterator
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from memories.exceptions import AnswerInvalid
from memories.llm.schemas import Given

T = TypeVar("T", bound=BaseModel)
#: So much of an answer is looked at, and so many places in it where an object may begin.
_CHARS, _TRIES = 400_000, 50
_PROBLEMS = 5
_THINKING = "</think>"


def read(said: str, schema: type[T], given: Given) -> T:
    """The last object in a text that is an answer: models think aloud, quote examples and fence what they say.

    Raises AnswerInvalid with what was wrong, in words that repeat nothing but ids.
    """
    problem = "there is no JSON object in it"
    for found in reversed(list(objects(said))):
        try:
            return schema.model_validate(found, context=given)
        except ValidationError as error:
            problem = told(error)
    raise AnswerInvalid(problem)


def objects(said: str) -> Iterator[dict[str, Any]]:
    """Every JSON object that stands in a text by itself, in order."""
    said = said.rpartition(_THINKING)[2][:_CHARS]
    decoder = json.JSONDecoder(parse_constant=_no_number)
    at = said.find("{")
    for _try in range(_TRIES):
        if at < 0:
            return
        try:
            found, end = decoder.raw_decode(said, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            yield found
        at = said.find("{", end)


def _no_number(word: str) -> float:
    raise ValueError(f"{word} is no number")


def told(error: ValidationError) -> str:
    """What is wrong, field by field, without repeating what was answered."""
    problems = error.errors(include_url=False, include_input=False, include_context=False)
    lines = [f"{'.'.join(map(str, problem['loc'])) or 'answer'}: {problem['msg']}" for problem in problems[:_PROBLEMS]]
    more = len(problems) - _PROBLEMS
    return "; ".join([*lines, f"and {more} more"] if more > 0 else lines)


def wire_schema(schema: type[BaseModel]) -> dict[str, Any]:
    """The schema as servers take it: types and vocabularies.

    Lengths and bounds are left out: some servers refuse them, others build grammars of them that take minutes. They
    are validated here.
    """
    written: dict[str, Any] = _without_bounds(schema.model_json_schema())
    return written


_TAKEN = {"type", "properties", "items", "enum", "$ref", "$defs", "anyOf"}


def _without_bounds(part: Any) -> Any:
    if not isinstance(part, dict):
        return part
    kept: dict[str, Any] = {}
    for name, value in part.items():
        if name in ("properties", "$defs"):
            kept[name] = {inner: _without_bounds(one) for inner, one in value.items()}
        elif name in _TAKEN:
            kept[name] = [_without_bounds(one) for one in value] if isinstance(value, list) else _without_bounds(value)
    if "properties" in kept:
        kept |= {"required": list(kept["properties"]), "additionalProperties": False}
    return kept
