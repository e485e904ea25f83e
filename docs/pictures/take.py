"""The pictures of the pages on connecting chat platforms: `make pictures`, or `python docs/pictures/take.py [NAME …]`.

Starts a platform of its own in an empty folder, and the vendors as our tests play them; connects a bot at each by the
forms of the admin, in English and Chinese, and stops all of it again. Needs Chromium and a font with Chinese, as
docs/screenshots/take.py does, which it uses.
"""

import os
import shutil
import signal
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Page, ViewportSize, expect, sync_playwright

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(ROOT), str(HERE.parent / "screenshots")]
FOLDER = Path(tempfile.mkdtemp(prefix="pictures-"))
os.environ |= {"DJANGO_SETTINGS_MODULE": "memplatform.settings", "MEMPLATFORM_DATA": str(FOLDER / "none")}
import django  # noqa: E402

django.setup()
import take as guide  # noqa: E402

from tests.memories.llm.fake_server import FakeModel  # noqa: E402
from tests.support import (  # noqa: E402
    fake_dingtalk,
    fake_lark,
    fake_slack,
    fake_telegram,
    fake_tencent,
    fake_wecom,
)

SHOWN_ADDRESS = "https://memory.example.org"
SCREEN = ViewportSize(width=1100, height=720)
ALL_SECONDS = 3_600
SAYINGS = {
    "en": ("Remember that I moved to Hangzhou in March.", "Where do I live?", "You live in Hangzhou, since March."),
    "zh-hans": ("请记住：我三月搬到了杭州。", "我什么时候搬到杭州的？", "三月。"),
}


@dataclass(frozen=True)
class Form:
    """What is typed in for a platform."""

    options: dict[str, str] = field(default_factory=dict)
    receiving: str = ""


FORMS = {
    "telegram": Form({"token": fake_telegram.TOKEN}),
    "slack": Form({"token": fake_slack.TOKEN, "app_token": fake_slack.APP_TOKEN}, "pull"),
    "lark": Form({"app_id": fake_lark.APP, "app_secret": fake_lark.SECRET}, "pull"),
    "dingtalk": Form({"client_id": fake_dingtalk.APP, "client_secret": fake_dingtalk.SECRET}, "pull"),
    "wechat": Form(
        {
            "app_id": fake_tencent.APP_ID, "app_secret": fake_tencent.APP_SECRET, "token": fake_tencent.TOKEN,
            "aes_key": fake_tencent.AES_KEY,
        }
    ),
    "wecom": Form({"bot_id": fake_wecom.BOT, "bot_secret": fake_wecom.SECRET}, "pull"),
    "web": Form({"title": "Ada"}),
}  # fmt: skip


def answered(request: Any) -> str:
    """What the model says: where somebody lives, else that it has taken note."""
    last = request.body["messages"][-1]["content"]
    for saying, question, answer in SAYINGS.values():
        if last in (saying, question):
            return answer if last == question else "Noted." if saying.isascii() else "好的，记住了。"
    return "Hello!"


def connect(tab: Page, packer: Page, name: str, language: str) -> None:
    """The form, filled in, and the page that follows."""
    tab.goto(f"/admin/channels_app/connection/add/?platform={name}")
    form = FORMS[name]
    if form.receiving:  # what it needs is shown then
        tab.locator("#id_receiving").select_option(form.receiving)
    for option, value in form.options.items():
        tab.locator(f"#id_option_{option}").fill(value)
    tab.evaluate("window.scrollTo(0, 0); document.activeElement.blur()")
    guide.shoot(tab, packer, f"connect-{name}.form.{language}", HERE)
    tab.locator("button[name=_save], input[name=_save]").first.click()
    tab.wait_for_url("**/change/")


def page_of(tab: Page, packer: Page, name: str, language: str) -> None:
    """The page of a connection, with an address that says that it is an example."""
    expect(tab.locator("#connection-status")).to_be_visible()
    tab.evaluate(
        """([url, shown]) => { for (const part of document.querySelectorAll("#connection-status pre"))
            part.textContent = part.textContent.replace(url, shown).replace(/[0-9a-f]{12}$/, "…"); }""",
        [tab.evaluate("location.origin"), SHOWN_ADDRESS],
    )
    guide.shoot(tab, packer, f"connect-{name}.page.{language}", HERE)


def chat(context: BrowserContext, tab: Page, packer: Page, language: str) -> None:
    """A conversation on the chat page: something is said, and asked for in another conversation."""
    with context.expect_page() as page_info:
        tab.locator("#connection-status a[target=_blank]").click()
    page = page_info.value
    saying, question, answer = SAYINGS[language]
    log = page.get_by_role("log")
    for words, sign in ((saying, "“"), ("/reset", "。" if language != "en" else "cleared"), (question, answer)):
        page.locator("#text").fill(words)
        page.locator("#text").press("Enter")
        expect(log.locator(".message:not(.mine)").filter(has_text=sign).last).to_be_visible(timeout=120_000)
        expect(log.locator(".writing")).to_have_count(0, timeout=120_000)
    expect(page.locator("#used li")).to_have_count(1, timeout=120_000)
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        guide.shoot(page, packer, f"chat.{language}.{theme}", HERE)
    page.close()


def take(browser: Browser, url: str, folder: Path, language: str, names: set[str], servers: dict[str, Any]) -> None:
    context = browser.new_context(base_url=url, locale=guide.LOCALES[language], viewport=SCREEN)
    tab, packer = context.new_page(), browser.new_page()
    tab.set_default_timeout(120_000)
    guide.log_in(tab, folder)
    tab.emulate_media(color_scheme="light")
    for name in FORMS:
        if names and name not in names:
            continue
        connect(tab, packer, name, language)
        if name == "telegram":
            servers[name].write(42, SAYINGS[language][0])
            expect(tab.locator("#connection-status")).to_contain_text("→", timeout=120_000)
        page_of(tab, packer, name, language)
        if name == "web":
            chat(context, tab, packer, language)
    context.close()


def main() -> None:
    signal.alarm(ALL_SECONDS)
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    names = set(sys.argv[1:])
    try:
        for language in guide.LOCALES:  # each with a platform of its own: a bot is connected once
            with ExitStack() as stack, sync_playwright() as playwright:
                servers: dict[str, Any] = {
                    "telegram": stack.enter_context(fake_telegram.fake_telegram()),
                    "slack": stack.enter_context(fake_slack.fake_slack()),
                    "lark": stack.enter_context(fake_lark.fake_lark()),
                    "dingtalk": stack.enter_context(fake_dingtalk.fake_dingtalk()),
                    "wechat": stack.enter_context(fake_tencent.fake_tencent()),
                    "wecom": stack.enter_context(fake_wecom.fake_wecom()),
                }
                model = stack.enter_context(FakeModel(otherwise=answered))
                folder = FOLDER / language
                folder.mkdir()
                url = stack.enter_context(guide.platform(folder, **settings_of(servers, model.url)))
                browser = playwright.chromium.launch(executable_path=program, args=guide.ARGUMENTS)
                take(browser, url, folder, language, names, servers)
                browser.close()
    finally:
        shutil.rmtree(FOLDER)


def settings_of(servers: dict[str, Any], model: str) -> dict[str, str]:
    """The addresses of the vendors as they are played, and of the model."""
    return {
        "MEMORY_LLM_BASE_URL": model,
        "MEMORY_LLM_MODEL": "small",
        "MEMPLATFORM_PUBLIC_URL": "{url}",
        "MEMPLATFORM_TELEGRAM_API_URL": servers["telegram"].url,
        "MEMPLATFORM_SLACK_API_URL": servers["slack"].url,
        "MEMPLATFORM_FEISHU_API_URL": servers["lark"].url,
        "MEMPLATFORM_DINGTALK_API_URL": servers["dingtalk"].url,
        "MEMPLATFORM_DINGTALK_SESSION_URL": servers["dingtalk"].url,
        "MEMPLATFORM_WECHAT_API_URL": servers["wechat"].url,
        "MEMPLATFORM_WECOM_SOCKET_URL": servers["wecom"].url,
    }


if __name__ == "__main__":
    main()
