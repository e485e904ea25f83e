"""Ending with the process that started us, also when it was killed and could not say so; on every Unix."""

import os
import signal
import threading
import time

_LOOK_EVERY = 1.0
_GRACE = 5.0


def end_with_parent() -> None:
    """Watch from a thread; call it early, while the parent is surely alive."""
    threading.Thread(target=_watch, args=(os.getppid(),), name="parent", daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_LOOK_EVERY)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(_GRACE)
    os._exit(1)
