"""The journey the admin is for: something is missing at 2 a.m., and an operator brings it back."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from memories.lifecycle.expiry import expire_due
from memories.models import Entry
from tests.conftest import TELEGRAM, Api, make_key
from tests.journeys.conftest import enter, make_bakery

QUESTION = "which day is the bakery closed?"


def heard(page: Page, token: str) -> str:
    """What the bot is told, over the wire."""
    data = {"address": TELEGRAM, "message": QUESTION}
    answer = page.request.post("/api/v1/recall", data=data, headers={"Authorization": f"Bearer {token}"})
    assert answer.ok, answer.text()
    return str(answer.json()["context"])


@pytest.fixture
def forgotten(transactional_db: Any, turns_are_read: None) -> str:
    """The key of a bot that was told something forty days ago; the nightly job has taken it out of use since."""
    workspace = make_bakery()
    token = make_key(workspace)
    api = Api(token)
    long_ago = (timezone.now() - timedelta(days=40)).isoformat()
    for user, at in (("The bakery is closed on Tuesdays", long_ago), ("I like rye bread", timezone.now().isoformat())):
        response = api.post("turns", {"address": TELEGRAM, "user": user, "assistant": "Noted.", "at": at})
        assert response.status_code == 201, response.json()
    expire_due(workspace.pk, now=timezone.now(), run="last night")
    assert Entry.objects.filter(expired_at__isnull=False).count() == 1
    return token


def test_an_operator_finds_an_expired_memory_and_brings_it_back(forgotten: str, page: Page) -> None:
    assert "Tuesdays" not in heard(page, forgotten)

    enter(page)

    page.locator("#nav-sidebar-apps").get_by_role("link", name="Entries").click()
    expect(page.get_by_role("row", name="rye bread")).to_be_visible()
    page.locator("a", has_text="Filters").click()
    page.locator("select#id_state").select_option("expired", force=True)
    page.get_by_role("button", name="Apply Filters").click()
    expect(page.get_by_role("row", name="rye bread")).to_have_count(0)
    page.locator("#searchbar").fill("bakery")
    page.keyboard.press("Enter")
    page.get_by_role("link", name="The bakery is closed on Tuesdays").click()

    expect(page.locator(".mp-banner")).to_contain_text("Expired")
    page.get_by_role("link", name="Restore").click()
    page.get_by_label("New term").select_option("30")
    page.get_by_label("Reason").fill("They asked for it at two in the morning")
    page.get_by_role("button", name="Restore").click()
    expect(page.get_by_text("1 entry is in use again.")).to_be_visible()
    expect(page.locator(".mp-banner")).to_contain_text("is recalled until")
    assert "Tuesdays" in heard(page, forgotten)

    page.get_by_role("link", name="History").click()
    expect(page.locator(".mp-timeline")).to_contain_text("They asked for it at two in the morning")
    expect(page.locator(".mp-step").first).to_contain_text("alice")
