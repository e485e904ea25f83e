"""mem0's four ids and its metadata, as scopes and slots of ours."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from memories.choices import ScopeKind
from memories.entries.fields import COLUMN_SLOTS, RESERVED_SLOTS
from memories.models import Entry, Slot
from memories.tenancy.resolver import Address

PLATFORM = "mem0"
USER = "user_id"
SHARED_IDS = ("agent_id", "app_id", "run_id")
IDS = (USER, *SHARED_IDS)
#: Metadata under a name the platform uses itself is a slot with this before its name.
_PREFIX = "metadata."
_OWN_SLOTS = frozenset({*COLUMN_SLOTS, *RESERVED_SLOTS, *IDS})


def address_of(ids: Mapping[str, str]) -> Address:
    """The user's own memory; without a user, one for exactly these ids. Each set of ids is a conversation of its own.

    So the same words of two agents or runs stay two memories.
    """
    chat = urlencode([(name, ids[name]) for name in SHARED_IDS if name in ids])
    return Address(platform=PLATFORM, peer=ids.get(USER, ""), chat=chat, is_group=USER not in ids)


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
    known: dict[int, dict[str, str]] = {}
    read = rows.order_by("entry__scope", "name").distinct("entry__scope", "name")
    for scope, kind, name, value in read.values_list("entry__scope", "entry__scope__kind", "name", "value"):
        if kind == ScopeKind.CHAT or name == USER:
            known.setdefault(scope, {})[name] = value
    return {entry.pk: own[entry.pk] or known.get(entry.scope_id, {}) for entry in entries}
