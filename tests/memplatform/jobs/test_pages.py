"""The page of jobs: what each does and did, and a run for the asking, for whoever looks after the workspace."""

from zoneinfo import ZoneInfo

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import translation
from django_q.models import OrmQ

from memories import batches
from memories.batches import PlanRow
from memories.batches.steps import ArchiveStep
from memories.choices import JobState
from memories.models import Batch, JobRun, Workspace
from memplatform import tasks
from memplatform.operations.jobs.pages import job_title
from memplatform.operations.jobs.registry import JOBS
from tests.conftest import NOW
from tests.memories.admin.conftest import House

LIST = "admin:memories_jobrun_changelist"
pytestmark = pytest.mark.django_db


def run_page(job: str, workspace: Workspace | None = None, *, dry: bool = False) -> str:
    result = "&".join([*([f"of={workspace.pk}"] if workspace else []), *(["dry=1"] if dry else [])])
    return reverse("admin:memories_jobrun_run", args=[job]) + (f"?{result}" if result else "")


def test_the_owner_sees_every_job_with_its_behaviour(owner: Client, mine: House) -> None:
    context = owner.get(reverse(LIST)).context
    rows = {row.job.name: row for row in [*context["nightly"], *context["steady"]]}
    assert rows.keys() == JOBS.keys()
    assert {name: row.job.behaviour for name, row in rows.items()} == {
        name: job.behaviour for name, job in JOBS.items()
    }
    assert all(row.next_run for row in context["nightly"] if row.job.is_on)
    off = [row.job.name for row in context["nightly"] if not row.job.is_on]
    assert off == ["archive-records", "purge", "leak-drill"]


def test_a_member_sees_the_jobs_of_the_workspace_only(alice: Client, mine: House, theirs: House) -> None:
    answer = alice.get(reverse(LIST), {"of": theirs.workspace.pk})
    assert answer.context["chosen"] == mine.workspace
    assert answer.context["steady"] == []


def test_run_now_asks_first_and_is_queued_then(alice: Client, mine: House) -> None:
    address = run_page("expire", mine.workspace)
    assert "Takes out of use what has lived its time" in alice.get(address).content.decode()
    assert (OrmQ.objects.count(), JobRun.objects.filter(job="expire").count()) == (0, 0)
    answer = alice.post(address, {"confirmed": "yes"})
    run = JobRun.objects.get(job="expire")
    assert (run.state, run.actor, run.is_dry, run.workspace) == ("queued", "user:alice", False, mine.workspace)
    assert answer["Location"] == reverse("admin:memories_jobrun_change", args=[run.pk])
    tasks.perform(OrmQ.objects.get().task["args"][0])
    rows = {row.job.name: row for row in alice.get(reverse(LIST)).context["nightly"]}
    assert (rows["expire"].state, rows["expire"].took is not None) == (JobState.DONE.label, True)


def test_a_run_shows_the_batches_of_all_of_its_parts_and_no_others(alice: Client, mine: House) -> None:
    alice.post(run_page("capacity", mine.workspace), {"confirmed": "yes"})
    run = JobRun.objects.get(job="capacity")
    name = f"capacity:{mine.workspace.pk}:{run.asked}"
    names = [name, batches.run_part(name, "faded"), batches.run_part(name, "x" * 40), f"{name}0:faded"]
    drop = [PlanRow.of(mine.entry, ArchiveStep())]
    made = [
        batches.plan(mine.scope, drop, name="capacity", run=each, actor="job", now=NOW, judged=True) for each in names
    ]
    assert not names[2].startswith(name)  # too long to be spelt out
    shown = alice.get(reverse("admin:memories_jobrun_change", args=[run.pk])).content.decode()
    links = [reverse("admin:memories_batch_change", args=[item.pk]) in shown for item in made]
    assert links == [True, True, True, False]


def test_a_dry_run_counts_and_leaves_no_plan_behind(alice: Client, mine: House) -> None:
    mine.entry.__class__.objects.filter(pk=mine.entry.pk).update(stated_at="2020-01-01T00:00Z", type="chat_turn")
    plans = Batch.objects.count()
    alice.post(run_page("expire", mine.workspace, dry=True), {"confirmed": "yes"})
    run = JobRun.objects.get(job="expire")
    assert run.is_dry
    tasks.perform(run.pk)
    run.refresh_from_db()
    assert (run.counts, Batch.objects.count()) == ({"scopes": 1, "entries": 1}, plans)
    rows = {row.job.name: row for row in alice.get(reverse(LIST)).context["nightly"]}
    assert rows["expire"].began_at is None  # it was no run


def test_the_page_of_jobs_has_one_clock_and_names_it(owner: Client, mine: House, theirs: House) -> None:
    Workspace.objects.filter(pk=mine.workspace.pk).update(time_zone="Asia/Shanghai")
    shown = owner.get(reverse(LIST), {"of": mine.workspace.pk})
    row = next(row for row in shown.context["nightly"] if row.job.name == "expire")
    local = row.next_run.astimezone(ZoneInfo("Asia/Shanghai"))
    words = shown.content.decode()
    assert f"{local:%Y-%m-%d} {row.job.when}" in words and words.count("Asia/Shanghai") > 1


def test_other_workspaces_cannot_be_worked_on(alice: Client, mine: House, theirs: House) -> None:
    for dry in (False, True):
        assert alice.get(run_page("expire", theirs.workspace, dry=dry)).status_code == 404
        assert alice.post(run_page("expire", theirs.workspace, dry=dry), {"confirmed": "yes"}).status_code == 404
    assert alice.post(run_page("expire"), {"confirmed": "yes"}).status_code == 404
    assert alice.post(run_page("clean-up"), {"confirmed": "yes"}).status_code == 403  # of the whole platform
    assert not JobRun.objects.exclude(asked="").exists()


def test_jobs_that_are_not_there_are_not_found(owner: Client, mine: House) -> None:
    for dry in (False, True):
        assert owner.get(run_page("nothing", dry=dry)).status_code == 404
        assert owner.get(run_page("clean-events", dry=dry)).status_code == 200


def test_every_job_can_be_run_dry(owner: Client, mine: House) -> None:
    shown = owner.get(reverse(LIST)).content.decode()
    assert all(f"{run_page(job)}?dry=1" in shown for job in JOBS)


def test_a_weekly_job_names_its_day_in_the_reader_s_language(owner: Client, mine: House) -> None:
    for language, when in (("en", "Monday 04:00"), ("zh-hans", "星期一 04:00")):
        owner.defaults["HTTP_ACCEPT_LANGUAGE"] = language
        assert when in owner.get(reverse(LIST)).content.decode()


def test_the_number_of_questions_to_the_database_does_not_grow_with_the_runs(
    owner: Client, mine: House, django_assert_max_num_queries: object
) -> None:
    for n in range(40):
        JobRun.objects.create(
            job="expire", workspace=mine.workspace, local_date=f"2025-01-{n % 28 + 1:02}", asked=str(n),
            started_at="2025-01-01T00:00Z",
        )  # fmt: skip
    with django_assert_max_num_queries(20):  # type: ignore[operator]
        owner.get(reverse(LIST))


def test_jobs_go_by_what_they_do_in_the_reader_s_language_wherever_they_stand(owner: Client, mine: House) -> None:
    run = JobRun.objects.create(
        job="expire", workspace=mine.workspace, local_date="2025-01-01", started_at="2025-01-01T00:00Z"
    )
    pages = [
        f"{reverse(LIST)}?of={mine.workspace.pk}",
        reverse("admin:memories_jobrun_change", args=[run.pk]),
        run_page("expire", mine.workspace),
        run_page("expire", mine.workspace, dry=True),
    ]
    for language, title in (("en", "Takes out of use what has lived its time"), ("zh-hans", "停用已到期的记忆")):
        owner.defaults["HTTP_ACCEPT_LANGUAGE"] = language
        assert [title in owner.get(page).content.decode() for page in pages] == [True] * 4
        listed = owner.get(pages[0]).content.decode()
        assert listed.count(title) == 2  # in the table, and in the list of runs
    page = owner.get(pages[1]).content.decode()
    assert page.count("停用已到期的记忆") >= 2 and "expire 2025" not in page  # its title, too


def test_every_job_has_a_name_in_chinese(owner: Client, mine: House) -> None:
    with translation.override("zh-hans"):
        assert [name for name in JOBS if job_title(name).isascii()] == []
