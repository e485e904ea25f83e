"""The text a bot can put before its model, within a budget of tokens."""

from collections.abc import Sequence
from datetime import tzinfo

from memories.language import text
from memories.recall.quotas import Ranked
from memories.recall.retrievers import RecalledEvent
from memories.recall.speakers import ASKER, SOMEBODY, Authorship, Sender

#: How the user's side of a captured turn begins.
_USER = "User: "


def context_text(served: Sequence[Ranked], *, budget: int, zone: tzinfo) -> tuple[str, int]:
    """The served memories as lines with their dates, best first, and the tokens they take; never over budget.

    A memory that does not fit whole is left out, and so is all after it: half a memory misleads.
    """
    lines = [memory_line(item, zone) for item in served]
    fitting, used = fit(lines, budget)
    for item in served[: len(fitting)]:
        item.in_context = True
    return "\n".join(fitting), used


def events_text(events: Sequence[RecalledEvent], *, budget: int, zone: tzinfo) -> tuple[str, int]:
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
    """A memory as a model reads it, with who said it; one's own words need no other name than «User»."""
    return f"- [{item.entry.created_at.astimezone(zone):%Y-%m-%d}] {attributed(item.entry.content, item.sender)}"


def event_line(event: RecalledEvent, zone: tzinfo) -> str:
    """A message as a model reads it, with the path that proves it."""
    said = f"{_event_speaker(event)}: {one_line(event.content)}"
    return f"- [{event.at.astimezone(zone):%Y-%m-%d %H:%M}] {said} [{event.path}]"


def attributed(content: str, sender: Sender) -> str:
    """A text on one line, under the name of who said it wherever it could be taken for somebody else's."""
    turn = content.removeprefix(_USER)
    if turn != content:
        return f"{sender.label or _unnamed(sender)}: {one_line(turn)}"
    is_plain = not sender.label or (sender.whose == Authorship.OWN and not sender.in_chat)
    said = one_line(content)
    return said if is_plain or said.startswith(f"{sender.label}:") else f"{sender.label}: {said}"


def _unnamed(sender: Sender) -> str:
    return SOMEBODY if sender.in_chat else ASKER


def _event_speaker(event: RecalledEvent) -> str:
    """Who said it: the bot, a summary, or a person; as far as anybody knows."""
    if event.role != "user":
        return event.role.capitalize()
    return event.said_by.label or _unnamed(event.said_by)


def one_line(content: str) -> str:
    """A text on one line, its own lines between slashes."""
    return " / ".join(part.strip() for part in content.splitlines() if part.strip())
