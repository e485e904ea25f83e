"""Every page of the admin, looked through by axe-core: nothing serious in light or dark, on a screen or a phone."""

import re
from datetime import timedelta
from typing import Any

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from django.conf import settings
from django.test import Client
from django.utils import timezone
from playwright.sync_api import Page

from memories.lifecycle.expiry import expire_due
from memories.models import Workspace
from tests.conftest import TELEGRAM, Api, make_key

_RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]
_RUN = "options => axe.run(options).then(found => found.violations)"
_LINKS = "links => links.map(link => link.getAttribute('href'))"
_SERIOUS = {"serious", "critical"}
PHONE, SCREEN = {"width": 390, "height": 844}, {"width": 1280, "height": 900}


@pytest.fixture
def house(transactional_db: Any, admin_client: Client) -> str:
    """A workspace in which something has happened; the session of somebody who may see all of it."""
    workspace = Workspace.objects.create(name="Bakery")
    api = Api(make_key(workspace))
    long_ago = timezone.now() - timedelta(days=40)
    for user, at in (("The bakery is closed on Tuesdays", long_ago), ("我喜欢喝龙井茶", timezone.now())):
        turn = {"address": TELEGRAM, "user": user, "assistant": "Noted.", "at": at.isoformat()}
        assert api.post("turns", turn).status_code == 201
    for question in ("When is the bakery closed?", "我喜欢喝什么？"):
        assert api.post("recall", {"address": TELEGRAM, "message": question}).status_code == 200
    expire_due(workspace.pk, now=timezone.now(), run="expire:last night")
    return str(admin_client.cookies[settings.SESSION_COOKIE_NAME].value)


def problems(page: Page, *, only: list[str] | None = None) -> list[str]:
    """What axe-core finds serious on the page that is open, a line each."""
    rules = {"type": "rule", "values": only} if only else {"type": "tag", "values": _RULES}
    result = page.evaluate(_RUN, {"runOnly": rules, "resultTypes": ["violations"]})
    return [f"{page.url} {row['id']}: {row['nodes'][0]['html'][:160]}" for row in result if row["impact"] in _SERIOUS]


def pages_of(page: Page) -> list[str]:
    """Where the sidebar and the home page lead."""
    result = page.eval_on_selector_all("a[href^='/admin/']", _LINKS)
    return sorted({address for address in result if not re.search(r"[?#]|logout|/jsi18n", address)})


def first_row(page: Page) -> list[str]:
    result = page.eval_on_selector_all("#result_list a[href*='/change/']", _LINKS)
    return [address.split("?")[0] for address in result[:1]]


@pytest.mark.thorough
def test_no_page_keeps_anybody_out(house: str, page: Page) -> None:
    page.goto("/admin/login/")
    page.evaluate(AXE_SCRIPT)
    met = problems(page)
    here = page.url.removesuffix("admin/login/")
    page.context.add_cookies([{"name": settings.SESSION_COOKIE_NAME, "value": house, "url": here}])
    page.goto("/admin/")
    waiting, seen = pages_of(page), set()
    while waiting:
        address = waiting.pop()
        seen.add(address)
        page.set_viewport_size(SCREEN if len(seen) % 2 else PHONE)
        page.goto(address)
        page.evaluate(AXE_SCRIPT)
        met += problems(page)
        page.emulate_media(color_scheme="dark")
        met += problems(page, only=["color-contrast"])
        page.emulate_media(color_scheme="light")
        waiting += [row for row in first_row(page) if row not in seen]
    assert len(seen) > 30
    assert met == []
