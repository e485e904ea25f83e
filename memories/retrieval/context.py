"""The text a bot can put before its model, within a budget of tokens."""

from collections.abc import Sequence
from datetime import datetime, tzinfo

from memories import text
from memories.retrieval.quotas import Ranked


def context_text(served: Sequence[Ranked], *, budget: int, zone: tzinfo) -> tuple[str, int]:
    """The served memories as lines with their dates, best first, and the tokens they take; never over budget.

    A memory that does not fit whole is left out, and so is all after it: half a memory misleads.
    """
    lines: list[str] = []
    used = 0
    for item in served:
        line = f"- [{_day(item.entry.created_at, zone)}] {_one_line(item.entry.content)}"
        tokens = text.count_tokens(line) + 1
        if used + tokens > budget:
            break
        lines.append(line)
        item.in_context = True
        used += tokens
    return "\n".join(lines), used


def _day(moment: datetime, zone: tzinfo) -> str:
    return moment.astimezone(zone).strftime("%Y-%m-%d")


def _one_line(content: str) -> str:
    return " / ".join(part.strip() for part in content.splitlines() if part.strip())
