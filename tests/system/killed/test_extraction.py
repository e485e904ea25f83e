"""Many conversations and several workers, some of which die: every turn is told of exactly once (D5)."""

import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection, connections, transaction
from django.utils import timezone

from memories.consolidation import buffer, extraction
from memories.consolidation.buffer import Message
from memories.models import BufferedTurn, DailyEvent, ExtractionBatch, Scope, Workspace
from tests.conftest import NOW, make_scope
from tests.support.nursery import Process, start

CONVERSATIONS = 150  # a thousand, with a model: `python -m benchmarks extraction --conversations 1000`
pytestmark = pytest.mark.django_db(transaction=True)


def hold(scope: Scope, content: str, *, at: Any = NOW, session: Any = None) -> None:
    message = Message(id=f"session_events/{uuid4()}/1/event-1", role=buffer.USER, content=content, at=at, sender="u")
    place = {"session_uid": session or uuid4(), "conversation": 1, "user_scope": scope, "chat": scope.key}
    assert buffer.add([message], now=at, **place)


def work(name: str) -> Counter[str]:
    try:
        return Counter(extraction.extract_ready(timezone.now))
    finally:
        connections.close_all()


def test_two_workers_share_many_conversations(workspace: Workspace, settings: Any) -> None:
    settings.MEMORY_EXTRACT_TIME = timedelta(minutes=5)
    scopes = Scope.objects.bulk_create(
        Scope(workspace=workspace, key=f"telegram:direct_u{n}", kind="user") for n in range(CONVERSATIONS)
    )
    with transaction.atomic():
        for n, scope in enumerate(scopes):
            hold(scope, f"I moved to house number {n}")
    with ThreadPoolExecutor(2) as pool:
        counts = list(pool.map(work, ["first", "second"]))
    both = counts[0] + counts[1]
    assert (both["extraction_batches"], both["events"], both["failed"], both["lost"]) == (
        CONVERSATIONS,
        CONVERSATIONS,
        0,
        0,
    )
    assert min(count["extraction_batches"] for count in counts) > CONVERSATIONS // 10  # both had work to do
    assert not BufferedTurn.objects.exists() and not ExtractionBatch.objects.exists()
    result = DailyEvent.objects.values_list("scope_id", "content")
    assert sorted(result) == sorted((scope.pk, f"I moved to house number {n}") for n, scope in enumerate(scopes))


def test_the_next_one_is_found_by_an_index(workspace: Workspace) -> None:
    scope = make_scope(workspace)
    for n in range(300):
        hold(scope, "tea", at=NOW + timedelta(minutes=n))
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE memories_extractionbatch")
    with transaction.atomic():
        plan = buffer.due(now=NOW + timedelta(days=1)).select_for_update(skip_locked=True)[:1].explain()
    assert "Index Scan using extraction_by_due" in plan
    assert "Sort" not in plan


def worker(stand_still_before: str = "") -> Process:
    result = filter(None, [stand_still_before])
    return start("tests.system.killed.extraction_worker", *result, MEMORY_EXTRACTION_LEASE="1s")


@pytest.mark.parametrize("step", ["read", "written"])
def test_a_killed_worker_loses_nothing_and_repeats_nothing(workspace: Workspace, step: str) -> None:
    scope = make_scope(workspace)
    for n in range(3):
        hold(scope, f"I moved to house number {n}")
    with worker(step) as killed:
        assert killed.stdout is not None
        while step not in killed.stdout.readline():  # it stands still before its results are committed
            assert killed.poll() is None
        killed.kill()
    assert (ExtractionBatch.objects.count(), DailyEvent.objects.count()) == (3, 0)
    time.sleep(1.1)  # the lease
    with worker() as second:
        assert second.wait(60) == 0
    events = sorted(DailyEvent.objects.values_list("content", flat=True))
    assert events == [f"I moved to house number {n}" for n in range(3)]
    assert not ExtractionBatch.objects.exists()


def test_what_is_said_while_an_extraction_batch_is_taken_is_never_lost(workspace: Workspace, settings: Any) -> None:
    """One conversation, whose turns come in while two workers take whatever they find."""
    settings.MEMORY_QUIET_GAP = timedelta(0)
    settings.MEMORY_EXTRACT_TIME = timedelta(seconds=2)
    scope, session = make_scope(workspace), uuid4()

    def talk() -> int:
        try:
            for n in range(150):
                hold(scope, f"number {n} of the list", at=timezone.now(), session=session)
            return 150
        finally:
            connections.close_all()

    def work_all_along(_n: int) -> int:
        turns, until = 0, time.monotonic() + 2.0
        while time.monotonic() < until:
            turns += work("w")["turns"]
        return turns

    with ThreadPoolExecutor(3) as pool:
        result = pool.submit(talk)
        worked = list(pool.map(work_all_along, range(2)))
    rest = extraction.extract_ready(timezone.now)["turns"]
    assert sum(worked) + rest == result.result() == 150
    assert not ExtractionBatch.objects.exists()
