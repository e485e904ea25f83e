"""The long connection of an app, for who has no public address: in a process of its own.

The vendor's client has one loop for a whole process and cannot be stopped. An event is acknowledged when it is stored.
"""

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import IO

import structlog

from channels_app.platforms.lark.events import read
from channels_app.platforms.network import AGAIN_SECONDS, LOOK_SECONDS
from channels_app.platforms.wire import Account, Conflicting, Keep, KeyRefused, NotReadable, TryLater, read_json

log = structlog.get_logger(__name__)
_SCRIPT = Path(__file__).with_name("connection_process.py")


def pull(account: Account, server: str, keep: Keep, stop: Callable[[], bool]) -> None:
    """Have what comes over the connection kept until told to stop. Raises KeyRefused, Conflicting, TryLater."""
    settings = {"app_id": account["app_id"], "app_secret": account["app_secret"], "server": server}
    with subprocess.Popen(
        [sys.executable, "-P", str(_SCRIPT)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,  # what interrupts this process is for this process to pass on
    ) as process:
        assert process.stdin and process.stdout
        lines: SimpleQueue[str] = SimpleQueue()
        threading.Thread(target=_collect, args=(process.stdout, lines), daemon=True).start()
        try:
            _write(process.stdin, settings)
            while not stop():
                try:
                    line = lines.get(timeout=LOOK_SECONDS)
                except Empty:
                    continue
                _take(line, account, keep)
                _write(process.stdin, {"stored": True})
        except BrokenPipeError:
            raise TryLater("lost", AGAIN_SECONDS) from None
        finally:
            process.kill()


def _collect(output: IO[str], lines: SimpleQueue[str]) -> None:
    for line in output:
        lines.put(line)
    lines.put("")  # it has ended


def _write(input: IO[str], words: Mapping[str, object]) -> None:
    input.write(json.dumps(words) + "\n")
    input.flush()


def _take(line: str, account: Account, keep: Keep) -> None:
    """Keep what one line of the process reports. Raises KeyRefused, Conflicting, TryLater."""
    report = json.loads(line) if line else {"lost": "ended"}
    if "refused" in report:
        raise KeyRefused(str(report["refused"])[:150])
    if "conflict" in report:
        raise Conflicting
    if "lost" in report:
        raise TryLater(str(report["lost"])[:150], AGAIN_SECONDS)
    messages = []
    if "event" in report:
        try:
            messages = read(read_json(report["event"]), account)
        except NotReadable:  # acknowledged all the same: it will not be better next time
            log.warning("channel.not_readable", platform="lark")
    keep(messages, {})
