"""Bodies nobody reads to their end: a caller who is still sending gets the answer, and keeps the connection.

The server closes a connection on which the answer is ready before the request has arrived. A caller who sends first and
reads afterwards then finds a broken pipe where the answer should be: 413 of a large body, 401 of an unknown key.
"""

import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any
from wsgiref.types import InputStream, StartResponse, WSGIApplication, WSGIEnvironment

#: More than this is not thrown away, and not for longer: the connection is closed with the answer.
MOST_BYTES = 64 * 1024 * 1024
MOST_SECONDS = 10.0
#: What takes longer than this waits in so many threads of a web worker at a time; the others go on answering.
SOON_SECONDS = 1.0
MOST_SLOW = 2
#: Only those who have a key get these. Nobody else is waited for: two who send nothing more keep a web worker from all
#: other work, as granian reads bodies.
REFUSED = ("411", "413", "415")
_CHUNK = 65_536


class Body:
    """The input of a request, as Django reads it, and how much of it has been read."""

    def __init__(self, stream: InputStream, length: int | None) -> None:
        self._stream = stream
        self.length = length  # None: in chunks
        self.count = 0
        self.has_ended = length == 0

    def read(self, size: int = -1) -> bytes:
        return self._counted(self._stream.read(size) if size >= 0 else self._stream.read(), size)

    def readline(self, *size: int) -> bytes:
        return self._counted(self._stream.readline(*size))

    def discard(self) -> None:
        """Read to the end, within the bounds."""
        most, give_up = self.count + MOST_BYTES, time.monotonic() + MOST_SECONDS
        while not self.has_ended and self.count < most and time.monotonic() < give_up:
            self.read(_CHUNK)

    def _counted(self, data: bytes, size: int = -1) -> bytes:
        self.count += len(data)
        self.has_ended = self.has_ended or (not data and size != 0) or self.count == self.length
        return data


@dataclass
class Head:
    """Status and headers of an answer, kept back until it is known whether the connection stays."""

    status: str = ""
    headers: list[tuple[str, str]] = field(default_factory=list)

    def __call__(self, status: str, headers: list[tuple[str, str]], _error: Any = None, /) -> Callable[[bytes], object]:
        self.status, self.headers = status, headers
        return _write


class UnreadBodies:
    """The application; what it left unread of a request is thrown away before its answer goes out."""

    def __init__(self, application: WSGIApplication) -> None:
        self._application = application
        self._slow = threading.BoundedSemaphore(MOST_SLOW)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        length = environ.get("CONTENT_LENGTH")
        if not length and "HTTP_TRANSFER_ENCODING" not in environ:
            return self._application(environ, start_response)
        body = environ["wsgi.input"] = Body(environ["wsgi.input"], int(length) if length else None)
        head = Head()
        answer = self._application(environ, head)
        if not body.has_ended and head.status.startswith(REFUSED):
            answer = [_whole(answer)]
            if not self._discard(body):
                head.headers = [*head.headers, ("Connection", "close")]
        start_response(head.status, head.headers)
        return answer

    def _discard(self, body: Body) -> bool:
        """Discard the rest, in a thread: a caller may send nothing more, and never hang up. Whether nothing is left."""
        if (body.length or 0) - body.count > MOST_BYTES:
            return False
        reader = threading.Thread(target=body.discard, name="unread", daemon=True)
        reader.start()
        reader.join(SOON_SECONDS)
        if reader.is_alive() and self._slow.acquire(blocking=False):
            try:
                reader.join(MOST_SECONDS - SOON_SECONDS)
            finally:
                self._slow.release()
        return body.has_ended


def _whole(answer: Iterable[bytes]) -> bytes:
    """All of an answer; closing it gives back what the request held, connections to the database above all."""
    try:
        return b"".join(answer)
    finally:
        if close := getattr(answer, "close", None):
            close()


def _write(_data: bytes) -> None:
    """What PEP 3333 has for answers that are written bit by bit: Django returns its own."""
    raise NotImplementedError("answers are returned")
