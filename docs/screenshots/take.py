"""The pictures of the operator's guide: `python docs/screenshots/take.py [NAME …]`.

Starts a platform of its own in an empty folder on a free port, tells it a made-up story (demo.py), takes every picture
in English and Chinese, light and dark, and stops the platform again. Nothing else is asked or touched. Needs Chromium
(`make browser`) and a font with Chinese. It ends by itself after an hour at the latest.
"""

import base64
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from demo import Bakery
from playwright.sync_api import Browser, Locator, Page, ViewportSize, sync_playwright

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
LOCALES = {"en": "en-US", "zh-hans": "zh-CN"}
SCREEN, PHONE = ViewportSize(width=1280, height=800), ViewportSize(width=390, height=844)
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
START_SECONDS, ALL_SECONDS = 600, 3_600
LARGEST = 120_000  # bytes of a picture


@contextmanager
def platform(folder: Path, **more: str) -> Iterator[str]:
    """A platform with its data in `folder`; yields its address and stops it afterwards.

    `more` settings may hold `{url}`, its address.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    variables = environment(folder, port) | {name: value.replace("{url}", url) for name, value in more.items()}
    with (folder / "start.log").open("wb") as log:
        process = subprocess.Popen(manage("up"), env=variables, stdout=log, stderr=log, cwd=ROOT)
    try:
        wait_for(f"{url}/readyz", process)
        yield url
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def manage(*words: str) -> list[str]:
    return [sys.executable, str(ROOT / "manage.py"), *words]


def environment(folder: Path, port: int = 8000) -> dict[str, str]:
    """Without any setting of whoever takes the pictures."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith(("MEMORY_", "MEMPLATFORM_"))}
    return variables | {"MEMPLATFORM_DATA": str(folder), "MEMPLATFORM_PORT": str(port)}


def wait_for(url: str, process: "subprocess.Popen[bytes]") -> None:
    for _ in range(START_SECONDS * 2):
        if process.poll() is not None:
            raise SystemExit("The platform did not start.")
        try:
            urllib.request.urlopen(url, timeout=5).close()
            return
        except OSError:
            time.sleep(0.5)
    raise SystemExit(f"The platform was not ready after {START_SECONDS} seconds.")


# what is in each picture


def conversation(page: Page, about: dict[str, str]) -> None:
    page.goto("/admin/sessions_app/session/")
    press(page.locator("#result_list").get_by_role("link", name=about["peer"], exact=True))


def recall(page: Page, about: dict[str, str]) -> None:
    conversation(page, about)
    press(page.locator(".mp-line a[href*='recalltrace']").last)


def again(page: Page, about: dict[str, str]) -> None:
    recall(page, about)
    press(page.locator("a[href='?again=1']"))


def last_night(page: Page, about: dict[str, str]) -> None:
    page.goto("/admin/memories/batch/last-night/restore/")


def take_out(page: Page, about: dict[str, str]) -> None:
    conversation(page, about)
    press(page.locator(f".mp-line:has-text('{about['out']}') + .mp-made .mp-take-out"))


def review(page: Page, about: dict[str, str]) -> None:
    page.goto("/admin/review/")
    while not page.get_by_text(about["scope"]).count():
        press(page.locator("[data-key=j]"))


def policy(page: Page, about: dict[str, str]) -> None:
    page.goto("/admin/memories/policy/")
    press(page.locator("main a, #content a").filter(has_text=re.compile("^30 (days|天)")))
    page.locator("#id_chat_turn-user").fill("5")
    press(page.locator("#content form button[type=submit], #content form input[type=submit]"))


def quarantine(page: Page, about: dict[str, str]) -> None:
    page.goto("/admin/quarantine/")
    press(page.get_by_role("link", name=about["why"]))


def person(page: Page, about: dict[str, str]) -> None:
    page.goto("/admin/channels_app/person/")
    press(page.get_by_role("link", name=about["name"]))


def lab(page: Page, about: dict[str, str]) -> None:
    page.goto("/admin/lab/")
    page.locator("[name=message]").fill(about["ask"])
    page.locator("[name=whom]").fill(about["scope"])
    press(page.locator("form button.mp-yes"))
    page.locator(".mp-banner").last.evaluate("element => element.scrollIntoView({block: 'center'})")


def invite(page: Page, about: dict[str, str]) -> None:
    page.goto("/admin/memories/member/invite/")


def audit(page: Page, about: dict[str, str]) -> None:
    page.goto("/admin/memories/auditrecord/")


def home(page: Page, about: dict[str, str]) -> None:
    page.goto("/admin/")


def press(what: Locator) -> None:
    what.first.click()
    what.page.wait_for_load_state("networkidle")


PICTURES: list[Callable[[Page, dict[str, str]], None]] = [
    recall, again, last_night, take_out, review, policy, quarantine, person, invite, audit, lab, home,
]  # fmt: skip
ON_A_PHONE = {home, recall, review}


# taking them


def log_in(page: Page, folder: Path) -> None:
    page.goto("/admin/")
    page.locator("#id_username").fill("operator")
    page.locator("#id_password").fill((folder / "credentials" / "operator-password").read_text().strip())
    page.locator("#id_password").press("Enter")
    page.wait_for_url("**/admin/")


def take(browser: Browser, url: str, folder: Path, bakery: Bakery, names: set[str]) -> None:
    packer = browser.new_page()
    for language, locale in LOCALES.items():
        tab = browser.new_context(base_url=url, locale=locale, viewport=SCREEN).new_page()
        tab.set_default_timeout(120_000)
        log_in(tab, folder)
        for picture in PICTURES:
            name = picture.__name__.replace("_", "-")
            if names and name not in names:
                continue
            for theme in ("light", "dark"):
                tab.emulate_media(color_scheme=theme)
                picture(tab, bakery.about[language])
                shoot(tab, packer, f"{name}.{language}.{theme}")
            if picture in ON_A_PHONE:
                tab.emulate_media(color_scheme="light")
                tab.set_viewport_size(PHONE)
                picture(tab, bakery.about[language])
                shoot(tab, packer, f"{name}.{language}.phone")
                tab.set_viewport_size(SCREEN)


def shoot(tab: Page, packer: Page, name: str, to: Path = HERE) -> None:
    """Keep what the tab shows, in few colours."""
    tab.wait_for_load_state("networkidle")
    tab.evaluate("document.fonts.ready")
    whole = base64.b64encode(tab.screenshot(animations="disabled", caret="hide")).decode()
    picture = base64.b64decode(packer.evaluate((HERE / "palette.js").read_text(), whole))
    if len(picture) > LARGEST:
        raise SystemExit(f"{name}: {len(picture):,} bytes, more than {LARGEST:,}")
    (to / f"{name}.png").write_bytes(picture)
    print(f"{name}.png {len(picture):,}")


def prepare(browser: Browser, url: str, folder: Path) -> Bakery:
    """The story: what was said, what the night took, what was asked, what waits, what is in quarantine."""
    bakery = Bakery(url, (folder / "credentials" / "bot-key").read_text().strip())
    bakery.talk()
    subprocess.run(manage("expire"), env=environment(folder), cwd=ROOT, check=True, timeout=300)
    bakery.ask()
    bakery.propose()
    for language, about in bakery.about.items():
        page = browser.new_context(base_url=url, locale=LOCALES[language]).new_page()
        log_in(page, folder)
        conversation(page, about)
        press(page.locator(f".mp-line:has-text('{about['poison']}') + .mp-made a[href*='quarantine']"))
        page.locator("[name=reason]").fill(about["why"])
        press(page.locator("#content form button[type=submit]"))
        page.close()
    return bakery


def main() -> None:
    signal.alarm(ALL_SECONDS)
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    folder = Path(tempfile.mkdtemp(prefix="pictures-"))
    try:
        with platform(folder) as url, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=program, args=ARGUMENTS)
            take(browser, url, folder, prepare(browser, url, folder), set(sys.argv[1:]))
            browser.close()
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
