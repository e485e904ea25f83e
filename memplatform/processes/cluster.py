"""`python -m memplatform.processes.cluster`: django-q2's cluster, which reports what its workers do.

The watchdog beside it starts it, and reads the reports: it holds the reading end of a pipe as its input and the
writing end of another in MEMPLATFORM_PROGRESS. When the watchdog is gone, however it ended, the whole group ends
with it.
"""

import os
import signal
import threading
from contextlib import ExitStack
from typing import Any

import django
import structlog

PROGRESS = "MEMPLATFORM_PROGRESS"
#: By the id of the task that runs here: its span in the trace of whoever asked for it.
_spans: dict[str, ExitStack] = {}


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memplatform.settings")
    django.setup()
    from django_q.cluster import Cluster
    from django_q.signals import post_execute_in_worker, pre_execute

    pre_execute.connect(_begins)
    post_execute_in_worker.connect(_ended)
    cluster = Cluster()
    cluster.start()  # forks: no thread before it
    threading.Thread(target=_end_with_watchdog, name="watchdog", daemon=True).start()
    if cluster.sentinel:
        cluster.sentinel.join()


def _begins(*, task: dict[str, Any], **_: Any) -> None:
    from memories import telemetry  # which asks the settings

    structlog.contextvars.bind_contextvars(task=task["id"])
    if parent := task.get("traceparent"):
        _spans[task["id"]] = stack = ExitStack()
        stack.enter_context(telemetry.follow(f"task {task['func']}", [parent]))
    _report("+", task)


def _ended(*, task: dict[str, Any], **_: Any) -> None:
    if stack := _spans.pop(task["id"], None):
        stack.close()
    structlog.contextvars.unbind_contextvars("task")
    _report("-", task)


def _report(sign: str, task: dict[str, Any]) -> None:
    """Lines this short are written whole. One that finds the pipe full is dropped: the watchdog has enough to read."""
    try:
        os.write(int(os.environ[PROGRESS]), f"{sign}{os.getpid()} {task['id']}\n".encode())
    except (BlockingIOError, BrokenPipeError):
        return


def _end_with_watchdog() -> None:
    while os.read(0, 64):
        pass
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    main()
