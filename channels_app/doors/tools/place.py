"""Where a tool looks, and where it writes: what an address means, or one scope. The bot says it, no model does."""

from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from channels_app import addresses
from channels_app.doors.files.answers import folders_of_scope, place_of
from memories.choices import NeedMode, ScopeKind
from memories.files.layout import ScopeFolder, scope_folder
from memories.recall import Query, SearchScope
from memories.recall.query import Serve
from memories.tenancy.access import Caller
from memories.tenancy.resolver import Address, Resolution, ScopeRef


@dataclass(frozen=True)
class Place:
    """The memory a tool works on, as its caller may see it."""

    caller: Caller
    at: Address | str  # where the model talks, or the key of one scope
    now: datetime
    degraded: tuple[str, ...] = ()  # why the files alone answer
    has_database: bool = True
    call: str = ""  # the key under which it may be sent again

    @cached_property
    def resolution(self) -> Resolution | None:
        """What the address means; None where a scope was named. Raises InvalidAddress."""
        if isinstance(self.at, str):
            return None
        return place_of(self.caller, self.at, has_database=self.has_database, now=self.now).resolved

    @property
    def is_of_files(self) -> bool:
        """Whether the files alone answer here."""
        return bool(self.degraded)

    def check(self) -> None:
        """Raises InvalidAddress or ScopeNotFound where this is nobody's memory, or not the caller's to reach.

        Raises LeaveToFiles where its channel is answered from files.
        """
        if self.is_of_files:
            self.folders  # noqa: B018 (raises)
        elif self.resolution is not None:
            addresses.check_database_answers(self.resolution)
            addresses.keys_to_recall(self.caller, self.resolution)

    def query(self, message: str, *, limit: int, **options: Any) -> Query:
        """A search of this place, whatever is asked; `options` are fields of Query. Raises ScopeNotFound."""
        if isinstance(self.at, str) or self.resolution is None:
            parameters = {"message": message, "limit": limit, "need": NeedMode.OFF, **options}
            return addresses.scope_query(self.caller, str(self.at), now=self.now, **parameters)
        parameters = {"message": message, "limit": limit, "need": NeedMode.OFF, "serve": Serve.WIDE, **options}
        return addresses.recall_query(self.caller, self.resolution, now=self.now, **parameters)

    @property
    def refs(self) -> list[ScopeRef]:
        """The scopes it is about that the caller reaches, each with what of it may be heard here.

        Raises InvalidAddress, ScopeNotFound.
        """
        if self.resolution is None:
            return [place.ref for place in self.places]
        addresses.keys_to_recall(self.caller, self.resolution)
        return [ref for ref in self.resolution.recall if self.caller.may_reach(ref.key)]

    @property
    def folders(self) -> list[ScopeFolder]:
        """The folders that may be read: in a group a person's own only where the group may hear everything."""
        if self.is_of_files and isinstance(self.at, str):
            return folders_of_scope(self.caller, self.at)
        open_here = [ref for ref in self.refs if not (ref.in_group and ref.kind == ScopeKind.USER and ref.only_chat)]
        return [scope_folder(self.caller.folder, ref.key) for ref in open_here]

    @cached_property
    def places(self) -> list[SearchScope]:
        """The scopes that are there to be read, each with what of it may be heard here. Raises ScopeNotFound."""
        return list(self.query("", limit=1).places)
