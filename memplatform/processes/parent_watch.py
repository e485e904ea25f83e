"""Ends this process when the one that started it is gone, killed or not; on every Unix."""

import os
import signal
import threading
import time

#: The id of whoever starts a process, told by it: asked for later, the parent may be another already.
STARTED_BY = "MEMPLATFORM_STARTED_BY"
_LOOK_EVERY = 1.0
_GRACE = 5.0


def end_with_parent() -> None:
    """Watch from a thread; call it early, unless the parent has told who it is."""
    parent = int(os.environ.pop(STARTED_BY, "0")) or os.getppid()  # popped: our own children have us
    threading.Thread(target=_watch, args=(parent,), name="parent", daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_LOOK_EVERY)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(_GRACE)
    os._exit(1)
