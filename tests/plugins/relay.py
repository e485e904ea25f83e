"""What stands between a plugin and memory, so that memory can be away for the bot and there for everybody else."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress


class Relay:
    """It passes on what comes, refuses it, or takes it and says nothing."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        self.port: int = self._listener.getsockname()[1]
        self.mode = "passes"
        self.waits: list[float] = []  # seconds that a turn waited for memory, which said nothing
        threading.Thread(target=self._listen, daemon=True).start()

    def set(self, mode: str) -> None:
        """`passes`, `refuses` or `hangs`; connections that are open end."""
        self.mode = mode
        for connection in self._open:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self._open.clear()

    def close(self) -> None:
        """Listen no more."""
        self._listener.close()
        self.set("refuses")

    def _listen(self) -> None:
        with suppress(OSError):
            while True:
                caller, _address = self._listener.accept()
                self._open.append(caller)
                if self.mode == "refuses":
                    caller.close()
                elif self.mode == "hangs":
                    threading.Thread(target=self._hold, args=(caller,), daemon=True).start()
                elif self.mode == "passes":
                    target = socket.create_connection(("127.0.0.1", self._target))
                    self._open.append(target)
                    for ends in ((caller, target), (target, caller)):
                        threading.Thread(target=self._pass, args=ends, daemon=True).start()

    def _hold(self, caller: socket.socket) -> None:
        """Take what comes, and say nothing until the caller gives up."""
        began, asked = time.monotonic(), b""
        with suppress(OSError):
            while data := caller.recv(65_536):
                asked += data
        if b"/context " in asked and self.mode == "hangs":
            self.waits.append(time.monotonic() - began)

    @staticmethod
    def _pass(source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65_536):
                target.sendall(data)
        for end in (source, target):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


@contextmanager
def relay(port: int) -> Iterator[Relay]:
    """A relay to a port of this machine."""
    made = Relay(port)
    try:
        yield made
    finally:
        made.close()
