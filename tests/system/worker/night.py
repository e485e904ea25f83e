"""A worker on a night that is too long for one task: it says when it has begun a task, and how far it is."""

import sys
from datetime import datetime

import django

django.setup()

from django_q.models import OrmQ

from memories import tasks
from memories.batches import apply
from memplatform.operations.jobs import runs

if __name__ == "__main__":
    apply.CHUNK, tasks.REST_SECONDS, runs.REPORTS_EVERY = 50, 0.0, 0.0
    tasks.LONGEST_SECONDS = 0.15  # type: ignore[assignment]
    now = datetime.fromisoformat(sys.argv[1])
    claim = runs.claim_next("expire", now=now)
    while claim:
        print("begun", flush=True)
        runs.perform(claim, now=now)
        row = OrmQ.objects.order_by("-pk").first()
        claim = runs.claim_again(*row.task["args"], now=now) if row else None
        OrmQ.objects.all().delete()
    print("done", flush=True)
