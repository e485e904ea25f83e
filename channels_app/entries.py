"""A memory that is saved on purpose: into a scope, or from where somebody asked for it (A3)."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from channels_app import addresses
from channels_app.channels import check_scope_key, ensure_channel
from memories import entries
from memories.choices import EntryType, Outcome, ScopeKind
from memories.consolidation.capture import source_slots
from memories.entries.draft import Draft
from memories.exceptions import InvalidAddress
from memories.tenancy.access import Caller
from memories.tenancy.resolver import Address
from memories.visibility import scope_to_write

#: The tier of a fact, unless it is to belong to the profile.
KNOWLEDGE = 2


def save(
    caller: Caller,
    to: Address | str,
    *,
    kind: str | None = None,
    slots: Mapping[str, str],
    now: datetime,
    **attributes: Any,
) -> entries.WriteResult:
    """Save a memory to the scope with a key, or to the scope of this kind that an address means.

    From an address it has its place in the slots, as a turn from there would, and a person's memory the chat.
    `attributes` are further fields of Draft. Raises InvalidAddress, ScopeNotFound, InvalidDraft, ScopeFrozen.
    """
    if attributes["type"] == EntryType.FACT:
        attributes["tier"] = attributes.get("tier") or KNOWLEDGE
    if isinstance(to, str):
        check_scope_key(caller.workspace_id, to)
        draft = Draft(scope=scope_to_write(caller, to), slots=slots, **attributes)
    else:
        resolved = addresses.resolve_address(caller, to)
        # The scope it is saved to: the speaker's, or the group's
        kind = kind or (ScopeKind.USER if resolved.user_scope else ScopeKind.CHAT)
        key = resolved.user_scope if kind == ScopeKind.USER else resolved.chat_scope
        if key is None and kind == ScopeKind.USER:
            raise InvalidAddress("Nobody is named here whose memory it could become: the address needs a peer.")
        if key is None:
            raise InvalidAddress("A direct chat has no memory of its own: it is its peer's.", field="scope_kind")
        scope = addresses.scope_to_write(caller, resolved, key)
        ensure_channel(caller.workspace_id, resolved.address)
        place = {name: value for name, value in source_slots(resolved).items() if value}
        chats = (resolved.chat,) if scope.kind == ScopeKind.USER else ()
        draft = Draft(scope=scope, slots={**slots, **place}, chats=chats, **attributes)
    result = entries.remember(draft, now=now, actor=caller.actor)
    if result.outcome != Outcome.CREATED:
        result.entry.refresh_from_db(fields=["version"])  # it rises when an entry is repeated
    return result
