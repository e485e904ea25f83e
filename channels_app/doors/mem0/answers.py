"""Memories and their history as mem0's client knows them."""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any

from django.db.models import prefetch_related_objects

from channels_app.doors.mem0.ids import IDS, ids_of, metadata_of
from memories.choices import Operation
from memories.entries.history import history_of
from memories.models import Entry
from memories.tenancy.access import Caller


def memory_answers(entries: Sequence[Entry], caller: Caller) -> list[dict[str, Any]]:
    """Memories, their slots and ids read at once."""
    prefetch_related_objects(entries, "slots", "scope")
    ids = ids_of(entries)
    return [_memory(entry, ids[entry.pk], caller) for entry in entries]


def _memory(entry: Entry, ids: dict[str, str], caller: Caller) -> dict[str, Any]:
    ends = entry.expires_at and (entry.expires_at - timedelta(microseconds=1)).astimezone(caller.zone)
    return {
        "id": entry.uid,
        "memory": entry.content,
        **{name: ids.get(name) for name in IDS},
        "metadata": metadata_of(entry.slots.all()) or None,
        "categories": [entry.category] if entry.category else [],
        "created_at": entry.created_at,
        "updated_at": entry.updated_at,
        "expiration_date": ends and ends.date(),
    }


def history_answers(entry: Entry, caller: Caller) -> list[dict[str, Any]]:
    """What was added and changed of a memory in use, oldest first."""
    (memory,) = memory_answers([entry], caller)
    return list(_steps(entry, {name: memory[name] for name in IDS} | {"metadata": memory["metadata"]}))


def _steps(entry: Entry, about: dict[str, Any]) -> Iterator[dict[str, Any]]:
    words, begun = None, None
    for step in history_of(entry):
        is_new = step.operation == Operation.INSERT
        before, words = step.columns.get("content", (words, words))
        begun = begun or step.at
        if is_new or "content" in step.columns or step.slots:
            yield {
                "id": f"{entry.uid}:{step.version}",
                "memory_id": entry.uid,
                "old_memory": before,
                "new_memory": words,
                "event": "ADD" if is_new else "UPDATE",
                "created_at": begun,
                "updated_at": step.at,
                **about,
            }
