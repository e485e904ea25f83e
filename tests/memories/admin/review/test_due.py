"""Memories whose date of review has come: one after another, kept with a new date, expired or skipped."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from memories.models import Batch, Entry, EntryAccess
from memories.models.state import State, mark_of
from tests.memories.admin.conftest import House
from tests.memories.admin.test_entries import remember

pytestmark = pytest.mark.django_db


def due_for(entry: Entry, days: int) -> Entry:
    Entry.objects.filter(pk=entry.pk).update(review_at=timezone.now() - timedelta(days=days))
    return Entry.objects.get(pk=entry.pk)


def shown(client: Client, at: Entry | None = None) -> Any:
    return client.get(reverse("review_due"), {"at": at.pk} if at else {}).context


def answer(client: Client, entry: Entry, do: str, version: int | None = None) -> str:
    data = {"entry": entry.pk, "version": version or entry.version, "do": do}
    return str(client.post(reverse("review_due"), data)["Location"])


def test_the_longest_due_comes_first_and_every_answer_leads_on(alice: Client, mine: House, theirs: House) -> None:
    old, new = due_for(mine.entry, 9), due_for(remember(mine.scope, "the gate code changes in May"), 1)
    due_for(theirs.entry, 20)
    EntryAccess.objects.update_or_create(entry=old, defaults={"workspace": mine.workspace, "access_count": 7})
    first = shown(alice)
    assert (first["entry"], first["count"], first["access"].access_count) == (old, 2, 7)
    assert first["sources"].lines and first["next"].endswith(f"at={new.pk}") and not first["previous"]
    assert shown(alice, new)["previous"].endswith(f"at={old.pk}")
    assert answer(alice, old, "2").endswith(f"at={new.pk}")
    entry = Entry.objects.get(pk=old.pk)
    assert isinstance(entry.review_at, datetime) and entry.verified_by == "user:alice"
    assert abs(entry.review_at - timezone.now() - timedelta(days=90)) < timedelta(minutes=1)
    assert answer(alice, new, "expire") == reverse("review_due")
    assert mark_of(Entry.objects.get(pk=new.pk)) == State.EXPIRED
    assert Batch.objects.latest("id").reason == "Out of date, seen in the review"
    assert shown(alice)["entry"] is None and "No memory is due" in alice.get(reverse("review_due")).content.decode()


def test_kept_for_good_it_is_never_asked_about_again_and_undo_brings_the_question_back(
    alice: Client, mine: House
) -> None:
    entry = due_for(mine.entry, 3)
    answer(alice, entry, "4")
    assert Entry.objects.get(pk=entry.pk).review_at is None
    undo = reverse("admin:memories_batch_undo", args=[Batch.objects.latest("id").pk])
    alice.post(undo, {"confirmed": "yes", "reason": "too soon"})
    assert shown(alice)["entry"] == entry


def test_what_was_changed_meanwhile_is_looked_at_again_and_no_answer_changes_nothing(
    alice: Client, mine: House, theirs: House
) -> None:
    entry, foreign = due_for(mine.entry, 3), due_for(theirs.entry, 3)
    assert answer(alice, entry, "1", version=entry.version + 1).endswith(f"at={entry.pk}")
    assert answer(alice, entry, "skip").endswith(f"at={entry.pk}")
    assert answer(alice, foreign, "expire") == reverse("review_due")
    assert [row.review_at for row in Entry.objects.filter(pk__in=[entry.pk, foreign.pk]).order_by("pk")] == [
        row.review_at for row in sorted((entry, foreign), key=lambda row: row.pk)
    ]
