"""What a client of MCP may read by its address: the profile, notes and days, each asked of the API."""

import re
from typing import Any
from urllib.parse import unquote

from channels_app.doors.mcp.api import Api, Refused
from channels_app.doors.tools.wording import Words
from memories.language import quoting

NOTHING: Words = {"en": "Nothing is remembered here yet.", "zh-hans": "这里还没有任何记忆。"}

PROFILE, NOTES, DAYS = "memory://profile", "memory://notes", "memory://days"
_NOTE = re.compile(r"memory://notes/(?P<path>.+)")
_DAY = re.compile(r"memory://days/(?P<day>\d{4}-\d{2}-\d{2})")
_ROWS = 100  # of a list
_ROWS_OF_GROUP = 20  # each is read as a model would read it
#: How memory_get names the rows of a list.
_PATHS = {"entries": "entries", "events": "daily_events"}
_TOKENS = 100_000  # enough for every profile


async def read(api: Api, uri: str) -> str | None:
    """The text of a resource; None: there is no such resource. Raises Refused."""
    if uri == PROFILE:
        text = await profile(api)
    elif uri == NOTES:
        entries = await _rows(api, "entries", type="note", state="live")
        lines: dict[str, list[str]] = {}
        for entry in entries:
            lines.setdefault(entry["path"], []).append(f"- {quoting.as_item(entry['content'])}")
        notes = "\n\n".join("\n".join([f"# {path}", *of_file]) for path, of_file in lines.items())
        text = await _with_notice(api, notes)
    elif uri == DAYS:
        text = await _with_notice(api, _days(await _rows(api, "events")))
    elif day := _DAY.fullmatch(uri):
        text = await _with_notice(api, _days(await _rows(api, "events", **{"from": day["day"], "to": day["day"]})))
    elif note := _NOTE.fullmatch(uri):
        # Every line of the file, as far as there is one
        parts: list[str] = []
        line: int | None = 1
        while line is not None:
            more = {"path": unquote(note["path"]), "from": line, "lines": 300}
            excerpt = await api.here("tools/memory_get", **more)
            if not excerpt["found"]:
                return None
            parts.append(excerpt["text"])
            line = excerpt["next"]
        return "\n".join(parts)
    else:
        return None
    return text or await nothing(api)


async def nothing(api: Api) -> str:
    return NOTHING[(await api.listing())["language"]]


async def profile(api: Api) -> str:
    """The lines of the profile."""
    context = await api.here("context", message="", token_budget=_TOKENS)
    facts = [f"- {quoting.as_item(fact['content'])}" for fact in context["profile"]]
    return await _with_notice(api, "\n".join(facts))


async def _with_notice(api: Api, text: str) -> str:
    """A text under what says whose words it holds; nothing of nothing."""
    return "\n\n".join([quoting.notice_in((await api.listing())["language"]), text]) if text else ""


async def _rows(api: Api, path: str, **query: Any) -> list[dict[str, Any]]:
    """The newest rows of the scopes this address reads from; of a group those of its own that it may hear."""
    resolution = await api.here("scopes/resolve")
    is_group = bool(api.address.get("is_group"))
    keys, most = ([resolution["chat_scope"]], _ROWS_OF_GROUP) if is_group else (resolution["recall"], _ROWS)
    rows: list[dict[str, Any]] = []
    for key in filter(None, keys):
        try:
            page = await api.call("GET", path, params={"scope": key, "limit": most, **query})
        except Refused as problem:
            if problem.status != 404:  # a scope that nothing was written to yet
                raise
        else:
            rows += page["results"]
    return [row for row in rows if not is_group or await _is_open(api, path, row)]


async def _is_open(api: Api, path: str, row: dict[str, Any]) -> bool:
    """Whether a group may hear it: what tells a credential, it may not."""
    try:
        excerpt = await api.here("tools/memory_get", path=f"{_PATHS[path]}/{row['id']}")
    except Refused as problem:
        if problem.status >= 500:
            raise
        return False
    return bool(excerpt["found"])


def _days(events: list[dict[str, Any]]) -> str:
    """By day, the latest first."""
    lines: dict[str, list[str]] = {}
    for event in sorted(events, key=lambda event: str(event["date"]), reverse=True):
        lines.setdefault(event["date"], []).append(f"- {quoting.as_item(event['content'])}")
    return "\n\n".join("\n".join([f"# {day}", *of_day]) for day, of_day in lines.items())
