"""What is due is decided in one place: past its time, soon past it, or to be looked at again."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from memories import entries
from memories.choices import Due, EntryType
from memories.entries import Edit
from memories.lifecycle import expiry
from memories.models import Change, Entry, Policy, Scope, Workspace
from tests.conftest import NOW, Api, make_draft, make_key, make_scope
from tests.memories.admin.conftest import enter, make_user
from tests.memories.lifecycle.conftest import SAID, expire, live, remember

pytestmark = pytest.mark.django_db


def due(why: str, now: Any = NOW) -> set[str]:
    return set(Entry.objects.filter(expiry.due(why, now, Policy.objects.over)).values_list("content", flat=True))


def test_soon_is_a_week_before_the_end_and_over_is_the_end(workspace: Workspace, scope: Scope) -> None:
    for content, days in zip(SAID, (30, 29.9, 23, 22.9), strict=True):
        remember(scope, content, days_ago=days)
    assert due(Due.OVER) == {SAID[0]}
    assert due(Due.SOON) == {SAID[1], SAID[2]}


def test_every_workspace_is_asked_by_its_own_policies(workspace: Workspace, stranger: Workspace, scope: Scope) -> None:
    remember(scope, SAID[0], days_ago=10)
    remember(make_scope(stranger), SAID[1], days_ago=10)
    kind = {"kind": "ttl", "entry_type": EntryType.CHAT_TURN, "scope_kind": "user"}
    Policy.objects.create(workspace=workspace, value=9, **kind)
    Policy.objects.create(workspace=stranger, value=None, **kind)
    assert due(Due.OVER) == {SAID[0]}
    assert due(Due.OVER, NOW + timedelta(days=5_000)) == {SAID[0]}


@pytest.mark.thorough
@pytest.mark.parametrize("days", [0.5, 9.5, 29.5, 40])
def test_the_job_takes_exactly_what_is_listed_as_over(workspace: Workspace, scope: Scope, days: float) -> None:
    for number, content in enumerate(SAID):
        remember(scope, content, days_ago=days + number / 4, pinned=number == 0)
    remember(scope, "a term of its own", days_ago=1, expires_at=NOW - timedelta(minutes=1))
    listed = due(Due.OVER)
    assert expire(workspace)["entries"] == len(listed)
    assert set(Entry.objects.expired().values_list("content", flat=True)) == listed
    assert expiry.count_due(workspace.pk, now=NOW) == {"scopes": 0, "entries": 0}


def test_a_review_date_lists_a_memory_and_keeps_it_in_use(workspace: Workspace, scope: Scope) -> None:
    (entry,) = remember(scope, SAID[0], days_ago=1, type=EntryType.USER_EXPLICIT)
    edited = entries.update(entry, Edit(columns={"review_at": NOW}), now=NOW, actor="user:ann")
    assert (due(Due.REVIEW, NOW - timedelta(seconds=1)), due(Due.REVIEW)) == (set(), {SAID[0]})
    assert expire(workspace)["entries"] == 0
    assert live(scope) == {SAID[0]}
    change = Change.objects.filter(row_id=entry.pk, table_name="memories_entry").latest("id")
    assert (change.old["review_at"], change.actor) == (None, "user:ann")
    entries.update(edited, Edit(columns={"review_at": None}), now=NOW, actor="user:ann")
    assert due(Due.REVIEW) == set()


def test_bots_set_dates_of_review_and_ask_what_is_due(workspace: Workspace, api: Api) -> None:
    scope = make_scope(workspace, "telegram:direct_u42")
    entry = entries.remember(make_draft(scope, SAID[1]), now=NOW, actor="t").entry
    past = (timezone.now() - timedelta(hours=1)).isoformat()
    changed = api.request("PATCH", f"entries/{entry.uid}", f'{{"review_at": "{past}"}}')
    assert changed.status_code == 200 and changed.json()["review_at"] is not None
    listed = api.get("entries", due="review").json()
    assert [row["id"] for row in listed["entries" if "entries" in listed else "results"]] == [str(entry.uid)]
    assert api.get("entries", due="sometime").status_code == 400


def test_a_bot_of_another_workspace_is_told_nothing_of_what_is_due(
    workspace: Workspace, stranger: Workspace, scope: Scope
) -> None:
    remember(scope, *SAID, days_ago=4_000)
    theirs = Api(make_key(stranger))
    assert SAID[0] not in theirs.get("entries", due="over").content.decode()
    assert theirs.get("entries", due="over").status_code == 200


def test_the_admin_lists_what_is_due_and_sets_the_date(workspace: Workspace, stranger: Workspace) -> None:
    ann = enter(make_user("ann", workspace=workspace, is_staff=True))
    for owner in (workspace, stranger):
        entry = entries.remember(make_draft(make_scope(owner), f"{owner.name} has tea"), now=NOW, actor="t").entry
        entries.update(entry, Edit(columns={"review_at": NOW}), now=NOW, actor="t")
    shown = _list(ann, due="review")
    assert ("Alice&#x27;s has tea" in shown, "Charlie&#x27;s has tea" in shown) == (True, False)
    assert "has tea" not in _list(ann, due="over")


def _list(client: Client, **asked: str) -> str:
    return client.get(reverse("admin:memories_entry_changelist"), asked).content.decode()
