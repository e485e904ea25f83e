"""How much is there to do until a bot remembers, from `make run` on? `python -m benchmarks first_message`.

Somebody starts the platform in an empty folder, logs in with a browser, pastes the token of a bot and writes to it
alone. Clicks and fields are counted as they would be done by hand; Telegram and the model are played on this machine.
Needs Chromium.
"""

import argparse
import os
import shutil
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, expect, sync_playwright

from benchmarks import ground
from benchmarks.channels import echoing
from tests.memories.llm.fake_server import FakeModel
from tests.support.fake_telegram import TOKEN, FakeTelegram, fake_telegram
from tests.support.house import House, until

ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
FACT = "Remember that I moved to Hangzhou in March."
SECONDS = 120


class Hands:
    """What somebody does on a page, counted."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self.clicks = self.fields = 0

    def click(self, role: Any, name: str) -> None:
        """Click what has this name."""
        self._page.get_by_role(role, name=name, exact=True).first.click()
        self.clicks += 1

    def fill(self, place: str, words: str) -> None:
        """Paste into a field."""
        self._page.locator(place).fill(words)
        self.fields += 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--pictures", type=Path, help="a folder for what was seen at the end")


def main(data: Path, options: argparse.Namespace) -> None:
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if program is None:
        raise SystemExit("This needs Chromium: `make browser`.")
    began = time.monotonic()
    with fake_telegram() as bot_api, FakeModel(otherwise=echoing) as model:
        settings = {
            "MEMORY_LLM_BASE_URL": model.url,
            "MEMORY_LLM_MODEL": "small",
            "MEMPLATFORM_TELEGRAM_API_URL": bot_api.url,
        }
        with ground.platform(data, **settings) as house:
            print(f"`make run` greets after {time.monotonic() - began:.0f} s (an empty folder, all packages installed)")
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=program, args=ARGUMENTS)
                connect(browser, house, bot_api, options.pictures)
                browser.close()


def connect(browser: Browser, house: House, bot_api: FakeTelegram, pictures: Path | None) -> None:
    """From the login to the first message that is remembered."""
    page = browser.new_page(base_url=f"http://127.0.0.1:{house.port}", locale="en-US")
    page.set_default_timeout(SECONDS * 1000)
    hands, began = Hands(page), time.monotonic()
    page.goto("/admin/")
    hands.fill("#id_username", "operator")
    hands.fill("#id_password", (house.data / "credentials" / "operator-password").read_text().strip())
    hands.click("button", "Log in")
    hands.click("link", "Connect a bot")
    hands.click("link", "Let this server answer at Telegram, Slack, WeCom and others")
    hands.click("link", "Telegram")
    hands.fill("#id_option_token", TOKEN)
    hands.click("button", "Save")
    expect(page.locator("#connection-status")).to_contain_text("Telegram knows it as mem_bot.")
    linked_at = time.monotonic()
    bot_api.write(42, FACT)
    until(lambda: any(text.startswith("Saved") for text in bot_api.texts(42)), SECONDS)
    remembered_at = time.monotonic()
    bot_api.write(42, "/memory")
    until(lambda: any("Hangzhou" in text and "1." in text for text in bot_api.texts(42)), SECONDS)
    expect(page.locator("#connection-status")).to_contain_text("It arrived.")
    if pictures:
        pictures.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=pictures / "connection.png")
        (pictures / "telegram.txt").write_text("\n---\n".join(bot_api.texts(42)), encoding="utf-8")
    print(f"login to connected {linked_at - began:.1f} s, {hands.clicks} clicks, {hands.fields} fields; then ", end="")
    print(f"from the first message to «Saved» {remembered_at - linked_at:.1f} s; load {os.getloadavg()[0]:.1f}")
