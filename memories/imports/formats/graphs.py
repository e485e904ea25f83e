"""Knowledge graphs: nodes, and what connects them.

The memory server of the Model Context Protocol: `memory.jsonl`, an entity or a relation a line. Zep and Graphiti:
episodes, which say what a day held, and edges, each a fact between two nodes.
"""

from typing import Any

from memories.imports.batch import LeftOut, LeftOutReason
from memories.imports.bundle import Bundle, FileItem, Member, Reader, fact, items, time_of


def read_memory_graph(bundle: Bundle) -> Reader:
    """Observations and relations, each a fact under the names of what it is about. Raises FileRefused."""
    for member in bundle.named("*.json*"):
        is_whole = '"entities"' in member.beginning  # what read_graph answers; else a line each
        for name in ("entities", "relations") if is_whole else ("",):
            for number, item in items(bundle, member, *filter(None, [name])):
                yield from _memory_graph_item(member, number, item)


def _memory_graph_item(member: Member, number: int, item: dict[str, Any]) -> Reader:
    where: dict[str, Any] = {"number": number, "path": member.path}
    if "relationType" in item:
        start, end = _readable_name(item.get("from")), _readable_name(item.get("to"))
        words = f"{start} {_readable_name(item['relationType'])} {end}"
        yield FileItem(content=words, fields=fact() | {"names": _names(start, end)}, **where)
    elif "observations" in item:
        name, kind = _readable_name(item.get("name")), str(item.get("entityType") or "")
        observations = item.get("observations") or ()
        if not observations:
            yield LeftOut(member.path, LeftOutReason.EMPTY, number, name)
        for observation in observations:
            content = str(observation).strip()
            if content and name.casefold() not in _readable_name(content).casefold():
                content = f"{name}: {content}"
            yield FileItem(content=content, fields=fact([kind]) | {"names": _names(name)}, **where)
    else:
        yield LeftOut(member.path, LeftOutReason.NO_MEMORY, number, str(item.get("type") or ""))


def _readable_name(name: Any) -> str:
    """A name as people write it: in graphs they stand as John_Smith and works_at."""
    return " ".join(str(name or "").replace("_", " ").split())


def _names(*names: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name[:100] for name in names if name))


def read_zep(bundle: Bundle) -> Reader:
    """Episodes as turns of their days, and facts that hold as facts. Raises FileRefused."""
    for member in bundle.named("*.json*"):
        # the lists of the file, of which it may have several; none where it is a list, or a line each
        beginning = member.beginning
        spaced = " ".join(beginning.split()).replace('":[', '": [').replace('" :', '":')
        list_names = [name for name in ("episodes", "edges", "facts", "items") if f'"{name}": [' in spaced]
        for name in list_names if beginning.lstrip()[:1] == "{" and list_names else [""]:
            for number, item in items(bundle, member, *filter(None, [name])):
                try:
                    yield _zep_item(member, number, item)
                except ValueError as problem:
                    yield LeftOut(member.path, LeftOutReason.UNSTORABLE, number, str(problem))


def _zep_item(member: Member, number: int, item: dict[str, Any]) -> FileItem | LeftOut:
    """Raises ValueError."""
    at = time_of(item.get("valid_at") or item.get("reference_time") or item.get("created_at"))
    who = str(item.get("user_id") or item.get("group_id") or item.get("graph_id") or "")
    where: dict[str, Any] = {"number": number, "path": member.path, "who": who, "at": at}
    if "fact" in item:
        ended = item.get("invalid_at") or item.get("expired_at")
        if ended:
            return LeftOut(member.path, LeftOutReason.ENDED, number, str(ended))
        return FileItem(content=str(item["fact"] or ""), fields=fact(), **where)
    content = str(item.get("content") or item.get("episode_body") or "")
    speaker = str(item.get("role") or item.get("role_type") or "").removeprefix("norole")
    words = f"{speaker}: {content}" if speaker and not content.startswith(f"{speaker}:") else content
    message = str(item.get("uuid") or f"item {number}"), 1
    return FileItem(content=words if content.strip() else "", is_turn=True, message=message, **where)
