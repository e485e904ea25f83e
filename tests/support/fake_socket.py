"""A vendor's WebSocket on this machine."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from websockets.sync.server import ServerConnection, serve


@contextmanager
def fake_socket(hold: Callable[[ServerConnection], None]) -> Iterator[str]:
    """The address of a server, until the block ends; each connection has a thread."""
    with serve(hold, "127.0.0.1", 0) as server:

        def run() -> None:
            with suppress(ValueError, OSError):  # it was shut down before it began
                server.serve_forever()

        threading.Thread(target=run, daemon=True).start()
        yield f"ws://127.0.0.1:{server.socket.getsockname()[1]}"
        server.shutdown()
