"""Several batches decided at once: ticked in the list, or all that one run planned for its scopes (F4)."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone, translation

from memories import batches
from memories.admin.batches.detail import share_of, summary_of
from memories.audit.models import AuditRecord
from memories.batches import PlanRow
from memories.batches.steps import ExpireStep, PurgeStep
from memories.choices import BatchState
from memories.models import Batch, Entry, Scope
from tests.memories.admin.conftest import House
from tests.memories.admin.test_entries import remember

pytestmark = pytest.mark.django_db
LIST = "/admin/memories/batch/"
WHY = {"confirmed": "yes", "reason": "the project is over"}


def proposal(scope: Scope, run: str, words: str, **kwargs: Any) -> Batch:
    """What a job would take out of use in a scope."""
    entry = remember(scope, words)
    rows = [PlanRow.of(entry, ExpireStep(suppress=True))]
    now = timezone.now()
    batch = batches.plan(scope, rows, name="sweep", run=run, actor="job:sweep", now=now, **kwargs)
    Batch.objects.filter(pk=batch.pk).update(held_because=[{"code": "pinned", "pinned": 1}])
    return batch


@pytest.fixture
def waiting(mine: House) -> list[Batch]:
    """A run over three scopes, and one of another job."""
    made = [proposal(mine.scope, "night", "the port is 8080")]
    for n in range(2):
        scope = Scope.objects.create(workspace=mine.workspace, key=f"telegram:direct_{n}", kind="user")
        made.append(proposal(scope, "night", f"the port of {n} is 9090"))
    return [*made, proposal(mine.scope, "other", "the tea is green")]


def states() -> list[str]:
    return list(Batch.objects.filter(name="sweep").order_by("pk").values_list("state", flat=True))


def ticked(action: str, rows: list[Batch], **more: str) -> dict[str, Any]:
    return {"action": action, "_selected_action": [row.pk for row in rows], **more}


def test_ticked_batches_are_approved_after_one_question_with_one_reason(alice: Client, waiting: list[Batch]) -> None:
    narrowed = f"{LIST}?view=waiting"
    page = alice.post(narrowed, ticked("approve_chosen", waiting[:2])).content.decode()
    assert "Approve 2 batches" in page and "would retire 2" in page
    assert "The safety limit holds 2 of them." in page and states() == ["proposed"] * 4
    done = alice.post(narrowed, ticked("approve_chosen", waiting[:2], **WHY), follow=True)
    assert done.redirect_chain == [(narrowed, 302)] and "2 batches were applied." in done.content.decode()
    assert states() == ["applied", "applied", "proposed", "proposed"]
    first = Batch.objects.get(pk=waiting[0].pk)
    assert (first.decided_by, first.decided_because) == ("user:alice", "the project is over")
    assert AuditRecord.objects.filter(event="approved", actor="user:alice").count() == 2
    assert not Entry.objects.live().filter(content="the port is 8080").exists()


def test_ticked_batches_are_refused_and_nothing_is_changed(alice: Client, waiting: list[Batch]) -> None:
    alice.post(LIST, ticked("refuse_chosen", waiting, **WHY))
    assert states() == ["refused"] * 4 and Entry.objects.live().filter(content="the tea is green").exists()
    again = alice.post(LIST, ticked("refuse_chosen", waiting), follow=True).content.decode()
    assert "None of them waits for a decision." in again


def test_what_cannot_be_decided_is_left_with_its_reason_and_holds_no_other_back(
    alice: Client, mine: House, waiting: list[Batch]
) -> None:
    Scope.objects.filter(pk=waiting[1].scope_id).update(frozen=True)
    rows = [PlanRow.of(remember(mine.scope, "old news"), PurgeStep())]
    purge = batches.plan(mine.scope, rows, name="purge", run="p", actor="job:purge", now=timezone.now())
    page = alice.post(LIST, ticked("approve_chosen", [*waiting[:3], purge], **WHY), follow=True).content.decode()
    assert "2 batches were applied." in page and "2 batches were left as they are:" in page
    assert "It removes for good: approve it by itself." in page
    purge.refresh_from_db()
    assert states() == ["applied", "proposed", "applied", "proposed"] and purge.state == BatchState.PROPOSED


def test_many_rows_are_left_to_the_worker(alice: Client, waiting: list[Batch], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memories.tasks.INLINE_ROWS", 1)
    page = alice.post(LIST, ticked("approve_chosen", waiting[:3], **WHY), follow=True).content.decode()
    assert "1 batch was applied." in page and "2 batches are carried out by the worker." in page
    assert states() == ["applied", "applying", "applying", "proposed"]


def test_what_a_run_planned_is_one_plan_over_its_scopes(alice: Client, waiting: list[Batch]) -> None:
    page = reverse("admin:memories_batch_run", args=[waiting[1].pk])
    shown = alice.get(page)
    assert len(shown.context["rows"]) == 3 and "would retire 3" in shown.content.decode()
    assert "see them together" in alice.get(f"{LIST}{waiting[0].pk}/change/").content.decode()
    decide = reverse("admin:memories_batch_decide", args=[waiting[1].pk])
    data = {"what": "refuse", "batch": [waiting[2].pk]}
    assert "Refuse 1 batch" in alice.post(decide, data).content.decode()
    alice.post(decide, data | WHY)
    assert states() == ["proposed", "proposed", "refused", "proposed"]
    assert alice.post(decide, {"what": "approve"} | WHY).headers["Location"] == page
    assert states() == ["applied", "applied", "refused", "proposed"]  # another run is another plan


def test_a_plan_of_strangers_is_decided_by_nobody_here(charlie: Client, waiting: list[Batch]) -> None:
    assert charlie.get(reverse("admin:memories_batch_run", args=[waiting[0].pk])).status_code == 404
    assert charlie.post(reverse("admin:memories_batch_decide", args=[waiting[0].pk]), WHY).status_code == 404
    charlie.post(LIST, ticked("approve_chosen", waiting, **WHY))
    assert states() == ["proposed"] * 4


def test_a_page_of_a_run_and_the_list_cost_the_same_for_more_scopes(
    alice: Client, mine: House, waiting: list[Batch]
) -> None:
    pages = [reverse("admin:memories_batch_run", args=[waiting[0].pk]), f"{LIST}?view=held"]

    def queries() -> list[int]:
        counted = []
        for page in pages:
            with CaptureQueriesContext(connection) as captured:
                assert alice.get(page).status_code == 200
            counted.append(len(captured))
        return counted

    queries()
    few = queries()
    for n in range(8):
        scope = Scope.objects.create(workspace=mine.workspace, key=f"telegram:direct_more{n}", kind="user")
        proposal(scope, "night", f"thing {n}")
    assert queries() == few


@pytest.mark.parametrize(
    ("view", "number"), [("waiting", 4), ("held", 3), ("applied", 1), ("undone", 0), ("refused", 0), ("nonsense", 5)]
)
def test_the_list_is_narrowed_to_what_waits_is_held_or_was_done(
    view: str, number: int, alice: Client, mine: House, waiting: list[Batch]
) -> None:
    Batch.objects.filter(pk=waiting[3].pk).update(held_because=[])
    done = batches.plan(
        mine.scope, [PlanRow.of(remember(mine.scope, "old"), ExpireStep())], name="sweep", run="done", actor="a",
        now=timezone.now(),
    )  # fmt: skip
    batches.apply_batch(done, now=timezone.now())
    shown = alice.get(LIST, {"view": view, "q": "sweep"})
    assert len(shown.context["cl"].result_list) == number


def test_the_way_back_from_a_batch_leads_to_the_list_as_it_was_narrowed(alice: Client, waiting: list[Batch]) -> None:
    filters = "_changelist_filters=view%3Dheld"
    page = f"{LIST}{waiting[0].pk}/change/?{filters}"
    shown = alice.get(page)
    assert shown.context["back"] == f"{LIST}?view=held"
    approve = shown.context["addresses"]["approve"]
    assert approve.endswith(f"/approve/?{filters}") and approve in shown.content.decode()
    assert alice.post(approve, {"confirmed": "yes"}).headers["Location"] == page


def test_a_row_says_when_it_was_said_what_it_is_about_and_by_whom(alice: Client, mine: House) -> None:
    entry = remember(mine.scope, "the oven is too hot")
    Entry.objects.filter(pk=entry.pk).update(
        category="decision", speaker="Lena", stated_at=timezone.now() - timedelta(days=400)
    )
    entry.refresh_from_db()
    batch = batches.plan(
        mine.scope, [PlanRow.of(entry, ExpireStep())], name="sweep", run="r", actor="job:sweep", now=timezone.now()
    )
    (row,) = alice.get(f"{LIST}{batch.pk}/change/").context["rows"]
    with translation.override("en"):
        assert row.about[1:] == ["Decision", "Lena"] and str(entry.stated_at.year) in row.about[0]


def test_a_plan_says_in_words_how_much_it_would_take(mine: House) -> None:
    Scope.objects.filter(pk=mine.scope.pk).update(entry_count=60)
    scope = Scope.objects.get(pk=mine.scope.pk)
    plan = Batch(scope=scope, state=BatchState.PROPOSED, counts={"expire": 10, "archive": 2, "merge": 3, "days": 9})
    with translation.override("en"):
        assert summary_of([plan]) == "would retire 12 of 60 memories, a fifth; would merge 3"
        other = Batch(scope=scope, state=BatchState.PROPOSED, counts={"expire": 12})
        assert summary_of([plan, other]) == "would retire 24 of 60 memories, 40 %; would merge 3"
        plan.state = BatchState.APPLIED
        assert summary_of([plan]) == "retired 12; merged 3"
        shares = {n: share_of(n, 1000) for n in (1, 100, 330, 450, 500, 995, 1000)}
    assert shares == {
        1: "less than 1 %", 100: "a tenth", 330: "a third", 450: "45 %", 500: "half", 995: "99 %", 1000: "all of them",
    }  # fmt: skip
    with translation.override("zh-hans"):
        plan.state = BatchState.PROPOSED
        assert summary_of([plan]) == "将停用 12 条，共 60 条记忆，占五分之一；将合并 3 条"
