"""A shorter time to live ends memories at once: whoever sets it is asked first, with the number."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from memories.models import Entry, Policy
from tests.memories.admin.conftest import House

pytestmark = pytest.mark.django_db
ADD = "admin:memories_policy_add"


@pytest.fixture
def aged(mine: House) -> House:
    """A workspace whose two memories of conversations are ten days old."""
    Entry.objects.filter(workspace=mine.workspace).update(
        stated_at=timezone.now() - timedelta(days=10), expired_at=None, suppressed_at=None
    )
    return mine


def life(house: House, days: str, **more: str) -> dict[str, Any]:
    about = {"kind": "ttl", "entry_type": "chat_turn", "scope_kind": "user"}
    return {"workspace": house.workspace.pk, **about, "value": days, **more}


def test_a_life_that_ends_memories_is_saved_only_after_the_number_was_seen(alice: Client, aged: House) -> None:
    asked = alice.post(reverse(ADD), life(aged, "7"))
    assert asked.status_code == 200
    assert "2 of 2 memories would no longer be recalled" in asked.content.decode()
    assert not Policy.objects.filter(kind="ttl").exists()
    assert alice.post(reverse(ADD), life(aged, "7", agreed="on")).status_code == 302
    assert Policy.objects.get(kind="ttl").value == 7


def test_a_life_that_ends_nothing_is_saved_without_a_question(alice: Client, aged: House) -> None:
    assert alice.post(reverse(ADD), life(aged, "20")).status_code == 302


def test_what_is_pinned_or_has_a_term_of_its_own_is_not_counted(alice: Client, aged: House) -> None:
    first, second = Entry.objects.filter(workspace=aged.workspace)
    Entry.objects.filter(pk=first.pk).update(pinned=True)
    Entry.objects.filter(pk=second.pk).update(expires_at=timezone.now() + timedelta(days=3))
    assert alice.post(reverse(ADD), life(aged, "7")).status_code == 302


def test_changing_a_life_asks_as_well(alice: Client, aged: House) -> None:
    alice.post(reverse(ADD), life(aged, "20"))
    change = reverse("admin:memories_policy_change", args=[Policy.objects.get(kind="ttl").pk])
    assert "2 of 2" in alice.post(change, {"value": "7"}).content.decode()
    assert alice.post(change, {"value": "7", "agreed": "on"}).status_code == 302


def test_bringing_back_or_removing_a_longer_life_says_what_would_end(alice: Client, aged: House) -> None:
    Entry.objects.filter(workspace=aged.workspace).update(stated_at=timezone.now() - timedelta(days=40))
    policy = Policy.objects.create(
        workspace=aged.workspace, kind="ttl", entry_type="chat_turn", scope_kind="user", value=7
    )
    policy.value = 60
    policy.save()
    remove = alice.get(reverse("admin:memories_policy_delete", args=[policy.pk]))
    assert "2 of 2" in remove.content.decode()
    assert "2 of 2" in alice.get(reverse("admin:memories_policy_version", args=[policy.pk, 1])).content.decode()


def test_the_question_is_asked_in_chinese_too(alice: Client, aged: House) -> None:
    asked = alice.post(reverse(ADD), life(aged, "7"), headers={"Accept-Language": "zh-CN"})
    assert "2 条记忆中有 2 条将不再被召回" in asked.content.decode()
