"""An embedder is killed while it changes a model: recall goes on, and the next one takes over where it was (C14)."""

import threading
import time
from typing import Any

import pytest
from django.db import connection, transaction
from django.utils import timezone

from memories.index import worker
from memories.models import EntryIndex, EntryVector, StagedVector, Workspace
from tests.conftest import Api
from tests.memories.embeddings.test_faults import ask, contents, save
from tests.support.nursery import Process, start

pytestmark = pytest.mark.django_db(transaction=True)
LINES = [f"note {n}: {word} is kept in box {n}" for n, word in enumerate(("apple", "pear", "plum", "fig") * 10)]
QUESTION = "which box has the fig, note 11?"


@pytest.fixture
def saved_api(api: Api) -> Api:
    for line in LINES:
        save(api, line)
    worker.drain(now=timezone.now())
    return api


def changing(seconds: float = 0.0) -> Process:
    return start("tests.system.killed.model_change_worker", str(seconds))


def models_of_rows() -> set[str | None]:
    return set(EntryIndex.objects.values_list("model__name", flat=True).distinct())


def recall_is_whole(api: Api) -> bool:
    answer: dict[str, Any] = ask(api, QUESTION, cache=False)
    return answer["degraded"] == [] and contents(answer)[0] == LINES[11] and answer["memories"][0]["why"]["vector"] > 0


def is_finished_by_another(api: Api) -> bool:
    with changing() as other:
        assert other.stdout is not None
        assert other.stdout.read().splitlines()[-1] == "done"
    assert models_of_rows() == {"newer-64"} and not StagedVector.objects.exists()
    assert set(EntryVector.objects.values_list("model__name", flat=True)) == {"newer-64"}
    return EntryVector.objects.count() == len(LINES)


@pytest.mark.parametrize("steps", [0, 1, 3, 4])
def test_killed_at_any_step_another_takes_over(saved_api: Api, steps: int) -> None:
    """Of forty entries: three batches of vectors, one of staged ones, the switch."""
    with changing(0.2) as process:
        assert process.stdout is not None
        seen = 0
        while seen < steps:
            seen += process.stdout.readline() == "step\n"
        if steps < 3:
            assert process.stdout.readline() == "embedding 16\n"
        process.kill()
    assert models_of_rows() == {"deterministic-64"} or steps == 4
    assert steps == 4 or recall_is_whole(saved_api)
    assert is_finished_by_another(saved_api)


def test_killed_in_the_switch_nothing_was_switched(saved_api: Api) -> None:
    locked, release = threading.Event(), threading.Event()

    def hold() -> None:
        with transaction.atomic():
            EntryIndex.objects.select_for_update().order_by("-pk").first()
            locked.set()
            release.wait(60)
        connection.close()

    holder = threading.Thread(target=hold)
    holder.start()
    locked.wait(10)
    with changing() as process:
        waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%%FOR UPDATE%%'"
        for _ in range(200):
            with connection.cursor() as cursor:
                cursor.execute(waits)
                if cursor.fetchone()[0]:
                    break
            time.sleep(0.1)
        else:
            pytest.fail("the switch was never reached")
        assert recall_is_whole(saved_api)  # readers wait for nobody
        process.kill()
    release.set()
    holder.join()
    assert models_of_rows() == {"deterministic-64"} and recall_is_whole(saved_api)
    assert Workspace.objects.get().index_model.name == "deterministic-64"
    assert is_finished_by_another(saved_api)
