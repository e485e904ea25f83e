"""memory_save and memory_append: a line of a file, on the disk and found again when the call returns (C2, E3).

It is written for the group where a group talks, else for the person; the bot's address says so, no model does.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from channels_app import addresses
from channels_app.channels import check_scope_key, ensure_channel
from channels_app.doors.tools.place import Place
from memories.entries.files import folder_of
from memories.exceptions import InvalidAddress, PathNotAllowed
from memories.files.comments import short_id
from memories.files.layout import ScopeFolder, read_reference, resolve_path
from memories.models import Scope
from memories.notes.save import AppendedLine, Target, path_of, save_note
from memories.visibility import scope_to_write
from sessions_app.choices import in_language

CREATED, BROUGHT_BACK, PENDING = "created", "brought_back", "pending"
OUTCOMES = (CREATED, BROUGHT_BACK, PENDING)
ONLY_UNDER = "memory/"
#: The session of what is saved to a scope by its key, in no conversation.
BY_SCOPE = "api"

TOLD = {
    CREATED: {"en": "Saved: [{path}:{line}].", "zh-hans": "已保存：[{path}:{line}]。"},
    BROUGHT_BACK: {
        "en": "Saved: [{path}:{line}]. This had been taken out of memory before; it is in use again.",
        "zh-hans": "已保存：[{path}:{line}]。这条内容之前被停用过，现在已恢复使用。",
    },
    PENDING: {
        "en": "Saved: [{path}:{line}]. It stands in the file; searches find it as soon as the file is indexed.",
        "zh-hans": "已保存：[{path}:{line}]。内容已写入文件，索引完成后即可检索到。",
    },
}


@dataclass(frozen=True, kw_only=True)
class SavedLine:
    """A line that was saved."""

    path: str
    line: int
    scope: str
    entry: UUID | None  # None: remembered as soon as that can be
    outcome: str
    language: str = "en"  # of what is said about it
    degraded: list[str] = field(default_factory=list)


def memory_save(place: Place, *, content: str, target: str, now: datetime) -> SavedLine:
    """Add a line to today's note, or to the long-term file.

    Raises InvalidAddress, ScopeNotFound, ScopeFrozen, InvalidDraft; then nothing is written.
    """
    zone = place.caller.zone
    return _saved(place, content, lambda folder: path_of(folder, Target(target), now=now, zone=zone), now)


def memory_append(place: Place, *, content: str, path: str | None = None, now: datetime) -> SavedLine:
    """Add lines to the end of a note under memory/, today's unless another is named; nothing is rewritten.

    Raises PathNotAllowed, and what memory_save raises.
    """
    if path is None:
        return memory_save(place, content=content, target=Target.DAILY, now=now)
    return _saved(place, content, lambda folder: note_path(folder, path), now)


def note_path(folder: ScopeFolder, path: str) -> str:
    """A path that lines may be added to: of a note of this scope under memory/. Raises PathNotAllowed."""
    named, _line = read_reference(path)
    resolve_path([folder], named)
    if not named.startswith(ONLY_UNDER) or folder.is_transcript(named):
        raise PathNotAllowed
    return named


def _saved(place: Place, content: str, path_in: Callable[[ScopeFolder], str], now: datetime) -> SavedLine:
    scope, session = _scope(place)
    path = path_in(folder_of(scope))
    note = save_note(
        scope, path, content, now=now, session=session, call=mark_of(place, content), actor=place.caller.actor
    )
    outcome = PENDING if note.entry is None else BROUGHT_BACK if note.ended_suppression else CREATED
    return saved_line(place, note, scope.key, outcome, note.entry.uid if note.entry else None, note.degraded)


def saved_line(
    place: Place,
    line: AppendedLine,
    scope_key: str,
    outcome: str = PENDING,
    entry: UUID | None = None,
    degraded: list[str] | None = None,
) -> SavedLine:
    """What is answered of a line in its file."""
    return SavedLine(
        path=line.path,
        line=line.line,
        scope=scope_key,
        entry=entry,
        outcome=outcome,
        language=place.caller.language,
        degraded=degraded or [],
    )


def mark_of(place: Place, content: str) -> str:
    """By which a line is known to be the one that a call wrote, when the call is sent again; empty: it has no key.

    The file tells of it, for what the database knew is gone when it was away.
    """
    return short_id(f"{place.call}\0{content}") if place.call else ""


def scope_key_of(chat_scope: str | None, user_scope: str | None) -> str:
    """Whose memory it becomes: the group's, else the person's. Raises InvalidAddress (E3)."""
    key = chat_scope or user_scope
    if key is None:
        raise InvalidAddress("Nobody is named here whose memory it could become: the address needs a peer.")
    return key


def _scope(place: Place) -> tuple[Scope, str]:
    """The scope it is written to, begun where needed, and the session that is its source."""
    caller, resolution = place.caller, place.resolution
    if resolution is None:
        key = str(place.at)
        check_scope_key(caller.workspace_id, key)
        return scope_to_write(caller, key), BY_SCOPE
    key = scope_key_of(resolution.chat_scope, resolution.user_scope)
    scope = addresses.scope_to_write(caller, resolution, key)
    ensure_channel(caller.workspace_id, resolution.address)
    return scope, resolution.session_key


def shown(saved: SavedLine) -> str:
    """What a model is told."""
    return in_language(TOLD[saved.outcome], saved.language).format(path=saved.path, line=saved.line)
