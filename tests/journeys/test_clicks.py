"""The jobs an operator does most, in clicks: each mouse click counts, what is typed does not."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from memories.lifecycle.expiry import expire_due
from memories.models import Entry, Workspace
from tests.conftest import TELEGRAM, Api, make_key
from tests.journeys.conftest import Mouse, enter, make_bakery


@pytest.fixture
def bakery(transactional_db: Any, turns_are_read: None) -> None:
    """Two turns, one of them of forty days ago, which the nightly job has taken out of use."""
    workspace = make_bakery()
    api = Api(make_key(workspace))
    long_ago = timezone.now() - timedelta(days=40)
    for user, at in (("The bakery is closed on Tuesdays", long_ago), ("I like rye bread", timezone.now())):
        response = api.post("turns", {"address": TELEGRAM, "user": user, "assistant": "Noted.", "at": at.isoformat()})
        assert response.status_code == 201, response.json()
    expire_due(workspace.pk, now=timezone.now(), run="expire:last night")
    assert Entry.objects.filter(expired_at__isnull=False).count() == 1


@pytest.fixture
def answered(bakery: None) -> None:
    """A question about one of them, answered from memory."""
    api = Api(make_key(Workspace.objects.get(name="Bakery"), name="second bot"))
    data = {"address": TELEGRAM, "message": "Which bread do I like?"}
    recalled = api.post("recall", data).json()
    turn = {"address": TELEGRAM, "user": data["message"], "assistant": "You like rye bread."}
    turn |= {"recall_id": recalled["recall_id"], "used": [recalled["memories"][0]["id"]]}
    assert api.post("turns", turn).status_code == 201


@pytest.fixture
def aged(bakery: None) -> None:
    """The turn that is in use was said ten days ago."""
    Entry.objects.filter(expired_at=None).update(stated_at=timezone.now() - timedelta(days=10))


def test_who_logs_out_is_out_with_two_clicks(bakery: None, page: Page, mouse: Mouse) -> None:
    enter(page)
    old = page.context.cookies()
    mouse.click(page.locator("[x-on\\:click*='openUserLinks = !']"))
    mouse.click(page.get_by_role("button", name="Log out"))
    expect(page.get_by_text("You are logged out.")).to_be_visible()
    page.context.add_cookies(old)
    page.goto("/admin/memories/entry/")
    expect(page.locator("#id_password")).to_be_visible()
    assert mouse.clicks == 2


def test_what_last_night_took_is_back_with_three_clicks(bakery: None, page: Page, mouse: Mouse) -> None:
    enter(page)
    page.goto("/admin/memories/entry/")
    mouse.click(page.get_by_role("link", name="Expired last night"))
    mouse.click(page.get_by_role("link", name="with a term"))
    page.get_by_label("Reason").fill("they were needed")
    mouse.click(page.get_by_role("button", name="Restore"))
    expect(page.get_by_text("1 memory is in use again.")).to_be_visible()
    assert mouse.clicks == 3


def test_a_message_is_out_of_memory_with_two_clicks_and_can_come_back(bakery: None, page: Page, mouse: Mouse) -> None:
    enter(page)
    page.goto("/admin/sessions_app/session/")
    page.get_by_role("link", name="u42").click()  # where the operator was: reading the conversation
    line = page.locator(".mp-line", has_text="I like rye bread")
    expect(page.get_by_text("1 memory rests on this")).to_have_count(2)
    mouse.click(page.locator(".mp-line:has-text('I like rye bread') + .mp-made .mp-take-out[href*='take-out']"))
    expect(page.get_by_role("heading", name="1 memory goes")).to_be_visible()
    mouse.click(page.get_by_role("button", name="Take this out"))
    expect(page.get_by_text("1 memory was taken out.")).to_be_visible()
    expect(line).to_contain_text("left out")
    assert mouse.clicks == 2
    page.get_by_role("link", name="Look at it or undo it").click()
    page.get_by_role("link", name="Undo …").click()
    page.get_by_label("Reason").fill("it was harmless")
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("Undone: Put back: 1.")).to_be_visible()


def test_memories_get_another_term_with_four_clicks_and_a_preview(bakery: None, page: Page, mouse: Mouse) -> None:
    enter(page)
    page.goto("/admin/memories/entry/?view=live")
    mouse.click(page.locator("#action-toggle"))
    mouse.clicks += 1  # the list of actions, opened and chosen from
    page.locator("select[name=action]").first.select_option("term_chosen")
    mouse.click(page.get_by_role("button", name="Run"))
    expect(page.get_by_role("heading", name="Set the term: 1 entry")).to_be_visible()
    expect(page.get_by_label("New term")).to_have_value("30")
    page.get_by_label("Reason").fill("until the holidays are over")
    mouse.click(page.get_by_role("button", name="Set the term"))
    expect(page.get_by_text("1 entry was changed.")).to_be_visible()
    expect(page.get_by_role("link", name="Live", exact=True)).to_have_attribute("aria-current", "page")
    assert mouse.clicks == 4


def test_from_a_wrong_answer_to_the_right_one_in_four_clicks(answered: None, page: Page, mouse: Mouse) -> None:
    """One leads from the bot's message to what it was told, three from there to the corrected answer."""
    enter(page)
    page.goto("/admin/sessions_app/session/")
    page.get_by_role("link", name="u42").click()  # where the operator was: reading the conversation
    answer = page.locator(".mp-line", has_text="You like rye bread")
    mouse.click(answer.get_by_role("link", name="Why did it say that?"))
    expect(page.get_by_role("heading", name="What the bot answered")).to_be_visible()
    assert mouse.clicks == 1
    memory = page.locator(".mp-told", has_text="I like rye bread").first
    expect(memory).to_contain_text("used: the bot says so")
    mouse.click(memory.get_by_role("link", name="Open and correct it"))
    page.locator("#id_content").fill("I like spelt bread")
    mouse.click(page.get_by_role("button", name="Save", exact=True))
    expect(page.locator(".mp-told", has_text="I like rye bread").first).to_contain_text("reworded since")
    mouse.click(page.get_by_role("link", name="Ask again"))
    expect(page.get_by_role("heading", name="The same question now")).to_be_visible()
    expect(page.locator(".mp-table", has_text="now").first).to_contain_text("I like spelt bread")
    assert mouse.clicks == 4
    page.get_by_role("link", name="Read it in the conversation").click()
    expect(answer).to_be_visible()


def test_a_time_to_live_is_set_with_four_clicks_and_a_preview(aged: None, page: Page, mouse: Mouse) -> None:
    enter(page)
    mouse.click(page.get_by_role("link", name="Policies"))
    mouse.click(page.get_by_role("link", name="30 days"))
    page.locator("#id_chat_turn-user").fill("7")
    mouse.click(page.get_by_role("button", name="Preview"))
    expect(page.get_by_text("1 of 1 memories would no longer be served, from the next call on.")).to_be_visible()
    expect(page.get_by_role("link", name="I like rye bread")).to_be_visible()
    page.get_by_label("Reason").fill("what is said over the counter is soon out of date")
    mouse.click(page.get_by_role("button", name="Save these policies"))
    expect(page.get_by_text("1 policy was changed. It holds from the next call on.")).to_be_visible()
    expect(page.get_by_role("link", name="7 days")).to_be_visible()
    assert mouse.clicks == 4
