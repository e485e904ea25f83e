"""The arguments of tools, read strictly: of a bot in the body of a call, and of a model in its own call."""

from functools import cache
from typing import Any, cast

from rest_framework import serializers

from channels_app.api.addresses import PlaceRequest
from channels_app.cards import keep_channels
from channels_app.doors.tools.definition import Parameter, Tool
from channels_app.doors.tools.place import Place
from channels_app.doors.tools.registry import CALLABLE
from memories.api import fields
from memories.api.calls import Call
from memories.api.idempotency import repeat_of
from memories.api.offline import Outage


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
    own = tuple(parameter for parameter in tool.parameters if parameter.for_models)
    return _serializer(tool, fields.StrictSerializer, own, "Arguments")


def given(body: dict[str, Any], tool: Tool) -> dict[str, Any]:
    """The arguments that were said; what is null is as good as not said."""
    return {one.name: body[one.name] for one in tool.parameters if body.get(one.name) is not None}


def _serializer(
    tool: Tool, base: type[fields.StrictSerializer], parameters: tuple[Parameter, ...], suffix: str
) -> type[fields.StrictSerializer]:
    name = "".join(part.capitalize() for part in tool.name.split("_")) + suffix
    attributes: dict[str, Any] = {parameter.name: _field(parameter) for parameter in parameters}
    return cast(type[fields.StrictSerializer], type(name, (base,), {**attributes, "__doc__": tool.words["en"]}))


def _field(parameter: Parameter) -> serializers.Field[Any, Any, Any, Any]:
    options: dict[str, Any] = {"help_text": parameter.words["en"]}
    if not parameter.is_needed:
        options |= {"allow_null": True, "default": None}
    if parameter.otherwise:
        options["default"] = parameter.otherwise
    if parameter.choices:
        return fields.Word(choices=parameter.choices, **options)
    if parameter.kind == "string":
        return fields.Text(max_length=int(parameter.most or 0), trim_whitespace=parameter.is_trimmed, **options)
    if parameter.kind == "boolean":
        return fields.YesNo(**options)
    bounds: dict[str, Any] = {"min_value": parameter.least, "max_value": parameter.most}
    return fields.Whole(**bounds, **options) if parameter.kind == "integer" else fields.Number(**bounds, **options)
