"""What the worker runs of the platform itself; the clock is read here."""

from django.db import transaction
from django.utils import timezone
from django_q.tasks import async_task

from memplatform import jobs


def pulse() -> None:
    """Nothing: that it ran is the sign."""


def tick() -> dict[str, int]:
    """Begin every nightly job that is due somewhere; how many workspaces each has before it."""
    now = timezone.now()
    waiting = {job: len(jobs.due(job, now=now)) for job in jobs.nightly()}
    for job, count in waiting.items():
        if count:
            async_task("memplatform.tasks.work", job, group="mem:nightly", ack_failure=True)
    return waiting


def work(job: str) -> None:
    """One workspace's run of a job; the next is another task, so that one that fails or hangs holds up no other."""
    now = timezone.now()
    with transaction.atomic():
        claim = jobs.claim_next(job, now=now)
        if claim is None:
            return
        async_task("memplatform.tasks.work", job, group="mem:nightly", ack_failure=True)
    jobs.perform(claim, now=now)
