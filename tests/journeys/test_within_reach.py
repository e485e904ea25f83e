"""Every page of the sidebar on a screen and on a phone, in both languages: what one came for is within reach."""

from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from django.utils import timezone
from playwright.sync_api import Page

from channels_app.models import Channel
from memories.models import Workspace
from tests.conftest import TELEGRAM, Api, make_key
from tests.journeys.test_accessibility import PHONE, SCREEN, pages_of
from tests.memories.admin.conftest import furnish

#: Every control that is seen but for a part outside the window, or outside what scrolls sideways within it; and every
#: field too narrow to read what is typed.
_OUT_OF_REACH = """() => {
  const wrong = [], width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth > width + 1) wrong.push("the page scrolls sideways");
  for (const element of document.querySelectorAll("a[href], button, input, select, textarea, summary")) {
    if (element.type === "hidden" || element.classList.contains("select2-hidden-accessible")) continue;
    if (!element.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
    const place = element.getBoundingClientRect();
    if (!place.width || !place.height) continue;
    const name = `${element.tagName} ${element.id || element.name || ""} "${element.textContent.trim().slice(0, 30)}"`;
    let [left, right] = [0, width];
    for (let around = element.parentElement; around && around !== document.body; around = around.parentElement) {
      if (!["auto", "scroll"].includes(getComputedStyle(around).overflowX)) continue;
      const edge = around.getBoundingClientRect();
      [left, right] = [Math.max(left, edge.left), Math.min(right, edge.right)];
    }
    if (place.left < left - 1 || place.right > right + 1) {
      wrong.push(`${name} from ${Math.round(place.left)} to ${Math.round(place.right)} of ${Math.round(right)}`);
    }
    const other = ["checkbox", "radio", "submit", "number", "file"];
    const isTyped = element.matches("textarea, select, input") && !other.includes(element.type);
    if (isTyped && place.width < 110) wrong.push(`${name} is ${Math.round(place.width)} wide`);
  }
  return wrong;
}"""
_MORE = "links => links.map(link => link.getAttribute('href').split('?')[0])"


@pytest.fixture
def house(transactional_db: Any, admin_client: Client) -> str:
    """A workspace with one of everything, some of it with long names; the session of somebody who may see all of it."""
    workspace = Workspace.objects.create(name="The bakery of the Miller & Sons family at the old bridge", language="en")
    furnish(workspace, "marmalade")
    api = Api(make_key(workspace, name="second bot"))
    turn = {"user": "我喜欢喝龙井茶，不加糖", "assistant": "记住了。", "sender_name": "王芳"}
    at = (timezone.now() - timedelta(days=3)).isoformat()
    address = {**TELEGRAM, "account": "the-bakery-with-a-long-name-bot", "peer": "peer-9081726354-of-a-long-number"}
    assert api.post("turns", {"address": address, "at": at, **turn}).status_code == 201
    Channel.objects.filter(account=address["account"]).update(dm_scope="main")
    return str(admin_client.cookies[settings.SESSION_COOKIE_NAME].value)


@pytest.mark.thorough
@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_no_control_is_outside_the_screen_and_no_field_too_narrow(language: str, house: str, page: Page) -> None:
    page.goto("/admin/login/")
    here = page.url.removesuffix("admin/login/")
    for name, value in ((settings.SESSION_COOKIE_NAME, house), (settings.LANGUAGE_COOKIE_NAME, language)):
        page.context.add_cookies([{"name": name, "value": value, "url": here}])
    page.goto("/admin/")
    waiting, seen, wrong = pages_of(page), set(), []
    while waiting:
        address = waiting.pop()
        seen.add(address)
        page.set_viewport_size(SCREEN)
        page.goto(address)
        for size in (SCREEN, PHONE):
            page.set_viewport_size(size)
            result = page.evaluate(_OUT_OF_REACH)
            wrong += [f"{address} at {size['width']}: {control}" for control in result]
        rows = page.eval_on_selector_all("#result_list a[href*='/change/']", _MORE)[:1]
        forms = page.eval_on_selector_all("a[href*='/add/'], a[href*='/set/']", _MORE)[:1]
        waiting += [more for more in {*rows, *forms} if more not in seen and more not in waiting]
    assert len(seen) > 50
    assert wrong == []
