"""Somebody tries a bot on its chat page: it remembers, shows what it rested on, and takes it back."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connections
from playwright.sync_api import Page, expect

from channels_app.models import Answerer, Channel, Connection, Receiving
from tests.channels_app.platforms.conftest import echoing, work_through
from tests.journeys.conftest import make_bakery
from tests.memories.llm.conftest import point_to
from tests.memories.llm.fake_server import FakeModel


@contextmanager
def working() -> Iterator[None]:
    """Answers are given meanwhile, in a thread of their own."""
    is_over = threading.Event()

    def work_on() -> None:
        while not is_over.wait(0.05):
            work_through()
        connections.close_all()

    thread = threading.Thread(target=work_on)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


@pytest.fixture
def address(transactional_db: Any, settings: Any) -> Iterator[str]:
    """A page that is open to anybody, of a bot whose model says what was written."""
    workspace = make_bakery()
    connection = Connection.objects.create(
        workspace=workspace,
        channel=Channel.objects.create(workspace=workspace, platform="web", account="ada"),
        options={"title": "Ada", "bot_name": "Ada", "is_open": "on"},
        receiving=Receiving.WEBHOOK,
        answerer=Answerer.MODEL,
        noticed_entry=0,
    )
    with FakeModel(otherwise=echoing) as model:
        point_to(settings, model.url)
        with working():
            yield f"/chat/{connection.uid}/"


def send(page: Page, text: str) -> None:
    page.get_by_label("Message").fill(text)
    page.get_by_label("Message").press("Enter")


def test_a_visitor_writes_sees_what_is_saved_and_undoes_it(address: str, page: Page) -> None:
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(address)
    send(page, "Remember that my oven is called Bertha.")
    log, memory = page.get_by_role("log"), page.get_by_role("complementary")
    expect(log).to_contain_text("You wrote: Remember that my oven is called Bertha.")
    expect(log).to_contain_text("Saved: “Remember that my oven is called Bertha")
    expect(memory).to_contain_text("Bertha")

    page.get_by_role("button", name="New conversation").click()
    expect(log.locator(".message").filter(has_text="/reset")).to_be_visible()
    expect(log.locator(".writing")).to_have_count(0)
    send(page, "What is my oven called, Bertha?")
    expect(log).to_contain_text("You wrote: What is my oven called, Bertha?")
    expect(memory.locator("#used")).to_contain_text("Bertha")

    memory.get_by_role("button", name="Undo").click()
    expect(memory.get_by_text("Undone")).to_be_visible()
    expect(log).to_contain_text("Undone: it is no longer remembered.")
    expect(log.get_by_role("button", name="Undo")).to_be_disabled()

    send(page, "<img src=x onerror=\"document.title='taken'\"><b>bold</b>")
    expect(log).to_contain_text("You wrote: <img src=x onerror=\"document.title='taken'\"><b>bold</b>")
    expect(page).to_have_title("Ada")
    assert log.locator("img, b").count() == 0 and complaints == []

    page.reload()
    expect(log.locator(".message").first).to_contain_text("Remember that my oven")
    with page.expect_download() as download:
        page.get_by_role("button", name="Export").click()
        page.get_by_role("button", name="Download memory.md").click()
    assert download.value.suggested_filename == "memory.md"


def test_on_a_phone_memory_is_behind_a_button_and_nothing_sticks_out(address: str, page: Page) -> None:
    page.set_viewport_size({"width": 360, "height": 740})
    page.goto(address)
    send(page, "Remember that " + "a-very-long-word-" * 20)
    expect(page.get_by_role("log")).to_contain_text("Saved:")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    toggle = page.get_by_role("button", name="Memory")
    expect(page.get_by_role("complementary")).to_be_hidden()
    toggle.click()
    expect(page.get_by_role("complementary")).to_contain_text("a-very-long-word")
    expect(toggle).to_have_attribute("aria-expanded", "true")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_a_message_that_could_not_be_sent_is_sent_again_by_a_button(address: str, page: Page) -> None:
    page.goto(address)
    page.route("**/write", lambda route: route.abort())
    send(page, "Is anybody there?")
    expect(page.get_by_text("The server cannot be reached. Trying again …")).to_be_visible()
    page.unroute("**/write")
    page.get_by_role("button", name="Send again").click()
    expect(page.get_by_role("log")).to_contain_text("You wrote: Is anybody there?")
    expect(page.get_by_role("button", name="Send again")).to_have_count(0)
    assert page.get_by_role("log").get_by_text("Is anybody there?", exact=True).count() == 1
