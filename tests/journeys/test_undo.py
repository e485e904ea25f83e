"""Something was tidied away too boldly: an operator reads the batch, and takes it back in two clicks."""

from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from memories import batches, entries
from memories.batches import PlanRow
from memories.batches.steps import EditStep, MergeStep, Successor
from tests.conftest import make_draft, make_scope
from tests.journeys.conftest import enter, make_bakery


@pytest.fixture
def tidied(transactional_db: Any) -> None:
    """Last night a job made one memory of two, and changed another."""
    workspace = make_bakery()
    scope, now = make_scope(workspace), timezone.now()
    texts = ("The oven is set to 220 degrees", "The dough rests for 90 minutes", "面包房每周二休息")
    oven, dough, closed = (entries.remember(make_draft(scope, t), now=now, actor="bot:b").entry for t in texts)
    columns = {"content": "面包房每周三休息"}
    steps = [
        PlanRow(step=MergeStep(into=Successor(entry=oven.pk)), entry_id=dough.pk, version=1),
        PlanRow(step=EditStep(columns=columns), entry_id=closed.pk, version=1),
    ]
    plan = batches.plan(scope, steps, name="compress", run="night", actor="job:compress", now=now)
    batches.apply_batch(plan, now=now)


def test_an_operator_takes_back_one_row_then_the_rest_then_changes_her_mind(tidied: None, page: Page) -> None:
    enter(page)
    page.get_by_role("link", name="compress").click()
    expect(page.locator("#row1")).to_contain_text("becomes part of")
    expect(page.locator("#row2 del")).to_contain_text("周二")
    expect(page.locator("#row2 ins")).to_contain_text("周三")

    page.locator("#row2").get_by_role("checkbox").check()
    page.get_by_role("button", name="Undo the ticked rows").click()
    expect(page.get_by_text("Nothing of it was changed since.")).to_be_visible()
    page.get_by_label("Reason").fill("Tuesday is right")
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("Undone: Put back: 1.")).to_be_visible()
    expect(page.locator("#row1 ins")).to_contain_text("周二")

    page.get_by_role("link", name="compress").click()
    expect(page.locator("#row2")).to_contain_text("Undone")
    page.get_by_role("link", name="Undo …").click()
    page.get_by_label("Reason").fill("and the dough, too")
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("Undone: Put back: ")).to_be_visible()

    page.get_by_role("link", name="Undo this undo").click()
    page.get_by_label("Reason").fill("no, one will do")
    page.get_by_role("button", name="Undo").click()
    page.goto("/admin/memories/entry/")
    expect(page.get_by_role("row", name="The dough rests")).to_contain_text("Archived")
    expect(page.get_by_role("row", name="面包房每周二休息")).to_contain_text("Live")
