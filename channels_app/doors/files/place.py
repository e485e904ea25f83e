"""Whose files a message belongs to, told with the database or without it (E2)."""

from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

from channels_app import addresses, cards
from channels_app.channels import platform_among
from memories.exceptions import ScopeNotFound
from memories.files.layout import ScopeFolder, scope_folder
from memories.offline.journal import Stream
from memories.offline.modes import NotKnown
from memories.tenancy.access import Caller
from memories.tenancy.resolver import Address, Resolution


@dataclass(frozen=True)
class FilePlace:
    """Where a message is answered from, and where it is kept."""

    caller: Caller
    resolved: Resolution

    @property
    def stream(self) -> Stream:
        """The stream of its channel in the journal."""
        address = self.resolved.address
        return Stream(self.caller.workspace_id, address.platform, address.account)

    @property
    def folders(self) -> list[ScopeFolder]:
        """The files it may be answered from; in a group a person's own only where it may hear all of them (A3).

        Raises ScopeNotFound where the caller reaches none of its scopes.
        """
        reached = addresses.keys_to_recall(self.caller, self.resolved)
        open_here = [ref.key for ref in self.resolved.recall if ref.key in reached and ref.only_chat is None]
        return [scope_folder(self.caller.folder, key) for key in open_here]

    @property
    def scope_key(self) -> str | None:
        """The scope whose transcript it is written to: the chat's where that captures, else the speaker's."""
        resolved = self.resolved
        captures_chat = resolved.chat_scope and resolved.rules.capture_group_memory
        return resolved.chat_scope if captures_chat else resolved.user_scope


def place_of(caller: Caller, address: Address, *, has_database: bool, now: datetime) -> FilePlace:
    """The place of a message. Raises InvalidAddress, and NotKnown without the database."""
    if has_database:
        return FilePlace(caller, addresses.resolve_address(caller, address))
    return place_without_database(caller, address, now=now)


def place_without_database(caller: Caller, address: Address, *, now: datetime) -> FilePlace:
    """The place of a message by what is known without the database. Raises InvalidAddress, NotKnown."""
    channels = {
        (channel.platform, channel.account): channel for channel in cards.known_channels(caller.workspace_id, now=now)
    }
    platform = platform_among(channels.keys(), address.platform, address.account)
    address = replace(address, platform=platform)
    channel = channels.get((platform, address.account))

    def direct_chat(platform: str, account: str, *keys: str) -> tuple[str, str]:
        # With whom a direct chat is, as its session was last kept; empty where that is not known
        for key in keys:
            try:
                card = cards.known_session(
                    caller.workspace_id, key, {"platform": platform, "account": account}, now=now
                )
            except NotKnown:
                continue
            if not card.is_group and card.peer:
                return card.chat, card.peer
        return "", ""

    person_of = partial(cards.known_person, caller.workspace_id, now=now)
    return FilePlace(caller, addresses.resolve_in_channel(caller, address, channel, direct_chat, person_of))


def folders_of_scope(caller: Caller, scope_key: str) -> list[ScopeFolder]:
    """The files of one scope. Raises ScopeNotFound where the caller does not reach it."""
    if not caller.may_reach(scope_key):
        raise ScopeNotFound
    return [scope_folder(caller.folder, scope_key)]
