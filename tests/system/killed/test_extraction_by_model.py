"""Many conversations, two workers and a model that fails now and then: each is extracted once, whoever dies (D5)."""

import random
from typing import Any
from uuid import uuid4

import pytest
from django.db import transaction
from django.utils import timezone

from memories.consolidation import buffer
from memories.models import Batch, DailyEvent, Entry, ExtractionBatch, Scope, Workspace
from tests.conftest import NOW, make_scope
from tests.memories.llm.fake_server import Asked, FakeModel, plausible
from tests.support.nursery import Process, start

SCOPES = 60  # a thousand: `python -m benchmarks extraction --conversations 1000`
pytestmark = pytest.mark.django_db(transaction=True)


def hold(scope: Scope, content: str) -> None:
    message = buffer.Message(id=f"session_events/{uuid4()}/1/event-1", role=buffer.USER, content=content, at=NOW)
    assert buffer.add([message], session_uid=uuid4(), conversation=1, user_scope=scope, chat=scope.key, now=NOW)


def worker(model: FakeModel, stand_still_before: str = "", **settings: str) -> Process:
    environment = {
        "MEMORY_EMBEDDERS": "memories.embeddings.deterministic.Deterministic",
        "MEMORY_LLM_BASE_URL": model.url,
        "MEMORY_LLM_MODEL": "small",
        "MEMORY_LLM_TOTAL_SECONDS": "60",
        "MEMORY_LLM_DAILY_TOKENS": "100000000",
        "MEMORY_EXTRACT_TIME": "10m",
        "MEMORY_LLM_CALLS": "8",
        **settings,
    }
    return start("tests.system.killed.extraction_worker", *filter(None, [stand_still_before]), **environment)


def facts() -> list[tuple[int, str]]:
    return sorted(Entry.objects.filter(type="fact").values_list("scope_id", "content"))


def failing_now_and_then(request: Asked) -> Any:
    return "{" if chance.random() < 0.05 else plausible(request)


chance = random.Random(7)


def test_two_workers_share_many_memories_that_fill_at_once(workspace: Workspace) -> None:
    scopes = Scope.objects.bulk_create(
        Scope(workspace=workspace, key=f"telegram:direct_u{n}", kind="user") for n in range(SCOPES)
    )
    with transaction.atomic():
        for n, scope in enumerate(scopes):
            hold(scope, f"I moved to house number {n}")
    with FakeModel(otherwise=failing_now_and_then) as model:
        model.error_rate = 0.05
        with worker(model) as first, worker(model) as second:
            assert (first.wait(300), second.wait(300)) == (0, 0)
        while ExtractionBatch.objects.exclude(state="parked").exists():  # what failed rests for a minute
            ExtractionBatch.objects.update(due_at=timezone.now())
            with worker(model) as third:
                assert third.wait(60) == 0
    assert not ExtractionBatch.objects.exists()
    assert facts() == sorted((scope.pk, f"I moved to house number {n}") for n, scope in enumerate(scopes))
    assert Batch.objects.count() == DailyEvent.objects.count() == SCOPES


@pytest.mark.parametrize("step", ["read", "written"])
def test_a_killed_worker_loses_nothing_and_repeats_nothing(workspace: Workspace, step: str) -> None:
    """Before anything is stored, and in the middle of storing it."""
    scope = make_scope(workspace)
    for n in range(3):
        hold(scope, f"I moved to house number {n}")
    with FakeModel() as model:
        with worker(model, step) as killed:
            assert killed.stdout is not None
            while step not in killed.stdout.readline():
                assert killed.poll() is None
            killed.kill()
        assert (ExtractionBatch.objects.count(), facts(), DailyEvent.objects.count(), Batch.objects.count()) == (
            3,
            [],
            0,
            0,
        )
        assert ExtractionBatch.objects.filter(state="claimed").update(due_at=timezone.now())  # the lease is over
        with worker(model) as second:
            assert second.wait(60) == 0
    assert facts() == [(scope.pk, f"I moved to house number {n}") for n in range(3)]
    assert (DailyEvent.objects.count(), Batch.objects.count(), ExtractionBatch.objects.count()) == (3, 3, 0)
