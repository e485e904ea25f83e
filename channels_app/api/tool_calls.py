"""The arguments of tools, read strictly, and a model's calls: each is answered, and what it got wrong is an answer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, cast

from django.utils import translation
from django.utils.translation import gettext
from rest_framework.exceptions import APIException, PermissionDenied

from channels_app.api.addresses import PlaceRequest
from channels_app.api.tool_answers import ANSWERS
from channels_app.cards import keep_channels
from channels_app.doors.tools import wording
from channels_app.doors.tools.place import Place
from channels_app.doors.tools.registry import CALLABLE, TOOLS, Form, Parameter, Tool
from channels_app.doors.tools.wording import NAME_CHARS, Words
from memories.api import fields
from memories.api.calls import Call
from memories.api.idempotency import repeat_of
from memories.api.offline import Outage
from memories.api.requests import check_values
from memories.exceptions import InvalidAddress, PlatformError, ScopeNotFound
from sessions_app.models import in_language


def place_of(call: Call, outage: Outage | None = None) -> Place:
    """Whose memory a request is about; with an outage, its files alone.

    Raises InvalidAddress, ScopeNotFound, LeaveToFiles.
    """
    at = call.body["address"] if "address" in call.body else call.body["scope"]
    repeat = repeat_of(call.request)
    key = f"{call.caller.bot_id}/{repeat.key}" if repeat else ""
    if outage is not None:
        place = Place(call.caller, at, call.now, tuple(outage.degraded), outage.has_database, call=key)
    else:
        place = Place(call.caller, at, call.now, call=key)
        keep_channels(call.caller.workspace_id, now=call.now)  # so that it is known without the database
    place.check()
    return place


def body_of(tool: Tool) -> type[PlaceRequest]:
    """The body of a bot's own call: the place, and every argument."""
    return cast(type[PlaceRequest], _serializer(tool, PlaceRequest, tool.parameters, "Request"))


@cache
def arguments_of_model(name: str) -> type[fields.StrictSerializer]:
    """What a model may say to the tool of this name; not whose memory it reads."""
    tool = CALLABLE[name]
    own = [parameter for parameter in tool.parameters if parameter.for_models]
    return _serializer(tool, fields.StrictSerializer, own, "Arguments")


def arguments_of(body: dict[str, Any], tool: Tool) -> dict[str, Any]:
    """The arguments that were said; what is null is as good as not said."""
    return {
        parameter.name: body[parameter.name] for parameter in tool.parameters if body.get(parameter.name) is not None
    }


def _serializer(
    tool: Tool, base: type[fields.StrictSerializer], parameters: Sequence[Parameter], suffix: str
) -> type[fields.StrictSerializer]:
    name = "".join(part.capitalize() for part in tool.name.split("_")) + suffix
    attributes: dict[str, Any] = {"__doc__": tool.words["en"]}
    for parameter in parameters:
        options: dict[str, Any] = {"help_text": parameter.words["en"]}
        if not parameter.is_needed:
            options |= {"allow_null": True, "default": None}
        if parameter.otherwise:
            options["default"] = parameter.otherwise
        kind: Any = {"boolean": fields.YesNo, "integer": fields.Whole, "number": fields.Number}.get(parameter.kind)
        if parameter.choices:
            kind, options = fields.Word, {**options, "choices": parameter.choices}
        elif parameter.kind == "string":
            kind = fields.Text
            options |= {"max_length": int(parameter.most or 0), "trim_whitespace": parameter.is_trimmed}
        elif parameter.kind != "boolean":
            options |= {"min_value": parameter.least, "max_value": parameter.most}
        attributes[parameter.name] = kind(**options)
    return cast(type[fields.StrictSerializer], type(name, (base,), attributes))


#: What an error is about no field of is under this name.
NO_FIELD = "non_field_errors"


@dataclass(frozen=True)
class ModelCall:
    """One call of a tool by a model."""

    form: Form
    id: str
    name: str
    arguments: dict[str, Any] | None  # None: not a JSON object


@dataclass(frozen=True)
class CallAnswer:
    """What became of one call."""

    call: ModelCall
    text: str
    result: dict[str, Any] | None = None
    errors: list[dict[str, Any]] = field(default_factory=list)

    @property
    def message(self) -> dict[str, Any]:
        """It in the form the call came in."""
        call = self.call
        if call.form == Form.OPENAI:
            return {"role": "tool", "tool_call_id": call.id, "content": self.text}
        if call.form == Form.OPENAI_RESPONSES:
            return {"type": "function_call_output", "call_id": call.id, "output": self.text}
        content = {"tool_use_id": call.id, "content": self.text, "is_error": bool(self.errors)}
        return {"type": "tool_result", **content}


def carry_out(place: Place, model_calls: Sequence[ModelCall], answers: list[CallAnswer]) -> None:
    """Add to `answers`, in the order of the calls; what is in it already was done before a connection broke.

    Raises InvalidAddress, ScopeNotFound, and PermissionDenied before any is done.
    Texts are in the language of the workspace: they are for a model, whatever language the bot's software asks for.
    """
    for call in model_calls:
        tool = CALLABLE.get(call.name)
        if tool is not None and tool.needs not in place.caller.permissions:
            raise PermissionDenied
    with translation.override(place.caller.language):
        for call in model_calls[len(answers) :]:
            answers.append(_carried_out(place, call))  # noqa: PERF401 (kept where the next one fails)


def _carried_out(place: Place, call: ModelCall) -> CallAnswer:
    language, tool = place.caller.language, CALLABLE.get(call.name)
    if tool is None:
        text = _problem_text(wording.UNKNOWN_TOOL, call, language)
        return CallAnswer(call, text, errors=[_error("unknown_tool", text)])
    if call.arguments is None:
        text = _problem_text(wording.NOT_AN_OBJECT, call, language)
        return CallAnswer(call, text, errors=[_error("parse_error", text)])
    errors: list[dict[str, Any]] = []
    for name, value in call.arguments.items():
        try:
            check_values({name: value})
        except APIException:  # a model may write its arguments as a text of JSON, which nobody has read
            errors = [_error("invalid", gettext("This holds NUL, half a character, or what is no number."), name)]
            break
    read = arguments_of_model(tool.name)(data=call.arguments)
    if not errors and not read.is_valid():
        errors = [
            _error(detail.code, str(detail), None if name == NO_FIELD else name)
            for name, details in read.errors.items()
            for detail in details
        ]
    if errors:
        return CallAnswer(call, _problem_text(wording.NOT_DONE, call, language, errors), errors=errors)
    try:
        result = tool.run(place, arguments_of(read.validated_data, tool))
    except (InvalidAddress, ScopeNotFound):
        raise  # the bot's to put right
    except PlatformError as problem:
        errors = [_error(problem.code, str(problem), problem.field)]
        return CallAnswer(call, _problem_text(wording.REFUSED, call, language, errors), errors=errors)
    return CallAnswer(call, tool.shown(result), ANSWERS[tool.name](result))


def _problem_text(words: Words, call: ModelCall, language: str, errors: Sequence[Mapping[str, Any]] = ()) -> str:
    """What went wrong, as a text for the model."""
    problems = " ".join(f"{error['attr']}: {error['detail']}" if error["attr"] else error["detail"] for error in errors)
    text = in_language(words, language)
    return text.format(name=call.name[:NAME_CHARS], problems=problems, tools=", ".join(TOOLS)).rstrip()


def _error(code: str, detail: str, attr: str | None = None) -> dict[str, Any]:
    return {"code": code, "detail": detail, "attr": attr}
