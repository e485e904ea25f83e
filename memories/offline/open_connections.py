"""The connections of a web process: each can be ended from here, and a new one refused, when the server is away (C11).

A server that hangs refuses nothing, and its kernel still acknowledges: whoever waits for its answer waits for ever, and
no limit of the socket ends that. Read by the settings, so it knows nothing of Django.
"""

import os
import socket
import threading
import weakref
from collections.abc import Mapping
from contextlib import suppress
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any, ClassVar, Self

import psycopg
from psycopg.pq.abc import PGconn

#: Whether this call may be answered by another server, and so waits for none that is slow.
is_spared: ContextVar[bool] = ContextVar("is spared a slow server", default=False)


class Connections:
    """Those to one server."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: weakref.WeakSet[EndableConnection] = weakref.WeakSet()
        self._refused, self._is_slow = threading.Event(), threading.Event()
        self.others: list[Connections] = []  # to servers that can answer in its place

    def add(self, connection: "EndableConnection") -> None:
        """Know a connection as long as it is used."""
        with self._lock:
            self._open.add(connection)

    def spare(self) -> None:
        """It is slow: end the connections of calls that another server can answer, and refuse them new ones."""
        if all(other.are_refused() for other in self.others):
            self._is_slow.clear()
        else:
            self._is_slow.set()
            self.end_all(of_spared=True)

    def end_all(self, *, of_spared: bool = False) -> None:
        """End every connection and refuse new ones: who waits for an answer has an error, as if the server had gone."""
        if not of_spared:
            self._refused.set()
        with self._lock:
            connections = [each for each in self._open if not each.closed and (each.is_spared or not of_spared)]
        for connection in connections:
            with suppress(OSError, psycopg.Error):
                # Shut the socket under a connection; its own thread, which finds that out, closes it
                number = connection.fileno()
                with socket.socket(fileno=os.dup(number)) as copy:
                    if not connection.closed and connection.fileno() == number:  # and not another's meanwhile
                        copy.shutdown(socket.SHUT_RDWR)

    def admit(self) -> None:
        """Refuse new connections no more."""
        self._refused.clear()
        self._is_slow.clear()

    def are_refused(self) -> bool:
        """Whether this call is not to ask for a connection."""
        return self._refused.is_set() or (self._is_slow.is_set() and is_spared.get())


#: To the database itself; each replica has its own (memories.offline.replicas).
PRIMARY = Connections()


class EndableConnection(psycopg.Connection[Any]):
    """A connection of the pool that `end_all` finds as long as it is used."""

    server: ClassVar[Connections] = PRIMARY
    session_settings: ClassVar[Mapping[str, str]] = MappingProxyType({})  # those of a web are the settings' to say
    is_spared = False  # lent to such a call

    def __init__(self, pgconn: PGconn, *args: Any, **kwargs: Any) -> None:
        super().__init__(pgconn, *args, **kwargs)
        self.server.add(self)

    @classmethod
    def connect(cls, *args: Any, **kwargs: Any) -> Self:
        """Begin with what is set for a session: as options of its start a pooler would not take them."""
        connection = super().connect(*args, **kwargs)
        try:
            for name, value in cls.session_settings.items():
                connection.execute("SELECT set_config(%s, %s, false)", [name, value])
        except psycopg.Error:
            connection.close()
            raise
        return connection
