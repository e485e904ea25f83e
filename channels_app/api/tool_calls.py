"""Carrying out a model's calls: each is answered, and what the model got wrong is an answer for the model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.utils import translation
from django.utils.translation import gettext
from rest_framework.exceptions import APIException, PermissionDenied

from channels_app.api.tool_answers import ANSWERS
from channels_app.api.tool_arguments import arguments_of_model, given
from channels_app.doors.tools import calls
from channels_app.doors.tools.calls import ModelCall
from channels_app.doors.tools.definition import Tool
from channels_app.doors.tools.place import Place
from channels_app.doors.tools.registry import CALLABLE, TOOLS
from memories.api.requests import check_values
from memories.exceptions import InvalidAddress, PlatformError, ScopeNotFound

#: What an error is about no field of is under this name.
NO_FIELD = "non_field_errors"


@dataclass(frozen=True)
class CallAnswer:
    """What became of one call."""

    call: ModelCall
    text: str
    result: dict[str, Any] | None = None
    errors: list[dict[str, Any]] = field(default_factory=list)

    @property
    def message(self) -> dict[str, Any]:
        return calls.message_of(self.call, self.text, is_error=bool(self.errors))


def carry_out(place: Place, asked: Sequence[ModelCall], now: datetime, done: list[CallAnswer]) -> None:
    """Add the answers to `done`, in the order of the calls; what is in it already was done before a connection broke.

    Raises InvalidAddress, ScopeNotFound, and PermissionDenied before any is done.
    Texts are in the language of the workspace: they are for a model, whatever language the bot's software asks for.
    """
    for call in asked:
        tool = CALLABLE.get(call.name)
        if tool is not None and tool.needs not in place.caller.permissions:
            raise PermissionDenied
    with translation.override(place.caller.language):
        for call in asked[len(done) :]:
            done.append(_carried_out(place, call, now))  # noqa: PERF401 (kept where the next one fails)


def _carried_out(place: Place, call: ModelCall, now: datetime) -> CallAnswer:
    language, tool = place.caller.language, CALLABLE.get(call.name)
    if tool is None:
        text = calls.problem_text(calls.UNKNOWN_TOOL, language, call.name, known=", ".join(TOOLS))
        return CallAnswer(call, text, errors=[_error("unknown_tool", text)])
    if call.arguments is None:
        text = calls.problem_text(calls.NOT_AN_OBJECT, language, call.name)
        return CallAnswer(call, text, errors=[_error("parse_error", text)])
    read = arguments_of_model(tool.name)(data=call.arguments)
    if errors := _unstorable(call.arguments) or (
        []
        if read.is_valid()
        else [
            _error(detail.code, str(detail), None if name == NO_FIELD else name)
            for name, details in read.errors.items()
            for detail in details
        ]
    ):
        return CallAnswer(call, _told(calls.NOT_DONE, call, language, errors), errors=errors)
    return _run(place, call, tool, given(read.validated_data, tool), now)


def _unstorable(arguments: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What of the arguments no database can hold: a model may write them as a text of JSON, which nobody has read."""
    for name, value in arguments.items():
        try:
            check_values({name: value})
        except APIException:
            return [_error("invalid", gettext("This holds NUL, half a character, or what is no number."), name)]
    return []


def _run(place: Place, call: ModelCall, tool: Tool, arguments: Mapping[str, Any], now: datetime) -> CallAnswer:
    try:
        done = tool.run(place, arguments, now)
    except (InvalidAddress, ScopeNotFound):
        raise  # the bot's to put right
    except PlatformError as problem:
        errors = [_error(problem.code, str(problem), problem.field)]
        return CallAnswer(call, _told(calls.REFUSED, call, place.caller.language, errors), errors=errors)
    return CallAnswer(call, tool.shown(done), ANSWERS[tool.name](done))


def _told(words: dict[str, str], call: ModelCall, language: str, errors: Sequence[Mapping[str, Any]]) -> str:
    problems = " ".join(f"{one['attr']}: {one['detail']}" if one["attr"] else one["detail"] for one in errors)
    return calls.problem_text(words, language, call.name, problems=problems)


def _error(code: str, detail: str, attr: str | None = None) -> dict[str, Any]:
    return {"code": code, "detail": detail, "attr": attr}
