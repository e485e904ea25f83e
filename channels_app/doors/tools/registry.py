"""The tools there are: one entry of TOOLS each; what MCP offers besides is under MCP_TOOLS and MCP_CALLS."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _

from channels_app.doors.tools import forget, from_files, get, list_files, save, search, update, wording
from channels_app.doors.tools.definition import Definition, Form, Parameter, Tool
from channels_app.doors.tools.place import Place
from memories.choices import Permission
from memories.exceptions import FileUnwritable
from memories.notes.save import Target
from memories.recall import Mode

QUERY_CHARS = 4_000
CONTENT_CHARS = 8_000
PATH_CHARS = 1_100  # the longest there is, with its line
RESULTS_MOST = 50
#: Of a search, what files know of.
IN_FILES = ("query", "max_results", "min_score")


def _search(place: Place, arguments: Mapping[str, Any], now: datetime) -> search.SearchReport:
    if place.is_of_files:
        return from_files.search(place, **{name: value for name, value in arguments.items() if name in IN_FILES})
    return search.memory_search(place, now=now, **arguments)


def _get(place: Place, arguments: Mapping[str, Any], now: datetime) -> get.Excerpt:
    asked = {"path": arguments["path"], "first": arguments.get("from"), "count": arguments.get("lines")}
    return from_files.get(place, **asked) if place.is_of_files else get.memory_get(place, **asked, now=now)


def _save(place: Place, arguments: Mapping[str, Any], now: datetime) -> save.SavedLine:
    verb = from_files.save if place.is_of_files else save.memory_save
    return verb(place, now=now, **arguments)


def _append(place: Place, arguments: Mapping[str, Any], now: datetime) -> save.SavedLine:
    verb = from_files.append if place.is_of_files else save.memory_append
    return verb(place, now=now, **arguments)


def _update(place: Place, arguments: Mapping[str, Any], now: datetime) -> update.UpdatedMemory:
    _require_database(place)
    return update.memory_update(place, now=now, **arguments)


def _list(place: Place, arguments: Mapping[str, Any], now: datetime) -> list_files.FileList:
    return list_files.memory_list(place, first=arguments.get("from"))


def _forget(place: Place, arguments: Mapping[str, Any], now: datetime) -> forget.ChangedMemory:
    _require_database(place)
    return forget.memory_forget(place, path=arguments["path"], now=now)


def _restore(place: Place, arguments: Mapping[str, Any], now: datetime) -> forget.ChangedMemory:
    _require_database(place)
    return forget.memory_restore(place, path=arguments["path"], now=now)


def _require_database(place: Place) -> None:
    if place.is_of_files:
        raise FileUnwritable(_("At the moment memory can only be read and added to; try again later."))


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
    run=_search,
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
    run=_get,
    shown=get.shown,
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
    run=_save,
    shown=save.shown,
)

MEMORY_APPEND = Tool(
    name="memory_append",
    needs=Permission.WRITE,
    words=wording.APPEND,
    parameters=(
        Parameter("content", "string", wording.LINES_TO_APPEND, is_needed=True, most=CONTENT_CHARS),
        Parameter("path", "string", wording.APPEND_PATH, most=PATH_CHARS),
    ),
    run=_append,
    shown=save.shown,
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
    run=_update,
    shown=update.shown,
)

MEMORY_LIST = Tool(
    name="memory_list",
    needs=Permission.READ,
    words=wording.LIST,
    parameters=(Parameter("from", "integer", wording.LIST_FROM, least=1),),
    run=_list,
    shown=list_files.shown,
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
    run=_forget,
    shown=forget.shown,
)

MEMORY_RESTORE = Tool(
    name="memory_restore",
    needs=Permission.WRITE,
    words=wording.RESTORE,
    parameters=(Parameter("path", "string", wording.MEMORY_PATH, is_needed=True, most=PATH_CHARS),),
    run=_restore,
    shown=forget.shown,
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


def told_to(form: Form) -> list[Definition]:
    """What models are told of in this form."""
    return [*TOOLS.values(), *([*MCP_CALLS.values(), *MCP_TOOLS.values()] if form == Form.MCP else [])]
