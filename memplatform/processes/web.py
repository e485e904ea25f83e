"""`python -m memplatform.processes.web HOST PORT`: leads the web workers, which load Django and beat."""

import os
import shutil
import sys

from django.conf import settings
from granian import Granian
from granian.constants import Interfaces

from memplatform.processes.parent_watch import STARTED_BY, end_with_parent

WORKERS = 2
THREADS = 4
_REQUEST_MAX_SECONDS = 15  # how long a stopping worker may finish what it has begun


def main(host: str, port: int) -> None:
    end_with_parent()
    os.environ[STARTED_BY] = str(os.getpid())  # for the workers, of which one may start while this process is killed
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memplatform.settings")
    shutil.rmtree(settings.DATA_DIR / "metrics", ignore_errors=True)  # counters of processes that are no more
    (settings.DATA_DIR / "metrics").mkdir(parents=True)
    Granian(
        "memplatform.wsgi:application",
        address=host,
        port=port,
        interface=Interfaces.WSGI,
        workers=WORKERS,
        blocking_threads=THREADS,
        respawn_failed_workers=True,
        workers_kill_timeout=_REQUEST_MAX_SECONDS,
    ).serve()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
