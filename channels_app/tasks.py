"""What the worker does for turns; the clock is read here."""

from collections.abc import Sequence

from django.utils import timezone

from memories.consolidation import turn_summaries
from memories.consolidation.capture import turn_text
from memories.models import Workspace
from sessions_app.choices import EventKind
from sessions_app.models import SessionEvent


def shorten_turn(workspace_id: int, events: Sequence[int], entries: Sequence[int]) -> int:
    """After the capture of a long turn: its words are looked up where they were said, and are in no queue."""
    said = SessionEvent.objects.filter(workspace_id=workspace_id, pk__in=list(events)).values_list("kind", "content")
    by_kind = dict(said)
    user, assistant = by_kind.get(EventKind.USER, ""), by_kind.get(EventKind.ASSISTANT, "")
    workspace = Workspace.objects.get(pk=workspace_id)
    return turn_summaries.shorten(workspace, entries, user, assistant, turn_text(user, assistant), now=timezone.now())
