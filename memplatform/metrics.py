"""GET /metrics for Prometheus: counters of all web processes together, and gauges read from the database."""

import os
from collections.abc import Iterable
from math import inf

from django.conf import settings
from django.db import Error
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from prometheus_client import CONTENT_TYPE_LATEST, REGISTRY, CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from memories.telemetry import counters
from memplatform.operations import health

counters()  # shown from the start, with nothing counted


def metrics(request: HttpRequest) -> HttpResponse:
    """For this machine, and for callers with a key."""
    if not health.may_see_details(request, now=timezone.now()):
        return HttpResponse(status=403)
    database = CollectorRegistry()
    database.register(_DatabaseGauges())
    processes = REGISTRY
    if os.environ.get("PROMETHEUS_MULTIPROC_DIR"):  # under granian each process counts into files of its own
        processes = CollectorRegistry()
        MultiProcessCollector(processes)  # type: ignore[no-untyped-call]
    return HttpResponse(generate_latest(processes) + generate_latest(database), CONTENT_TYPE_LATEST)


#: Gauges by name, without their prefix: what they measure, and the field of Measures they show.
_GAUGES = {
    "embedding_lag_seconds": ("Age of the oldest entry that waits for its vector.", "lag"),
    "embedding_backlog": ("Entries that wait for their vector.", "stale"),
    "queue_age_seconds": ("Age of the oldest task that is due and not begun.", "queue_age"),
    "queue_length": ("Tasks that are due and not begun.", "queued"),
    "failed_jobs": ("Runs of jobs in the last day that failed for good.", "failed_jobs"),
    "extraction_lag_seconds": ("Age of the oldest turn that waits to be extracted.", "extraction_lag"),
    "parked_extraction_batches": ("Conversations whose extraction failed and waits for an operator.", "parked"),
    "held_batches": ("Batches that the safety limit keeps for a person to decide.", "held"),
    "held_batches_age_seconds": ("Age of the batch that has waited longest for a person.", "held_for"),
    "model_failing": ("1 while the last call to the model came to nothing.", "model_failing"),
    "model_waiting": ("Conversations that wait for the model.", "model_waiting"),
}


class _DatabaseGauges(Collector):
    """Gauges read from the database at every scrape; none when it is away."""

    def collect(self) -> Iterable[GaugeMetricFamily]:
        try:
            measures = health.measure(timezone.now())
            channels = [health.CHANNELS] if health.has_connections() else []
        except Error:
            return
        for name, (help_text, field) in _GAUGES.items():
            yield GaugeMetricFamily(f"memplatform_{name}", help_text, value=getattr(measures, field))
        beats = GaugeMetricFamily(
            "memplatform_heartbeat_age_seconds", "Seconds since the last heartbeat of a process.", labels=["process"]
        )
        needed = [*health.NEEDED, *channels, *([health.MCP] if settings.MCP else [])]
        for name, age in (dict.fromkeys(needed, inf) | measures.silence).items():  # one never heard of is silent, too
            beats.add_metric([name], age)
        yield beats
