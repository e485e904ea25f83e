"""The WSGI application the web processes serve."""

import os
from pathlib import Path

import django
from django.conf import settings
from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memplatform.settings")
django.setup()  # a worker that was not forked, as on macOS, has no models before
from memplatform.http.wsgi import FairShare, UnreadBodies  # noqa: E402

_METRICS_BYTES = 1 << 18  # a hundred combinations of route, method and status


def reserve_metrics_files() -> None:
    """Write this process's counter files at full size before counting begins; without room it counts for itself alone.

    They are mapped into memory: a write to them on a full disk ends the process with SIGBUS, whatever it was answering.
    """
    folder = Path(os.environ["PROMETHEUS_MULTIPROC_DIR"])
    files = [folder / f"{kind}_{os.getpid()}.db" for kind in ("counter", "histogram", "summary")]
    try:
        for file in files:
            file.write_bytes(bytes(_METRICS_BYTES))
    except OSError:
        for file in files:
            file.unlink(missing_ok=True)
        del os.environ["PROMETHEUS_MULTIPROC_DIR"]


if settings.PROCESS == "web":
    reserve_metrics_files()
application = FairShare(UnreadBodies(get_wsgi_application()))

if settings.PROCESS == "web":
    from channels_app.doors.files import replay
    from memories import embeddings
    from memories.offline import database, replicas
    from memories.recall import relevance
    from memplatform.processes import heartbeat

    heartbeat.start("web")
    database.watch(when_back=replay.replay_if_pending)
    replicas.watch()
    embeddings.warm_up()  # in this worker, after the fork: the first question should not wait for the model
    relevance.warm_up()
