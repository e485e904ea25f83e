"""Ten jobs of an operator, played in a browser: clicks and seconds. `python -m benchmarks ten_jobs`.

A made-up bakery is told to the platform (docs/screenshots/demo.py). Each job begins at the home page and ends when the
page says that it is done; every click of the mouse counts, what is typed does not. The seconds are the machine's:
nobody reads or thinks. Needs Chromium (`make browser`). Of the admin as it was before, with the files of that commit:

    git worktree add ../before 9f850060
    python -m benchmarks ten_jobs --root ../before
"""

import argparse
import contextlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import httpx
from playwright.sync_api import Error, Locator, Page, ViewportSize, expect, sync_playwright

from benchmarks import ground

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "docs" / "screenshots"))
from demo import Bakery  # noqa: E402 - beside the pictures, which show the same bakery

ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
SCREEN = ViewportSize(width=1280, height=900)
TURN = {"address": {"platform": "cli"}, "user": "My dog is called Biscuit.", "assistant": "Noted."}
FILE = [{"memory": "Lena plays the cello on Thursdays."}, {"memory": "The delivery van is a red Kangoo."}]
BOT = "shop bot"
NOT_THERE = "not in the admin"


@dataclass
class Operator:
    """Somebody with a mouse."""

    page: Page
    url: str
    folder: Path
    clicks: int = 0
    answered: list[str] = field(default_factory=list)

    def click(self, what: Locator) -> None:
        """One click, and whatever page follows."""
        self.clicks += 1
        what.first.click()
        self.page.wait_for_load_state()

    def link(self, name: str | re.Pattern[str]) -> None:
        self.click(self.page.get_by_role("link", name=name))

    def button(self, name: str | re.Pattern[str]) -> None:
        self.click(self.page.get_by_role("button", name=name))

    def choose(self, what: Locator, value: str) -> None:
        """A list, opened and chosen from."""
        self.clicks += 2
        what.select_option(value)

    def sees(self, words: str | re.Pattern[str]) -> None:
        expect(self.page.get_by_text(words).first).to_be_visible()


Job = Callable[[Operator], None]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--root", type=Path, default=ROOT, help="the files of 9f850060, to play them in its admin")


def main(data: Path, options: argparse.Namespace) -> None:
    root = options.root.resolve()
    with ground.platform(data, root) as house:
        url = f"http://127.0.0.1:{house.port}"
        bakery(url, data, root)
        play(url, data, is_now=root == ROOT)


def play(url: str, folder: Path, *, is_now: bool) -> None:
    """All of them, one after the other, a row each."""
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    print("| job | clicks | seconds |\n|---|---|---|")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=ARGUMENTS)
        page = browser.new_context(base_url=url, locale="en-US", viewport=SCREEN).new_page()
        page.set_default_timeout(60_000)
        expect.set_options(timeout=60_000)
        log_in(page, folder)
        for name, (now, before) in JOBS.items():
            print(f"| {name} | {played(now if is_now else before, page, url, folder)} |", flush=True)
        browser.close()


def bakery(url: str, folder: Path, root: Path) -> None:
    """What was said, what the night took, what was asked, and what waits."""
    shop = Bakery(url, (folder / "credentials" / "bot-key").read_text().strip())
    shop.talk()
    environment = {**os.environ, "MEMPLATFORM_DATA": str(folder)}
    subprocess.run([sys.executable, "manage.py", "expire"], env=environment, cwd=root, check=True)
    shop.ask()
    shop.propose()


def log_in(page: Page, folder: Path) -> None:
    page.goto("/admin/")
    page.locator("#id_username").fill("operator")
    page.locator("#id_password").fill((folder / "credentials" / "operator-password").read_text().strip())
    page.locator("#id_password").press("Enter")
    page.wait_for_url("**/admin/")


def played(job: Job | None, page: Page, url: str, folder: Path) -> str:
    """Clicks and seconds of a job, or why there are none."""
    if job is None:
        return f"{NOT_THERE} | "
    page.goto("/admin/")
    operator = Operator(page, url, folder)
    began = time.monotonic()
    try:
        job(operator)
    except (Error, AssertionError) as problem:
        page.screenshot(path=str(Path(tempfile.gettempdir()) / f"{job.__name__}.png"))
        return f"failed after {operator.clicks}: {str(problem).splitlines()[0]} | "
    return f"{operator.clicks} | {time.monotonic() - began:.1f}"


def send(operator: Operator, key: str) -> None:
    """What a bot with this key says first."""
    headers = {"Authorization": f"Bearer {key}"}
    response = httpx.post(f"{operator.url}/api/v1/turns", json=TURN, headers=headers, timeout=60)
    response.raise_for_status()


# the jobs


def connect(operator: Operator) -> None:
    operator.link("Connect a bot")
    operator.page.get_by_label("Name of the bot").fill(BOT)
    operator.button("Make the key and the code")
    operator.click(operator.page.locator("button[data-copy=text-turn]"))
    words = shlex.split(operator.page.locator("#text-turn").text_content() or "")
    send(operator, next(word for word in words if "Bearer" in word).rpartition(" ")[2])
    operator.sees("My dog is called Biscuit.")


def connect_before(operator: Operator) -> None:
    """A bot, then a key of it; the call is written by hand, and what arrives is looked for."""
    page = operator.page
    operator.link("Bots")
    operator.click(page.locator("a[href*='/bot/add/']"))
    operator.choose(
        page.locator("select[name=workspace]"),
        page.locator("select[name=workspace] option").last.get_attribute("value") or "",
    )
    page.locator("#id_name").fill(BOT)
    operator.button(re.compile("^Save$"))
    operator.click(page.locator("#result_list").get_by_role("link", name=BOT))
    operator.link("Issue a key")
    page.locator("input[name=label]").fill("production")
    for permission in ("read", "write"):
        box = page.locator(f"input[name=permissions][value={permission}]")
        if not box.is_checked():
            operator.click(box)
    operator.button("Issue the key")
    key = re.search(r"mp_\w+", page.locator("#content").inner_text())
    assert key, "no key is shown"
    send(operator, key.group())
    operator.link("Entries")
    operator.sees("My dog is called Biscuit.")


def find_person(operator: Operator) -> None:
    operator.link("People")
    operator.link("Ann Miller")
    operator.sees("I drink my coffee black")


def palette(operator: Operator, words: str) -> None:
    operator.page.keyboard.press("Control+k")
    expect(operator.page.get_by_placeholder("Type to search")).to_be_focused()
    operator.page.keyboard.type(words)


def find_person_by_palette(operator: Operator) -> None:
    palette(operator, "Ann Mil")
    operator.click(operator.page.get_by_role("link", name=re.compile("Ann Miller")))
    operator.sees("I drink my coffee black")


def why(operator: Operator) -> None:
    operator.link("Sessions")
    operator.click(operator.page.locator("#result_list").get_by_role("link", name="ann", exact=True))
    operator.click(operator.page.locator(".mp-line a[href*='recalltrace']").last)
    operator.sees("What the bot answered")


def correct(operator: Operator) -> None:
    operator.link("Entries")
    operator.page.locator("#searchbar").fill("walnuts")
    operator.page.locator("#searchbar").press("Enter")
    operator.click(operator.page.locator("#result_list").get_by_role("link", name=re.compile("walnuts")))
    operator.page.locator("#id_content").fill("My daughter Lena cannot eat walnuts or pecans.")
    operator.button(re.compile("^Save$"))
    operator.sees(re.compile("was changed|saved", re.IGNORECASE))


def take_out(operator: Operator) -> None:
    operator.link("Sessions")
    operator.click(operator.page.locator("#result_list").get_by_role("link", name="ann", exact=True))
    operator.click(operator.page.locator(".mp-line:has-text('spare key') + .mp-made .mp-take-out[href*='take-out']"))
    operator.button("Take this out")
    operator.sees(re.compile("taken out"))


def undo(operator: Operator) -> None:
    operator.link("Batches")
    operator.click(operator.page.locator("#result_list a[href*='/change/']"))
    operator.link("Undo …")
    operator.page.get_by_label("Reason").fill("it was harmless")
    operator.button("Undo")
    operator.sees(re.compile("Undone: "))


def restore(operator: Operator) -> None:
    operator.link("Entries")
    operator.link("Expired last night")
    operator.link(re.compile("with a term"))
    operator.page.get_by_label("Reason").fill("they were needed")
    operator.button("Restore")
    operator.sees(re.compile("in use again"))


def term(operator: Operator) -> None:
    operator.link("Policies")
    operator.link("30 days")
    operator.page.locator("#id_chat_turn-user").fill("20")
    operator.button("Preview")
    operator.button("Save these policies")
    operator.sees(re.compile("policy was changed"))


def review(operator: Operator) -> None:
    operator.link("Review")
    operator.sees(re.compile("Nobody asked for these|半年没有人问起"))
    operator.button(re.compile("^Approve"))
    operator.sees(re.compile("[Aa]pproved|Undo"))


@contextlib.contextmanager
def file_to_import() -> Iterator[Path]:
    """What mem0 exports."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mem0.json"
        path.write_text(json.dumps({"results": FILE}))
        yield path


def bring_in(operator: Operator) -> None:
    operator.link("Import")
    with file_to_import() as path:
        operator.clicks += 1  # the button of the file
        operator.page.locator("input[type=file]").set_input_files(str(path))
        operator.click(operator.page.locator(".select2-selection"))
        operator.page.keyboard.type("Ann")
        operator.click(operator.page.locator(".select2-results__option").filter(has_text="Ann"))
        operator.button("Show what it would bring")
    operator.sees("Lena plays the cello")
    operator.button(re.compile("Bring|Import"))
    operator.sees(re.compile("Applied: Create: 2"))


def invite(operator: Operator) -> None:
    operator.link("Members")
    operator.link(re.compile("Invite somebody"))
    make_invitation(operator)


def invite_by_palette(operator: Operator) -> None:
    palette(operator, "Invite")
    operator.click(operator.page.get_by_role("link", name=re.compile("Invite somebody")))
    make_invitation(operator)


def make_invitation(operator: Operator) -> None:
    operator.choose(operator.page.locator("select[name=role]"), "auditor")
    operator.button(re.compile("link", re.IGNORECASE))
    operator.sees(re.compile("/join/#"))


JOBS: dict[str, tuple[Job | None, Job | None]] = {
    "connect a bot, until its first turn is seen": (connect, connect_before),
    "see all that is remembered of somebody": (find_person, find_person),
    "… with the palette (⌘K)": (find_person_by_palette, None),
    "why did the bot say that?": (why, why),
    "correct a memory": (correct, correct),
    "take a message out of memory": (take_out, take_out),
    "undo what was done last": (undo, undo),
    "bring back what last night took": (restore, restore),
    "another time to live, with its preview": (term, term),
    "decide on what waits": (review, review),
    "import a file, after a dry run": (bring_in, None),
    "invite a colleague": (invite, invite),
    "… with the palette": (invite_by_palette, None),
}
