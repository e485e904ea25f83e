"""Where the files of a scope lie, and the wall around them: which paths may be opened at all (C1, C4, E2).

A path is relative to the workspace's folder and written with `/`: `memory/2026-11-23.md`. Its names mean the same on
every disk, so that no spelling of a path leads elsewhere.
"""

import hashlib
import os
import re
import stat
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from django.conf import settings

from memories.exceptions import PathNotAllowed
from memories.language.text import PLAIN_HAN

NAME_BYTES = 200
_SIGNS = re.compile(r"[\\:]|%(?:[0-9a-f]{2}|u[0-9a-f]{4})", re.IGNORECASE)
#: Characters nobody sees: control, format (text turned round, zero width), half surrogate pairs, line separators.
_UNSEEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
#: Full-width signs people write in Chinese names. All else that stands for another character is refused.
_CHINESE_SIGNS = str.maketrans("", "", "（）！，；？＋－＝＆")


def is_plain(name: str) -> bool:
    """Whether a name means the same on every disk, and nothing but itself.

    It is no look-alike of another, and composed: «é» is one character, as git stores it.
    """
    without_signs = name.translate(_CHINESE_SIGNS)
    return (
        bool(name)
        and name[0] not in ".~ "
        and name[-1] not in ". "
        and not _SIGNS.search(name)
        and not any(unicodedata.category(char) in _UNSEEN for char in name)
        and len(name.encode()) <= NAME_BYTES
        and unicodedata.normalize("NFKC", without_signs) == without_signs
    )


def readable(name: str) -> str:
    """A name as it can be shown and stored, whatever bytes it has on the disk."""
    return os.fsencode(name).decode(errors="replace")


MAIN = "main"
PATH_CHARS, PATH_DEPTH = 500, 16
_ROOT_FILE, _ROOT, _SCOPES, _TRANSCRIPTS, _LONG_TERM = "MEMORY.md", "memory", "scopes", "transcripts", "LONG_TERM.md"
_SAFE_KEY = re.compile(rf"[a-z0-9_@%:~\-{PLAIN_HAN}]+")
_HASH_CHARS = 32
_COLON = "+"  # what stands for a colon in the name of a folder
_DAY = re.compile(r"(?:.*/)?(\d{4}-\d\d-\d\d)\.md", re.DOTALL)
_LINE = re.compile(r":(\d{1,9})(?:-\d{1,9})?$", re.ASCII)


@dataclass(frozen=True)
class FoundFile:
    """A file that is there."""

    path: str
    mtime_ns: int
    size: int
    changed_ns: int = 0  # its mtime, or its ctime where that is later: who copies a file may set back the one
    is_linked: bool = False  # it has a second name, by a hard link: it is not opened


@dataclass(frozen=True)
class ScopeFolder:
    """The files of one scope."""

    workspace: Path  # absolute: the folder of the workspace
    scope_key: str
    base: str  # empty for `main`, whose files are MEMORY.md and memory/
    long_term: str

    def daily(self, day: date) -> str:
        """The path of the notes of a day."""
        return f"{self.base or _ROOT}/{day.isoformat()}.md"

    def transcript(self, day: date) -> str:
        """The path of the transcript of a day."""
        return f"{self._transcripts}/{day.isoformat()}.md"

    def owns(self, path: str) -> bool:
        """Whether a path, by its words alone, leads to a file of this scope: a note or a transcript."""
        return self.is_transcript(path) or self._is_note(path)

    def is_transcript(self, path: str) -> bool:
        """Whether a path leads to a transcript of this scope."""
        rest = _below(self._transcripts, path)
        return len(rest) == 1 and _is_file(path, rest)

    def files(self) -> list[FoundFile]:
        """The notes that are there, by path: no links, no transcripts, nothing a tool could not open."""
        notes = [file for file in _walk(self.workspace, self.base or _ROOT) if self._is_note(file.path)]
        if not self.base and _is_there(self.workspace, _ROOT_FILE):
            with suppress(FileNotFoundError):
                notes += _as_file(_ROOT_FILE, os.lstat(self.workspace / _ROOT_FILE))
        return sorted(notes, key=lambda file: file.path)

    def folders(self) -> dict[str, int]:
        """The folders its notes lie in or would, each with when a name in it came, went or was replaced; 0: it is none.

        Asked again of the same by `folder_changes`.
        """
        above = {"", _ROOT} if not self.base else {self.base}
        return self.folder_changes(
            above | {inside for inside, *_rest in _folders_below(self.workspace, self.base or _ROOT)}
        )

    def folder_changes(self, folders: Iterable[str]) -> dict[str, int]:
        """When a name in some of its folders was changed last."""
        changes = dict.fromkeys(folders, 0)
        for path in changes:
            with suppress(OSError):
                changes[path] = os.lstat(self.workspace / path).st_mtime_ns
        return changes

    def file_at(self, path: str) -> FoundFile | None:
        """One note or transcript, if it is there."""
        try:
            about = _look(self.workspace, path) if self.owns(path) else None
        except PathNotAllowed:
            return None
        return next(_as_file(path, about), None) if about else None

    def transcripts(self) -> list[FoundFile]:
        """The transcripts that are there, by path."""
        transcripts = [file for file in _walk(self.workspace, self._transcripts) if self.is_transcript(file.path)]
        return sorted(transcripts, key=lambda file: file.path)

    @property
    def _transcripts(self) -> str:
        return f"{self.base or f'{_ROOT}/{_SCOPES}/{MAIN}'}/{_TRANSCRIPTS}"

    def _is_note(self, path: str) -> bool:
        if path == self.long_term:
            return True
        rest = _below(self.base or _ROOT, path)
        reserved_names = (_TRANSCRIPTS, _LONG_TERM.casefold()) if self.base else (_SCOPES,)
        return bool(rest) and rest[0].casefold() not in reserved_names and _is_file(path, rest)


def root() -> Path:
    """The folder in which every workspace has its own."""
    return Path(settings.MEMORY_FILES_ROOT)


def scope_folder(workspace_folder: str, scope_key: str) -> ScopeFolder:
    """The files of a scope, by the name of its workspace's folder. Raises PathNotAllowed for a name that is none."""
    if "/" in workspace_folder or not is_plain(workspace_folder):
        raise PathNotAllowed()
    return folder_in(root() / workspace_folder, scope_key)


def folder_in(workspace: Path, scope_key: str) -> ScopeFolder:
    """The files of a scope in the folder of a workspace, in which its own may still have the name of before."""
    places = places_of_scope(workspace, scope_key)
    for place in places if len(places) > 1 else ():
        with suppress(OSError):
            if stat.S_ISDIR(os.lstat(workspace / place.base).st_mode):
                return place
    return places[0]


def places_of_scope(workspace: Path, scope_key: str) -> list[ScopeFolder]:
    """Where the files of a scope may lie in the folder of a workspace: the first place that is there counts alone."""
    if scope_key == MAIN:
        return [ScopeFolder(workspace, scope_key, "", _ROOT_FILE)]
    bases = [f"{_ROOT}/{_SCOPES}/{name}" for name in _folder_names(scope_key)]
    return [ScopeFolder(workspace, scope_key, base, f"{base}/{_LONG_TERM}") for base in bases]


def folder_name(scope_key: str) -> str:
    """The name of a scope's folder: its key with `+` for colons, or what is left of it and a hash.

    A hash ends it where the key is too long or no name on every disk. A key with a `+` of its own is none.
    """
    return _folder_names(scope_key)[0]


def _folder_names(scope_key: str) -> list[str]:
    """The name of a scope's folder, and the one it had before, with the colons that Windows does not take."""
    name = scope_key
    if not _SAFE_KEY.fullmatch(scope_key) or len(scope_key.encode()) > NAME_BYTES:
        digest = hashlib.sha256(scope_key.encode(errors="surrogatepass")).hexdigest()[:_HASH_CHARS]
        head = "".join(_SAFE_KEY.findall(scope_key)).encode()[: NAME_BYTES - _HASH_CHARS - 1].decode(errors="ignore")
        name = f"{head}~{digest}"
    return list(dict.fromkeys([name.replace(":", _COLON), name]))


def keys_of_folders(names: Iterable[str], keys: Iterable[str]) -> dict[str, str]:
    """The key of the scope each of these names of folders is for; `keys` are those some of them may be cut from."""
    names = list(names)
    by_name = {name: key for key in keys for name in _folder_names(key)} if any("~" in name for name in names) else {}
    return {name: by_name.get(name, name.replace(_COLON, ":")) for name in names}


def scope_folders(workspace_folder: str) -> list[str]:
    """The names of the scopes' folders that are there."""
    above = scope_folder(workspace_folder, MAIN).workspace / _ROOT / _SCOPES
    try:
        with os.scandir(above) as entries:
            folders = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
            return sorted(name for name in folders if name[0] != ".")
    except (FileNotFoundError, NotADirectoryError):
        return []


def read_reference(text: str) -> tuple[str, int | None]:
    """A path and a line, as evidence names them: `memory/2026-11-23.md:12`, also within brackets."""
    path = text.strip()
    if path.startswith("[") and path.endswith("]"):
        path = path[1:-1].strip()
    if line := _LINE.search(path):
        return path[: line.start()], int(line.group(1))
    return path, None


def resolve_path(folders: Sequence[ScopeFolder], path: str) -> tuple[ScopeFolder, Path]:
    """The scope a path belongs to, and the file it names, there or not; nothing is opened.

    Raises PathNotAllowed for all that is no file of these scopes, in the same words whether it exists or not.
    """
    owner = next((folder for folder in folders if folder.owns(path)), None)
    if owner is None:
        raise PathNotAllowed()
    status = _look(owner.workspace, path)
    if status is not None and (not stat.S_ISREG(status.st_mode) or status.st_nlink > 1):
        raise PathNotAllowed()
    return owner, owner.workspace / path


def day_of(path: str) -> date | None:
    """The day whose notes or transcript a path leads to."""
    match = _DAY.fullmatch(path)
    try:
        return date.fromisoformat(match.group(1)) if match else None
    except ValueError:
        return None


def _below(top: str, path: str) -> list[str]:
    """The names that lead from a folder to a path below it; none where it is not below."""
    return path.removeprefix(f"{top}/").split("/") if path.startswith(f"{top}/") else []


def _is_file(path: str, names: list[str]) -> bool:
    is_short = len(path) <= PATH_CHARS and len(names) <= PATH_DEPTH
    return is_short and path.endswith(".md") and all(map(is_plain, names))


def _look(workspace: Path, path: str) -> os.stat_result | None:
    """What lies at a path; None: nothing. Raises PathNotAllowed for a link on the way: none is followed."""
    place, status = workspace, None
    for name in ("", *path.split("/")):
        if status is not None and not stat.S_ISDIR(status.st_mode):
            raise PathNotAllowed()
        place = place / name
        try:
            status = os.lstat(place)
        except FileNotFoundError:
            return None
        except OSError as error:  # no folder, a loop, a name too long, not for us
            raise PathNotAllowed() from error
        if stat.S_ISLNK(status.st_mode):
            raise PathNotAllowed()
    return status


def _as_file(path: str, status: os.stat_result) -> Iterator[FoundFile]:
    if stat.S_ISREG(status.st_mode):
        yield FoundFile(path, status.st_mtime_ns, status.st_size, changed_ns(status), status.st_nlink > 1)


def changed_ns(status: os.stat_result) -> int:
    """When a file, or its status, was changed last."""
    return max(status.st_mtime_ns, status.st_ctime_ns)


def _walk(workspace: Path, top: str) -> Iterator[FoundFile]:
    """The regular files below a folder; no link is followed, and no hidden folder entered."""
    for inside, names, fd in _folders_below(workspace, top):
        for name in names:
            with suppress(FileNotFoundError):
                yield from _as_file(f"{inside}/{name}", os.stat(name, dir_fd=fd, follow_symlinks=False))


def _folders_below(workspace: Path, top: str) -> Iterator[tuple[str, list[str], int]]:
    """A folder and those below it, each with the names of the files in it and a descriptor."""
    if not _is_there(workspace, top):
        return
    for folder, below, names, fd in os.fwalk(workspace / top, follow_symlinks=False):
        inside = Path(folder).relative_to(workspace).as_posix()
        below[:] = [name for name in below if is_plain(name) and not (inside == _ROOT and name == _SCOPES)]
        yield inside, names, fd


def _is_there(workspace: Path, path: str) -> bool:
    try:
        return _look(workspace, path) is not None
    except PathNotAllowed:
        return False
