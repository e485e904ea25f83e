"""What an operator does to several memories at once, and adding one by hand: counted, with a reason, to be undone."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from memories import batches
from memories.choices import Category
from memories.models import Batch, Entry, Scope, Suppression
from tests.memories.admin.conftest import House
from tests.memories.admin.test_entries import page_of, remember

pytestmark = pytest.mark.django_db
LIST, ADD = "/admin/memories/entry/", "/admin/memories/entry/add/"
SURE = {"confirmed": "yes", "reason": "tidying"}


def act(client: Client, action: str, entries: list[Entry], **data: Any) -> Any:
    return client.post(LIST, {"action": action, "_selected_action": [entry.pk for entry in entries], **data})


def undo_all() -> None:
    for batch in Batch.objects.filter(undoes=None, actor="user:alice").order_by("-pk"):
        batches.apply_batch(batches.plan_undo(batch, actor="user:alice", now=timezone.now()), now=timezone.now())


@pytest.fixture
def several(mine: House) -> list[Entry]:
    return [remember(mine.scope, text) for text in ("the oven is at 220 degrees", "面包房每周二休息")]


def test_the_page_that_asks_says_what_they_are_in_numbers(alice: Client, mine: House, several: list[Entry]) -> None:
    expired = Entry.objects.get(workspace=mine.workspace, expired_at__isnull=False)
    counts = act(alice, "expire_chosen", [*several, expired]).context["counts"]
    states, scopes, _types = [dict(values) for _label, values, _more in counts]
    assert states == {"Live": 2, "Expired": 1} and scopes == {str(mine.scope): 3}


@pytest.mark.thorough
def test_type_term_and_check_are_set_in_batches_that_can_be_undone(
    alice: Client, mine: House, several: list[Entry]
) -> None:
    before = list(Entry.objects.filter(pk__in=[item.pk for item in several]).order_by("pk").values())
    for action, data in (
        ("retype_chosen", {"type": "fact1"}),
        ("term_chosen", {"term": "30"}),
        ("checked_chosen", {"again": "90"}),
    ):
        done = act(alice, action, several, **SURE, **data)
        assert (done.status_code, done.headers["Location"]) == (302, LIST)
    now = timezone.now()
    for entry in Entry.objects.filter(pk__in=[item.pk for item in several]):
        assert (entry.type, entry.tier, entry.verified_by) == ("fact", 1, "user:alice")
        assert entry.expires_at and timedelta(days=29) < entry.expires_at - now < timedelta(days=31)
        assert entry.review_at and entry.verified_at and entry.review_at > now + timedelta(days=89)
    body = alice.get(f"/admin/memories/batch/{Batch.objects.filter(actor='user:alice').latest('pk').pk}/change/")
    assert "tidying" in body.content.decode()
    undo_all()
    after = list(Entry.objects.filter(pk__in=[item.pk for item in several]).order_by("pk").values())
    counted = ("version", "updated_at")
    assert [{k: v for k, v in row.items() if k not in counted} for row in after] == [
        {k: v for k, v in row.items() if k not in counted} for row in before
    ]


@pytest.mark.thorough
def test_secrets_are_taken_out_of_memories_and_put_back(alice: Client, mine: House) -> None:
    door, movers = (remember(mine.scope, text) for text in ("The door code is 5566.", "The movers come on Tuesday"))
    assert (door.category, door.subtype) == ("credential", "secret:code")
    assert act(alice, "mask_chosen", [door, movers], **SURE).status_code == 302
    door.refresh_from_db()
    assert (door.content, door.category, door.subtype) == ("The door code is [secret].", "credential", "")
    movers.refresh_from_db()
    assert (movers.content, movers.category, movers.version) == ("The movers come on Tuesday", "", 1)
    undo_all()
    door.refresh_from_db()
    assert (door.content, door.category, door.subtype) == ("The door code is 5566.", "credential", "secret:code")


def test_what_is_no_secret_becomes_a_memory_like_any_other_and_a_credential_again(alice: Client, mine: House) -> None:
    door, saved = remember(mine.scope, "The door code is 5566."), remember(mine.scope, "the key hangs behind the clock")
    Entry.objects.filter(pk=saved.pk).update(category=Category.CREDENTIAL)
    assert act(alice, "no_secret_chosen", [door, saved], **SURE).status_code == 302
    door.refresh_from_db()
    assert (door.content, door.category, door.subtype) == ("The door code is 5566.", "", "")
    saved.refresh_from_db()
    assert saved.category == Category.CREDENTIAL, "somebody said so; nothing was recognised in it"
    undo_all()
    door.refresh_from_db()
    assert (door.category, door.subtype) == ("credential", "secret:code")


def test_memories_move_to_another_scope_and_back(alice: Client, mine: House, theirs: House) -> None:
    target = Scope.objects.create(workspace=mine.workspace, key="telegram:direct_ben", kind="user")
    at = timezone.now() - timedelta(days=3)
    entry = remember(
        mine.scope, "the safe is green", at=at, slots={"room": "9"}, origins=("session_events/a/1/event-1",)
    )
    plain = remember(mine.scope, "the door is blue", at=at)
    foreign = act(alice, "move_chosen", [entry], **SURE, scope=theirs.scope.pk)
    assert foreign.status_code == 200 and foreign.context["form"].errors["scope"]
    assert act(alice, "move_chosen", [entry, plain], **SURE, scope=target.pk).status_code == 302
    moved = Entry.objects.in_scope(target).get(content="the safe is green")
    assert (moved.stated_at, moved.origins, moved.slots.get().value) == (at, entry.origins, "9")
    assert Entry.objects.in_scope(target).live().count() == 2
    assert not Entry.objects.in_scope(mine.scope).live().filter(pk__in=[entry.pk, plain.pk]).exists()
    undo_all()
    assert not Entry.objects.in_scope(target).live().exists()
    assert Entry.objects.in_scope(mine.scope).live().filter(pk__in=[entry.pk, plain.pk]).count() == 2


@pytest.mark.thorough
def test_what_was_taken_out_there_stays_where_it_is(alice: Client, mine: House) -> None:
    target = Scope.objects.create(workspace=mine.workspace, key="telegram:direct_ben", kind="user")
    there = remember(target, "the safe is green", type="fact", tier=2, source="extraction")
    act(alice, "expire_chosen", [there], **SURE)
    assert Suppression.objects.filter(scope=target).exists()
    entry = remember(mine.scope, "the safe is green", type="fact", tier=2, source="extraction")
    act(alice, "move_chosen", [entry], **SURE, scope=target.pk)
    assert Entry.objects.get(pk=entry.pk).is_live() and not Entry.objects.in_scope(target).live().exists()


def test_a_memory_is_added_by_hand_with_its_reason(alice: Client, mine: House) -> None:
    assert alice.get(ADD).status_code == 200
    data = {
        "scope": mine.scope.pk, "content": "面包房的备用钥匙在王芳那里", "type": "fact2", "category": Category.CONFIG,
        "term": "90", "slots": "room = 9", "pinned": "on", "project": "bakery", "reason": "she asked",
    }  # fmt: skip
    done = alice.post(ADD, data)
    entry = Entry.objects.get(content=data["content"])
    assert done.headers["Location"] == page_of(entry, "change")
    assert (entry.type, entry.tier, entry.source, entry.category) == ("fact", 2, "manual", "config")
    assert entry.pinned and entry.expires_at and entry.slots.get().value == "9"
    batch = Batch.objects.get(reason="she asked")
    batches.apply_batch(batches.plan_undo(batch, actor="user:alice", now=timezone.now()), now=timezone.now())
    assert not Entry.objects.get(pk=entry.pk).is_live()


@pytest.mark.parametrize(
    ("field", "value"),
    [("content", " "), ("content", "x" * 100_000), ("slots", "no value"), ("slots", "x" * 90 + "=1"), ("reason", ""),
     ("type", "chat_turn"), ("scope", "")],
)  # fmt: skip
def test_what_cannot_be_stored_is_refused_at_its_field(alice: Client, mine: House, field: str, value: str) -> None:
    data = {"scope": mine.scope.pk, "content": "a spare key", "type": "fact2", "reason": "she asked", field: value}
    answer = alice.post(ADD, data)
    assert answer.status_code == 200 and answer.context["form"].errors[field]
    assert not Batch.objects.filter(reason="she asked").exists()


def test_nobody_adds_to_a_scope_out_of_reach_or_frozen(alice: Client, dora: Client, theirs: House, mine: House) -> None:
    data = {"content": "a spare key", "type": "fact2", "reason": "she asked"}
    assert alice.post(ADD, {**data, "scope": theirs.scope.pk}).context["form"].errors["scope"]
    Scope.objects.filter(pk=mine.scope.pk).update(frozen=True)
    assert alice.post(ADD, {**data, "scope": mine.scope.pk}).context["form"].errors["scope"]
    assert dora.get(ADD).status_code == 403
    assert not Entry.objects.filter(content="a spare key").exists()
