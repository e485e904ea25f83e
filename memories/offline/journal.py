"""The journal: calls that were accepted and are not in the database yet, on this disk, in the order they came (C11).

One stream a channel of a workspace: files of lines, each a checksum and a JSON object. A call is accepted when its line
is on the disk. A line that was cut short by a crash was never accepted: it is passed over, and the next append repairs
the file. A damaged line in the middle is handed out as it is, so that somebody sees it.
"""

import fcntl
import hashlib
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any
from uuid import UUID

from memories.models.ids import uuid7
from memories.offline import store

#: A file that has grown so large is followed by another, so that what is drained can be removed.
SEGMENT_BYTES = 4_000_000
_CHECKSUM_CHARS = 16
_LOCK, _PLACE, _SUFFIX = "lock", "place.json", ".jsonl"
#: What is being written in place of a file, and how it was named once. A kill leaves it.
_DRAFTS = (".*.draft", f".*{_SUFFIX}")
#: The lock of who replays a stream.
REPLAYER = "replay.lock"


class KeyReused(Exception):
    """The Idempotency-Key of a call is that of another one in the stream."""


@dataclass(frozen=True)
class Stream:
    """The calls of one channel, which are applied one after another."""

    workspace_id: int
    platform: str
    account: str = ""

    @property
    def folder(self) -> Path:
        place = hashlib.sha256(f"{self.platform}\0{self.account}".encode()).hexdigest()[:32]
        return store.root() / "journal" / str(self.workspace_id) / place


@dataclass(frozen=True, kw_only=True)
class Record:
    """One accepted call."""

    uid: UUID
    kind: str
    accepted_at: str  # in ISO 8601
    body: dict[str, Any]
    bot_id: int | None = None
    repeat_key: str = ""  # its Idempotency-Key
    fingerprint: str = ""  # of the request under that key
    transaction: dict[str, str] | None = None  # that had begun to write it when the connection was lost


@dataclass(frozen=True, order=True)
class Position:
    """The end of a line: the number of its file and the bytes up to there."""

    segment: int
    offset: int


@dataclass(frozen=True)
class Line:
    """A line of a stream: its record, or its text where that cannot be read."""

    end: Position
    record: Record | None
    text: str


@dataclass
class _ReadKeys:
    """What a process has read of a stream: the Idempotency-Keys in it, by segment."""

    keys: dict[int, dict[tuple[int | None, str], Record]] = field(default_factory=dict)
    offsets: dict[int, int] = field(default_factory=dict)


_read_keys: dict[Path, _ReadKeys] = {}


def append(stream: Stream, record: Record, *, only_if_pending: bool = False) -> Record | None:
    """Accept a call: on the disk when this returns. The record it is, which is an earlier one under the same key.

    With `only_if_pending` None where the stream is empty: the database can take the call. Raises KeyReused, OSError.
    """
    with locked(stream):
        if only_if_pending and not is_pending(stream):
            return None
        if earlier := _same(stream, record):
            return earlier
        # The newest file, or the next; numbers are those of the millisecond, so that none ever comes again
        numbers = _segments(stream)
        path = segment_path(stream, numbers[-1]) if numbers else None
        if path is None or path.stat().st_size > SEGMENT_BYTES:
            path = segment_path(stream, max(record.uid.int >> 80, *(number + 1 for number in numbers), 0))
        # Add a line and wait until the disk has it; a line that failed leaves nothing
        is_new = not path.exists()
        with os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+b", buffering=0) as file:
            whole = _whole_bytes(path)
            file.truncate(whole)  # a line that was cut short was never accepted
            file.seek(whole)
            try:
                line = encoded(record)
                if file.write(line) != len(line):
                    raise OSError("The line was not written whole.")
                os.fsync(file.fileno())
            except OSError:
                file.truncate(whole)
                raise
        if is_new:
            _sync_folder(stream.folder)
    return record


def is_pending(stream: Stream) -> bool:
    """Whether a stream holds calls that are not in the database yet."""
    return bool(_segments(stream))


def streams(workspace_id: int | None = None) -> list[Stream]:
    """The streams that hold calls."""
    top = store.root() / "journal"
    segments = top.glob(f"{'*' if workspace_id is None else workspace_id}/*/*{_SUFFIX}")
    folders = sorted({path.parent for path in segments if not path.name.startswith(".")})
    return [Stream(**json.loads((folder / _PLACE).read_text())) for folder in folders]


def read(stream: Stream, after: Position | None = None) -> Iterator[Line]:
    """The lines of a stream in order, as far as they are whole."""
    for number in _segments(stream):
        if after is not None and number < after.segment:
            continue
        offset = after.offset if after is not None and number == after.segment else 0
        yield from _lines(stream, number, offset)


def end(stream: Stream) -> Position:
    """The end of the last whole line of a stream."""
    numbers = _segments(stream)
    return Position(numbers[-1], _whole_bytes(segment_path(stream, numbers[-1]))) if numbers else Position(0, 0)


def remove_up_to(stream: Stream, position: Position) -> bool:
    """Remove the files of which every line was drained; whether the stream is empty now. Needs the stream's lock."""
    for number in _segments(stream):
        path = segment_path(stream, number)
        drained = position.offset if number == position.segment else 0
        if number < position.segment or _whole_bytes(path) <= drained:
            path.unlink()
    _remove_drafts(stream)
    _sync_folder(stream.folder)
    return not is_pending(stream)


@contextmanager
def locked(stream: Stream, name: str = _LOCK, *, wait: bool = True) -> Iterator[bool]:
    """Hold a lock of a stream's folder, against all threads and processes; yields whether it is held."""
    if not (stream.folder / _PLACE).exists():
        store.folder("journal", str(stream.workspace_id), stream.folder.name)
        draft = stream.folder / f".{uuid7().hex}"
        draft.write_text(json.dumps(asdict(stream)))
        draft.replace(stream.folder / _PLACE)
    with (stream.folder / name).open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            yield False
            return
        yield True


def encoded(record: Record) -> bytes:
    """The line of a record."""
    text = json.dumps({**asdict(record), "uid": str(record.uid)}, ensure_ascii=False, separators=(",", ":"))
    return f"{_checksum(text.encode())} {text}\n".encode()


def _segments(stream: Stream) -> list[int]:
    try:
        names = os.listdir(stream.folder)
    except FileNotFoundError:
        return []
    files = (name for name in names if name.endswith(_SUFFIX) and not name.startswith("."))
    return sorted(int(name.removesuffix(_SUFFIX)) for name in files)


def segment_path(stream: Stream, number: int) -> Path:
    """The file of a segment."""
    return stream.folder / f"{number:015}{_SUFFIX}"


def _lines(stream: Stream, number: int, offset: int) -> Iterator[Line]:
    try:
        with segment_path(stream, number).open("rb") as file:
            file.seek(offset)
            for raw in file:
                if not raw.endswith(b"\n"):
                    return
                offset += len(raw)
                text = raw.decode(errors="replace").rstrip("\n").replace("\0", "\ufffd")
                yield Line(Position(number, offset), _record(raw), text)
    except FileNotFoundError:  # drained meanwhile
        return


def _record(raw: bytes) -> Record | None:
    checksum, _space, text = raw.rstrip(b"\n").partition(b" ")
    if checksum.decode(errors="replace") != _checksum(text):
        return None
    columns = json.loads(text)
    return Record(**columns | {"uid": UUID(columns["uid"])})


def _same(stream: Stream, record: Record) -> Record | None:
    """The record under the same Idempotency-Key of the same bot. Raises KeyReused where it is of another request."""
    if not record.repeat_key:
        return None
    stream_keys = _read_keys.setdefault(stream.folder, _ReadKeys())
    here = _segments(stream)
    for number in set(stream_keys.keys) - set(here):
        del stream_keys.keys[number], stream_keys.offsets[number]
    for number in here:
        keys = stream_keys.keys.setdefault(number, {})
        for line in _lines(stream, number, stream_keys.offsets.setdefault(number, 0)):
            stream_keys.offsets[number] = line.end.offset
            if line.record and line.record.repeat_key:
                keys[line.record.bot_id, line.record.repeat_key] = replace(line.record, body={})
    under_key = (keys.get((record.bot_id, record.repeat_key)) for keys in stream_keys.keys.values())
    earlier = next(filter(None, under_key), None)
    if earlier and earlier.fingerprint != record.fingerprint:
        raise KeyReused
    return earlier


def _whole_bytes(path: Path) -> int:
    """The length of a file up to the end of its last whole line."""
    with path.open("rb") as file:
        end = file.seek(0, os.SEEK_END)
        while end:
            begin = max(end - 65_536, 0)
            file.seek(begin)
            line_end = file.read(end - begin).rfind(b"\n")
            if line_end >= 0:
                return begin + line_end + 1
            end = begin
    return 0


def _remove_drafts(stream: Stream) -> None:
    for draft in (path for pattern in _DRAFTS for path in stream.folder.glob(pattern)):
        draft.unlink()


def _sync_folder(folder: Path) -> None:
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def _checksum(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()[:_CHECKSUM_CHARS]


def remove(stream: Stream, is_erased: Callable[[Line], bool], *, is_dry: bool = False) -> int:
    """Rewrite the files of a stream without lines whose words are erased; how many these were. Raises OSError.

    No other way leads out of the journal but into the database.
    """
    with locked(stream, REPLAYER), locked(stream):
        _remove_drafts(stream)
        lines = list(read(stream))
        erased_lines = [line for line in lines if is_erased(line)]
        for number in {line.end.segment for line in erased_lines} if not is_dry else ():
            remaining = [line for line in lines if line.end.segment == number and line not in erased_lines]
            path = segment_path(stream, number)
            if not remaining:
                path.unlink()
                continue
            draft = path.with_name(f".{path.stem}.draft")
            with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
                file.writelines(f"{line.text}\n" for line in remaining)
                file.flush()
                os.fsync(file.fileno())
            draft.replace(path)
        _sync_folder(stream.folder)
    return len(erased_lines)
