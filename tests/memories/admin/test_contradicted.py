"""A line of the profile that something newer makes untrue says so on its page, and may be declared still true."""

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from memories import entries
from memories.choices import EntryType
from memories.models import Entry
from tests.conftest import make_draft
from tests.memories.admin.conftest import House

pytestmark = pytest.mark.django_db


@pytest.fixture
def line(mine: House) -> Entry:
    """Pam's employer of last year, and beside it the news."""
    data = {"actor": "test", "now": timezone.now()}
    draft = make_draft(mine.scope, "Pam works at Acme", type=EntryType.FACT, tier=1, category="identity")
    line = entries.remember(draft, **data).entry
    newer = "Pam no longer works at Acme, she works at Globex now"
    entries.remember(make_draft(mine.scope, newer, type=EntryType.USER_EXPLICIT), actor="test", now=timezone.now())
    return line


def page_of(line: Entry) -> str:
    return reverse("admin:memories_entry_change", args=[line.pk])


def test_its_page_names_what_contradicts_it(alice: Client, line: Entry) -> None:
    body = alice.get(page_of(line)).content.decode()
    assert "Contradicted" in body and "she works at Globex now" in body
    assert "已被推翻" in alice.get(page_of(line), headers={"Accept-Language": "zh-CN"}).content.decode()


def test_an_operator_says_that_it_is_still_true_and_history_keeps_who(alice: Client, line: Entry) -> None:
    button = reverse("admin:memories_entry_still_true", args=[line.pk])
    assert button in alice.get(page_of(line)).content.decode()
    assert alice.get(button).status_code == 200
    assert entries.contradiction_of(line) is not None  # asking changes nothing
    assert alice.post(button, {"confirmed": "yes"}).status_code == 302
    line.refresh_from_db()
    assert entries.contradiction_of(line) is None
    assert line.verified_by == "user:alice"
    assert "Contradicted" not in alice.get(page_of(line)).content.decode()


def test_a_line_nothing_contradicts_offers_no_such_button(alice: Client, mine: House) -> None:
    assert "still-true" not in alice.get(page_of(mine.entry)).content.decode()
