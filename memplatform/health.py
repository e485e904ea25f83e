"""Is the platform alive, and ready to answer? For load balancers and the supervisor; without details (F5)."""

from datetime import timedelta

from django.db import Error, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, JsonResponse
from django.utils import timezone

from memories.models import Heartbeat

#: A process that has not written its heartbeat for so long is taken for dead.
SILENCE = timedelta(seconds=30)
#: Processes without which a request is not answered as promised.
NEEDED = ("embedder",)


def livez(request: HttpRequest) -> JsonResponse:
    """200 as long as the process answers."""
    return JsonResponse({"status": "ok"})


def readyz(request: HttpRequest) -> JsonResponse:
    """200 when the database answers, is migrated, and the other processes live; otherwise 503 naming what is not."""
    missing = not_ready()
    body = {"status": "unavailable", "not_ready": missing} if missing else {"status": "ok"}
    return JsonResponse(body, status=503 if missing else 200)


def not_ready() -> list[str]:
    """The parts that are not as they should be."""
    try:
        return [*_unmigrated(), *_silent()]
    except Error:
        return ["database"]


def _unmigrated() -> list[str]:
    executor = MigrationExecutor(connection)
    return ["migrations"] if executor.migration_plan(executor.loader.graph.leaf_nodes()) else []


def _silent() -> list[str]:
    beating = Heartbeat.objects.filter(beat_at__gt=timezone.now() - SILENCE)
    alive = set(beating.values_list("name", flat=True))
    return [name for name in NEEDED if name not in alive]
