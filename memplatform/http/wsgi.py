"""What stands around Django in each web process: bodies nobody read, and a fair share of its threads."""

import hashlib
import json
import threading
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any
from wsgiref.types import InputStream, StartResponse, WSGIApplication, WSGIEnvironment

from cachetools import LRUCache
from django.core.handlers.wsgi import WSGIRequest
from django.utils import translation
from django.utils.translation import gettext as _

from memories.api.access import WORKSPACE

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
        return self._with_count(self._stream.read(size) if size >= 0 else self._stream.read(), size)

    def readline(self, *size: int) -> bytes:
        return self._with_count(self._stream.readline(*size))

    def discard(self) -> None:
        """Read to the end, within the bounds."""
        most, give_up = self.count + MOST_BYTES, time.monotonic() + MOST_SECONDS
        while not self.has_ended and self.count < most and time.monotonic() < give_up:
            self.read(_CHUNK)

    def _with_count(self, data: bytes, size: int = -1) -> bytes:
        self.count += len(data)
        self.has_ended = self.has_ended or (not data and size != 0) or self.count == self.length
        return data


@dataclass
class Head:
    """Status and headers of an answer, kept back until it is decided whether the connection stays."""

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
            try:
                whole = b"".join(answer)
            finally:  # closing it gives back what the request held, connections to the database above all
                if close := getattr(answer, "close", None):
                    close()
            answer = [whole]
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


def _write(_data: bytes) -> None:
    """What PEP 3333 has for answers that are written bit by bit: Django returns its own."""
    raise NotImplementedError("answers are returned")


#: Calls one web process works on at a time, and of them of one workspace.
SLOTS = 6
MOST_RUNNING = 4
#: Calls of one workspace that may wait in one web process; one more is answered with 429.
MOST_WAITING = 48
WAIT_SECONDS = 30.0
_MOST_KEYS = 10_000
#: Machines ask these to learn whether the process lives; chats wait for their model and have a limit of their own.
_PASSED = ("/livez", "/readyz", "/metrics", "/v1/")
_STRANGERS = ""  # calls of keys not seen here before: together one workspace more
_PEOPLE = "people"  # pages, which strangers that knock at the API shall not hold up: another
_API = "/api/"


@dataclass
class Queue:
    """Slots, and who waits for one: the group with the fewest calls under work is next, then in turn."""

    slots: int = SLOTS
    most_running: int = MOST_RUNNING
    most_waiting: int = MOST_WAITING
    running: Counter[Hashable] = field(default_factory=Counter)
    waiting: dict[Hashable, deque[threading.Event]] = field(default_factory=lambda: defaultdict(deque))
    served: dict[Hashable, int] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _turn: int = 0

    def enter(self, group: Hashable, seconds: float = WAIT_SECONDS) -> bool:
        """Wait for a slot; False when too many of this group wait already, or none came in time."""
        turn = threading.Event()
        with self._lock:
            if len(self.waiting[group]) >= self.most_waiting:
                return False
            self.waiting[group].append(turn)
            self._hand_out()
        if turn.wait(seconds):
            return True
        with self._lock:
            if turn.is_set():  # in this very moment
                return True
            self.waiting[group].remove(turn)
            self._forget(group)
            return False

    def leave(self, group: Hashable) -> None:
        """Give the slot to whoever is next."""
        with self._lock:
            self.running[group] -= 1
            self._hand_out()
            self._forget(group)

    def _hand_out(self) -> None:
        while self.running.total() < self.slots:
            ready = [group for group, line in self.waiting.items() if line and self.running[group] < self.most_running]
            if not ready:
                return
            group = min(ready, key=lambda group: (self.running[group], self.served.get(group, 0)))
            self._turn += 1
            self.served[group] = self._turn
            self.running[group] += 1
            self.waiting[group].popleft().set()

    def _forget(self, group: Hashable) -> None:
        if not self.waiting.get(group) and not self.running[group]:
            self.waiting.pop(group, None)
            self.served.pop(group, None)
            del self.running[group]


class FairShare:
    """The application; a call that came waits until it is its workspace's turn."""

    def __init__(self, application: WSGIApplication, queue: Queue | None = None) -> None:
        self._application = application
        self._queue = queue or Queue()
        self._workspaces: LRUCache[bytes, Hashable] = LRUCache(_MOST_KEYS)
        self._lock = threading.Lock()

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        if environ.get("PATH_INFO", "").startswith(_PASSED):
            return self._application(environ, start_response)
        key = hashlib.blake2b(environ.get("HTTP_AUTHORIZATION", "").encode(), digest_size=16).digest()
        other = _STRANGERS if environ.get("PATH_INFO", "").startswith(_API) else _PEOPLE
        with self._lock:
            group = self._workspaces.get(key, other)
        if not self._queue.enter(group):
            # nobody chose a language outside Django, and the thread may still have that of its last caller
            with translation.override(translation.get_language_from_request(WSGIRequest(environ))):
                detail = _("Too many calls of this workspace wait already; try again in a second.")
            error = {"type": "client_error", "errors": [{"code": "throttled", "detail": detail, "attr": None}]}
            headers = [("Content-Type", "application/json"), ("Retry-After", "1"), ("Cache-Control", "no-store")]
            start_response("429 Too Many Requests", headers)
            return [json.dumps(error).encode()]
        try:
            return self._application(environ, start_response)
        finally:
            self._queue.leave(group)
            if (workspace := environ.get(WORKSPACE)) is not None:
                with self._lock:
                    self._workspaces[key] = workspace
