"""Taking out what was said in a group: the page names the copies and asks whether they go, too (A15)."""

import pytest
from django.test import Client
from django.urls import reverse

from memories.models import Batch, Entry
from tests.conftest import GROUP, Api, make_key
from tests.memories.admin.conftest import House

pytestmark = pytest.mark.django_db


@pytest.fixture
def copies(mine: House) -> tuple[Entry, Entry]:
    """The speaker's entry and the chat's."""
    turn = {"address": GROUP, "user": "my locker stands in hall 7741", "assistant": "Noted."}
    entries = Api(make_key(mine.workspace)).post("turns", turn).json()["entries"]
    own, chat = (Entry.objects.get(uid=entry["id"]) for entry in entries)
    return own, chat


def address(what: str, entry: Entry) -> str:
    return reverse(f"admin:memories_entry_{what}", args=[entry.pk])


def live() -> set[int]:
    return set(Entry.objects.live().filter(content__contains="7741").values_list("pk", flat=True))


def test_the_page_names_the_copies_and_takes_them_along(alice: Client, copies: tuple[Entry, Entry]) -> None:
    own, chat = copies
    page = alice.get(address("expire", own))
    assert "1 copy is in telegram:mybot:group_g1." in page.content.decode()
    assert page.context["form"].initial["copies"] is True
    assert (
        alice.post(address("expire", own), {"confirmed": "yes", "reason": "asked", "copies": "on"}).status_code == 302
    )
    assert live() == set()
    assert Batch.objects.filter(name="expire", reason="asked").count() == 2
    assert "1 copy is in" in alice.get(address("restore", chat)).content.decode()
    alice.post(address("restore", chat), {"confirmed": "yes", "reason": "a mistake", "copies": "on"})
    assert live() == {own.pk, chat.pk}


def test_told_otherwise_the_copies_stay(alice: Client, copies: tuple[Entry, Entry]) -> None:
    own, chat = copies
    alice.post(address("expire", own), {"confirmed": "yes", "reason": "asked"})
    assert live() == {chat.pk}


def test_what_has_no_copies_asks_no_more(alice: Client, mine: House) -> None:
    assert "copies" not in alice.get(address("expire", mine.entry)).context["form"].fields
