"""What a bot's developer begins: a store around which every write is mirrored and every answer compared."""

from __future__ import annotations

import logging
import os
import threading
import time
import uuid
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar, cast

import httpx
from memplatform_client.client import LOCAL

from memplatform_shadow.door import Door
from memplatform_shadow.events import Event
from memplatform_shadow.log import Log
from memplatform_shadow.mem0 import Mem0
from memplatform_shadow.mirror import Mirror
from memplatform_shadow.noting import FACTS, MESSAGES, Body, work_of
from memplatform_shadow.state import Lead, State
from memplatform_shadow.wrapper import Watched

logger = logging.getLogger("memplatform_client.shadow")
S = TypeVar("S")

_MOST_DELAY = 0.1  # seconds a call of the bot may wait for another process to let go of the state
FILE_BYTES, FILES = 20_000_000, 10
WEEK = 7 * 24 * 3600.0


class Shadow:
    """Mirrors and compares in the background. Around a store: `memory = shadow.around(Memory())`.

    `mirror`: "facts", what the store keeps, or "messages", what it was told. `folder`: state and log; they hold what
    people said, and only their owner may read them. `most_waiting`: what comes when so much waits is dropped, and
    counted. `patience`: seconds for which work waits for a platform that is away. Opening a folder that cannot be
    written raises OSError or sqlite3.Error; after that nothing of the shadow is ever raised into the bot.
    """

    def __init__(
        self,
        key: str,
        url: str = LOCAL,
        *,
        folder: str | Path = "shadow",
        mirror: str = FACTS,
        most_waiting: int = 10_000,
        patience: float = WEEK,
        timeout: float = 30,
        http: Callable[[], httpx.Client] | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        if mirror not in (FACTS, MESSAGES):
            raise ValueError(f"mirror is {FACTS!r} or {MESSAGES!r}, not {mirror!r}")
        self._folder, self._mode, self._most_waiting, self._now = Path(folder), mirror, most_waiting, now
        self._key, self._url, self._timeout, self._http = key, url, timeout, http
        self._patience, self._inherited, self._turn = patience, list[Any](), threading.Lock()
        self._open()

    def around(self, store: S, adapter: Any = None) -> S:
        """The store, watched. `adapter` reads its calls (see `Mem0`, the one for mem0 and the one without a word)."""
        return cast(S, Watched(store, Mem0() if adapter is None else adapter, self))

    def waiting(self) -> int:
        """How much is still to be mirrored and compared."""
        return self._state.waiting()

    def wait(self, seconds: float = 60) -> bool:
        """Wait until all is mirrored and compared; False: not within so many seconds. For scripts, not for bots."""
        end = time.monotonic() + seconds
        while self.waiting() and time.monotonic() < end:
            time.sleep(0.02)
        return not self.waiting()

    def close(self, seconds: float = 5) -> None:
        """Stop, after what is being done; what waits is done when the folder is opened again."""
        self._mirror.close(seconds)
        self._state.close()

    # as the listener of a watched store

    def answered(self, name: str, events: Callable[[], Any], seconds: float) -> None:
        """Note what a call of the store was. Never raises."""
        about = {"call": name, "mirror": self._mode}

        def bodies(at: float) -> list[Body]:
            given = [body | about for event in _listed(events()) for body in work_of(event, self._mode, at)]
            if given:  # one call of the store may be several writes here: its time stands with the first
                given[0]["there_s"] = round(seconds, 4)
            return given

        self._note(bodies)

    def failed(self, name: str, error: BaseException) -> None:
        """Note that the store raised; what it said stays with the bot. Never raises."""
        self._note(lambda at: [{"kind": "error", "call": name, "error": type(error).__name__}])

    def _note(self, bodies: Callable[[float], list[Body]]) -> None:
        try:
            self._after_fork()
            at = self._now()
            given = bodies(at)
            if given and self._state.waiting() + len(given) > self._most_waiting:
                self._mirror.drop("too_much_waits", len(given))
            elif given:
                self._state.put((str(uuid.uuid4()), at, body) for body in given)
                self._mirror.wake()
        except Exception as error:  # a shadow that fails must not be noticed by the bot
            logger.warning("the shadow lost a call: %s", type(error).__name__)
            self._mirror.drop(f"not_noted:{type(error).__name__}")

    # the folder

    def _open(self) -> None:
        self._process = os.getpid()
        self._state = State(self._folder, wait=_MOST_DELAY)
        lead, folder = Lead(self._folder), self._folder
        self._mirror = Mirror(
            Door(self._key, self._url, timeout=self._timeout, retries=0, http=self._http() if self._http else None),
            State(folder),
            lead,
            lambda: Log(folder, file_bytes=FILE_BYTES, files=FILES),
            patience=self._patience,
            now=self._now,
        )
        self._mirror.start()

    def _after_fork(self) -> None:
        """In a child a thread of its parent does not run, and connections of its parent must not be used or closed."""
        if self._process != os.getpid():
            with self._turn:
                if self._process != os.getpid():
                    self._inherited += [self._state, self._mirror]
                    self._open()


def _listed(events: Any) -> list[Event]:
    """An adapter gives one event, several, or none."""
    if events is None:
        return []
    return list(events) if isinstance(events, Iterable) else [events]
