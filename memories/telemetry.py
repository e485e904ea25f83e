"""What a process tells of its work: counters of captures and recalls (A14), and traces.

Counters are one set a process; memplatform.metrics serves the sums. Traces go by OpenTelemetry across all processes: a
call, its statements, vectors of what it wrote, tasks after it. They are off unless OTEL_EXPORTER_OTLP_ENDPOINT names a
collector of the owner's; then nothing of OpenTelemetry is even imported. A span names a route, a part or a verb of SQL.
It holds no word, no value and no id of a person.
"""

import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from contextvars import ContextVar
from functools import cache
from types import SimpleNamespace
from typing import Any

from django.conf import settings
from django.db import connection

# counters

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 1.0, 2.5, 5.0, 10.0)

_making = threading.Lock()
_is_trial: ContextVar[bool] = ContextVar("what is written is taken back", default=False)


@contextmanager
def uncounted() -> Iterator[None]:
    """Count no captures in this block: all of it is taken back."""
    token = _is_trial.set(True)
    try:
        yield
    finally:
        _is_trial.reset(token)


def counters() -> SimpleNamespace:
    """Made when first used: prometheus_client decides when it is imported whether this process counts into files."""
    with _making:
        return _counters()


def begin_anew() -> None:
    """In a process just forked: count from nothing, into files if its environment wants them."""
    _counters.cache_clear()
    for name in [name for name in sys.modules if name.partition(".")[0] == "prometheus_client"]:
        del sys.modules[name]


@cache
def _counters() -> SimpleNamespace:
    from prometheus_client import Counter, Histogram, Summary

    return SimpleNamespace(
        recalls=Counter(
            "memplatform_recalls", "Recalls by their verdict: found, weak, none or not_needed.", ["outcome"]
        ),
        reads=Counter(
            "memplatform_recalls_read",
            "Recalls where there are replicas, by what they read from: replica, primary, or stale, a replica alone.",
            ["server"],
        ),
        recall_seconds=Histogram("memplatform_recall_seconds", "Time of a recall by step.", ["step"], buckets=SECONDS),
        degraded=Counter("memplatform_recalls_degraded", "Recalls answered without a part of the platform.", ["part"]),
        served=Counter("memplatform_entries_served", "Entries that recalls answered with."),
        reported=Counter("memplatform_recalls_reported", "Recalls whose answers were reported on."),
        reported_served=Counter(
            "memplatform_reported_entries_served", "Entries served by recalls that were reported on."
        ),
        used=Counter("memplatform_reported_entries_used", "Entries that answers rested on, of recalls reported on."),
        captures=Counter(
            "memplatform_captures", "Drafts by what became of them: created, merged, skipped …", ["outcome"]
        ),
        tokens=Summary("memplatform_entry_tokens", "Tokens of entries as they are stored."),
    )


def count_recall(*, verdict: str, entries: int, milliseconds: Mapping[str, float], degraded: Iterable[str]) -> None:
    """Count an answered recall; without a verdict it needed no memory."""
    counters().recalls.labels(verdict or "not_needed").inc()
    counters().served.inc(entries)
    for step, took in milliseconds.items():
        counters().recall_seconds.labels(step).observe(took / 1000)
    for part in degraded:
        counters().degraded.labels(part).inc()


def count_read(server: str) -> None:
    """Count a call that may read from a replica by what it read from: replica, primary or stale."""
    counters().reads.labels(server).inc()


def count_report(*, served_count: int, used_count: int) -> None:
    """Count the first report of a bot on which served entries its answer used."""
    counters().reported.inc()
    counters().reported_served.inc(served_count)
    counters().used.inc(used_count)


def count_capture(outcome: str, tokens: int) -> None:
    """Count a written draft by its outcome."""
    if _is_trial.get():
        return
    counters().captures.labels(outcome).inc()
    counters().tokens.observe(tokens)


# traces

#: Seconds after which spans are sent: what a process that is killed has not sent yet is missing.
SENT_EVERY = 1.0


def is_on() -> bool:
    """Whether the owner named a collector."""
    return bool(settings.OTLP_ENDPOINT)


@contextmanager
def span(name: str, *, parent: str = "", kind: str = "INTERNAL", **attributes: Any) -> Iterator[Any]:
    """A part of the trace that is under way here, or of the one `parent` belongs to; None where traces are off.

    Of an exception that passes through it says that there was one: its text may hold words of users.
    """
    if not is_on():
        yield None
        return
    from opentelemetry.trace import SpanKind, StatusCode
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    context = TraceContextTextMapPropagator().extract({"traceparent": parent}) if parent else None
    quiet = {"record_exception": False, "set_status_on_exception": False}
    span_attributes = {word.replace("__", "."): value for word, value in attributes.items()}
    with _tracer(os.getpid()).start_as_current_span(
        name, context, kind=getattr(SpanKind, kind), attributes=span_attributes, **quiet
    ) as current:
        is_whole = False
        try:
            yield current
            is_whole = True
        finally:
            if not is_whole:
                current.set_status(StatusCode.ERROR)


def traceparent() -> str:
    """What another process continues the current trace by, in the form of W3C; empty where there is none."""
    if not is_on():
        return ""
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    carrier: dict[str, str] = {}
    TraceContextTextMapPropagator().inject(carrier)
    return carrier.get("traceparent", "")


@contextmanager
def follow(name: str, parents: Sequence[str]) -> Iterator[None]:
    """A span in each of several traces whose work is done together; what is done inside is part of the last one."""
    with ExitStack() as stack:
        for parent in dict.fromkeys(parents):
            stack.enter_context(span(name, parent=parent, kind="CONSUMER"))
        if parents:
            stack.enter_context(statements())
        yield


def statements() -> AbstractContextManager[object]:
    """While inside, every statement of this connection is a span."""
    return connection.execute_wrapper(_statement) if is_on() else nullcontext()


def _statement(execute: Callable[..., Any], sql: Any, params: Any, many: bool, context: Any) -> Any:
    verb = (str(sql).split(None, 1) or ["statement"])[0].strip("(;").upper()[:20]
    with span(verb, kind="CLIENT", db__system__name="postgresql", db__operation__name=verb):
        return execute(sql, params, many, context)


@cache
def _tracer(process_id: int) -> Any:
    """Of this process: one that was forked sends by a thread of its own."""
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    service = f"memplatform-{settings.PROCESS or 'command'}"
    resource = Resource.create({"service.name": service, "process.pid": process_id})
    provider = TracerProvider(resource=resource)
    exporter = OTLPSpanExporter(endpoint=f"{settings.OTLP_ENDPOINT}/v1/traces")
    provider.add_span_processor(BatchSpanProcessor(exporter, schedule_delay_millis=SENT_EVERY * 1000))
    return provider.get_tracer("memplatform")
