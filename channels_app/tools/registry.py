"""The tools there are: one entry of TOOLS each."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from channels_app.tools import from_files, get, save, search, wording
from channels_app.tools.definition import Parameter, Tool
from channels_app.tools.place import Place
from memories.choices import Permission
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


MEMORY_SEARCH = Tool(
    name="memory_search",
    needs=Permission.READ,
    words=wording.SEARCH,
    parameters=(
        Parameter(
            name="query",
            kind="string",
            is_needed=True,
            most=QUERY_CHARS,
            is_trimmed=True,
            words=wording.QUERY,
        ),
        Parameter(
            name="max_results",
            kind="integer",
            least=1,
            most=RESULTS_MOST,
            words=wording.MAX_RESULTS,
        ),
        Parameter(
            name="min_score",
            kind="number",
            least=0,
            most=10,
            for_models=False,
            words=wording.MIN_SCORE,
        ),
        Parameter(
            name="mode",
            kind="string",
            choices=tuple(mode.value for mode in Mode),
            for_models=False,
            words=wording.MODE,
        ),
        Parameter(
            name="include_session_events",
            kind="boolean",
            for_models=False,
            words=wording.INCLUDE_SESSION_EVENTS,
        ),
    ),
    run=_search,
    shown=search.shown,
)

MEMORY_GET = Tool(
    name="memory_get",
    needs=Permission.READ,
    words=wording.GET,
    parameters=(
        Parameter(
            name="path",
            kind="string",
            is_needed=True,
            most=PATH_CHARS,
            words=wording.PATH,
        ),
        Parameter(
            name="from",
            kind="integer",
            least=1,
            words=wording.FROM,
        ),
        Parameter(
            name="lines",
            kind="integer",
            least=1,
            words=wording.LINES,
        ),
    ),
    run=_get,
    shown=get.shown,
)

MEMORY_SAVE = Tool(
    name="memory_save",
    needs=Permission.WRITE,
    words=wording.SAVE,
    parameters=(
        Parameter(name="content", kind="string", is_needed=True, most=CONTENT_CHARS, words=wording.CONTENT),
        Parameter(
            name="target",
            kind="string",
            is_needed=True,
            otherwise=Target.DAILY.value,
            choices=tuple(target.value for target in Target),
            words=wording.TARGET,
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
        Parameter(name="content", kind="string", is_needed=True, most=CONTENT_CHARS, words=wording.LINES_TO_APPEND),
        Parameter(name="path", kind="string", most=PATH_CHARS, words=wording.APPEND_PATH),
    ),
    run=_append,
    shown=save.shown,
)

TOOLS: dict[str, Tool] = {tool.name: tool for tool in (MEMORY_SEARCH, MEMORY_GET, MEMORY_SAVE, MEMORY_APPEND)}
