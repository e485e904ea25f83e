"""Tasks of the platform itself; the clock is read here."""

import json
import subprocess
import sys
from collections import deque
from collections.abc import Callable
from tempfile import TemporaryFile
from threading import Timer

from django.db import transaction
from django.utils import timezone
from django_q.tasks import async_task

from memories import webhooks
from memories.models import Scope, Workspace
from memories.tenancy.access import SCOPE_KEY
from memplatform.erasure import run as erasure
from memplatform.operations import health, incidents, rollups
from memplatform.operations.jobs import runs
from memplatform.operations.jobs.queue import failing_jobs


def pulse() -> None:
    """Nothing: that it ran is the sign."""


def tick() -> dict[str, int]:
    """Begin every nightly job that is due somewhere; how many workspaces each has before it."""
    waiting = count_due()
    runs.fail_lost(now=timezone.now())
    for job, count in waiting.items():
        if count:
            async_task("memplatform.tasks.work", job, group="mem:nightly", ack_failure=True)
    return waiting


def count_due() -> dict[str, int]:
    """How many workspaces each nightly job has before it."""
    now = timezone.now()
    return {job: len(runs.due(job, now=now)) for job in runs.nightly()}


def tell_condition() -> dict[str, int]:
    """Tell the webhooks that want to know what is missing, late or back, and which jobs of every minute fail."""
    now = timezone.now()
    condition = health.examine(now)
    rollups.sample(now=now)
    if incidents.is_settled(now=now):
        incidents.observe({**incidents.found_in(condition, now=now), **incidents.degraded(now=now)}, now=now)
    count = webhooks.announce_condition(_parts(condition), now=now)
    return {"told": count + webhooks.announce_failing_jobs(failing_jobs(), now=now)}


def count_parts() -> dict[str, int]:
    """How many parts are missing or late."""
    return {"parts": len(_parts(health.examine(timezone.now())))}


def _parts(condition: health.Condition) -> list[str]:
    return sorted(condition.missing + condition.behind)


def erase_waiting() -> dict[str, int]:
    """Work off the erasures that were ordered; each goes on where it was interrupted."""
    return erasure.erase_waiting(now=timezone.now())


def count_erasures() -> dict[str, int]:
    """How many wait."""
    return erasure.count_waiting()


def roll_up() -> dict[str, int]:
    """Count the hours that are over, and what there is."""
    return rollups.roll_up(now=timezone.now())


def count_hours() -> dict[str, int]:
    """How many hours and workspaces are due."""
    return rollups.count_due(now=timezone.now())


#: Scopes a drill by a job takes, by chance, and the seconds it may take.
DRILL_SAMPLE, DRILL_SECONDS = 24, 540


class UncleanDrill(Exception):
    """A drill that was not answered everywhere."""


class Leak(runs.Finding, UncleanDrill):
    """A drill that heard what it may not, or left words behind."""


def drill_workspace(
    workspace_id: int, run: str = "", report: Callable[[dict[str, int]], None] = lambda counts: None
) -> dict[str, int]:
    """Drill a sample of the scopes of a workspace; in a process of its own, so that no cache here learns of it."""
    name = Workspace.objects.values_list("name", flat=True).get(pk=workspace_id)
    command = [sys.executable, "-m", "django", "leak_drill", "--json", "--sample", str(DRILL_SAMPLE)]
    output: deque[str] = deque(maxlen=40)
    with TemporaryFile("w+") as answer:
        drill = subprocess.Popen(  # noqa: S603 (a command of ours)
            [*command, "--run", run, "--workspace", name], stdout=answer, stderr=subprocess.PIPE, text=True
        )
        clock = Timer(DRILL_SECONDS, drill.kill)
        with drill:
            clock.start()
            try:
                for line in drill.stderr or ():
                    if line.startswith("{"):
                        report(json.loads(line))
                    else:
                        output.append(line)
            finally:
                clock.cancel()
        answer.seek(0)
        try:
            outcome = json.loads(answer.read())
        except ValueError:
            raise RuntimeError("".join(output)[-2_000:] or "no report") from None
    counts = {"scopes": outcome["scopes"], "probes": outcome["probes"], "leaks": outcome["leaks"]}
    counts |= {"faults": sum(outcome["faults"].values()), "left_behind": outcome["left_behind"]}
    if not outcome["clean"]:
        report(counts)
        problem = Leak if counts["leaks"] or counts["left_behind"] else UncleanDrill
        raise problem("leaks {leaks}, faults {faults}, words left behind {left_behind}".format(**counts))
    return counts


def count_scopes_to_drill(workspace_id: int) -> dict[str, int]:
    """How many scopes a drill would take."""
    return {"scopes": min(Scope.objects.in_workspace(workspace_id).exclude(key=SCOPE_KEY).count(), DRILL_SAMPLE)}


def perform(run_id: int) -> None:
    """Perform a run on demand."""
    now = timezone.now()
    if run := runs.claim(run_id, now=now):
        runs.perform(run, now=now)


def go_on(run_id: int, attempt: int) -> None:
    """Go on with a run that had no time left."""
    now = timezone.now()
    if run := runs.claim_again(run_id, attempt, now=now):
        runs.perform(run, now=now)


def work(job: str) -> None:
    """One workspace's run of a job; the next is another task, so that one that fails or hangs holds up no other."""
    now = timezone.now()
    with transaction.atomic():
        run = runs.claim_next(job, now=now)
        if run is None:
            return
        async_task("memplatform.tasks.work", job, group="mem:nightly", ack_failure=True)
    runs.perform(run, now=now)
