"""An operator with a keyboard: three questions, a key each, and one of them taken back."""

from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from memories import batches, entries
from memories.batches import PlanRow
from memories.batches.steps import ExpireStep, Successor, SupersedeStep
from memories.choices import HoldReason
from memories.models import Entry, Scope
from tests.conftest import make_draft, make_scope
from tests.journeys.conftest import enter, make_bakery


def stored_fact(scope: Scope, content: str, **more: Any) -> Entry:
    fact = {"type": "fact", "tier": 2, "source": "extraction"}
    return entries.remember(make_draft(scope, content, **(fact | more)), now=timezone.now(), actor="job:extract").entry


@pytest.fixture
def doubts(transactional_db: Any) -> None:
    """A job would replace a pinned memory and one that matters, and let two go that matter little."""
    workspace = make_bakery()
    scope, now = make_scope(workspace), timezone.now()
    little = [stored_fact(scope, text, importance=0.1) for text in ("The radio is red", "The window faces north")]
    closed = stored_fact(scope, "面包房每周二休息", importance=0.9)
    oven = stored_fact(scope, "The oven is set to 220 degrees", importance=0.2, pinned=True)
    newer = {closed: stored_fact(scope, "面包房每周三休息"), oven: stored_fact(scope, "The oven is set to 240 degrees")}
    plans = [[PlanRow.of(entry, ExpireStep(suppress=False)) for entry in little]]
    plans += [
        [PlanRow(step=SupersedeStep(into=Successor(entry=new.pk)), entry_id=old.pk, version=1)]
        for old, new in newer.items()
    ]
    for n, steps in enumerate(plans):
        plan = batches.plan(scope, steps, name="extract", run=f"night {n}", actor="job:extract", now=now, judged=True)
        batches.require_approval(plan, HoldReason.CONTRADICTED, rows=len(steps))


def test_an_operator_answers_every_question_with_one_key(doubts: None, page: Page) -> None:
    enter(page)
    page.get_by_role("link", name="3 batches wait for you").click()
    question, pair = page.locator(".mp-question-head"), page.locator(".mp-pair").first
    expect(question).to_contain_text("Question 1 of 3")
    expect(pair).to_contain_text("The oven is set to 220 degrees")
    expect(pair.locator("ins")).to_contain_text("240")

    page.keyboard.press("j")
    expect(question).to_contain_text("Question 2 of 3")
    page.keyboard.press("k")
    expect(question).to_contain_text("Question 1 of 3")
    page.keyboard.press("?")
    expect(page.get_by_text("Show or hide the keys")).to_be_visible()

    page.keyboard.press("r")
    expect(page.get_by_role("status")).to_contain_text("Refused: nothing was changed")
    expect(question).to_contain_text("Question 1 of 2")
    expect(pair).to_contain_text("面包房每周二休息")
    page.keyboard.press("u")
    expect(question).to_contain_text("Question 1 of 3")
    expect(pair).to_contain_text("220")
    page.keyboard.press("a")
    expect(page.get_by_role("status")).to_contain_text("Approved")
    expect(pair).to_contain_text("面包房每周二休息")
    page.keyboard.press("a")
    expect(pair).to_contain_text("The radio is red")

    page.get_by_role("button", name="Leave this one as it is").first.click()
    expect(page.locator(".mp-pair")).to_have_count(1)
    page.keyboard.press("e")
    expect(page.locator(".mp-timeline")).to_contain_text("The window faces north")
    page.go_back()
    page.keyboard.press("a")
    expect(page.get_by_text("Nothing waits for you.")).to_be_visible()

    page.goto("/admin/memories/entry/")
    expect(page.get_by_role("row", name="The oven is set to 220")).to_contain_text("Superseded")
    expect(page.get_by_role("row", name="面包房每周三休息")).to_contain_text("Live")
    expect(page.get_by_role("row", name="The radio is red")).to_contain_text("Live")


def test_without_scripts_the_same_buttons_are_there(doubts: None, page: Page, live_server: Any) -> None:
    browser = page.context.browser
    assert browser
    plain = browser.new_page(base_url=live_server.url, locale="zh-CN", java_script_enabled=False)
    plain.goto("/admin/login/?next=/admin/review/")
    plain.locator("#id_username").fill("alice")
    plain.locator("#id_password").fill("rye and spelt")
    plain.locator("#id_password").press("Enter")
    expect(plain.locator(".mp-question-head")).to_contain_text("第 1 个问题，共 3 个")
    plain.get_by_role("link", name="下一个 j").click()
    plain.get_by_role("button", name="批准 a").click()
    expect(plain.get_by_role("status")).to_contain_text("已批准")
    plain.get_by_role("button", name="撤销 u").click()
    expect(plain.get_by_role("status")).to_contain_text("已撤回，一切恢复原样")
