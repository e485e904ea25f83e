"""The log: JSON Lines of what was mirrored and compared, in files of bounded size that only their owner may read."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

_FILE = re.compile(r"shadow-(\d{6})\.jsonl")


class Log:
    """Appends lines; a full file is followed by the next, and of the files the oldest go."""

    def __init__(self, folder: Path, *, file_bytes: int, files: int) -> None:
        self._folder, self._file_bytes, self._files = folder, file_bytes, files
        self._open(max([_number(path) for path in log_files(folder)], default=1))

    def _open(self, number: int) -> None:
        self._at = number
        path = self._folder / f"shadow-{number:06}.jsonl"
        self._file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
        self._size = os.fstat(self._file).st_size
        if self._size and os.pread(self._file, 1, self._size - 1) != b"\n":
            self._write(b"\n")  # a line that was cut by a kill ends here
        for path in log_files(self._folder):
            if _number(path) <= number - self._files:
                path.unlink(missing_ok=True)

    def append(self, line: Mapping[str, Any]) -> None:
        """One line more. Raises OSError where it cannot be written."""
        self._write(json.dumps(line, ensure_ascii=False, default=str).encode("utf-8", "replace") + b"\n")
        if self._size >= self._file_bytes:
            self.close()
            self._open(self._at + 1)

    def _write(self, data: bytes) -> None:
        self._size += os.write(self._file, data)

    def close(self) -> None:
        os.close(self._file)


def log_files(folder: Path) -> list[Path]:
    """The files of a log, oldest first."""
    return sorted(path for path in folder.iterdir() if _FILE.fullmatch(path.name))


def has_lost_lines(folder: Path) -> bool:
    """Whether older files are gone already."""
    return any(_number(path) > 1 for path in log_files(folder)[:1])


def _number(path: Path) -> int:
    found = _FILE.fullmatch(path.name)
    return int(found[1]) if found else 0


def read_lines(path: Path) -> Iterator[dict[str, Any] | None]:
    """The lines of a log, each work once though a kill may have written it twice; None for one that cannot be read."""
    files, keys = (log_files(path) if path.is_dir() else [path]), set[str]()
    for file in files:
        with file.open(encoding="utf-8", errors="replace") as lines:
            for text in lines:
                try:
                    line = json.loads(text)
                    key = line["key"]
                except (ValueError, TypeError, KeyError):
                    yield None
                    continue
                if key not in keys:
                    keys.add(key)
                    yield line
