"""A browser for the tests of the admin: the system's Chromium, on the loopback only."""

import shutil
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, sync_playwright

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
