"""The messages a memory or a daily event rests on, as links into their conversations."""

from collections.abc import Sequence
from dataclasses import dataclass

from memories.admin.recall_traces.events import FoundEvent, found_events

#: Messages shown; what was condensed rests on many.
SHOWN = 20


@dataclass(frozen=True)
class Sources:
    """The first messages something rests on that can still be read, and how many more it names."""

    lines: list[FoundEvent]
    more: int
    gone: int  # of the first, those that are kept no more


def source_lines(workspace_id: int, origins: Sequence[str]) -> Sources:
    """The messages of these paths, in the order they were said."""
    first = list(origins[:SHOWN])
    found = found_events(workspace_id, first)
    lines = [found[path] for path in first if path in found]
    return Sources(lines, more=len(origins) - len(first), gone=len(first) - len(lines))
