"""What a tool is: its name, what a model reads of it and may say, the verb behind it, and what the model is shown."""

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from channels_app.doors.tools.place import Place
from memories.choices import Permission
from sessions_app.choices import in_language

Words = dict[str, str]  # by language


class Form(StrEnum):
    """How a provider wants tools told, and tells calls; of MCP only how they are told."""

    OPENAI = "openai"
    OPENAI_RESPONSES = "openai_responses"
    ANTHROPIC = "anthropic"
    MCP = "mcp"


@dataclass(frozen=True)
class Parameter:
    """One argument of a tool."""

    name: str
    kind: str  # string, integer, number or boolean
    words: Words
    _: KW_ONLY
    is_needed: bool = False
    otherwise: str = ""  # what it is where nobody says it, though models are asked to
    choices: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None  # of a text: its characters
    is_trimmed: bool = False  # blanks around it mean nothing
    for_models: bool = True  # not: the bot alone may say it

    def schema(self, language: str, *, strict: bool) -> dict[str, Any]:
        """It in JSON Schema; what strict forms do not know is left out, and what may be missing may be null."""
        kind: Any = self.kind if self.is_needed or not strict else [self.kind, "null"]
        schema: dict[str, Any] = {"type": kind, "description": in_language(self.words, language)}
        if self.choices:
            schema["enum"] = list(self.choices)
        if not strict and self.kind in ("integer", "number"):
            schema |= {
                name: value for name, value in (("minimum", self.least), ("maximum", self.most)) if value is not None
            }
        return schema


@dataclass(frozen=True, kw_only=True)
class Definition:
    """What a model is told of something it may call."""

    name: str
    needs: Permission
    words: Words
    parameters: tuple[Parameter, ...]
    is_destructive: bool = False  # it takes away or replaces what is there

    def definition(self, form: Form, language: str) -> dict[str, Any]:
        """The tool as a bot passes it on to a model."""
        told = {"name": self.name, "description": in_language(self.words, language)}
        if form == Form.MCP:
            # What a client may let a model do unasked
            reads = self.needs == Permission.READ
            return {
                **told,
                "inputSchema": self._schema(language, strict=False),
                "annotations": {"readOnlyHint": reads, "destructiveHint": self.is_destructive, "openWorldHint": False},
            }
        if form == Form.ANTHROPIC:
            return {**told, "input_schema": self._schema(language, strict=False)}
        function = {**told, "parameters": self._schema(language, strict=True), "strict": True}
        if form == Form.OPENAI_RESPONSES:
            return {"type": "function", **function}
        return {"type": "function", "function": function}

    def _schema(self, language: str, *, strict: bool) -> dict[str, Any]:
        own = [parameter for parameter in self.parameters if parameter.for_models]
        return {
            "type": "object",
            "properties": {parameter.name: parameter.schema(language, strict=strict) for parameter in own},
            "required": [parameter.name for parameter in own if strict or parameter.is_needed],
            "additionalProperties": False,
        }


@dataclass(frozen=True, kw_only=True)
class Tool(Definition):
    """A tool for models. `run` is given the place, the arguments by name and the time."""

    run: Callable[[Place, Mapping[str, Any], datetime], Any]
    shown: Callable[[Any], str]  # what became of it, as a model reads it
