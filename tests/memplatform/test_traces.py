"""One trace leads from a call over the database and the embedder to the worker, and holds no word of anybody."""

import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from django.db import connection
from django_q.models import OrmQ
from django_q.signals import pre_enqueue
from django_q.tasks import async_task

from memories import telemetry
from memories.management.commands import embedder
from memories.models import lease
from memplatform import apps, checks
from memplatform.processes import cluster
from tests.conftest import TELEGRAM, Api
from tests.support import collector
from tests.support.collector import Collector, Span

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
TRACE = PARENT.split("-")[1]


@pytest.fixture
def collected(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    """A collector of the owner's, to which spans are sent at once."""
    monkeypatch.setattr(telemetry, "SENT_EVERY", 0.05)
    telemetry._tracer.cache_clear()
    with collector.running() as started:
        settings.OTLP_ENDPOINT, settings.PROCESS = started.address, "web"
        yield started
        settings.OTLP_ENDPOINT = ""
    telemetry._tracer.cache_clear()


def spans_with(collected: Collector, name: str) -> list[Span]:
    """The spans of the trace once the one of this name, which ends last, has come."""
    end = time.monotonic() + 20
    while time.monotonic() < end:
        found = [span for span in collected.spans if span.trace == TRACE]
        if any(span.name == name for span in found):
            return found
        time.sleep(0.05)
    raise AssertionError(f"{name} did not come, but {[span.name for span in collected.spans]}")


@pytest.mark.django_db
def test_a_call_and_its_statements_are_one_trace_of_the_caller_without_a_word_of_users(
    api: Api, collected: Collector
) -> None:
    turn = {"address": TELEGRAM, "user": "I moved to Hangzhou", "assistant": "Noted."}
    assert api.post("turns", turn, traceparent=PARENT).status_code == 201
    spans = spans_with(collected, "POST api/v1/turns")
    (call,) = [span for span in spans if span.name == "POST api/v1/turns"]
    assert (call.parent, call.service) == (PARENT.split("-")[2], "memplatform-web")
    statements = [span for span in spans if span is not call]
    assert {span.parent for span in statements} == {call.id}
    assert {"INSERT", "SELECT"} & {span.name for span in statements}
    text = repr(spans)
    assert "Hangzhou" not in text and "u42" not in text and "mp_" not in text


@pytest.mark.django_db
def test_a_call_that_fails_says_so_and_not_how(collected: Collector) -> None:
    with pytest.raises(ValueError), telemetry.span("work", parent=PARENT):
        raise ValueError("words of a user")
    (span,) = spans_with(collected, "work")
    assert not span.has_events and "words" not in repr(span)


@pytest.mark.django_db(transaction=True)
def test_whoever_is_woken_goes_on_with_the_trace_of_who_woke_them(collected: Collector) -> None:
    command = embedder.Command()
    command._listen()
    connection.close()  # as queueing a task does
    command._wait(5.0)
    with telemetry.span("call", parent=PARENT):
        lease._notifier(embedder.CHANNEL)()
    command._wait(5.0)
    assert [parent.split("-")[1] for parent in command._woken_by] == [TRACE]
    with telemetry.follow("index", command._woken_by):
        connection.ensure_connection()
    assert "call" in {span.name for span in spans_with(collected, "index")}
    connection.close()


@pytest.mark.django_db
def test_a_task_is_part_of_the_trace_of_who_asked_for_it(collected: Collector, monkeypatch: pytest.MonkeyPatch) -> None:
    pre_enqueue.connect(apps._hand_on_trace)
    monkeypatch.setattr(cluster, "_report", lambda _sign, _task: None)
    try:
        with telemetry.span("index", parent=PARENT):
            async_task("memories.tasks.deliver_at_once", group="mem:webhooks")
    finally:
        pre_enqueue.disconnect(apps._hand_on_trace)
    task = OrmQ.objects.get().task
    with ExitStack() as stack:
        cluster._begins(task=task)
        stack.callback(cluster._ended, task=task)
        assert telemetry.traceparent().split("-")[1] == TRACE
    assert telemetry.traceparent() == "" and cluster._spans == {}
    assert "index" in {span.name for span in spans_with(collected, "task memories.tasks.deliver_at_once")}


@pytest.mark.django_db
def test_switched_off_nothing_is_sent_and_nothing_is_handed_on(api: Api, settings: Any) -> None:
    assert settings.OTLP_ENDPOINT == ""
    with telemetry.span("work") as span:
        assert span is None and telemetry.traceparent() == ""
    turn = {"address": TELEGRAM, "user": "I moved", "assistant": "Noted."}
    assert api.post("turns", turn, traceparent=PARENT).status_code == 201


def test_a_collector_without_the_packages_is_said_before_anything_starts(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.OTLP_ENDPOINT = "http://127.0.0.1:4318"
    monkeypatch.setattr(checks, "find_spec", lambda _name: None)
    assert "memplatform.E016" in [problem.id for problem in checks.paths_lead_to_code(None)]
