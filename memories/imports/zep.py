"""What Zep and Graphiti keep: episodes, which tell what was said on a day, and facts between two nodes."""

from pathlib import Path
from typing import Any

from memories.imports.batch import Found, Heard, LeftOut, LeftOutReason, Reader, fact, items, time_of


def read(path: Path, heard: Heard) -> Reader:
    """Episodes as what was said on their days, and facts that hold as facts. Raises FileRefused."""
    for number, item in items(path, heard, "episodes", "items", "edges", "facts"):
        try:
            found = _found(number, item)
        except ValueError as problem:
            yield LeftOut(path.name, LeftOutReason.UNSTORABLE, number, str(problem))
            continue
        if found:
            yield found


def _found(number: int, item: dict[str, Any]) -> Found | None:
    at = time_of(item.get("valid_at") or item.get("reference_time") or item.get("created_at"))
    who = str(item.get("user_id") or item.get("group_id") or item.get("graph_id") or "")
    if "fact" in item:
        is_over = item.get("invalid_at") or item.get("expired_at")
        content = str(item["fact"] or "")
        return None if is_over else Found(number=number, content=content, who=who, at=at, fields=fact())
    content = str(item.get("content") or item.get("episode_body") or "")
    speaker = str(item.get("role") or item.get("role_type") or "").removeprefix("norole")
    said = f"{speaker}: {content}" if speaker and not content.startswith(f"{speaker}:") else content
    message = str(item.get("uuid") or f"item {number}"), 1
    return Found(number=number, content=said if content.strip() else "", who=who, at=at, is_said=True, message=message)
