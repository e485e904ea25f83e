"""Liveness and readiness of the platform, for load balancers, the supervisor and the home page."""

import secrets
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.conf import settings
from django.db import Error, connection
from django.db.models import Count, Max, Min
from django.http import HttpRequest, JsonResponse
from django.utils import timezone
from django_q.models import OrmQ, Schedule

from memories import llm
from memories.choices import Permission
from memories.llm import run
from memories.models import BotKey
from memories.offline import database
from memories.staff.rights import is_staff
from memplatform.database.state import has_pending_migrations, unknown_migrations
from memplatform.operations.models import Heartbeat

#: A process that has not written its heartbeat for so long is taken for dead.
SILENCE = timedelta(seconds=30)
#: Processes without which the platform does not do what it promises.
NEEDED = ("embedder", "worker")
#: The one that serves MCP, where it is switched on: without it the API answers all the same.
MCP = "mcp"
#: The one that talks with chat platforms: missed only where a channel is connected to one.
CHANNELS = "channels"
#: From this age on work counts as behind; it is done all the same, and requests are answered.
QUEUE_BEHIND = timedelta(minutes=2)
EMBEDDING_BEHIND = timedelta(minutes=1)
SCHEDULES_BEHIND = timedelta(minutes=5)
#: How the error of an extraction batch begins that waits for the model.
MODEL_FAILED = "ModelFailed"


@dataclass
class Measures:
    """Measures of the platform's work, in seconds and rows."""

    lag: float
    stale: int
    queue_age: float
    queued: int
    schedules_late: float
    failed_jobs: int
    extraction_lag: float  # of the oldest turn in the buffer that is not parked
    parked: int  # extraction batches of the buffer that wait for an operator
    held: int  # batches that the safety limit keeps for a person
    held_for: float  # the one that waits longest
    model_failing: bool  # its last call came to nothing
    model_error: str
    model_failed_ago: float
    model_waiting: int  # extraction batches that wait, or are parked, because of the model
    model_waiting_since: float  # the oldest turn of these
    silence: dict[str, float] = field(default_factory=dict)  # by process: seconds since the last sign of life


def may_see_details(request: HttpRequest, *, now: datetime) -> bool:
    """Staff with a login, the metrics key, or a bot key that may administer.

    Where a call comes from proves nothing: a proxy on this machine speaks for everybody.
    """
    if is_staff(request):
        return True
    scheme, _space, token = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not token.isascii():
        return False
    if settings.METRICS_KEY and secrets.compare_digest(token.strip(), settings.METRICS_KEY):
        return True
    key = BotKey.objects.admit(token.strip(), now)
    return key is not None and key.permits(Permission.ADMIN)


def livez(request: HttpRequest) -> JsonResponse:
    """200 as long as the process answers."""
    return JsonResponse({"status": "ok"})


def readyz(request: HttpRequest) -> JsonResponse:
    """503 with what is missing; 200 when requests are answered as promised, with what is behind its time.

    `not_ready`: database, migrations, version (the tables are of a newer one), or a process. `behind`: queue,
    schedules, embedding, model, channels, mcp; and where this host runs neither, embedder and worker of the others.
    """
    now = timezone.now()
    condition = examine(now)
    body: dict[str, Any] = {"status": condition.status}
    if condition.behind:
        body["behind"] = condition.behind
    if condition.missing:
        body["not_ready"] = condition.missing
    if condition.figures and may_see_details(request, now=now):
        body["details"] = asdict(condition.figures)
    return JsonResponse(body, status=503 if condition.missing else 200)


@dataclass(frozen=True)
class Condition:
    """What keeps the platform from answering, what is late, and the figures both rest on (None without tables)."""

    missing: list[str] = field(default_factory=list)
    behind: list[str] = field(default_factory=list)
    figures: Measures | None = None

    @property
    def status(self) -> str:
        """`ok`, `behind` or `unavailable`."""
        return "unavailable" if self.missing else "behind" if self.behind else "ok"


def examine(now: datetime) -> Condition:
    """The condition of the platform at this moment; a database that is away is part of it."""
    if database.is_away():
        return Condition(["database"])
    try:
        if unknown_migrations():
            return Condition(["version"])
        if has_pending_migrations():
            return Condition(["migrations"])
        figures = measure(now)
    except Error:
        return Condition(["database"])
    silence = {name: figures.silence.get(name, float("inf")) for name in NEEDED if name in settings.PARTS}
    ages = (
        ("queue", figures.queue_age, QUEUE_BEHIND),
        ("schedules", figures.schedules_late, SCHEDULES_BEHIND),
        ("embedding", figures.lag, EMBEDDING_BEHIND),
        ("model", float(figures.model_failing), timedelta(0)),
        # Of other hosts: this one answers all the same, and a load balancer is not to give all of them up
        *((name, figures.silence.get(name, float("inf")), SILENCE) for name in NEEDED if name not in settings.PARTS),
        (CHANNELS, figures.silence.get(CHANNELS, float("inf")) if has_connections() else 0.0, SILENCE),
        (MCP, figures.silence.get(MCP, float("inf")) if settings.MCP else 0.0, SILENCE),
    )
    return Condition(
        missing=[name for name, seconds in silence.items() if seconds > SILENCE.total_seconds()],
        behind=[name for name, age, limit in ages if age > limit.total_seconds()],
        figures=figures,
    )


def has_connections() -> bool:
    """Whether a channel of any workspace is connected to a chat platform."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT memplatform_has_connections()")
        return bool(cursor.fetchone()[0])


def measure(now: datetime) -> Measures:
    """The measures of this moment. Raises django.db.Error when the database is away, or has no tables yet."""
    with connection.cursor() as cursor:
        columns = ", ".join(Backlog._fields)
        question = f"SELECT {columns} FROM memplatform_backlog(%s, %s)"  # noqa: S608 (names of this file)
        cursor.execute(question, [now - timedelta(days=1), MODEL_FAILED])
        backlog = Backlog(*cursor.fetchone())
        cursor.execute("SELECT batches, since FROM memplatform_held()")
        held_batches, held_since = cursor.fetchone()
    due = OrmQ.objects.filter(lock__lte=now).aggregate(rows=Count("*"), since=Min("lock"))
    late = Schedule.objects.exclude(repeats=0).filter(next_run__lt=now).aggregate(since=Min("next_run"))
    failing = run.failing() if llm.is_on() else None
    last_beats = Heartbeat.objects.values_list("name").annotate(Max("beat_at"))
    return Measures(
        lag=_age(backlog.stale_since, now),
        stale=backlog.stale,
        queue_age=_age(due["since"], now),
        queued=due["rows"],
        schedules_late=_age(late["since"], now),
        failed_jobs=backlog.failed,
        extraction_lag=_age(backlog.buffered_since, now),
        parked=backlog.parked,
        held=held_batches,
        held_for=_age(held_since, now),
        model_failing=failing is not None,
        model_error=failing.error if failing else "",
        model_failed_ago=_age(failing.failed_at if failing else None, now),
        model_waiting=backlog.held_up,
        model_waiting_since=_age(backlog.held_up_since, now),
        silence={name: _age(beat_at, now) for name, beat_at in last_beats},
    )


class Backlog(NamedTuple):
    """Work that waits, of all workspaces together: the web sees it in these numbers alone."""

    stale: int  # memories in use without a vector; those only blended anew are found as before
    stale_since: datetime | None
    buffered_since: datetime | None
    parked: int
    held_up: int  # by a model that gives no answer
    held_up_since: datetime | None
    failed: int


def _age(since: datetime | None, now: datetime) -> float:
    return round(max((now - since).total_seconds(), 0.0), 1) if since else 0.0
