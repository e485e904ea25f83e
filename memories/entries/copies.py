"""Copies of one statement, in the speaker's scope and the chat's: they are expired and restored together (A15)."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta

from memories.choices import ScopeKind
from memories.entries import transitions
from memories.entries.locks import lock_scopes
from memories.models import Entry, Suppression
from memories.models.change import acting
from memories.tenancy.keys import key_of_speaker

Reach = Callable[[str], bool]


def anywhere(scope_key: str) -> bool:
    """The reach of a caller that sees the whole workspace."""
    return True


def copies_of(entries: Iterable[Entry], reach: Reach = anywhere) -> list[Entry]:
    """Other entries that rest on the same messages, in order of their ids.

    They are looked for in the scopes of the entries, of the chats they came from, and of the speakers there.
    """
    by_workspace: defaultdict[int, list[Entry]] = defaultdict(list)
    for entry in entries:
        by_workspace[entry.workspace_id].append(entry)
    found = [copy for group in by_workspace.values() for copy in _copies_in_workspace(group)]
    return sorted((copy for copy in found if reach(copy.scope.key)), key=lambda copy: copy.pk)


def _copies_in_workspace(entries: Sequence[Entry]) -> list[Entry]:
    origins = sorted({origin for entry in entries for origin in entry.origins})
    if not origins:
        return []
    others = Entry.objects.filter(workspace_id=entries[0].workspace_id, origins__overlap=origins)
    others = others.exclude(pk__in=[entry.pk for entry in entries]).select_related("scope")
    own = {entry.scope_id for entry in entries}
    here = list(others.filter(scope__in=own))
    keys = _scope_keys_written([*entries, *here])
    elsewhere = others.filter(scope__key__in=keys).exclude(scope__in=own) if keys else others.none()
    return [*here, *elsewhere]


def _scope_keys_written(entries: Sequence[Entry]) -> set[str]:
    """The keys of the other scopes that statements in a group were written to."""
    keys = {chat for entry in entries for chat in entry.chats if entry.chats != [entry.scope.key]}
    spoken = (entry for entry in entries if entry.scope.kind == ScopeKind.CHAT and entry.sender_id)
    return keys | {key_of_speaker(entry.channel, entry.sender_id) for entry in spoken}


def is_own_statement(entry: Entry) -> bool:
    """Whether an entry is a statement of one person, so that by default its copies are expired with it."""
    return entry.scope.kind == ScopeKind.USER or bool(entry.sender_id)


def copies_to_expire(entries: Sequence[Entry], reach: Reach = anywhere) -> list[Entry]:
    """Copies in other scopes that are expired with these entries: the same statement, or derived from it alone.

    In the entries' own scopes their suppression covers what rests on the same messages.
    """
    return [copy for copy in copies_of(entries, reach) if any(_expires_with(entry, copy) for entry in entries)]


def _expires_with(entry: Entry, copy: Entry) -> bool:
    shared = set(entry.origins) & set(copy.origins)
    is_same = copy.type == entry.type or shared == set(copy.origins)
    return bool(shared) and is_same and copy.scope_id != entry.scope_id and copy.is_live()


def copies_to_restore(entries: Sequence[Entry], reach: Reach = anywhere) -> list[Entry]:
    """The copies that were expired together with these entries: by the same actor, at the same moment."""
    copies = [copy for copy in copies_of(entries, reach) if copy.expired_at]
    rows = Suppression.objects.filter(
        workspace_id__in={entry.workspace_id for entry in entries}, entry__in=[*entries, *copies]
    )
    acts = {entry: (at, actor) for entry, at, actor in rows.values_list("entry_id", "created_at", "actor")}
    return [
        copy
        for copy in copies
        if copy.pk in acts
        and any(acts.get(entry.pk) == acts[copy.pk] for entry in entries if set(entry.origins) & set(copy.origins))
    ]


def expire_with_copies(
    entry: Entry, *, along: bool, reach: Reach, now: datetime, actor: str, expected_version: int | None = None
) -> tuple[Entry, list[Entry]]:
    """Expire an entry, `along` with its copies; returns it, and the copies in use before, as they are now.

    Raises VersionConflict, EntryNotFound, or ScopeFrozen when one of the scopes is.
    """
    with acting(actor):
        live = [copy for copy in copies_of([entry], reach) if copy.is_live()]
        copies = [copy for copy in live if along and _expires_with(entry, copy)]
        lock_scopes([entry.scope, *(copy.scope for copy in copies)])
        expired = transitions.expire(entry, now=now, actor=actor, expected_version=expected_version)
        for copy in copies:
            transitions.expire(copy, now=now, actor=actor)
        return expired, _reload(live)


def restore_with_copies(
    entry: Entry,
    *,
    along: bool,
    reach: Reach,
    now: datetime,
    actor: str,
    term: timedelta | None = None,
    expected_version: int | None = None,
) -> tuple[Entry, list[Entry]]:
    """Restore an entry, `along` with the copies expired with it; returns it, and the copies out of use before.

    Raises VersionConflict, EntryNotFound, or ScopeFrozen when one of the scopes is.
    """
    with acting(actor):
        expired = [copy for copy in copies_of([entry], reach) if not copy.is_live()]
        copies = copies_to_restore([entry], reach) if along else []
        lock_scopes([entry.scope, *(copy.scope for copy in copies)])
        restored = transitions.restore(entry, now=now, actor=actor, term=term, expected_version=expected_version)
        for copy in copies:
            transitions.restore(copy, now=now, actor=actor, term=term)
        return restored, _reload(expired)


def _reload(entries: Sequence[Entry]) -> list[Entry]:
    rows = Entry.objects.filter(workspace_id__in={entry.workspace_id for entry in entries})
    current = rows.select_related("scope").in_bulk([entry.pk for entry in entries])
    return [current[entry.pk] for entry in entries if entry.pk in current]
