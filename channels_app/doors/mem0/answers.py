"""Memories, their ids and their history as mem0's client knows them."""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.core import signing
from django.db.models import prefetch_related_objects
from rest_framework.exceptions import NotFound

from memories.choices import Operation, ScopeKind
from memories.entries.draft import COLUMN_SLOTS, RESERVED_SLOTS
from memories.entries.history import history_of
from memories.models import Entry, Slot
from memories.tenancy.access import Caller
from memories.tenancy.resolver import Address

PLATFORM = "mem0"
USER = "user_id"
SHARED_IDS = ("agent_id", "app_id", "run_id")
IDS = (USER, *SHARED_IDS)
#: Digits of the digest that tells the chats of two users with one agent apart.
_USER_DIGITS = 16
#: Metadata under a name the platform uses itself is a slot with this before its name.
_PREFIX = "metadata."
_CAPITAL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_OWN_SLOTS = frozenset({*COLUMN_SLOTS, *RESERVED_SLOTS, *IDS})


def address_of(ids: Mapping[str, str]) -> Address:
    """The user's own memory; without a user, one for exactly these ids. Each set of ids is a conversation of its own.

    So the same words of two agents or runs stay two memories, and two users who speak with one agent have a chat each.
    """
    parts = [(name, ids[name]) for name in SHARED_IDS if name in ids]
    if parts and USER in ids:
        parts.append(("with", hashlib.sha256(ids[USER].encode()).hexdigest()[:_USER_DIGITS]))
    chat = urlencode(parts)
    return Address(platform=PLATFORM, peer=ids.get(USER, ""), chat=chat, is_group=USER not in ids)


def snake_case(name: str) -> str:
    """A name as Python's client writes it: `userId` is `user_id`; AND, OR and NOT stay."""
    return name if name.isupper() else _CAPITAL.sub("_", name).lower()


def slots_of_metadata(metadata: Mapping[str, Any]) -> dict[str, str]:
    """Metadata as slots: texts as they are, everything else, and what could be taken for it, as JSON."""
    return {slot_name(name): slot_value(value) for name, value in metadata.items()}


def slot_name(name: str) -> str:
    """The slot of a piece of metadata."""
    return _PREFIX + name if name in _OWN_SLOTS or name.startswith(_PREFIX) else name


def slot_value(value: Any) -> str:
    """A piece of metadata as a slot holds it."""
    is_plain = isinstance(value, str) and value and _parsed(value) == value
    return value if is_plain else json.dumps(value, ensure_ascii=False, sort_keys=True)


def metadata_of(slots: Iterable[Slot]) -> dict[str, Any]:
    """What slots_of_metadata was made of, and the slots other doors gave."""
    return {slot.name.removeprefix(_PREFIX): _parsed(slot.value) for slot in slots if slot.name not in _OWN_SLOTS}


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def ids_of(entries: Sequence[Entry]) -> dict[int, dict[str, str]]:
    """The ids of entries, by theirs; of facts, which have no such slots, those all of their memory was added with."""
    own = {entry.pk: {slot.name: slot.value for slot in entry.slots.all() if slot.name in IDS} for entry in entries}
    bare = {entry.scope_id: entry.workspace_id for entry in entries if not own[entry.pk]}
    rows = Slot.objects.filter(workspace_id__in=set(bare.values()), entry__scope__in=bare, name__in=IDS)
    ids_by_scope: dict[int, dict[str, str]] = {}
    read = rows.order_by("entry__scope", "name").distinct("entry__scope", "name")
    for scope, kind, name, value in read.values_list("entry__scope", "entry__scope__kind", "name", "value"):
        if kind == ScopeKind.CHAT or name == USER:
            ids_by_scope.setdefault(scope, {})[name] = value
    return {entry.pk: own[entry.pk] or ids_by_scope.get(entry.scope_id, {}) for entry in entries}


def memory_answers(entries: Sequence[Entry], caller: Caller) -> list[dict[str, Any]]:
    """Memories, their slots and ids read at once."""
    prefetch_related_objects(entries, "slots", "scope")
    ids = ids_of(entries)
    answers = []
    for entry in entries:
        ends = entry.expires_at and (entry.expires_at - timedelta(microseconds=1)).astimezone(caller.zone)
        answer = {
            "id": entry.uid,
            "memory": entry.content,
            **{name: ids[entry.pk].get(name) for name in IDS},
            "metadata": metadata_of(entry.slots.all()) or None,
            "categories": [entry.category] if entry.category else [],
            "created_at": entry.created_at,
            "updated_at": entry.updated_at,
            "expiration_date": ends and ends.date(),
        }
        answers.append(answer)
    return answers


_EVENTS_SALT = "channels_app.mem0.events"


def added_answer(results: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What an add came to. It is done already; its `event_id`, by which clients ask again, holds what it wrote."""
    outcomes = [[UUID(str(result["id"])).hex, result["event"]] for result in results]
    event = signing.dumps(outcomes, salt=_EVENTS_SALT, compress=True)
    return {"results": list(results), "status": "SUCCEEDED", "event_id": event}


def outcomes_of(event: str) -> list[tuple[UUID, str]]:
    """The memories an add wrote, and what became of each, by its event. Raises NotFound for what is no event."""
    try:
        return [(UUID(memory), outcome) for memory, outcome in signing.loads(event, salt=_EVENTS_SALT)]
    except signing.BadSignature:
        raise NotFound from None


def history_answers(entry: Entry, caller: Caller) -> list[dict[str, Any]]:
    """What was added and changed of a memory in use, oldest first."""
    (memory,) = memory_answers([entry], caller)
    about = {name: memory[name] for name in (*IDS, "metadata")}
    answers: list[dict[str, Any]] = []
    words, created_at = None, None
    for step in history_of(entry):
        is_new = step.operation == Operation.INSERT
        before, words = step.columns.get("content", (words, words))
        created_at = created_at or step.at
        if is_new or "content" in step.columns or step.slots:
            answer = {
                "id": f"{entry.uid}:{step.version}",
                "memory_id": entry.uid,
                "old_memory": before,
                "new_memory": words,
                "event": "ADD" if is_new else "UPDATE",
                "created_at": created_at,
                "updated_at": step.at,
            }
            answers.append(answer | about)
    return answers
