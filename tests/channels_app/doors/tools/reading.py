"""What there is to be read by paths, and how tests read it."""

from typing import Any

from memories.files.layout import ScopeFolder
from memories.models import DailyEvent, Entry
from sessions_app.models import SessionEvent
from tests.channels_app.doors.tools.asking import tool
from tests.sessions_app.conftest import Talk

OWN, OTHERS, CHAT = "telegram:direct_u42", "telegram:direct_u7", "telegram:mybot:group_g1"
DAILY = "memory/scopes/telegram+direct_u42/2026-03-01.md"
NOBODY = "019a0000-0000-7000-8000-000000000000"


def written(folder: ScopeFolder, path: str, *lines: str) -> None:
    place = folder.workspace / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("\n".join(lines) + "\n")


def get(talk: Talk, path: str, **asked: Any) -> dict[str, Any]:
    return tool(talk, "memory_get", path=path, **asked)


def refused(talk: Talk, path: str, **asked: Any) -> dict[str, Any]:
    """The one error of a path that may not be read."""
    (error,) = tool(talk, "memory_get", path=path, status=403, **asked)["errors"]
    return dict(error)


REFUSED = {"code": "path_not_allowed", "detail": "This path leads to no file of this scope.", "attr": "path"}


def paths() -> dict[str, str]:
    event = SessionEvent.objects.select_related("session").get(content="the boat leaves at noon")
    return {
        "entries": f"entries/{Entry.objects.get(content__contains='noon').uid}",
        "daily_events": f"daily_events/{DailyEvent.objects.get().uid}",
        "session_events": event.session.origin_of(event),
    }
