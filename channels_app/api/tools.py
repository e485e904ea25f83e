"""The tools of a model: what there is to pass on, a model's own calls, and each tool as a call of a bot."""

from typing import Any

from django.utils.translation import gettext_lazy as _
from rest_framework import serializers
from rest_framework.response import Response

from channels_app.api.tool_answers import (
    ExcerptAnswer,
    SavedLineAnswer,
    SearchAnswer,
    ToolCallAnswer,
    ToolCallsAnswer,
    ToolsAnswer,
    excerpt_answer,
    search_answer,
)
from channels_app.api.tool_arguments import PlaceRequest, body_of, given, place_of
from channels_app.api.tool_calls import carry_out
from channels_app.tools import calls
from channels_app.tools.definition import Form, Tool
from channels_app.tools.registry import MEMORY_APPEND, MEMORY_GET, MEMORY_SAVE, MEMORY_SEARCH, TOOLS
from memories.api import fields
from memories.api.calls import Call, Method
from memories.choices import Permission

CALLS_MOST = 32  # of one message of a model
LANGUAGES = ("en", "zh-hans")


class ToolsQuery(fields.StrictSerializer):
    """For which provider's models, and in which language."""

    form = fields.Word(choices=[form.value for form in Form], default=Form.OPENAI.value)
    language = fields.Word(choices=LANGUAGES, required=False)


class ToolsView(Call):
    """The tools for a model."""

    @Method("list_tools", Permission.READ, ToolsAnswer, query=ToolsQuery)
    def get(self) -> Response:
        form, language = Form(self.query["form"]), self.query.get("language", self.caller.language)
        tools = [tool.definition(form, language) for tool in TOOLS.values()]
        return Response(ToolsAnswer.of(form=form.value, language=language, tools=tools))


class AsItCame(serializers.JSONField):
    """A model's call, whatever its provider wrote into it."""

    default_error_messages = {"form": _("This is no tool call: a `function`, `function_call` or `tool_use` by name.")}

    def to_internal_value(self, data: Any) -> Any:
        call = calls.read_call(data) if isinstance(data, dict) else None
        return call or self.fail("form")


class ToolCallRequest(PlaceRequest):
    """Calls of a model, and whose memory they are about."""

    call = AsItCame(required=False, help_text="One call, as the model's answer holds it.")
    calls = serializers.ListField(
        child=AsItCame(), required=False, allow_empty=False, max_length=CALLS_MOST, help_text="Several of them."
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if ("call" in attrs) == ("calls" in attrs):
            raise serializers.ValidationError({"call": [_("Either one call or several are needed, not both.")]})
        return super().validate(attrs)


class ToolCallView(Call):
    """Carry out what a model asks for, and answer what it is to be shown."""

    @Method("call_tools", Permission.READ, ToolCallsAnswer, body=ToolCallRequest, may_write=True)
    def post(self) -> Response:
        asked = self.body["calls"] if "calls" in self.body else [self.body["call"]]
        place = place_of(self.caller, self.body, self.now)
        place.check()
        answers = carry_out(place, asked, self.now)
        told = [
            ToolCallAnswer.of(one, id=one.call.id, name=one.call.name, is_error=bool(one.errors)) for one in answers
        ]
        return Response(ToolCallsAnswer.of(answers=told, messages=calls.to_append(asked, [a.message for a in answers])))


class ToolView(Call):
    """What calls of a tool by a bot itself have in common."""

    tool: Tool

    def done(self) -> Any:
        """What became of it."""
        return self.tool.run(place_of(self.caller, self.body, self.now), given(self.body, self.tool), self.now)


class SearchView(ToolView):
    """Search notes, memories, days and messages in one ranking."""

    tool = MEMORY_SEARCH

    @Method("memory_search", Permission.READ, SearchAnswer, body=body_of(MEMORY_SEARCH))
    def post(self) -> Response:
        return Response(search_answer(self.done()))


class GetView(ToolView):
    """Some lines of what a path leads to, word for word."""

    tool = MEMORY_GET

    @Method("memory_get", Permission.READ, ExcerptAnswer, body=body_of(MEMORY_GET))
    def post(self) -> Response:
        return Response(excerpt_answer(self.done()))


class SaveView(ToolView):
    """Add a line to today's note, or to the long-term file."""

    tool = MEMORY_SAVE

    @Method("memory_save", Permission.WRITE, {201: SavedLineAnswer}, body=body_of(MEMORY_SAVE))
    def post(self) -> Response:
        return Response(SavedLineAnswer.of(self.done()), status=201)


class AppendView(ToolView):
    """Add lines to the end of a note."""

    tool = MEMORY_APPEND

    @Method("memory_append", Permission.WRITE, {201: SavedLineAnswer}, body=body_of(MEMORY_APPEND))
    def post(self) -> Response:
        return Response(SavedLineAnswer.of(self.done()), status=201)
