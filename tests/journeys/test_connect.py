"""From nothing to a bot that is heard, in a browser: clicks are counted, what is typed is not."""

import json
import shlex
import urllib.request
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.journeys.conftest import Mouse, enter, make_bakery


@pytest.fixture
def bakery(transactional_db: Any, turns_are_read: None) -> None:
    make_bakery()


def run(command: str) -> None:
    """Send what a command of curl sends."""
    words = shlex.split(command)
    headers = dict(words[n + 1].split(": ", 1) for n, word in enumerate(words) if word == "-H")
    body = words[words.index("-d") + 1]
    json.loads(body)
    with urllib.request.urlopen(urllib.request.Request(words[2], body.encode(), headers), timeout=30) as response:
        response.read()


def test_a_bot_is_connected_with_three_clicks_and_its_first_turn_appears_by_itself(
    bakery: None, page: Page, mouse: Mouse
) -> None:
    enter(page)
    mouse.click(page.get_by_role("link", name="Connect a bot").first)
    expect(page.get_by_label("Name of the bot")).to_be_focused()
    page.keyboard.type("shop bot")
    mouse.click(page.get_by_role("button", name="Make the key and the code"))
    expect(page.get_by_text("No call with this key yet.")).to_be_visible()
    mouse.click(page.locator("button[data-copy=text-turn]"))
    expect(page.locator("button[data-copy=text-turn]")).to_have_text("Copied")
    turn, question = (page.locator(f"#text-{name}").text_content() or "" for name in ("turn", "question"))
    run(turn)
    expect(page.get_by_role("link", name="My dog is called Biscuit.").first).to_be_visible()
    run(question)
    expect(page.get_by_text("It works.")).to_be_visible()
    assert mouse.clicks == 3


def test_a_bot_is_connected_without_a_mouse(bakery: None, page: Page) -> None:
    enter(page)
    page.goto("/admin/connect-a-bot/")
    expect(page.get_by_label("Name of the bot")).to_be_focused()
    page.keyboard.type("shop bot")
    page.keyboard.press("Enter")
    expect(page.locator("#text-key")).to_be_visible()
