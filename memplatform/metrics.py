"""GET /metrics: what Prometheus asks for; counters of all web processes together, and what the database knows."""

import os
from collections.abc import Iterable, Iterator

from django.db import Error
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from prometheus_client import CONTENT_TYPE_LATEST, REGISTRY, CollectorRegistry, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from memories.metrics import SECONDS
from memplatform import health
from memplatform.http.access import may_see_details

REQUESTS = Histogram(
    "memplatform_request_seconds",
    "Time of requests by route, method and status.",
    ["route", "method", "status"],
    buckets=SECONDS,
)


def metrics(request: HttpRequest) -> HttpResponse:
    """For this machine, and for callers with a key."""
    if not may_see_details(request, now=timezone.now()):
        return HttpResponse(status=403)
    return HttpResponse(b"".join(generate_latest(registry) for registry in _registries()), CONTENT_TYPE_LATEST)


def _registries() -> Iterator[CollectorRegistry]:
    yield _of_all_processes()
    ours = CollectorRegistry()
    ours.register(_DatabaseGauges())
    yield ours


def _of_all_processes() -> CollectorRegistry:
    """Under granian each process counts into files of its own; elsewhere there is only this process."""
    if not os.environ.get("PROMETHEUS_MULTIPROC_DIR"):
        return REGISTRY
    registry = CollectorRegistry()
    MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    return registry


class _DatabaseGauges(Collector):
    """Gauges read from the database at every scrape; none when it is away."""

    def collect(self) -> Iterable[GaugeMetricFamily]:
        try:
            measures = health.measure(timezone.now())
        except Error:
            return
        yield _gauge("embedding_lag_seconds", "Age of the oldest entry that waits for its vector.", measures.lag)
        yield _gauge("embedding_backlog", "Entries that wait for their vector.", measures.stale)
        yield _gauge("queue_age_seconds", "Age of the oldest task that is due and not begun.", measures.queue_age)
        yield _gauge("queue_length", "Tasks that are due and not begun.", measures.queued)
        yield _gauge("failed_jobs", "Runs of jobs in the last day that failed for good.", measures.failed_jobs)
        yield _gauge(
            "extraction_lag_seconds", "Age of the oldest turn that waits to be extracted.", measures.extraction_lag
        )
        yield _gauge(
            "parked_extraction_batches",
            "Conversations whose extraction failed and waits for an operator.",
            measures.parked,
        )
        yield _gauge("model_failing", "1 while the last call to the model came to nothing.", measures.model_failing)
        yield _gauge("model_waiting", "Conversations that wait for the model.", measures.model_waiting)
        beats = GaugeMetricFamily(
            "memplatform_heartbeat_age_seconds", "Seconds since a process was heard of.", labels=["process"]
        )
        for name, age in measures.silence.items():
            beats.add_metric([name], age)
        yield beats


def _gauge(name: str, explained: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"memplatform_{name}", explained, value=value)
