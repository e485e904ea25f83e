"""`manage.py worker` with real processes: whatever is killed or hangs, tasks are done, and done once."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import psutil
import pytest
from django.db import connection
from django_q.models import Failure, OrmQ, Schedule, Task
from django_q.tasks import async_task

from memories.models import Workspace
from memplatform.operations.models import Heartbeat
from tests import ROOT
from tests.support.house import until
from tests.support.processes import database_url

pytestmark = pytest.mark.django_db
QUIET = 4.0
T = TypeVar("T")
#: A thread has a connection of its own, outside the test's transaction: other processes see what it writes.
_thread = ThreadPoolExecutor(max_workers=1)


def outside(call: Callable[[], T]) -> T:
    return _thread.submit(call).result()


class Worker:
    """One running `manage.py worker` on the database of the tests, which loses its patience soon."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "manage.py", "worker", "--quiet", str(QUIET), "--pulse", "0.5"],
            cwd=ROOT,
            env={**os.environ, "DATABASE_URL": database_url(), "LOG_LEVEL": "CRITICAL"},
        )

    def leader(self) -> psutil.Process:
        (leader,) = psutil.Process(self.process.pid).children()
        return leader

    def pool(self) -> dict[bool, list[psutil.Process]]:
        """The processes under the sentinel: whether they run tasks, or take them in and out."""
        mark = f"roll call {time.monotonic()}"
        for number in (1, 2):
            enqueue("take_long", f"{mark} {number}", 0.5)
        until(lambda: happened(f"{mark} 1 done") and happened(f"{mark} 2 done"), 30)
        until(lambda: not waiting(), 20)
        workers = {*begun(f"{mark} 1"), *begun(f"{mark} 2")}
        assert len(workers) == 2
        (sentinel,) = self.leader().children()
        data: dict[bool, list[psutil.Process]] = {True: [], False: []}
        for process in sentinel.children():
            data[process.pid in workers].append(process)
        return data

    def end(self) -> int:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=40)


@pytest.fixture(scope="module", autouse=True)
def database(django_db_setup: None, django_db_blocker: pytest.FixtureRequest) -> Iterator[None]:
    """What the tests write is there for other processes; it is cleared away in the end."""
    with django_db_blocker.unblock():  # type: ignore[attr-defined]
        yield
        for model in (OrmQ, Task, Schedule, Heartbeat, Workspace):
            outside(model.objects.all().delete)
        outside(lambda: connection.close())


@pytest.fixture(scope="module")
def worker(database: None) -> Iterator[Worker]:
    worker = Worker()
    until(lambda: beats(worker), 60)
    yield worker
    worker.end()


def beats(worker: Worker) -> bool:
    return outside(Heartbeat.objects.filter(name="worker", pid=worker.process.pid).exists)


def happened(mark: str) -> bool:
    return outside(Workspace.objects.filter(name=mark).exists)


def begun(mark: str) -> list[int]:
    """The processes that have begun a task with this mark."""
    names = Workspace.objects.filter(name__startswith=f"{mark} begun by ").order_by("pk").values_list("name", flat=True)
    return [int(name.split()[-1]) for name in outside(lambda: list(names))]


def enqueue(task: str, *args: object) -> str:
    return outside(lambda: str(async_task(f"tests.system.worker.on_trial.{task}", *args)))


def waiting() -> list[str]:
    """What is queued, but for the watchdog's own pulse."""
    rows = outside(lambda: [row.func() for row in OrmQ.objects.all()])
    return [func for func in rows if not func.endswith(".pulse")]


def does_its_work(mark: str) -> None:
    enqueue("leave", mark)
    until(lambda: happened(mark), QUIET + 45)


def test_it_beats_once_a_task_was_done_and_has_put_the_schedules_right(worker: Worker) -> None:
    does_its_work("a task")
    until(lambda: outside(Schedule.objects.filter(name="mem:tick").exists), 10)


def test_a_task_whose_worker_is_killed_runs_again_at_once_and_takes_effect_once(worker: Worker) -> None:
    enqueue("take_long", "busy", 2.5)
    until(lambda: begun("busy"), 20)
    os.kill(begun("busy")[0], signal.SIGKILL)
    until(lambda: happened("busy done"), 30)
    assert len(begun("busy")) == 2
    until(lambda: not waiting(), 20)


def test_a_task_that_kills_every_worker_is_set_aside_and_holds_up_no_other(worker: Worker) -> None:
    task = enqueue("kill_its_worker", "poison")
    does_its_work("beside a poisoned task")
    until(lambda: outside(Failure.objects.filter(id=task).exists), 40)
    assert len(begun("poison")) == 3
    assert "ended its worker process 3 times" in outside(lambda: Failure.objects.get(id=task).result)
    until(lambda: not waiting(), 20)


def test_work_goes_on_after_idle_workers_were_killed(worker: Worker) -> None:
    for process in worker.pool()[True]:
        process.kill()
    does_its_work("after idle workers were killed")


def test_work_goes_on_after_those_were_killed_that_bring_tasks_and_keep_results(worker: Worker) -> None:
    for process in worker.pool()[False]:
        process.kill()
    does_its_work("after the keeper of results was killed")
    until(lambda: not waiting(), 20)


def test_a_cluster_that_stands_still_is_started_anew(worker: Worker) -> None:
    before = worker.leader()
    os.killpg(before.pid, signal.SIGSTOP)
    until(lambda: not before.is_running(), QUIET + 30)
    does_its_work("after a standstill")


def test_what_runs_is_finished_before_it_stops(worker: Worker) -> None:
    enqueue("take_long", "last", 1.5)
    until(lambda: begun("last"), 20)
    group = worker.leader().pid
    assert worker.end() == 0
    assert happened("last done")
    assert _members(group) == []


def test_nothing_outlives_a_killed_watchdog(database: None) -> None:
    worker = Worker()
    until(lambda: beats(worker), 60)
    group = worker.leader().pid
    worker.process.kill()
    worker.process.wait()
    until(lambda: not _members(group), 10)


def _members(group: int) -> list[int]:
    results = []
    for process in psutil.process_iter():
        try:
            if os.getpgid(process.pid) == group and process.status() != psutil.STATUS_ZOMBIE:
                results.append(process.pid)
        except (ProcessLookupError, psutil.NoSuchProcess):
            continue
    return results
