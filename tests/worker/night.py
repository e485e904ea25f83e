"""A worker on a night that is too long for one task: it says when it has begun a task, and how far it is."""

import sys
from datetime import datetime

import django

django.setup()

from django_q.models import OrmQ

from memories import tasks
from memories.batch import carrying
from memplatform import jobs

if __name__ == "__main__":
    carrying.CHUNK, tasks.REST_SECONDS, jobs.REPORTS_EVERY = 50, 0.0, 0.0
    tasks.LONGEST_SECONDS = 0.15  # type: ignore[assignment]
    now = datetime.fromisoformat(sys.argv[1])
    claim = jobs.claim_next("expire", now=now)
    while claim:
        print("begun", flush=True)
        jobs.perform(claim, now=now)
        row = OrmQ.objects.order_by("-pk").first()
        claim = jobs.claim_again(*row.task["args"], now=now) if row else None
        OrmQ.objects.all().delete()
    print("done", flush=True)
