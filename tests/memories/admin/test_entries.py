"""What an operator does with memories: find, read, correct, take out, bring back."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from memories import entries
from memories.choices import EntryType, Source
from memories.models import Batch, Change, Entry, Scope, Slot
from tests.conftest import make_draft
from tests.memories.admin.conftest import House

LIST = "admin:memories_entry_changelist"
pytestmark = pytest.mark.django_db


def remember(scope: Scope, content: str, **kwargs: Any) -> Entry:
    at = kwargs.pop("at", timezone.now())
    return entries.remember(make_draft(scope, content, at=at, **kwargs), now=at, actor="test").entry


def found(client: Client, **asked: str) -> list[str]:
    response = client.get(reverse(LIST), asked)
    assert response.status_code == 200, response.get("Location")
    return [entry.content for entry in response.context["cl"].result_list]


def page_of(entry: Entry, *rest: str) -> str:
    return "/".join([f"/admin/memories/entry/{entry.pk}", *rest, ""])


def form_of(entry: Entry, **changes: Any) -> dict[str, Any]:
    """The form of an entry as a browser sends it back, with these fields changed."""
    slots = list(entry.slots.order_by("name"))
    data: dict[str, Any] = {
        "content": entry.content,
        "category": entry.category,
        "project": entry.project,
        "topic": entry.topic,
        "importance": entry.importance,
        "opened_version": entry.version,
        "slots-TOTAL_FORMS": len(slots),
        "slots-INITIAL_FORMS": len(slots),
    }
    for n, slot in enumerate(slots):
        data |= {f"slots-{n}-id": slot.pk, f"slots-{n}-entry": entry.pk}
        data |= {f"slots-{n}-name": slot.name, f"slots-{n}-value": slot.value}
    return data | changes


def test_it_works(alice: Client, mine: House) -> None:
    assert len(found(alice)) == 2
    assert alice.get(page_of(mine.entry, "change")).status_code == 200


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("question", "hit"),
    [
        ("cinnamon", "English"),
        ("Cinnamons", "English"),  # by its stem
        ("the cinnamon", "English"),  # a word that stands everywhere
        ("port 8080", "English"),
        ('"on port 8080"', "English"),
        ('"8080 port"', ""),
        ("年糕", "Chinese"),
        ("猫叫", "Chinese"),  # across the borders of words
        ("糕", "Chinese"),  # a single character
        ("猫 三岁", "Chinese"),
        ("年糕 cinnamon", ""),
    ],
)
def test_memories_are_found_by_their_words_in_both_languages(
    question: str, hit: str, alice: Client, mine: House
) -> None:
    texts = {"English": "The service for cinnamon buns listens on port 8080", "Chinese": "我的猫叫年糕，三岁了"}
    for text in texts.values():
        remember(mine.scope, text)
    assert found(alice, q=question) == ([texts[hit]] if hit else [])


def test_an_id_finds_its_entry(alice: Client, mine: House) -> None:
    assert found(alice, q=str(mine.entry.uid)) == [mine.entry.content]
    assert found(alice, q=str(uuid4())) == []


@pytest.mark.thorough
@pytest.mark.parametrize("question", ["\0", "'", '"', "%", "' OR 1=1 --", "𠮷" * 500, "\u202e"])
def test_whatever_is_typed_into_the_search_the_page_stands(question: str, alice: Client, mine: House) -> None:
    assert alice.get(reverse(LIST), {"q": question}).status_code == 200


@pytest.mark.thorough
def test_entries_are_filtered_by_where_they_stand(alice: Client, mine: House) -> None:
    now = timezone.now()
    old = remember(mine.scope, "User: long ago", at=now - timedelta(days=400), **turn())
    assert old.content in found(alice, state="due")
    assert old.content not in found(alice, state="live")
    assert found(alice, state="expired") == ["User: My neighbour planted a marmalade tree\nAssistant: Noted."]
    for nowhere in ("archived", "superseded", "suppressed"):
        assert found(alice, state=nowhere) == []


def test_due_follows_the_policy_of_the_workspace(alice: Client, mine: House) -> None:
    now = timezone.now()
    entry = remember(mine.scope, "User: last week", at=now - timedelta(days=7), **turn())
    assert entry.content in found(alice, state="live")
    mine.workspace.policies.create(kind="ttl", entry_type=EntryType.CHAT_TURN, scope_kind="user", value=3)
    assert entry.content in found(alice, state="due")
    assert entry.content not in found(alice, state="live")


def turn() -> dict[str, Any]:
    return {"type": EntryType.CHAT_TURN, "source": Source.CONVERSATION_CAPTURE, "slots": {"sender_id": "u42"}}


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("asked", "count"),
    [
        ({"type__exact": "fact"}, 1),
        ({"category__exact": "identity"}, 1),
        ({"tier": "1"}, 1),
        ({"tier": "none"}, 2),
        ({"project": "apollo"}, 1),
        ({"source__exact": "manual"}, 1),
        ({"pinned__exact": "1"}, 1),
        ({"created_at_from": "2020-01-01"}, 3),
        ({"created_at_to": "2020-01-01"}, 0),
        ({"created_at_from": "yesterday", "created_at_to": "0001-01-01"}, 3),
    ],
)
def test_filters_narrow_the_list(asked: dict[str, str], count: int, alice: Client, mine: House) -> None:
    about = {"type": EntryType.FACT, "tier": 1, "category": "identity", "project": "apollo", "pinned": True}
    remember(mine.scope, "Ada leads the lunar team", source=Source.MANUAL, **about)
    assert len(found(alice, **asked)) == count
    assert len(found(alice, **asked, scope__id__exact=str(mine.scope.pk))) == count


def test_an_edit_is_the_operators_and_search_knows_it_at_once(alice: Client, mine: House) -> None:
    response = alice.post(
        page_of(mine.entry, "change"), form_of(mine.entry, content="I like rhubarb", importance="0.9")
    )
    assert response.status_code == 302
    assert found(alice, q="rhubarb") == ["I like rhubarb"]
    change = Change.objects.filter(table_name="memories_entry", row_id=mine.entry.pk).latest("id")
    assert (change.actor, set(change.old)) >= ("user:alice", {"content", "importance"})


def test_saving_an_unchanged_form_changes_nothing(alice: Client, mine: House) -> None:
    alice.post(page_of(mine.entry, "change"), form_of(mine.entry))
    assert Entry.objects.get(pk=mine.entry.pk).version == mine.entry.version


def test_slots_are_edited_with_their_entry_in_one_step(alice: Client, mine: House) -> None:
    changes = {"content": "I like rhubarb", "slots-0-value": "sour", "slots-TOTAL_FORMS": 2}
    new = {"slots-1-name": "place", "slots-1-value": "kitchen", "slots-1-entry": mine.entry.pk}
    assert alice.post(page_of(mine.entry, "change"), form_of(mine.entry, **changes, **new)).status_code == 302
    assert dict(mine.entry.slots.values_list("name", "value")) == {"mood": "sour", "place": "kitchen"}
    assert Entry.objects.get(pk=mine.entry.pk).version == mine.entry.version + 1
    entry = Entry.objects.get(pk=mine.entry.pk)
    gone = form_of(entry, **{"slots-0-DELETE": "on", "slots-1-name": "room"})
    assert alice.post(page_of(entry, "change"), gone).status_code == 302
    assert dict(entry.slots.values_list("name", "value")) == {"room": "kitchen"}


def test_a_change_by_somebody_else_meanwhile_loses_nothing_that_was_typed(alice: Client, mine: House) -> None:
    typed = form_of(mine.entry, content="what Alice typed")
    entries.update(
        mine.entry, entries.Edit(columns={"content": "what the bot wrote"}), now=timezone.now(), actor="bot:b"
    )
    response = alice.post(page_of(mine.entry, "change"), typed)
    shown = response.content.decode()
    assert response.status_code == 200
    assert "Somebody changed this while you were editing it" in shown
    assert "what Alice typed" in shown
    assert "Now it says: what the bot wrote" in shown
    assert Entry.objects.get(pk=mine.entry.pk).content == "what the bot wrote"
    again = typed | {"opened_version": response.context["adminform"].form["opened_version"].value()}
    assert alice.post(page_of(mine.entry, "change"), again).status_code == 302
    assert Entry.objects.get(pk=mine.entry.pk).content == "what Alice typed"


def test_a_change_between_the_check_and_the_save_is_told_too(
    alice: Client, mine: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The door itself refuses, and the form says why."""
    edits = []

    def late(entry: Entry, *args: Any, **kwargs: Any) -> Entry:
        edits.append(entry)
        if len(edits) == 1:
            entries.update(entry, entries.Edit(columns={"topic": "new"}), now=timezone.now(), actor="bot:b")
        return entries.update(entry, *args, **kwargs)

    monkeypatch.setattr("memories.admin.entries.page.update", late)
    response = alice.post(page_of(mine.entry, "change"), form_of(mine.entry, content="what Alice typed"))
    shown = response.content.decode()
    assert "what Alice typed" in shown
    assert "changed" in shown
    assert Entry.objects.get(pk=mine.entry.pk).content == mine.entry.content


@pytest.mark.thorough
@pytest.mark.parametrize(
    "wrong",
    [
        {"content": "   "},
        {"content": "x" * 9_000},
        {"importance": "7"},
        {"importance": "nan"},
        {"category": "weather"},
        {"content": "a\0b"},
        {"slots-TOTAL_FORMS": 2, "slots-1-name": "n" * 65, "slots-1-value": "v"},
        {"slots-TOTAL_FORMS": 2, "slots-1-name": "scope", "slots-1-value": "chat"},
    ],
)
def test_what_cannot_be_stored_comes_back_as_an_error_of_the_form(
    wrong: dict[str, Any], alice: Client, mine: House
) -> None:
    response = alice.post(page_of(mine.entry, "change"), form_of(mine.entry, **wrong))
    assert response.status_code == 200
    assert response.context["errors"]
    assert Entry.objects.get(pk=mine.entry.pk).version == mine.entry.version


@pytest.mark.parametrize(
    ("changes", "left"),
    [
        ({"slots-0-name": "b", "slots-1-name": "a"}, {"b": "1", "a": "2"}),
        ({"slots-0-name": "b", "slots-1-DELETE": "on"}, {"b": "1"}),
        ({"slots-0-name": "b", "slots-1-name": "c"}, {"b": "1", "c": "2"}),
        ({"slots-0-DELETE": "on", "slots-1-name": "a"}, {"a": "2"}),
    ],
)
def test_slots_that_change_names_with_each_other_keep_their_values(
    changes: dict[str, str], left: dict[str, str], alice: Client, mine: House
) -> None:
    entry = remember(mine.scope, "the rhubarb grows behind the shed", slots={"a": "1", "b": "2"})
    assert alice.post(page_of(entry, "change"), form_of(entry, **changes)).status_code == 302
    assert dict(entry.slots.values_list("name", "value")) == left


def test_a_frozen_scope_is_read_only(alice: Client, mine: House) -> None:
    Scope.objects.update(frozen=True)
    assert "The scope is frozen" in alice.get(page_of(mine.entry, "change")).content.decode()
    assert alice.post(page_of(mine.entry, "change"), form_of(mine.entry, content="no")).status_code == 403
    assert alice.post(page_of(mine.entry, "expire"), {"confirmed": "yes", "reason": "r"}).status_code == 403
    several = {"action": "expire_chosen", "_selected_action": [mine.entry.pk], "confirmed": "yes", "reason": "r"}
    assert "frozen" in alice.post(reverse(LIST), several, follow=True).content.decode()
    assert Entry.objects.get(pk=mine.entry.pk).version == mine.entry.version
    assert Batch.objects.count() == 1  # the one of the furnishing


def test_history_tells_who_changed_which_words_when_and_why(alice: Client, mine: House) -> None:
    alice.post(
        page_of(mine.entry, "change"), form_of(mine.entry, content="User: I like rhubarb with tea\nAssistant: Noted.")
    )
    alice.post(page_of(mine.entry, "expire"), {"confirmed": "yes", "reason": "she said so"})
    shown = alice.get(page_of(mine.entry, "history")).content.decode()
    for text in ("<del>marmalade</del>", "<ins>rhubarb</ins>", "user:alice", "she said so", "Remembered", "Taken out"):
        assert text in shown


def test_any_version_can_be_brought_back(alice: Client, mine: House) -> None:
    alice.post(page_of(mine.entry, "change"), form_of(mine.entry, content="rhubarb", **{"slots-0-value": "sour"}))
    first = page_of(mine.entry, "versions", "1")
    assert mine.entry.content[:20] in alice.get(first).content.decode()
    assert Entry.objects.get(pk=mine.entry.pk).content == "rhubarb"
    assert alice.post(first, {"confirmed": "yes", "fields_back": ["content"]}).status_code == 302
    assert Entry.objects.get(pk=mine.entry.pk).content == mine.entry.content
    assert Slot.objects.filter(entry=mine.entry, value="sour").exists()  # not ticked
    assert alice.post(first, {"confirmed": "yes"}).status_code == 200  # nothing ticked: asked again
    assert alice.get(page_of(mine.entry, "versions", "99")).status_code == 404


def test_an_entry_shows_its_relatives_and_the_answers_it_was_served_in(alice: Client, mine: House) -> None:
    shown = alice.get(page_of(mine.entry, "change")).content.decode()
    assert "resembles" in shown
    assert "planted a marmalade tree" in shown
    assert "what do I drink with marmalade?" in shown
    assert reverse("admin:memories_recalltrace_change", args=[mine.trace.pk]) in shown


def test_entries_are_not_deleted_here(owner: Client, mine: House) -> None:
    assert owner.get(page_of(mine.entry, "delete")).status_code == 403
    assert (
        owner.post(reverse(LIST), {"action": "delete_selected", "_selected_action": [mine.entry.pk]}).status_code < 500
    )
    assert Entry.objects.filter(pk=mine.entry.pk).exists()
    assert Slot.objects.exists()
