"""Tasks the worker is tried with; what they leave behind are workspaces, named for what happened."""

import os
import signal
import time

from memories.models import Workspace


def leave(mark: str) -> None:
    Workspace.objects.get_or_create(name=mark)


def take_long(mark: str, seconds: float) -> None:
    leave(f"{mark} begun by {os.getpid()}")
    time.sleep(seconds)
    leave(f"{mark} done")


def kill_its_worker(mark: str) -> None:
    leave(f"{mark} begun by {os.getpid()}")
    os.kill(os.getpid(), signal.SIGKILL)
