"""What the worker does for turns; the clock is read here."""

from collections.abc import Sequence

from django.utils import timezone

from memories.consolidation import turn_summaries
from memories.consolidation.capture import turn_text
from memories.models import Workspace
from sessions_app.choices import EventKind
from sessions_app.models import SessionEvent


def shorten_turn(workspace_id: int, events: Sequence[int], entries: Sequence[int]) -> int:
    """Shorten the entries of a long turn; its words are read from the session's messages, and are in no queue."""
    messages = SessionEvent.objects.filter(workspace_id=workspace_id, pk__in=list(events))
    by_kind = dict(messages.values_list("kind", "content"))
    user, assistant = by_kind.get(EventKind.USER, ""), by_kind.get(EventKind.ASSISTANT, "")
    workspace = Workspace.objects.get(pk=workspace_id)
    return turn_summaries.shorten(workspace, entries, user, assistant, turn_text(user, assistant), now=timezone.now())
