"""The tools of a model: what there is to pass on, a model's own calls, and each tool as a call of a bot."""

import json
from collections.abc import Mapping
from typing import Any, ClassVar

from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from channels_app.api.addresses import PlaceRequest
from channels_app.api.context import ContextAnswer
from channels_app.api.recall import RecallAnswer
from channels_app.api.tool_answers import (
    ANSWERS,
    ChangedMemoryAnswer,
    ExcerptAnswer,
    FileListAnswer,
    SavedLineAnswer,
    SearchAnswer,
    ToolCallAnswer,
    ToolCallsAnswer,
    ToolsAnswer,
    UpdatedMemoryAnswer,
)
from channels_app.api.tool_calls import CallAnswer, ModelCall, arguments_of, body_of, carry_out, place_of
from channels_app.doors.tools.registry import (
    MEMORY_APPEND,
    MEMORY_GET,
    MEMORY_LIST,
    MEMORY_SAVE,
    MEMORY_SEARCH,
    MEMORY_UPDATE,
    Form,
    Tool,
    definitions_for,
)
from memories.api import fields
from memories.api.calls import Call, Method
from memories.api.offline import Outage
from memories.api.schema import json_schema
from memories.choices import Permission
from memories.models import OAuthGrant

CALLS_MOST = 32  # of one message of a model
LANGUAGES = ("en", "zh-hans")
#: What each tool of MCP answers as data.
SHAPES: dict[str, Any] = {
    "memory_search": SearchAnswer,
    "memory_get": ExcerptAnswer,
    "memory_save": SavedLineAnswer,
    "memory_append": SavedLineAnswer,
    "memory_update": UpdatedMemoryAnswer,
    "memory_list": FileListAnswer,
    "memory_recall": RecallAnswer,
    "memory_context": ContextAnswer,
    "memory_forget": ChangedMemoryAnswer,
    "memory_restore": ChangedMemoryAnswer,
}


class ToolsQuery(fields.StrictSerializer):
    """For which provider's models, and in which language."""

    form = fields.Word(choices=[form.value for form in Form], default=Form.OPENAI.value)
    language = fields.Word(choices=LANGUAGES, required=False)


def allowed_address(key_id: int) -> Mapping[str, Any] | None:
    """Whose memory the key of a client of MCP was made for; None: the client says it, as with every other key."""
    address: Any = OAuthGrant.objects.filter(key=key_id).values("platform", "account", "peer").first()
    return dict(address) if address else None


def list_tools(call: Call, outage: Outage | None = None) -> Response:
    """They are the same whether the database is there or not."""
    form, language = Form(call.query["form"]), call.query.get("language", call.caller.language)
    tools = [tool.definition(form, language) for tool in definitions_for(form)]
    if form == Form.MCP:
        tools = [{**tool, "outputSchema": json_schema(SHAPES[tool["name"]])} for tool in tools]
    address = allowed_address(call.request.auth.pk) if form == Form.MCP and outage is None else None
    return Response(ToolsAnswer.of(form=form.value, language=language, tools=tools, address=address))


class ToolsView(Call):
    """The tools for a model."""

    @Method("list_tools", Permission.READ, ToolsAnswer, query=ToolsQuery, offline=list_tools)
    def get(self) -> Response:
        return list_tools(self)


_NAME = {"type": "string"}
_NUMBER = {"type": "string", "nullable": True}
_FUNCTION = {"type": "object", "properties": {"name": _NAME}, "required": ["name"]}


def _call(number: str, **parts: Any) -> dict[str, Any]:
    """The least that makes a call of one provider's form."""
    return {"properties": {**parts, number: _NUMBER}, "required": list(parts)}


@extend_schema_field(
    {
        "type": "object",
        "anyOf": [
            _call("id", function=_FUNCTION),
            _call("call_id", type={"type": "string", "enum": ["function_call"]}, name=_NAME),
            _call("id", type={"type": "string", "enum": ["tool_use"]}, name=_NAME),
        ],
    }
)
class AsItCame(serializers.JSONField):
    """A model's call, whatever its provider wrote into it."""

    default_error_messages = {"form": _("This is no tool call: a `function`, `function_call` or `tool_use` by name.")}

    def to_internal_value(self, data: Any) -> Any:
        """A call in whichever form it came; refused where nobody can tell which tool is meant, or which call."""
        call = data if isinstance(data, dict) else {}
        function = call.get("function")
        if isinstance(function, dict):
            parts = Form.OPENAI, call.get("id", ""), function.get("name"), function.get("arguments")
        elif call.get("type") == "function_call":
            parts = Form.OPENAI_RESPONSES, call.get("call_id", ""), call.get("name"), call.get("arguments")
        elif call.get("type") == "tool_use":
            parts = Form.ANTHROPIC, call.get("id", ""), call.get("name"), call.get("input")
        else:
            self.fail("form")
        form, number, name, arguments = parts
        if not isinstance(name, str) or not isinstance(number, str | None):
            self.fail("form")
        # An object, or a JSON text of one; no arguments are an empty one
        if arguments in (None, ""):
            arguments = {}
        elif isinstance(arguments, str):
            try:
                arguments = json.loads(arguments)
            except (ValueError, RecursionError):
                arguments = None
        return ModelCall(form, number or "", name, arguments if isinstance(arguments, dict) else None)


class ToolCallRequest(PlaceRequest):
    """Calls of a model, and whose memory they are about."""

    together: ClassVar[dict[str, Any]] = {"allOf": [PlaceRequest.together, fields.one_of("call", "calls")]}

    call = AsItCame(required=False, help_text="One call, as the model's answer holds it.")
    calls = serializers.ListField(
        child=AsItCame(),
        required=False,
        allow_empty=False,
        min_length=1,
        max_length=CALLS_MOST,
        help_text="Several of them.",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if ("call" in attrs) == ("calls" in attrs):
            raise serializers.ValidationError({"call": [_("Either one call or several are needed, not both.")]})
        return super().validate(attrs)


def call_tools(call: "ToolCallView", outage: Outage | None = None) -> Response:
    """Each call is carried out once, also where the database goes away between two of them."""
    model_calls = call.body["calls"] if "calls" in call.body else [call.body["call"]]
    carry_out(place_of(call, outage), model_calls, call.done)
    # What is appended to the conversation: the answers, of Anthropic's form all in one message of the user
    messages = [item.message for item in call.done]
    if all(model_call.form == Form.ANTHROPIC for model_call in model_calls):
        messages = [{"role": "user", "content": messages}]
    tool_answers = [
        ToolCallAnswer.of(item, id=item.call.id, name=item.call.name, is_error=bool(item.errors)) for item in call.done
    ]
    return Response(ToolCallsAnswer.of(answers=tool_answers, messages=messages))


class ToolCallView(Call):
    """Carry out what a model asks for, and answer what it is to be shown."""

    done: list[CallAnswer]

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        self.done = []
        super().initial(request, *args, **kwargs)

    @Method("call_tools", Permission.READ, ToolCallsAnswer, body=ToolCallRequest, may_write=True, offline=call_tools)
    def post(self) -> Response:
        return call_tools(self)


class ToolView(Call):
    """What calls of a tool by a bot itself have in common."""

    tool: Tool
    status = 200
    done: Any = None  # what became of it; not done again where the connection breaks after it


def call_tool(call: ToolView, outage: Outage | None = None) -> Response:
    """A tool by the arguments in the body."""
    if call.done is None:
        call.done = call.tool.run(place_of(call, outage), arguments_of(call.body, call.tool))
    return Response(ANSWERS[call.tool.name](call.done), status=call.status)


def tool_view(tool: Tool, description: str, *, status: int = 200, from_replica: bool = False) -> type[ToolView]:
    """The call of a tool by a bot itself, as the tool is declared."""
    shape = SHAPES[tool.name]
    method = Method(
        tool.name,
        tool.needs,
        shape if status == 200 else {status: shape},
        body=body_of(tool),
        description=description,
        from_replica=from_replica,
        offline=call_tool,
    )
    attributes = {"__doc__": description, "tool": tool, "status": status, "post": method(call_tool)}
    return type("ToolView", (ToolView,), attributes)


SearchView = tool_view(MEMORY_SEARCH, "Search notes, memories, days and messages in one ranking.", from_replica=True)
GetView = tool_view(MEMORY_GET, "Some lines of what a path leads to, word for word.")
SaveView = tool_view(MEMORY_SAVE, "Add a line to today's note, or to the long-term file.", status=201)
AppendView = tool_view(MEMORY_APPEND, "Add lines to the end of a note.", status=201)
UpdateView = tool_view(MEMORY_UPDATE, "Correct a line of a note, or a memory that was saved.")
ListView = tool_view(MEMORY_LIST, "The files that can be read here.")
