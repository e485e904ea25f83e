"""Who is served next when more calls come than can be worked on: the workspaces in turn, not whoever calls most.

Calls wait here, in threads that do nothing else, and not in the server, which would serve them as they came. Few are
worked on at a time, of one workspace no more than a part of these; so a workspace that floods waits behind itself.
"""

import hashlib
import json
import threading
from collections import Counter, defaultdict, deque
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from cachetools import LRUCache
from django.utils.translation import gettext as _

from memories.api.access import WORKSPACE

#: Calls one web process works on at a time, and of them of one workspace.
SLOTS = 6
MOST_RUNNING = 4
#: Calls of one workspace that may wait in one web process; one more is answered with 429.
MOST_WAITING = 48
WAIT_SECONDS = 30.0
_KNOWN_KEYS = 10_000
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
            group = min(ready, key=lambda one: (self.running[one], self.served.get(one, 0)))
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
        self._workspaces: LRUCache[bytes, Hashable] = LRUCache(_KNOWN_KEYS)
        self._lock = threading.Lock()

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        if environ.get("PATH_INFO", "").startswith(_PASSED):
            return self._application(environ, start_response)
        key = hashlib.blake2b(environ.get("HTTP_AUTHORIZATION", "").encode(), digest_size=16).digest()
        other = _STRANGERS if environ.get("PATH_INFO", "").startswith(_API) else _PEOPLE
        with self._lock:
            group = self._workspaces.get(key, other)
        if not self._queue.enter(group):
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
