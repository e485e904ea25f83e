"""Records that arrive line by line, cut out of bytes that come as they like."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Generic, TypeVar

from memplatform_client.call import Call
from memplatform_client.errors import NoAnswer

T = TypeVar("T")


class Records(Generic[T]):
    """The records of one answer. Only the line feed ends a line: texts hold other separators as they are."""

    def __init__(self, call: Call[T]) -> None:
        self._call = call
        self._rest: list[bytes] = []
        self._last: Any = None

    @property
    def broken(self) -> NoAnswer:
        """The error of an answer that is not whole."""
        return NoAnswer(f"{self._call.method} {self._call.path}: the answer broke off before its last line")

    def whole_in(self, part: bytes) -> Iterator[T]:
        """The records that end in these bytes. Raises NoAnswer for a line that is none."""
        *lines, rest = part.split(b"\n")
        for line in lines:
            whole = b"".join([*self._rest, line])
            self._rest = []
            try:
                self._last = json.loads(whole)
            except ValueError as error:
                raise self.broken from error
            yield self._last
        self._rest.append(rest)

    def check_end(self) -> None:
        """Raises NoAnswer unless the last record says that it is the last."""
        if b"".join(self._rest) or not isinstance(self._last, dict) or self._last.get("record") != "end":
            raise self.broken
