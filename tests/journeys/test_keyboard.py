"""The admin without a mouse: what belongs to the person who is logged in."""

from typing import Any

import pytest
from django.contrib.auth import get_user_model
from playwright.sync_api import Page, expect

MOST_STOPS = 150
_FOCUSED = "() => [document.activeElement.id, document.activeElement.innerText || ''].join(' ')"


@pytest.fixture
def page_of_alice(alice: None, page: Page) -> Page:
    page.goto("/admin/login/")
    page.get_by_label("Username").fill("alice")
    page.get_by_label("Password").fill("rye and spelt")
    page.keyboard.press("Enter")
    page.wait_for_url("**/admin/")
    expect(page.locator("#user-links:not([x-cloak])")).to_be_attached()  # the page's script has begun
    return page


@pytest.fixture
def alice(transactional_db: Any) -> None:
    get_user_model().objects.create_superuser("alice", password="rye and spelt")


def tab_to(page: Page, name: str) -> None:
    """Press Tab until what has the focus is called so."""
    for _stop in range(MOST_STOPS):
        page.keyboard.press("Tab")
        if name in page.evaluate(_FOCUSED):
            return
    raise AssertionError(f"{MOST_STOPS} stops, and none of them is {name}")


def open_menu(page: Page) -> None:
    tab_to(page, "user-menu")
    page.keyboard.press("Enter")
    expect(page.locator("#user-links")).to_be_visible()  # a moment after the key; then Tab leads into it


@pytest.mark.thorough
def test_a_person_logs_out_by_keyboard(page_of_alice: Page) -> None:
    page = page_of_alice
    button = page.locator("#user-menu")
    expect(button).to_have_attribute("aria-expanded", "false")
    open_menu(page)
    expect(button).to_have_attribute("aria-expanded", "true")
    tab_to(page, "Dark")
    page.keyboard.press("Escape")
    expect(page.locator("#user-links")).to_be_hidden()
    expect(button).to_be_focused()
    page.keyboard.press("Space")
    expect(page.locator("#user-links")).to_be_visible()
    tab_to(page, "Log out")
    with page.expect_navigation():
        page.keyboard.press("Enter")
    page.goto("/admin/")
    expect(page.get_by_label("Username")).to_be_visible()


@pytest.mark.thorough
def test_the_menu_closes_when_one_goes_on_and_the_theme_is_chosen_by_keyboard(page_of_alice: Page) -> None:
    page = page_of_alice
    open_menu(page)
    tab_to(page, "Dark")
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.documentElement.classList.contains('dark')")
    page.locator("#user-menu").focus()
    page.keyboard.press("Shift+Tab")
    expect(page.locator("#user-links")).to_be_hidden()
