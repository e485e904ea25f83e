"""What is recalled is counted, in the background, once, and stays fresh (D2, D4)."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from memories.lifecycle import access_counting
from memories.models import Change, Entry, EntryAccess, JobRun, RecallTrace, Scope, Workspace
from tests.conftest import NOW, TELEGRAM, Api
from tests.memories.consolidation.compression.conftest import facts

pytestmark = pytest.mark.django_db(transaction=True)
MINUTE = timedelta(minutes=1)


def trace(workspace: Workspace, *served: Entry, at: datetime = NOW) -> RecallTrace:
    pks = [entry.pk for entry in served]
    return RecallTrace.objects.create(workspace=workspace, scopes=[], message="?", served=pks, created_at=at)


def count(minutes: int = 2) -> dict[str, int]:
    return access_counting.count_served(now=NOW + minutes * MINUTE)


def counted() -> dict[str, tuple[int, datetime | None]]:
    rows = EntryAccess.objects.select_related("entry")
    return {row.entry.content: (row.access_count, row.last_accessed) for row in rows}


def test_it_works(api: Api) -> None:
    api.post("entries", {"scope": "telegram:direct_u42", "content": "我家的猫叫年糕"})
    assert api.post("recall", {"address": TELEGRAM, "message": "我家的猫叫什么？"}).json()["memories"]
    served = RecallTrace.objects.get()
    assert access_counting.count_served(now=served.created_at + MINUTE) == {"traces": 1, "entries": 1}
    assert counted() == {"我家的猫叫年糕": (1, served.created_at)}


def test_every_trace_counts_once_however_often_it_runs(workspace: Workspace, scope: Scope) -> None:
    tea, cat = facts(scope, "Mia likes tea.", "米娅的猫叫年糕。")
    trace(workspace, tea, cat)
    trace(workspace, tea, at=NOW + MINUTE)
    assert count()["traces"] == 2
    assert count()["traces"] == 0
    assert counted() == {"Mia likes tea.": (2, NOW + MINUTE), "米娅的猫叫年糕。": (1, NOW)}
    trace(workspace, cat, at=NOW + 3 * MINUTE)
    count(minutes=4)
    assert counted()["米娅的猫叫年糕。"] == (2, NOW + 3 * MINUTE)


def test_what_is_told_of_a_trace_later_does_not_count_again(workspace: Workspace, scope: Scope) -> None:
    (tea,) = facts(scope, "Mia likes tea.")
    result = trace(workspace, tea)
    count()
    RecallTrace.objects.filter(pk=result.pk).update(used=[tea.pk])
    count(minutes=3)
    assert counted()["Mia likes tea."][0] == 1


def test_a_trace_is_counted_when_it_has_settled(workspace: Workspace, scope: Scope) -> None:
    trace(workspace, *facts(scope, "Mia likes tea."))
    assert access_counting.count_served(now=NOW + MINUTE / 2)["traces"] == 0
    assert access_counting.count_served(now=NOW + MINUTE)["traces"] == 1


def test_a_crash_after_some_of_them_loses_and_repeats_nothing(
    workspace: Workspace, scope: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tea,) = facts(scope, "Mia likes tea.")
    for _n in range(5):
        trace(workspace, tea)
    monkeypatch.setattr(access_counting, "CHUNK", 2)
    moved = access_counting._move_mark
    calls: list[int] = []

    def crash(*args: Any) -> None:
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        moved(*args)

    monkeypatch.setattr(access_counting, "_move_mark", crash)
    with pytest.raises(KeyboardInterrupt):
        count()
    assert counted()["Mia likes tea."][0] == 2
    assert count()["traces"] == 3
    assert counted()["Mia likes tea."][0] == 5


def test_counting_is_no_change_of_the_memory(workspace: Workspace, scope: Scope) -> None:
    (tea,) = facts(scope, "Mia likes tea.")
    changes = Change.objects.count()
    trace(workspace, tea)
    count()
    assert Entry.objects.get().version == tea.version and Change.objects.count() == changes


def test_what_belongs_to_another_workspace_is_not_counted(
    workspace: Workspace, stranger: Workspace, scope: Scope
) -> None:
    trace(stranger, *facts(scope, "Mia likes tea."))
    count()
    assert counted() == {}


def test_how_far_it_is_stands_on_the_run_of_the_day(workspace: Workspace, scope: Scope) -> None:
    (tea,) = facts(scope, "Mia likes tea.")
    last = trace(workspace, tea)
    count()
    run = JobRun.objects.get(job="rehearse")
    assert (run.state, run.counts) == ("done", {"traces": 1, "entries": 1, "upto": last.pk})
    trace(workspace, tea, at=NOW + timedelta(days=1))
    access_counting.count_served(now=NOW + timedelta(days=1, minutes=2))
    assert counted()["Mia likes tea."][0] == 2 and JobRun.objects.count() == 2


@pytest.mark.thorough
def test_a_row_somebody_holds_is_waited_for_shortly_and_counted_the_next_minute(
    workspace: Workspace, scope: Scope
) -> None:
    import threading

    from django.db import connection, transaction

    (tea,) = facts(scope, "Mia likes tea.")
    EntryAccess.objects.create(entry=tea, workspace=workspace)
    trace(workspace, tea)
    result, done = threading.Event(), threading.Event()

    def hold() -> None:
        with transaction.atomic():
            EntryAccess.objects.select_for_update().get(pk=tea.pk)
            result.set()
            done.wait(10)
        connection.close()

    thread = threading.Thread(target=hold)
    thread.start()
    result.wait(10)
    assert count()["traces"] == 0
    done.set()
    thread.join()
    assert count()["traces"] == 1 and counted()["Mia likes tea."][0] == 1
