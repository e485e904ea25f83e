"""The text a bot can put before its model, within a budget of tokens."""

from collections.abc import Sequence
from datetime import tzinfo

from memories import text
from memories.retrieval.legs import Found
from memories.retrieval.quotas import Ranked


def context_text(served: Sequence[Ranked], *, budget: int, zone: tzinfo) -> tuple[str, int]:
    """The served memories as lines with their dates, best first, and the tokens they take; never over budget.

    A memory that does not fit whole is left out, and so is all after it: half a memory misleads.
    """
    lines = [memory_line(item, zone) for item in served]
    fitting, used = fit(lines, budget)
    for item in served[: len(fitting)]:
        item.in_context = True
    return "\n".join(fitting), used


def events_text(events: Sequence[Found], *, budget: int, zone: tzinfo) -> tuple[str, int]:
    """What was said, as lines in the order it was said, and the tokens they take; the best that fit."""
    lines = {event.path: event_line(event, zone) for event in events}
    fitting, used = fit(list(lines.values()), budget)
    said = sorted(events[: len(fitting)], key=lambda event: (event.at, event.path))
    return "\n".join(lines[event.path] for event in said), used


def fit(lines: Sequence[str], budget: int) -> tuple[list[str], int]:
    """As many of these lines, from the first on, as the budget has room for, and the tokens they take."""
    used = 0
    for count, line in enumerate(lines):
        tokens = text.count_tokens(line) + 1
        if used + tokens > budget:
            return list(lines[:count]), used
        used += tokens
    return list(lines), used


def memory_line(item: Ranked, zone: tzinfo) -> str:
    """A memory as a model reads it."""
    return f"- [{item.entry.created_at.astimezone(zone):%Y-%m-%d}] {one_line(item.entry.content)}"


def event_line(event: Found, zone: tzinfo) -> str:
    """A message as a model reads it, with the path that proves it."""
    said = f"{event.sender or event.role.capitalize()}: {one_line(event.content)}"
    return f"- [{event.at.astimezone(zone):%Y-%m-%d %H:%M}] {said} [{event.path}]"


def one_line(content: str) -> str:
    """A text on one line, its own lines between slashes."""
    return " / ".join(part.strip() for part in content.splitlines() if part.strip())
