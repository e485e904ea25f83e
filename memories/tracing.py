"""Traces by OpenTelemetry across all processes: a call, its statements, vectors of what it wrote, tasks after it.

Off unless OTEL_EXPORTER_OTLP_ENDPOINT names a collector of the owner's; then nothing of OpenTelemetry is even imported.
A span names a route, a part or a verb of SQL. It holds no word, no value and no id of a person.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from functools import cache
from typing import Any

from django.conf import settings
from django.db import connection

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
