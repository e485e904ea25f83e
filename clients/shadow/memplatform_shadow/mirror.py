"""The thread that mirrors and compares what waits, in its order, and tries again while the platform is away."""

from __future__ import annotations

import logging
import sqlite3
import threading
import uuid
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from time import perf_counter
from typing import Any

from memplatform_client import errors

from memplatform_shadow.door import Door
from memplatform_shadow.log import Log
from memplatform_shadow.noting import unpacked
from memplatform_shadow.reads import Reads
from memplatform_shadow.state import Lead, State, Work
from memplatform_shadow.writes import Done, Writes

logger = logging.getLogger("memplatform_client.shadow")

FIRST_PAUSE, LONGEST_PAUSE, IDLE = 0.5, 60.0, 1.0  # seconds
MOST_TRIES = 8  # of work the platform fails at, while it answers other calls
#: What passes by itself, or once the owner has put it right: the work waits.
PASSING = (errors.NoAnswer, errors.Unavailable, errors.Throttled, errors.NotAuthenticated, errors.SessionBusy)


class Mirror:
    """Works off the state of a folder, in one process at a time."""

    def __init__(
        self, door: Door, state: State, lead: Lead, make_log: Callable[[], Log], *, patience: float, now: Any
    ) -> None:
        self._door, self._state, self._lead, self._make_log = door, state, lead, make_log
        self._patience, self._now = patience, now
        self._writes, self._reads = Writes(door, state), Reads(door, state)
        self._log: Log | None = None
        self._wake, self._is_over = threading.Event(), threading.Event()
        self._dropped, self._turn = Counter[str](), threading.Lock()
        self._thread = threading.Thread(target=self._run, name="memplatform-shadow", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def wake(self) -> None:
        """There is something to do."""
        self._wake.set()

    def drop(self, why: str, times: int = 1) -> None:
        """Count what will be neither mirrored nor compared."""
        with self._turn:
            self._dropped[why] += times

    def close(self, seconds: float) -> None:
        """Stop after what is being done; the rest is done by who opens the folder next."""
        self._is_over.set()
        self._wake.set()
        self._thread.join(seconds)

    def _run(self) -> None:
        while not self._is_over.is_set():
            try:
                self._wake.clear()
                pause = self._step()
            except Exception as error:  # the thread outlives whatever its folder or its own code does
                logger.warning("the shadow rests for a while: %s", type(error).__name__)
                pause = LONGEST_PAUSE
            if pause:
                self._is_over.wait(pause) if pause != IDLE else self._wake.wait(pause)
        self._end()

    def _end(self) -> None:
        try:
            self._keep_dropped()
        except sqlite3.Error as error:
            logger.warning("the shadow could not keep what it dropped: %s", type(error).__name__)
        if self._log:
            self._log.close()
        for held in (self._lead, self._state, self._door):
            held.close()

    def _step(self) -> float:
        """Do the next thing; seconds to wait before the one after it."""
        self._keep_dropped()
        if not self._lead.is_ours():
            return IDLE
        self._log = self._log or self._make_log()
        self._tell_dropped(self._log)
        work = self._state.first()
        if work is None:
            return IDLE
        try:
            done = self._done(work)
        except PASSING as error:
            pause: float = min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** min(work.tries, 10))
            if not self._gives_up(work, error):
                logger.info("the shadow waits for the platform: %s", type(error).__name__)
                self._state.tried(work)
                return pause
            done = self._failed(work, _code(error))
        except errors.ApiError as error:
            if isinstance(error, errors.NotFound) and not self._door.is_open():
                logger.warning("the platform does not answer calls of mem0's client; the shadow waits")
                self._state.tried(work)
                return LONGEST_PAUSE
            done = self._failed(work, _code(error))
        except Exception as error:  # what cannot be read must not hold up what can
            logger.warning("the shadow passes over what it cannot read: %s", type(error).__name__)
            done = self._failed(work, f"unreadable:{type(error).__name__}")
        self._settle(work, done, self._log)
        return 0

    def _gives_up(self, work: Work, error: errors.MemplatformError) -> bool:
        fails = isinstance(error, errors.ApiError) and error.status == 500
        return self._now() - work.at > self._patience or (fails and work.tries >= MOST_TRIES)

    def _done(self, work: Work) -> Done | None:
        begun = perf_counter()
        match work.body["kind"]:
            case "read":
                return self._reads.compare(work)
            case "write":
                done = self._writes.carry_out(work)
                done.line["here_s"] = round(perf_counter() - begun, 4)
                return done
            case "seen":
                self._reads.see(unpacked(work.body["hits"]))
                return None
        return Done({})

    def _failed(self, work: Work, why: str) -> Done:
        if work.body["kind"] == "write":
            return self._writes.failed(work, why)
        return Done({"outcome": "failed", "why": why})

    def _settle(self, work: Work, done: Done | None, log: Log) -> None:
        """Write it into the log, and keep what it changed: together, but for a kill between the two."""
        with self._state.at_once():
            for keep in done.keep if done else ():
                keep()
            self._state.done(work)
            if done:
                log.append(self._line(work) | done.line)

    def _line(self, work: Work) -> dict[str, Any]:
        """What the log says of any work."""
        body = {name: value for name, value in work.body.items() if name not in ("hits", "body")}
        if "body" in work.body and "text" not in body:
            body["text"] = "\n".join(str(one.get("content")) for one in work.body["body"]["messages"])
        late = round(max(0.0, self._now() - work.at), 3)
        return {"key": work.key, "at": _moment(work.at), "late_s": late, "tries": work.tries + 1, **body}

    def _keep_dropped(self) -> None:
        with self._turn:
            dropped, self._dropped = self._dropped, Counter[str]()
        for why, times in dropped.items():
            self._state.drop(why, times)

    def _tell_dropped(self, log: Log) -> None:
        for why, times in self._state.dropped().items():
            with self._state.at_once():
                self._state.forget_dropped(why)
                about = {"key": str(uuid.uuid4()), "at": _moment(self._now()), "kind": "dropped"}
                log.append(about | {"why": why, "times": times})


def _code(error: errors.MemplatformError) -> str:
    if isinstance(error, errors.ApiError):
        return f"{error.code}:{error.attr}" if error.attr else error.code
    return type(error).__name__


def _moment(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")
