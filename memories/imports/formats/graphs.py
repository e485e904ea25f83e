"""Knowledge graphs: nodes, and what connects them.

The memory server of the Model Context Protocol: `memory.jsonl`, an entity or a relation a line. Zep and Graphiti:
episodes, which say what a day held, and edges, each a fact between two nodes.
"""

from typing import Any

from memories.imports.batch import LeftOut, LeftOutReason
from memories.imports.bundle import Bundle, FileItem, Reader, fact, items, time_of


def read_memory_graph(bundle: Bundle) -> Reader:
    """Observations and relations, each a fact under the names of what it is about. Raises FileRefused."""
    for member in bundle.named("*.json*"):
        is_whole = '"entities"' in member.beginning  # what read_graph answers; else a line each
        for name in ("entities", "relations") if is_whole else ("",):
            for number, item in items(bundle, member, *filter(None, [name])):
                where: dict[str, Any] = {"number": number, "path": member.path}
                if "relationType" in item:
                    start, end = _readable_name(item.get("from")), _readable_name(item.get("to"))
                    words = f"{start} {_readable_name(item['relationType'])} {end}"
                    yield FileItem(content=words, fields=fact() | {"names": _names(start, end)}, **where)
                elif "observations" in item:
                    about, kind = _readable_name(item.get("name")), str(item.get("entityType") or "")
                    observations = item.get("observations") or ()
                    if not observations:
                        yield LeftOut(member.path, LeftOutReason.EMPTY, number, about)
                    for observation in observations:
                        content = str(observation).strip()
                        if content and about.casefold() not in _readable_name(content).casefold():
                            content = f"{about}: {content}"
                        yield FileItem(content=content, fields=fact([kind]) | {"names": _names(about)}, **where)
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
                    at = time_of(item.get("valid_at") or item.get("reference_time") or item.get("created_at"))
                except ValueError as problem:
                    yield LeftOut(member.path, LeftOutReason.UNSTORABLE, number, str(problem))
                    continue
                who = str(item.get("user_id") or item.get("group_id") or item.get("graph_id") or "")
                where: dict[str, Any] = {"number": number, "path": member.path, "who": who, "at": at}
                ended = item.get("invalid_at") or item.get("expired_at")
                if "fact" in item and ended:
                    yield LeftOut(member.path, LeftOutReason.ENDED, number, str(ended))
                elif "fact" in item:
                    yield FileItem(content=str(item["fact"] or ""), fields=fact(), **where)
                else:
                    content = str(item.get("content") or item.get("episode_body") or "")
                    speaker = str(item.get("role") or item.get("role_type") or "").removeprefix("norole")
                    words = f"{speaker}: {content}" if speaker and not content.startswith(f"{speaker}:") else content
                    message = str(item.get("uuid") or f"item {number}"), 1
                    yield FileItem(content=words if content.strip() else "", is_turn=True, message=message, **where)
