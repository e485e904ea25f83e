"""What superusers look after: tasks that failed, schedules, processes; and the home page that says when to."""

from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pytest
from django.contrib.auth import get_user_model
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from django_q.models import Failure, OrmQ, Schedule, Task

from channels_app.models import Channel, ReplayedRecord
from memories.choices import BatchState, JobState
from memories.models import IndexQueueItem, JobRun, RecallTrace
from memplatform.operations import health
from memplatform.operations.jobs import registry
from memplatform.operations.models import Heartbeat
from memplatform.processes.supervisor import Supervisor
from tests.conftest import Api, make_key
from tests.memories.admin.conftest import House

HOME = "admin:index"
pytestmark = pytest.mark.django_db


def fail(func: str = "memories.tasks.clean_up") -> Task:
    now = timezone.now()
    return Task.objects.create(
        id=uuid4().hex, name="it failed", func=func, args=(7,), kwargs={"n": 1}, started=now, stopped=now,
        success=False, result="Traceback …\nZeroDivisionError: division by zero",
    )  # fmt: skip


def beat(*names: str) -> None:
    for n, name in enumerate(names):
        Heartbeat.objects.create(name=name, pid=n + 1, started_at=timezone.now(), beat_at=timezone.now())


def needs(client: Client) -> list[str]:
    return [item.text for item in client.get(reverse(HOME)).context["items"]]


def test_a_failed_task_is_run_again_as_it_was(owner: Client) -> None:
    task = fail()
    listed = owner.get(reverse("admin:django_q_failure_changelist")).content.decode()
    assert "ZeroDivisionError: division by zero" in listed
    address = reverse("admin:django_q_failure_run_one_again", args=[task.pk])
    assert owner.get(address).status_code == 200
    assert OrmQ.objects.count() == 0
    assert owner.post(address, {"confirmed": "yes"}).status_code == 302
    queued = OrmQ.objects.get().task
    assert (queued["func"], queued["args"], queued["kwargs"]) == (task.func, (7,), {"n": 1})
    assert not Failure.objects.exists()


def test_several_failed_tasks_are_run_again(owner: Client) -> None:
    ticked = {"action": "run_again", "_selected_action": [fail().pk, fail().pk]}
    address = reverse("admin:django_q_failure_changelist")
    assert "Run 2 tasks again" in owner.post(address, ticked).content.decode()
    assert OrmQ.objects.count() == 0
    owner.post(address, ticked | {"confirmed": "yes"})
    assert (OrmQ.objects.count(), Failure.objects.count()) == (2, 0)


def test_failed_tasks_are_dismissed_without_being_run(owner: Client) -> None:
    first, *more = [fail(), fail(), fail()]
    address = reverse("admin:django_q_failure_dismiss_one", args=[first.pk])
    assert owner.get(address).status_code == 200 and Failure.objects.count() == 3
    owner.post(address, {"confirmed": "yes"})
    ticked = {"action": "dismiss", "_selected_action": [task.pk for task in more]}
    listed = reverse("admin:django_q_failure_changelist")
    assert "Dismiss 2 tasks" in owner.post(listed, ticked).content.decode()
    owner.post(listed, ticked | {"confirmed": "yes"})
    assert (Failure.objects.count(), OrmQ.objects.count()) == (0, 0)


def test_processes_that_stopped_cleanly_are_not_silent(db: None) -> None:
    beat("web", "worker")
    web, elsewhere = Heartbeat.objects.order_by("pid")
    supervisor = Supervisor([], None, print, pids={"web": {web.pid}})
    supervisor.stop()
    assert list(Heartbeat.objects.all()) == [elsewhere]
    Supervisor([], Path("."), print).start()  # its own database: nobody else writes there
    assert not Heartbeat.objects.exists()


def test_a_schedule_is_switched_off_and_stays_off(owner: Client) -> None:
    now = timezone.now()
    registry.sync_schedules(now=now)
    row = Schedule.objects.get(name="mem:clean-up")
    switch = reverse("admin:django_q_schedule_switch", args=[row.pk])
    owner.get(switch)
    owner.post(switch, {"confirmed": "yes"})
    registry.sync_schedules(now=now)
    row.refresh_from_db()
    assert row.repeats == 0
    owner.post(switch, {"confirmed": "yes"})
    row.refresh_from_db()
    assert row.repeats == -1


def test_schedules_are_read_only_otherwise(owner: Client) -> None:
    registry.sync_schedules(now=timezone.now())
    row = Schedule.objects.get(name="mem:tick")
    assert (
        owner.post(reverse("admin:django_q_schedule_change", args=[row.pk]), {"func": "os.system"}).status_code == 403
    )
    assert owner.get(reverse("admin:django_q_schedule_add")).status_code == 403
    shown = owner.get(reverse("admin:django_q_schedule_changelist")).content.decode()
    assert "starts the nightly jobs that are due" in shown
    assert "takes out of use what has lived its time" in shown  # a nightly job, which is no row


@pytest.mark.parametrize("page", ["failure", "success", "schedule"])
def test_the_machine_room_is_for_superusers(page: str, alice: Client) -> None:
    fail()
    assert alice.get(reverse(f"admin:django_q_{page}_changelist")).status_code == 403


def test_an_owner_makes_an_operator(owner: Client) -> None:
    form = {"username": "ben", "password1": "correct horse battery", "password2": "correct horse battery"}
    answer = owner.post(reverse("admin:auth_user_add"), form | {"is_staff": "on"})
    ben = get_user_model().objects.get(username="ben")
    assert answer.status_code == 302
    change = {"username": "ben", "is_active": "on", "is_staff": "on", "first_name": "", "last_name": "", "email": ""}
    assert owner.post(reverse("admin:auth_user_change", args=[ben.pk]), change).status_code == 302
    ben.refresh_from_db()
    assert (ben.is_staff, ben.is_superuser) == (True, False)


PARKED = "1 call taken in while the database was away could not be applied"


@pytest.mark.thorough
def test_a_quiet_home_says_so(owner: Client, mine: House) -> None:
    beat(*health.NEEDED)
    IndexQueueItem.objects.all().delete()
    ReplayedRecord.objects.all().delete()
    assert needs(owner) == []
    assert "Nothing. All processes live" in owner.get(reverse(HOME)).content.decode()


def test_home_names_what_needs_somebody(owner: Client, mine: House) -> None:
    now = timezone.now()
    fail()
    IndexQueueItem.objects.update(since=now - timedelta(minutes=5))
    RecallTrace.objects.update(degraded=["embedding"], created_at=now)
    JobRun.objects.update(state=JobState.FAILED, finished_at=now)
    mine.workspace.batches.update(state=BatchState.PROPOSED)
    assert set(needs(owner)) == {
        "The process «embedder» is silent",
        "The process «worker» is silent",
        "1 task failed",
        "1 memory waits for its embedding",
        "100% of the last day's answers were degraded",
        "1 job failed in the last day",
        "1 batch waits for you",
        PARKED,
    }


def test_home_names_what_answers_did_without(owner: Client, mine: House) -> None:
    RecallTrace.objects.update(degraded=["rerank"], created_at=timezone.now())
    without = "They did without a part: not reranked: 1."
    assert without in owner.get(reverse(HOME)).content.decode()
    RecallTrace.objects.update(degraded=["embedding"])
    page = owner.get(reverse(HOME)).content.decode()
    assert "They did without a part: words alone: 1." in page and "not reranked" not in page


def test_members_hear_of_processes_but_not_of_others_tasks(alice: Client, mine: House, theirs: House) -> None:
    fail()
    IndexQueueItem.objects.filter(workspace=mine.workspace).delete()
    IndexQueueItem.objects.update(since=timezone.now() - timedelta(minutes=5))
    assert set(needs(alice)) == {"The process «embedder» is silent", "The process «worker» is silent", PARKED}


@pytest.mark.thorough
def test_home_warns_when_strangers_share_one_memory(alice: Client, mine: House) -> None:
    """E1: one memory for all direct chats is for a bot with a single owner."""
    Channel.objects.update(dm_scope="main")
    mine.workspace.channels.create(platform="telegram", account="nobody speaks here", dm_scope="main")
    api = Api(make_key(mine.workspace))
    warning = "2 people share one memory on telegram"
    for n, peer in enumerate(("mei", "jun")):
        assert warning not in needs(alice)
        address = {"platform": "telegram", "account": mine.word, "peer": peer, "chat": peer}
        response = api.post("turns", {"address": address, "user": f"thing number {n} of {peer}", "assistant": "ok"})
        assert response.status_code == 201, response.json()
    assert warning in needs(alice)


def test_home_lists_questions_nothing_was_found_for(alice: Client, mine: House) -> None:
    RecallTrace.objects.update(evidence={"verdict": "none"}, created_at=timezone.now())
    assert "what do I drink with marmalade?" in alice.get(reverse(HOME)).content.decode()
