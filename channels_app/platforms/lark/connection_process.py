"""The process that holds a long connection by the vendor's client: a line for each event, acknowledged when stored.

It is run as a script, imports nothing of the project, and ends when its input does.
"""

import json
import logging
import os
import sys
import threading
from queue import Empty, SimpleQueue
from typing import Any, NoReturn

from lark_oapi import LogLevel
from lark_oapi.ws import Client
from lark_oapi.ws.const import AUTH_FAILED, EXCEED_CONN_LIMIT
from lark_oapi.ws.exception import ClientException

#: An event nobody stores within this time is not acknowledged, and comes again.
STORE_SECONDS = 10.0


class Parent:
    """The process that began this one: it is told what happens, and says when that is stored."""

    def __init__(self) -> None:
        self._output = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
        self._stored: SimpleQueue[str] = SimpleQueue()

    def listen(self) -> None:
        """Take its answers until it is gone, and end with it."""
        for line in sys.stdin:
            self._stored.put(line)
        os._exit(0)

    def report(self, words: dict[str, Any]) -> None:
        """Say what happened, and wait until that is stored."""
        self._write(words)
        try:
            self._stored.get(timeout=STORE_SECONDS)
        except Empty:
            self.end({"lost": "not stored"})

    def end(self, words: dict[str, Any]) -> NoReturn:
        """Say why this process ends; the client has no other end."""
        self._write(words)
        os._exit(0)

    def _write(self, words: dict[str, Any]) -> None:
        self._output.write(json.dumps(words) + "\n")
        self._output.flush()


class Handler:
    """In the place of the vendor's dispatcher, which fails for each event nobody registered."""

    def __init__(self, parent: Parent) -> None:
        self._parent = parent

    def _do_without_validation(self, payload: bytes) -> None:
        self._parent.report({"event": payload.decode()})


class Connection(Client):  # type: ignore[misc]
    """The vendor's client, which says when it is connected."""

    parent: Parent

    async def _connect(self) -> None:
        await super()._connect()
        self.parent.report({"connected": True})


def main() -> None:
    """Connect as the first line of the input says, and report until the connection is lost."""
    parent = Parent()
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the client logs there, addresses with tickets too
    logging.getLogger("Lark").handlers.clear()
    settings = json.loads(sys.stdin.readline())
    threading.Thread(target=parent.listen, daemon=True).start()
    client = Connection(
        settings["app_id"],
        settings["app_secret"],
        event_handler=Handler(parent),
        domain=settings["server"],
        log_level=LogLevel.CRITICAL,
    )
    client.parent = parent
    client.on_reconnecting = lambda: parent.end({"lost": "closed"})
    try:
        client.start()
    except ClientException as refusal:
        # At the handshake too many connections are the one refusal of this code that the client gives up on
        is_full = refusal.code in (EXCEED_CONN_LIMIT, AUTH_FAILED)
        parent.end({"conflict": True} if is_full else {"refused": str(refusal)})


if __name__ == "__main__":
    main()
