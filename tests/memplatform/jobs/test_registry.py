"""The schedule rows are what the table says, whatever happens to them (C10)."""

import json
import threading
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.utils import translation
from django.utils.module_loading import import_string
from django_q.models import OrmQ, Schedule
from django_q.scheduler import scheduler

from memplatform.operations.jobs import registry
from memplatform.operations.jobs.registry import JOBS, Job

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 3, 1, 9, 5, tzinfo=UTC)
NAMES = [
    "mem:clean-events", "mem:clean-messages", "mem:clean-replays", "mem:clean-up", "mem:deliver-webhooks", "mem:erase",
    "mem:extract",
    "mem:find-secrets", "mem:forget-keys", "mem:index-large-scopes", "mem:mark-echoes", "mem:rehearse",
    "mem:repair-index",
    "mem:replay-journal",
    "mem:resume-batches", "mem:roll-up", "mem:sweep-sessions", "mem:tell-condition", "mem:tick", "mem:unite-people",
]  # fmt: skip


def names() -> list[str]:
    return sorted(Schedule.objects.values_list("name", flat=True))


def test_every_job_can_be_imported_and_has_a_switch_that_is_off_where_it_removes_for_good_or_drills() -> None:
    for name, job in JOBS.items():
        assert callable(job.work(is_dry=False)) and callable(job.work(is_dry=True))
        assert job.is_on == (name not in ("purge", "leak-drill", "archive-records"))
        assert bool(job.cron) != bool(job.at)
        assert not job.cron or import_string(job.task) == job.work(is_dry=False)


def test_rows_are_made_and_due_at_the_next_quarter() -> None:
    registry.sync_schedules(now=NOW)
    registry.sync_schedules(now=NOW)
    assert names() == NAMES
    assert Schedule.objects.get(name="mem:tick").next_run == datetime(2026, 3, 1, 9, 15, tzinfo=UTC)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "drift",
    [
        {"func": "os.remove"},
        {"args": "foo("},
        {"kwargs": "{'job': 'expire'}"},
        {"cron": "0 0 1 1 *"},
        {"cron": "nonsense"},
        {"schedule_type": Schedule.ONCE},
        {"repeats": 3},
        {"cluster": "elsewhere"},
        {"hook": "os.remove"},
        {"next_run": None},
        {"next_run": NOW + timedelta(days=400)},
    ],
)
def test_a_row_that_drifted_is_repaired(drift: dict[str, Any]) -> None:
    registry.sync_schedules(now=NOW)
    before = Schedule.objects.filter(name="mem:tick").values().get()
    Schedule.objects.filter(name="mem:tick").update(**drift)
    registry.sync_schedules(now=NOW)
    assert Schedule.objects.filter(name="mem:tick").values().get() == before


def test_a_row_that_an_operator_switched_off_stays_off() -> None:
    registry.sync_schedules(now=NOW)
    Schedule.objects.filter(name="mem:tick").update(repeats=0, func="os.remove")
    registry.sync_schedules(now=NOW)
    row = Schedule.objects.get(name="mem:tick")
    assert (row.repeats, row.func) == (0, "memplatform.tasks.tick")


def test_a_run_that_is_due_is_not_put_off() -> None:
    registry.sync_schedules(now=NOW)
    Schedule.objects.filter(name="mem:tick").update(next_run=NOW - timedelta(minutes=1))
    registry.sync_schedules(now=NOW)
    assert Schedule.objects.get(name="mem:tick").next_run == NOW - timedelta(minutes=1)


def test_doubles_and_rows_of_jobs_that_are_no_more_are_dropped_and_others_left_alone() -> None:
    registry.sync_schedules(now=NOW)
    for name in ("mem:tick", "mem:former", "report"):
        Schedule.objects.create(name=name, func="builtins.print", schedule_type="H")
    registry.sync_schedules(now=NOW)
    assert names() == [*NAMES, "report"]


def test_a_job_that_is_switched_off_has_no_row(settings: Any) -> None:
    settings.MEMORY_JOB_CLEAN_UP = False
    registry.sync_schedules(now=NOW)
    assert names() == sorted(set(NAMES) - {"mem:clean-up"})


@pytest.mark.thorough
@pytest.mark.parametrize(
    "bad",
    [
        {"args": "foo("},
        {"args": "open('/etc/passwd')"},
        {"kwargs": "a=b("},
        {"kwargs": "{1: 2}"},
        {"kwargs": "[1]"},
        {"schedule_type": Schedule.CRON, "cron": "61 * * * *"},
        {"schedule_type": Schedule.CRON, "cron": None},
        {"schedule_type": Schedule.MINUTES, "minutes": None},
        {"schedule_type": "??"},
    ],
)
def test_a_row_that_would_stop_all_others_is_quarantined(bad: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("django_q.scheduler.close_old_django_connections", lambda: None)  # the test is inside one
    row = Schedule.objects.create(name="theirs", func="builtins.print", next_run=NOW - timedelta(days=1))
    Schedule.objects.filter(pk=row.pk).update(**bad)
    registry.sync_schedules(now=NOW)
    scheduler()
    assert {task.func() for task in OrmQ.objects.all()} == {job.task for job in JOBS.values() if is_cron(job)}
    row.refresh_from_db()
    assert row.repeats == 0
    assert [getattr(row, name) for name in bad] == list(bad.values())


def is_cron(job: Job) -> bool:
    return bool(job.cron)


def test_rows_that_can_run_are_not_touched() -> None:
    Schedule.objects.create(name="fine", func="builtins.print", args="1, 'two'", kwargs="sep='-', end=''")
    Schedule.objects.create(name="fine too", func="builtins.print", args="3", kwargs="{'sep': ''}")
    registry.sync_schedules(now=NOW)
    assert not Schedule.objects.filter(name__startswith="fine", repeats=0).exists()


@pytest.mark.django_db(transaction=True)
def test_many_that_ensure_at_once_make_one_row_each() -> None:
    def ensure() -> None:
        registry.sync_schedules(now=NOW)
        connection.close()

    threads = [threading.Thread(target=ensure) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert names() == NAMES


def test_the_command_lists_every_job(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("schedules")
    output = capsys.readouterr().out
    assert all(name in output for name in JOBS)
    assert "03:30 in each workspace" in output
    call_command("schedules", "--json")
    rows = {row["job"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows.keys() == JOBS.keys()
    assert rows["tick"]["is_on"] and rows["tick"]["next_run"] and rows["expire"]["next_run"] is None


def test_the_command_says_in_the_operator_s_language_what_a_job_does(capsys: pytest.CaptureFixture[str]) -> None:
    listed = {}
    for language in ("en", "zh-hans"):
        with translation.override(language):
            call_command("schedules")
            lines = capsys.readouterr().out.splitlines()
            call_command("schedules", "--json")
            listed[language] = ({line.split()[0]: line for line in lines}, capsys.readouterr().out)
    (english, as_json), (chinese, same_json) = listed["en"], listed["zh-hans"]
    assert "takes out of use what has lived its time" in english["expire"]
    assert "停用已到期的记忆" in chinese["expire"] and "03:30，每个工作区" in chinese["expire"]
    assert "Monday 04:00 in each workspace" in english["compress"]
    assert "星期一 04:00，每个工作区" in chinese["compress"]
    assert as_json == same_json  # a program reads one language
