"""`python -m memplatform.processes.web HOST PORT` leads the web workers; whether its address is free, and answers."""

import errno
import gc
import http.client
import importlib
import multiprocessing
import os
import shutil
import socket
import sys
import time
from contextlib import suppress

import django
from django.conf import settings
from django.contrib import admin
from granian import Granian
from granian.constants import Interfaces
from granian.http import HTTP1Settings

from memories import telemetry
from memories.conf import conf
from memories.language import text
from memplatform.addresses import name_of
from memplatform.processes.children import STARTED_BY, end_with_parent

WORKERS = 2
#: Of one worker: most wait for their turn (memplatform.http.wsgi).
THREADS = 64
#: A thread that comes back from the database waits so long for one that computes. With Python's 5 ms, a call that asks
#: the database ten times waits ten times as long as its neighbours compute.
SWITCH_SECONDS = 0.0005
#: A connection nobody uses is kept for so long: longer than clients and proxies in front keep theirs, which are to hang
#: up first. Who is hung up on while sending the next call cannot tell whether it arrived.
IDLE_SECONDS = 180
_PRELOADED = (
    "channels_app.api.urls",
    "sessions_app.api.urls",
    "memories.api.urls",
    "channels_app.doors.mem0.urls",
    "channels_app.doors.openai.urls",
    "channels_app.doors.files.replay",
    "drf_spectacular.views",
    "django.core.handlers.wsgi",
)
_REQUEST_MAX_SECONDS = 15  # how long a stopping worker may finish what it has begun


def main(host: str, port: int) -> None:
    end_with_parent()
    os.environ[STARTED_BY] = str(os.getpid())  # for the workers, of which one may start while this process is killed
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memplatform.settings")
    shutil.rmtree(settings.DATA_DIR / "metrics", ignore_errors=True)  # counters of processes that are no more
    with suppress(OSError):  # on a full disk: each worker counts for itself alone (memplatform.wsgi)
        (settings.DATA_DIR / "metrics").mkdir(parents=True, exist_ok=True)
    # What the workers need is imported before they are forked: it is done once, and its memory is shared. Not what
    # counts requests: each worker has files of its own for that (memplatform.wsgi)
    django.setup()
    telemetry.begin_anew()
    admin.autodiscover()
    for module in _PRELOADED:
        importlib.import_module(module)
    text.load()
    gc.freeze()
    sys.setswitchinterval(SWITCH_SECONDS)  # the workers are forked from here
    if sys.platform == "linux":  # Python 3.14 would start them anew, without what is imported here
        multiprocessing.set_start_method("fork", force=True)
    Granian(
        "memplatform.wsgi:application",
        address=host,
        port=port,
        interface=Interfaces.WSGI,
        workers=WORKERS,
        blocking_threads=threads(),
        respawn_failed_workers=True,
        workers_kill_timeout=_REQUEST_MAX_SECONDS,
        http1_settings=HTTP1Settings(header_read_timeout=IDLE_SECONDS * 1000),
    ).serve()


def threads() -> int:
    """Of one worker. A chat through the proxy keeps one until the model has answered: the API has its own besides."""
    return THREADS + (conf.PROXY_CHATS if settings.MEMORY_PROXY_BASE_URL else 0)


def obstacle(host: str, port: int, *, patience: float, setting: str = "MEMPLATFORM_PORT") -> str | None:
    """A sentence when the address cannot be bound; waits `patience` seconds for a predecessor to let go."""
    end = time.monotonic() + patience
    while True:
        try:
            family, kind, protocol, _name, where = socket.getaddrinfo(
                host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
            )[0]
            with socket.socket(family, kind, protocol) as trial:
                # Connections of a predecessor that linger do not count.
                trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                trial.bind(where)
                trial.listen(1)
            return None
        except OSError as problem:
            if problem.errno != errno.EADDRINUSE:
                return f"The web server cannot listen on {host}:{port}: {problem.strerror}."
            if time.monotonic() >= end:
                return f"Port {port} is in use by another program; set {setting} to a free one."
        time.sleep(0.1)


def answers(host: str, port: int, path: str) -> bool:
    """Whether a GET of the path is answered with 200."""
    return status_of(host, port, path) == 200


def status_of(host: str, port: int, path: str, seconds: float = 5) -> int | None:
    """The status a GET of the path is answered with; None: there is no answer in so many seconds."""
    connection = http.client.HTTPConnection(name_of(host), port, timeout=seconds)
    try:
        connection.request("GET", path)
        return connection.getresponse().status
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
