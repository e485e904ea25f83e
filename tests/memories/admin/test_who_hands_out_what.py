"""Nobody hands out more than they hold, and what becomes of keys stays to be read (F2)."""

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from memories.choices import Permission
from memories.models import BotKey
from memories.staff.roles import KEY_NEEDS, Role, rights_of
from tests.memories.admin.conftest import House

pytestmark = pytest.mark.django_db
FORM = {"confirmed": "yes", "label": "production", "scope_patterns": "", "expires": "30"}


def issue(client: Client, house: House, *permissions: str) -> int:
    address = reverse("admin:memories_bot_issue_key", args=[house.bot.pk])
    client.post(address, FORM | {"permissions": list(permissions)})
    return BotKey.objects.filter(permissions=list(permissions), label="production").count()


@pytest.mark.thorough
@pytest.mark.parametrize("permissions", [("admin",), ("read", "write", "admin"), ("read", "admin")])
def test_a_member_issues_no_key_that_administers(
    alice: Client, owner: Client, mine: House, permissions: tuple[str, ...]
) -> None:
    page = alice.get(reverse("admin:memories_bot_issue_key", args=[mine.bot.pk]))
    assert [value for value, _label in page.context["form"].fields["permissions"].choices] == [
        "read",
        "write",
        "webhooks",
    ]
    assert issue(alice, mine, *permissions) == 0
    assert issue(owner, mine, *permissions) == 1
    assert issue(alice, mine, "read", "write") == 1
    assert issue(alice, mine, "read", "webhooks") == 1


def test_only_who_may_make_webhooks_issues_keys_that_may() -> None:
    rights = KEY_NEEDS[Permission.WEBHOOKS]
    assert [role for role in Role if rights in rights_of(role)] == [Role.OWNER]


def test_revoking_stands_in_the_history_of_the_bot(alice: Client, mine: House) -> None:
    key = BotKey.objects.get(bot=mine.bot)
    alice.post(reverse("admin:memories_botkey_revoke", args=[key.pk]), {"confirmed": "yes"})
    assert (
        f"The key {key} is revoked."
        in alice.get(reverse("admin:memories_bot_history", args=[mine.bot.pk])).content.decode()
    )


def test_the_end_of_a_key_stands_on_the_page_of_its_bot(alice: Client, mine: House) -> None:
    BotKey.objects.filter(bot=mine.bot).update(expires_at=timezone.now().replace(year=2031, month=5, day=17))
    assert "2031" in alice.get(reverse("admin:memories_bot_change", args=[mine.bot.pk])).content.decode()
