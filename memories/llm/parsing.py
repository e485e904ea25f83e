"""From what a model wrote to an answer: found among whatever stands around it, and always validated."""

import json
from collections.abc import Collection, Iterator
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from memories.exceptions import AnswerInvalid
from memories.llm.references import KNOWN, Given

T = TypeVar("T", bound=BaseModel)
#: So much of an answer is looked at, and so many places in it where an object may begin.
_CHARS, _TRIES = 400_000, 50
_PROBLEMS = 5
#: More ids than these are not listed in a schema.
_VOCABULARY = 60
_THINKING = "</think>"


def parse(said: str, schema: type[T], given: Given) -> T:
    """The last object in a text that is an answer: models think aloud, quote examples and fence what they say.

    Raises AnswerInvalid with what was wrong, in words that repeat nothing but ids.
    """
    problem = "there is no JSON object in it"
    for found in reversed(list(objects(said))):
        try:
            return schema.model_validate(found, context=given)
        except ValidationError as error:
            problem = describe_errors(error)
    raise AnswerInvalid(problem)


def parse_in_part(said: str, schema: type[T], given: Given, part: str) -> tuple[T, int] | None:
    """The last object that is an answer but for some items of one of its lists, without these, and how many they are.

    None where anything else is wrong with it, or nothing is left of the list.
    """
    for found in reversed(list(objects(said))):
        try:
            return schema.model_validate(found, context=given), 0
        except ValidationError as error:
            wrong = {problem["loc"][1] if problem["loc"][0] == part else None for problem in _placed(error)}
        if None not in wrong and len(wrong) < len(found[part]):
            rest = {**found, part: [one for n, one in enumerate(found[part]) if n not in wrong]}
            return schema.model_validate(rest, context=given), len(wrong)
    return None


def _placed(error: ValidationError) -> list[dict[str, Any]]:
    """What is wrong, each with where it stands in the answer, at least two steps deep."""
    problems = error.errors(include_url=False, include_input=False, include_context=False)
    return [{"loc": (*problem["loc"], None, None)} for problem in problems]


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


def describe_errors(error: ValidationError) -> str:
    """What is wrong, field by field, without repeating what was answered."""
    problems = error.errors(include_url=False, include_input=False, include_context=False)
    lines = [f"{'.'.join(map(str, problem['loc'])) or 'answer'}: {problem['msg']}" for problem in problems[:_PROBLEMS]]
    more = len(problems) - _PROBLEMS
    return "; ".join([*lines, f"and {more} more"] if more > 0 else lines)


def wire_schema(schema: type[BaseModel], given: Given) -> dict[str, Any]:
    """The schema as servers take it: types, vocabularies, and the ids there are, where they are not too many.

    Lengths and bounds are left out: some servers refuse them, others build grammars of them that take minutes. They
    are validated here, and so are the ids.
    """
    written: dict[str, Any] = _without_bounds(schema.model_json_schema(), given)
    return written


_TAKEN = {"type", "properties", "items", "enum", "$ref", "$defs", "anyOf"}


def _without_bounds(part: Any, given: Given) -> Any:
    if not isinstance(part, dict):
        return part
    kept: dict[str, Any] = {}
    for name, value in part.items():
        if name in ("properties", "$defs"):
            inner = {field: _without_bounds(one, given) for field, one in value.items() if not _names_none(one, given)}
            kept[name] = inner
        elif name == KNOWN:
            kept |= _vocabulary(part["type"], getattr(given, value))
        elif name in _TAKEN:
            is_list = isinstance(value, list)
            kept[name] = [_without_bounds(one, given) for one in value] if is_list else _without_bounds(value, given)
    if "properties" in kept:
        kept |= {"required": list(kept["properties"]), "additionalProperties": False}
    return kept


def _names_none(part: dict[str, Any], given: Given) -> bool:
    """Whether a list that may be left out takes ids of which there are none: it is not even asked for."""
    which = part.get("items", {}).get(KNOWN)
    return which is not None and "default" in part and not getattr(given, which)


def _vocabulary(kind: str, ids: Collection[str]) -> dict[str, Any]:
    """The ids a server may let its model choose from."""
    known = sorted(ids, key=lambda one: (len(one), one))
    if not known or len(known) > _VOCABULARY:
        return {}
    return {"enum": [int(one) for one in known] if kind == "integer" else known}
