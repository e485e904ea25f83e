"""A browser for the tests of the admin: the system's Chromium, on the loopback only."""

import shutil
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from playwright.sync_api import Locator, Page, expect, sync_playwright

from memories.models import Workspace
from memories.staff.models import Member

_NAMES = ("chromium", "chromium-browser", "google-chrome")
_ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
              "--disable-component-update", "--disable-sync"]  # fmt: skip


@pytest.fixture
def page(live_server: Any) -> Iterator[Page]:
    """An empty tab; nobody has logged in. A request to anywhere else fails the test.

    While it is open this thread must not ask the database: Playwright keeps an event loop in it.
    """
    program = next(filter(None, map(shutil.which, _NAMES)), None)
    if program is None:
        # A machine without a browser is promised every other test; .ci/run installs one first.
        pytest.skip("This test needs Chromium: `make browser` installs it from the system's packages.")
    results: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=_ARGUMENTS)
        tab = browser.new_page(base_url=live_server.url, locale="en-US")
        tab.on("request", lambda request: results.append(request.url))
        tab.set_default_timeout(30_000)
        yield tab
        browser.close()
    elsewhere = [url for url in results if not url.startswith((live_server.url, "data:", "blob:"))]
    assert elsewhere == []


class Mouse:
    """Counts its clicks."""

    def __init__(self) -> None:
        self.clicks = 0

    def click(self, what: Locator) -> None:
        self.clicks += 1
        what.click()


@pytest.fixture
def mouse() -> Mouse:
    return Mouse()


def make_bakery() -> Workspace:
    """A workspace that Alice owns."""
    workspace = Workspace.objects.create(name="Bakery")
    alice = get_user_model().objects.create_user("alice", password="rye and spelt", is_staff=True)
    Member.objects.create(workspace=workspace, user=alice, role="owner")
    return workspace


def enter(page: Page) -> None:
    """Alice logs in."""
    page.goto("/admin/")
    page.locator("#id_username").fill("alice")
    page.locator("#id_password").fill("rye and spelt")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="What needs attention")).to_be_visible()
