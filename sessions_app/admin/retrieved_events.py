"""Messages a recall found, for its trace's page: named in MEMORY_EVENT_TELLERS."""

import re
from collections.abc import Sequence

from memories.admin.recall_traces.events import FoundEvent
from memories.language.quoting import as_name
from sessions_app.admin.take_out import message_url
from sessions_app.models import SessionEvent

_PATH = re.compile(r"session_events/[0-9a-f-]+/\d+/event-(\d{1,18})")


def session_events(workspace_id: int, paths: Sequence[str]) -> dict[str, FoundEvent]:
    """Messages that are still kept, each with its place in its conversation."""
    named = [int(match[1]) for path in paths if (match := _PATH.fullmatch(path))]
    if not named:
        return {}
    events = SessionEvent.objects.filter(workspace_id=workspace_id, pk__in=named).select_related("session")
    return {
        event.session.origin_of(event): FoundEvent(
            who=as_name(event.sender_name) or event.sender_id or event.get_kind_display(),
            words=event.content,
            url=message_url(event.session, event),
            at=event.at,
        )
        for event in events
    }
