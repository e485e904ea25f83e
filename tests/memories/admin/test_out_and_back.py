"""Taking memories out of use and bringing them back: asked first, told why, one or many."""

from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from memories.choices import BatchState, BatchVerb
from memories.models import Batch, Change, Entry, Scope
from tests.memories.admin.conftest import House
from tests.memories.admin.test_entries import LIST, page_of, remember

pytestmark = pytest.mark.django_db


def test_expiring_asks_first_and_acts_on_an_answer_only(alice: Client, mine: House) -> None:
    address = page_of(mine.entry, "expire")
    assert "Nothing is deleted" in alice.get(address).content.decode()
    assert alice.post(address, {"confirmed": "yes", "reason": "  "}).status_code == 200  # why?
    assert alice.post(address, {"reason": "not confirmed"}).status_code == 200
    assert Entry.objects.get(pk=mine.entry.pk).is_live()
    assert alice.post(address, {"confirmed": "yes", "reason": "wrong person"}).status_code == 302
    assert not Entry.objects.get(pk=mine.entry.pk).is_live()
    batch = Batch.objects.latest("id")
    assert (batch.state, batch.reason, batch.actor) == (BatchState.APPLIED, "wrong person", "user:alice")
    assert [(change.verb, change.entry_id) for change in batch.changes.all()] == [(BatchVerb.EXPIRE, mine.entry.pk)]
    assert Change.objects.filter(row_id=mine.entry.pk, batch_id=batch.pk).exists()


def test_restoring_gives_a_new_term(alice: Client, mine: House) -> None:
    gone = Entry.objects.get(expired_at__isnull=False)
    answer = {"confirmed": "yes", "reason": "needed again", "term": "30"}
    assert alice.post(page_of(gone, "restore"), answer).status_code == 302
    back = Entry.objects.get(pk=gone.pk)
    assert back.is_live()
    assert back.expires_at is not None
    assert abs(back.expires_at - timezone.now() - timedelta(days=30)) < timedelta(minutes=1)


def test_many_are_taken_out_together_in_one_batch_a_scope(alice: Client, mine: House) -> None:
    other = Scope.objects.create(workspace=mine.workspace, key="telegram:direct_x", kind="user")
    entries = [remember(scope, f"thing {n} of {scope.key}") for scope in (mine.scope, other) for n in ("one", "two")]
    ticked = {"action": "expire_chosen", "_selected_action": [entry.pk for entry in entries]}
    response = alice.post(reverse(LIST), ticked)
    assert "Expire 4 entries" in response.content.decode()
    assert all(entry.is_live() for entry in Entry.objects.filter(pk__in=[entry.pk for entry in entries]))
    alice.post(reverse(LIST), ticked | {"confirmed": "yes", "reason": "spring clean"})
    assert not any(entry.is_live() for entry in Entry.objects.filter(pk__in=[entry.pk for entry in entries]))
    assert Batch.objects.filter(reason="spring clean", counts={"expire": 2}).count() == 2
    alice.post(reverse(LIST), ticked | {"action": "restore_chosen", "confirmed": "yes", "reason": "oh", "term": ""})
    assert all(entry.is_live() for entry in Entry.objects.filter(pk__in=[entry.pk for entry in entries]))


def test_too_many_at_once_are_refused(alice: Client, mine: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memories.batches.bulk_actions.MOST", 1)
    ticked = {"action": "expire_chosen", "_selected_action": list(Entry.objects.values_list("pk", flat=True))}
    shown = alice.post(reverse(LIST), ticked | {"confirmed": "yes", "reason": "r"}, follow=True).content.decode()
    assert "narrow the list first" in shown
    assert Entry.objects.get(pk=mine.entry.pk).is_live()


def test_the_buttons_are_those_that_make_sense(alice: Client, mine: House) -> None:
    live = alice.get(page_of(mine.entry, "change")).content.decode()
    gone = alice.get(page_of(Entry.objects.get(expired_at__isnull=False), "change")).content.decode()
    assert ("/expire/" in live, "/restore/" in live) == (True, False)
    assert ("/expire/" in gone, "/restore/" in gone) == (False, True)
