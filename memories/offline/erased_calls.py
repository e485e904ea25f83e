"""Taking calls out of the journal whose words are erased; no other way leads out of it but into the database."""

import os
from collections.abc import Callable

from memories.offline import journal
from memories.offline.journal import Line, Stream

#: The lock of who replays a stream.
REPLAYER = "replay.lock"


def remove(stream: Stream, is_erased: Callable[[Line], bool], *, is_dry: bool = False) -> int:
    """Rewrite the files of a stream without some lines; how many these were. Raises OSError."""
    with journal.locked(stream, REPLAYER), journal.locked(stream):
        lines = list(journal.read(stream))
        gone = [line for line in lines if is_erased(line)]
        for number in {line.end.segment for line in gone} if not is_dry else ():
            _rewrite(stream, number, [line for line in lines if line.end.segment == number and line not in gone])
    return len(gone)


def _rewrite(stream: Stream, number: int, kept: list[Line]) -> None:
    path = journal.segment_path(stream, number)
    if not kept:
        path.unlink()
        return
    draft = path.with_name(f".{path.name}")
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        file.writelines(f"{line.text}\n" for line in kept)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
