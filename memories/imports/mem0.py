"""What mem0 keeps: the JSON of its `get_all`, as a list or with its `results`."""

from pathlib import Path

from memories.imports.batch import Found, Heard, LeftOut, LeftOutReason, Reader, fact, items, slots_of, time_of

_PLACES = ("user_id", "agent_id", "run_id", "app_id")


def read(path: Path, heard: Heard) -> Reader:
    """Its memories: each a fact, with its metadata as slots. Raises FileRefused."""
    for number, item in items(path, heard, "results", "memories"):
        try:
            content = str(item.get("memory") or item.get("text") or "")
            at, ends = time_of(item.get("updated_at") or item.get("created_at")), time_of(item.get("expiration_date"))
        except ValueError as problem:
            yield LeftOut(path.name, LeftOutReason.UNSTORABLE, number, str(problem))
            continue
        who = next((str(item[name]) for name in _PLACES if item.get(name)), "")
        places = {name: item[name] for name in _PLACES[1:] if item.get(name)}
        fields = fact(item.get("categories")) | {"expires_at": ends, "pinned": item.get("immutable") is True}
        slots = slots_of(item.get("metadata")) | slots_of(places)
        yield Found(number=number, content=content, who=who, at=at, fields=fields, slots=slots)
