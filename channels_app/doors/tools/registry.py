"""The tools models have: what each is called, takes and answers; every face reads them here."""

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from enum import StrEnum
from typing import Any

from django.utils.translation import gettext as _

from channels_app.doors.tools import from_files, get, search, wording, write
from channels_app.doors.tools.place import Place
from channels_app.doors.tools.wording import Words
from memories.choices import Permission
from memories.exceptions import FileUnwritable
from memories.notes.save import Target
from memories.recall import Mode
from sessions_app.models import in_language


class Form(StrEnum):
    """How a provider wants tools described, and sends calls; of MCP only the descriptions."""

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
    """The description of something a model may call."""

    name: str
    needs: Permission
    words: Words
    parameters: tuple[Parameter, ...]
    is_destructive: bool = False  # it takes away or replaces what is there

    def definition(self, form: Form, language: str) -> dict[str, Any]:
        """The tool as a bot passes it on to a model."""
        names = {"name": self.name, "description": in_language(self.words, language)}
        if form == Form.MCP:
            # What a client may let a model do unasked
            reads = self.needs == Permission.READ
            return {
                **names,
                "title": in_language(wording.TITLES[self.name], language),
                "inputSchema": self._schema(language, strict=False),
                "annotations": {"readOnlyHint": reads, "destructiveHint": self.is_destructive, "openWorldHint": False},
            }
        if form == Form.ANTHROPIC:
            return {**names, "input_schema": self._schema(language, strict=False)}
        function = {**names, "parameters": self._schema(language, strict=True), "strict": True}
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


#: What the code calls arguments whose names on the wire are words of Python's, or of something else.
_NAMES = {"from": "first", "lines": "count"}


@dataclass(frozen=True, kw_only=True)
class Tool(Definition):
    """A tool for models, carried out in the database, or on files where they alone answer."""

    verb: Callable[..., Any]  # is given the place, and the arguments by name
    of_files: Callable[..., Any] | None = None  # the same; None: files cannot do it
    shown: Callable[[Any], str]  # what became of it, as a model reads it

    def run(self, place: Place, arguments: Mapping[str, Any]) -> Any:
        """Carry it out. Raises FileUnwritable where only the database could."""
        verb = self.of_files if place.is_of_files else self.verb
        if verb is None:
            raise FileUnwritable(_("At the moment memory can only be read and added to; try again later."))
        return verb(place, **{_NAMES.get(name, name): value for name, value in arguments.items()})


QUERY_CHARS = 4_000
CONTENT_CHARS = 8_000
PATH_CHARS = 1_100  # the longest there is, with its line
RESULTS_MOST = 50

MEMORY_SEARCH = Tool(
    name="memory_search",
    needs=Permission.READ,
    words=wording.SEARCH,
    parameters=(
        Parameter("query", "string", wording.QUERY, is_needed=True, most=QUERY_CHARS, is_trimmed=True),
        Parameter("max_results", "integer", wording.MAX_RESULTS, least=1, most=RESULTS_MOST),
        Parameter("min_score", "number", wording.MIN_SCORE, least=0, most=10, for_models=False),
        Parameter("mode", "string", wording.MODE, choices=tuple(mode.value for mode in Mode), for_models=False),
        Parameter("include_session_events", "boolean", wording.INCLUDE_SESSION_EVENTS, for_models=False),
    ),
    verb=search.memory_search,
    of_files=from_files.search,
    shown=search.shown,
)

MEMORY_GET = Tool(
    name="memory_get",
    needs=Permission.READ,
    words=wording.GET,
    parameters=(
        Parameter("path", "string", wording.PATH, is_needed=True, most=PATH_CHARS),
        Parameter("from", "integer", wording.FROM, least=1),
        Parameter("lines", "integer", wording.LINES, least=1),
    ),
    verb=get.memory_get,
    of_files=from_files.get,
    shown=get.shown_excerpt,
)

MEMORY_SAVE = Tool(
    name="memory_save",
    needs=Permission.WRITE,
    words=wording.SAVE,
    parameters=(
        Parameter("content", "string", wording.CONTENT, is_needed=True, most=CONTENT_CHARS),
        Parameter(
            "target",
            "string",
            wording.TARGET,
            is_needed=True,
            otherwise=Target.DAILY.value,
            choices=tuple(target.value for target in Target),
        ),
    ),
    verb=write.memory_save,
    of_files=from_files.save,
    shown=write.shown_saved,
)

MEMORY_APPEND = Tool(
    name="memory_append",
    needs=Permission.WRITE,
    words=wording.APPEND,
    parameters=(
        Parameter("content", "string", wording.LINES_TO_APPEND, is_needed=True, most=CONTENT_CHARS),
        Parameter("path", "string", wording.APPEND_PATH, most=PATH_CHARS),
    ),
    verb=write.memory_append,
    of_files=from_files.append,
    shown=write.shown_saved,
)

MEMORY_UPDATE = Tool(
    name="memory_update",
    needs=Permission.WRITE,
    words=wording.UPDATE,
    parameters=(
        Parameter("path", "string", wording.UPDATE_PATH, is_needed=True, most=PATH_CHARS),
        Parameter("content", "string", wording.NEW_WORDS, is_needed=True, most=CONTENT_CHARS),
    ),
    is_destructive=True,
    verb=write.memory_update,
    shown=write.shown_updated,
)

MEMORY_LIST = Tool(
    name="memory_list",
    needs=Permission.READ,
    words=wording.LIST,
    parameters=(Parameter("from", "integer", wording.LIST_FROM, least=1),),
    verb=get.memory_list,
    of_files=get.memory_list,
    shown=get.shown_files,
)

TOOLS: dict[str, Tool] = {
    tool.name: tool for tool in (MEMORY_SEARCH, MEMORY_GET, MEMORY_SAVE, MEMORY_APPEND, MEMORY_UPDATE, MEMORY_LIST)
}

MEMORY_FORGET = Tool(
    name="memory_forget",
    needs=Permission.WRITE,
    words=wording.FORGET,
    parameters=(Parameter("path", "string", wording.MEMORY_PATH, is_needed=True, most=PATH_CHARS),),
    is_destructive=True,
    verb=write.memory_forget,
    shown=write.shown_forgotten,
)

MEMORY_RESTORE = Tool(
    name="memory_restore",
    needs=Permission.WRITE,
    words=wording.RESTORE,
    parameters=(Parameter("path", "string", wording.MEMORY_PATH, is_needed=True, most=PATH_CHARS),),
    verb=write.memory_restore,
    shown=write.shown_forgotten,
)

#: What takes out of use is offered where a person is asked before a call that destroys: over MCP.
MCP_TOOLS: dict[str, Tool] = {tool.name: tool for tool in (MEMORY_FORGET, MEMORY_RESTORE)}
#: All that POST /tools/call carries out.
CALLABLE = TOOLS | MCP_TOOLS

#: Calls of the API that MCP offers as tools, by the path of the call.
MCP_CALLS: dict[str, Definition] = {
    "recall": Definition(
        name="memory_recall",
        needs=Permission.READ,
        words=wording.RECALL,
        parameters=(
            Parameter("message", "string", wording.QUERY, is_needed=True, most=QUERY_CHARS),
            Parameter("limit", "integer", wording.MAX_RESULTS, least=1, most=RESULTS_MOST),
        ),
    ),
    "context": Definition(
        name="memory_context",
        needs=Permission.READ,
        words=wording.CONTEXT,
        parameters=(Parameter("message", "string", wording.MESSAGE, is_needed=True, most=QUERY_CHARS),),
    ),
}


def definitions_for(form: Form) -> list[Definition]:
    """The descriptions for models in this form."""
    return [*TOOLS.values(), *([*MCP_CALLS.values(), *MCP_TOOLS.values()] if form == Form.MCP else [])]
