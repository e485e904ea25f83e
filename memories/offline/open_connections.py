"""The connections of a web process: each can be ended from here, and a new one refused, when the server is away (C11).

A server that hangs refuses nothing, and its kernel still acknowledges: whoever waits for its answer waits for ever, and
no limit of the socket ends that. Read by the settings, so it knows nothing of Django.
"""

import os
import socket
import threading
import weakref
from contextlib import suppress
from typing import Any, ClassVar

import psycopg
from psycopg.pq.abc import PGconn


class Connections:
    """Those to one server."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: weakref.WeakSet[EndableConnection] = weakref.WeakSet()
        self._refused = threading.Event()

    def add(self, connection: "EndableConnection") -> None:
        """Know a connection as long as it is used."""
        with self._lock:
            self._open.add(connection)

    def end_all(self) -> None:
        """End every connection and refuse new ones: whoever waits for an answer has an error, as if the server had
        gone.
        """
        self._refused.set()
        with self._lock:
            connections = [connection for connection in self._open if not connection.closed]
        for connection in connections:
            with suppress(OSError, psycopg.Error):
                # Shut the socket under a connection; its own thread, which finds that out, closes it
                number = connection.fileno()
                with socket.socket(fileno=os.dup(number)) as copy:
                    if (
                        not connection.closed and connection.fileno() == number
                    ):  # not closed meanwhile, and its number another's
                        copy.shutdown(socket.SHUT_RDWR)

    def admit(self) -> None:
        """Refuse new connections no more."""
        self._refused.clear()

    def are_refused(self) -> bool:
        """Whether there is no use in asking for a connection."""
        return self._refused.is_set()


#: To the database itself; each replica has its own (memories.offline.replicas).
PRIMARY = Connections()


class EndableConnection(psycopg.Connection[Any]):
    """A connection of the pool that `end_all` finds as long as it is used."""

    server: ClassVar[Connections] = PRIMARY

    def __init__(self, pgconn: PGconn, *args: Any, **kwargs: Any) -> None:
        super().__init__(pgconn, *args, **kwargs)
        self.server.add(self)
