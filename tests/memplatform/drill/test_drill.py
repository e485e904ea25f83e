"""A leak drill says what it heard, and leaves nothing behind (A22)."""

import json
import sys
from datetime import timedelta
from io import StringIO
from pathlib import Path
from subprocess import Popen
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from memories.audit.models import AuditEvent, AuditRecord
from memories.models import Bot, Change, DailyEvent, Entry, JobRun, Scope, Webhook, Workspace
from memories.staff.roles import Role
from memplatform.drill.asking import QUICK, WORDINGS, Asker, Effort, Probes
from memplatform.drill.planting import PREFIX, Canary
from memplatform.drill.run import drill, settle
from memplatform.erasure import certificate
from memplatform.operations.jobs.runs import Finding, run_name
from memplatform.tasks import UncleanDrill, count_scopes_to_drill, drill_workspace
from sessions_app.models import SessionEvent
from tests.conftest import NOW
from tests.memories.admin.conftest import enter, make_user

pytestmark = pytest.mark.django_db
LATER = NOW + timedelta(hours=1)
DOORS = {
    "recall", "recall by words", "as of", "context", "proxy", "tool search", "tool read", "tool list", "mcp",
    "platform", "list", "list of a scope", "recall of a scope", "by id", "history", "replay", "trace", "mem0",
    "export", "webhooks",
}  # fmt: skip


@pytest.mark.thorough
def test_whole_walls_let_nothing_through_and_everybody_hears_their_own(inhabited: Workspace) -> None:
    rows = [Entry, SessionEvent, DailyEvent, Bot, Webhook, Scope, Change, Workspace]
    before = {model: model.objects.count() for model in rows}
    report = drill(inhabited, sample=None, effort=Effort(wordings=WORDINGS[:2]), now=LATER)
    assert report.leak_count == 0, report.body()["leaked"]
    assert report.probes.asked.keys() == DOORS and not report.probes.failed and not report.refused
    assert {"recall", "context", "tool search", "platform", "as of"} <= report.probes.heard.keys()
    assert {"saved", "fact", "profile", "credential", "day", "message", "said_in_group", "file"} == set(report.canaries)
    assert report.left == 0 and {model: model.objects.count() for model in rows} == before


@pytest.mark.thorough
def test_the_command_writes_a_signed_report_and_the_audit_log_keeps_it(inhabited: Workspace, tmp_path: Path) -> None:
    file, out = tmp_path / "report.json", StringIO()
    call_command("leak_drill", workspace=inhabited.name, sample=2, quick=True, report=file, stdout=out, no_color=True)
    signed = json.loads(file.read_text(encoding="utf-8"))
    assert certificate.verify(signed) == "own" and signed["leaks"] == 0 and signed["scopes"] == 2
    assert certificate.verify({**signed, "leaks": 1}) == ""
    record = AuditRecord.objects.get(event=AuditEvent.DRILLED)
    assert record.details["report"] == signed and record.details["probes"] == signed["probes"]
    assert "0 leaks" in out.getvalue() and PREFIX not in file.read_text(encoding="utf-8")


@pytest.mark.thorough
def test_a_quick_drill_asks_at_every_door_too(inhabited: Workspace) -> None:
    report = drill(inhabited, sample=None, effort=QUICK, now=LATER)
    assert report.leak_count == 0 and report.probes.asked.keys() == DOORS and report.probe_count < 300


def test_a_drill_in_which_nobody_hears_anything_proves_nothing(inhabited: Workspace, monkeypatch: Any) -> None:
    monkeypatch.setattr(Asker, "may_hear", lambda *_: True)
    monkeypatch.setattr(Probes, "listen", lambda *_: None)
    report = drill(inhabited, sample=1, now=LATER, effort=Effort(wordings=("drill",)))
    assert report.is_deaf
    with pytest.raises(CommandError):
        call_command("leak_drill", workspace=inhabited.name, sample=1, wordings=1, stdout=StringIO())


def test_a_leak_is_noted_with_where_it_was_and_not_what(inhabited: Workspace, monkeypatch: Any) -> None:
    monkeypatch.setattr(Asker, "may_hear", lambda *_: False)
    report = drill(inhabited, sample=1, now=LATER, effort=Effort(wordings=WORDINGS[:1]))
    signed = settle(report, now=LATER)
    assert signed["leaks"] and {"door", "to", "place", "of", "times"} == set(signed["leaked"][0])
    assert PREFIX not in json.dumps(signed)


def test_who_may_hear_what_is_worked_out_from_places_alone() -> None:
    alone = Asker("a person alone", "", {"platform": "telegram"})
    group = Asker("a stranger in the group", "", {"chat": "g1"}, group="telegram:b:group_g1")
    bound = Asker("a key", "", reaches=frozenset({"telegram:direct_ann"}))
    private = Canary("a", "telegram:direct_ann", "saved")
    spoken = Canary("b", "telegram:direct_ann", "said_in_group", group="telegram:b:group_g1")
    secret = Canary("c", "telegram:b:group_g1", "credential")
    assert [asker.may_hear(private, {}) for asker in (alone, group, bound)] == [False, False, True]
    assert [asker.may_hear(spoken, {}) for asker in (alone, group, bound)] == [False, True, True]
    assert [asker.may_hear(secret, {}) for asker in (alone, group, bound)] == [False, False, False]


def test_a_drill_that_meets_faults_says_so_and_is_not_clean(inhabited: Workspace, monkeypatch: Any) -> None:
    def broken(*_: Any, **__: Any) -> Any:
        raise RuntimeError("the search is broken")

    monkeypatch.setattr("channels_app.api.recall.recall", broken)
    out, file = StringIO(), StringIO()
    with pytest.raises(CommandError):
        call_command("leak_drill", workspace=inhabited.name, sample=2, quick=True, stdout=out, no_color=True)
    report = AuditRecord.objects.get(event=AuditEvent.DRILLED).details["report"]
    assert report["faults"]["recall"] and report["leaks"] == 0 and not report["clean"]
    assert "answers were faults" in out.getvalue()
    with pytest.raises(CommandError):
        call_command("leak_drill", workspace=inhabited.name, sample=2, quick=True, json=True, stdout=file, stderr=out)
    assert not json.loads(file.getvalue())["clean"]


def test_a_limit_of_calls_does_not_silence_a_drill(inhabited: Workspace, settings: Any) -> None:
    settings.MEMORY_CALLS_PER_MINUTE = 3
    report = drill(inhabited, sample=2, effort=QUICK, now=LATER)
    assert report.is_clean and not report.probes.failed


def test_a_drill_tells_how_many_probes_it_asked_of_about_how_many(inhabited: Workspace) -> None:
    reports: list[tuple[int, int]] = []
    report = drill(inhabited, sample=2, effort=QUICK, now=LATER, progress=lambda *figures: reports.append(figures))
    asked = [figures[0] for figures in reports]
    assert asked == sorted(asked) and len(reports) > 3 and all(asked <= about for asked, about in reports)
    assert reports[-1] == (report.probe_count, report.probe_count)
    assert all(report.probe_count / 4 < about < report.probe_count * 4 for _asked, about in reports)


ANSWER = {"scopes": 3, "probes": 500, "leaks": 0, "faults": {}, "left_behind": 0, "clean": True}
CHILD = """
import json, sys
assert sys.argv[-4] == "--run", sys.argv
print("a line of the log", file=sys.stderr)
print('{{"probes": 200, "of_about": 520}}', file=sys.stderr)
print({answer!r})
"""


def drilled(monkeypatch: Any, workspace: Workspace, answer: str) -> tuple[dict[str, int] | None, list[dict[str, int]]]:
    """What the job counts and what it tells meanwhile, where the process it begins answers so."""
    begin, answers = Popen, list[dict[str, int]]()

    def child(command: list[str], **options: Any) -> Any:
        return begin([sys.executable, "-c", CHILD.format(answer=answer), *command[3:]], **options)

    monkeypatch.setattr("memplatform.tasks.subprocess.Popen", child)
    try:
        return drill_workspace(workspace.pk, "leak-drill:1:today", answers.append), answers
    except UncleanDrill as problem:
        assert isinstance(problem, Finding) == ('"leaks": 0' not in answer)
        return None, answers


def test_the_job_drills_in_a_process_of_its_own_and_tells_how_far_it_is(inhabited: Workspace, monkeypatch: Any) -> None:
    counts, answers = drilled(monkeypatch, inhabited, json.dumps(ANSWER))
    assert counts == {"scopes": 3, "probes": 500, "leaks": 0, "faults": 0, "left_behind": 0}
    assert answers == [{"probes": 200, "of_about": 520}]
    assert count_scopes_to_drill(inhabited.pk) == {"scopes": 4}


def test_a_run_of_the_job_fails_where_the_drill_is_not_clean(inhabited: Workspace, monkeypatch: Any) -> None:
    unclean = {**ANSWER, "faults": {"recall": 2, "mcp": 1}, "leaks": 4, "clean": False}
    counts, answers = drilled(monkeypatch, inhabited, json.dumps(unclean))
    assert counts is None and answers[-1]["faults"] == 3 and answers[-1]["leaks"] == 4
    assert drilled(monkeypatch, inhabited, json.dumps({**unclean, "leaks": 0}))[0] is None
    with pytest.raises(RuntimeError, match="a line of the log"):
        drilled(monkeypatch, inhabited, "no report")


def test_the_page_of_a_run_leads_to_its_signed_report(inhabited: Workspace) -> None:
    run = JobRun.objects.create(job="leak-drill", workspace=inhabited, local_date=NOW.date(), started_at=NOW)
    address = reverse("admin:memories_jobrun_report", args=[run.pk])
    auditor = enter(make_user("mei", workspace=inhabited, role=Role.VIEWER, is_staff=True))
    assert auditor.get(address).status_code == 404
    signed = settle(drill(inhabited, sample=1, effort=QUICK, now=LATER), now=LATER, run=run_name(run))
    assert address in auditor.get(reverse("admin:memories_jobrun_change", args=[run.pk])).content.decode()
    assert json.loads(auditor.get(address).content) == signed and certificate.verify(signed) == "own"
    stranger = enter(make_user("tom", workspace=Workspace.objects.create(name="elsewhere"), is_staff=True))
    assert stranger.get(address).status_code == 404
