"""The copies of one statement: the speaker's, the chat's, and what was drawn from them, go and come together (A15)."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta

from memories.choices import ScopeKind
from memories.entries import transitions
from memories.entries.locks import lock_scopes
from memories.models import Entry, Suppression
from memories.models.change import acting
from memories.tenancy.resolver import key_of_speaker

Reach = Callable[[str], bool]


def anywhere(scope_key: str) -> bool:
    """The reach of whoever sees the whole workspace."""
    return True


def copies_of(entries: Iterable[Entry], reach: Reach = anywhere) -> list[Entry]:
    """Other entries that rest on the same messages, in the scopes their words were written to, in order of their ids.

    These are the scopes of the entries, the chats they came from, and the own memories of those who spoke there.
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
    """The keys of the scopes a statement in a group was written to beside the one of the entry itself."""
    keys = {chat for entry in entries for chat in entry.chats if entry.chats != [entry.scope.key]}
    spoken = (entry for entry in entries if entry.scope.kind == ScopeKind.CHAT and entry.sender_id)
    return keys | {key_of_speaker(entry.channel, entry.sender_id) for entry in spoken}


def is_own_statement(entry: Entry) -> bool:
    """Whether an entry holds what one person said, so that its copies go with it unless told otherwise."""
    return entry.scope.kind == ScopeKind.USER or bool(entry.sender_id)


def copies_to_expire(entries: Sequence[Entry], reach: Reach = anywhere) -> list[Entry]:
    """The copies of other scopes that go when these entries are taken out: the same statement, or drawn from it alone.

    What rests on their messages in a scope of theirs is kept out by their suppression.
    """
    return [copy for copy in copies_of(entries, reach) if any(_expires_with(entry, copy) for entry in entries)]


def _expires_with(entry: Entry, copy: Entry) -> bool:
    shared = set(entry.origins) & set(copy.origins)
    is_same = copy.type == entry.type or shared == set(copy.origins)
    return bool(shared) and is_same and copy.scope_id != entry.scope_id and copy.is_live()


def copies_to_restore(entries: Sequence[Entry], reach: Reach = anywhere) -> list[Entry]:
    """The copies that were taken out together with these entries: by the same person or bot, at the same moment."""
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
    """Take an entry out of use, with its copies if wanted; the copies that were in use before, as they are now.

    Raises VersionConflict, EntryNotFound, or ScopeFrozen when one of the scopes is.
    """
    with acting(actor):
        known = [copy for copy in copies_of([entry], reach) if copy.is_live()]
        going = [copy for copy in known if along and _expires_with(entry, copy)]
        lock_scopes([entry.scope, *(copy.scope for copy in going)])
        gone = transitions.expire(entry, now=now, actor=actor, expected_version=expected_version)
        for copy in going:
            transitions.expire(copy, now=now, actor=actor)
        return gone, _reload(known)


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
    """Bring an entry back into use, with what went with it if wanted; the copies that were out before, as they are now.

    Raises VersionConflict, EntryNotFound, or ScopeFrozen when one of the scopes is.
    """
    with acting(actor):
        known = [copy for copy in copies_of([entry], reach) if not copy.is_live()]
        coming = copies_to_restore([entry], reach) if along else []
        lock_scopes([entry.scope, *(copy.scope for copy in coming)])
        back = transitions.restore(entry, now=now, actor=actor, term=term, expected_version=expected_version)
        for copy in coming:
            transitions.restore(copy, now=now, actor=actor, term=term)
        return back, _reload(known)


def _reload(entries: Sequence[Entry]) -> list[Entry]:
    found = Entry.objects.filter(workspace_id__in={entry.workspace_id for entry in entries})
    are = found.select_related("scope").in_bulk([entry.pk for entry in entries])
    return [are[entry.pk] for entry in entries if entry.pk in are]
