"""Removing for good: off unless switched on, after a grace, when somebody agrees; then nothing is left but numbers."""

from datetime import timedelta
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.urls import reverse

from memories import batches, entries, jobs
from memories.batches import PlanRow, bulk_actions
from memories.batches.steps import EditStep, Successor, SupersedeStep
from memories.choices import EntryType, LinkKind, Source
from memories.entries import Edit
from memories.exceptions import NothingToUndo
from memories.index import worker
from memories.lifecycle import expiry
from memories.models import Batch, BatchChange, Change, Entry, Link, RecallTrace, Scope, Slot, Workspace
from tests.conftest import NOW, Api, make_draft, make_key, make_scope
from tests.memories.admin.conftest import enter, make_user
from tests.memories.lifecycle.conftest import expire, live, remember

WORD = "quincunx"
GRACE_OVER = NOW + timedelta(days=90)
pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def switched_on(settings: Any) -> None:
    settings.MEMORY_JOB_PURGE = True


def propose(workspace: Workspace, now: Any = GRACE_OVER, run: str = "purge:1:2026-05-30") -> dict[str, int]:
    return jobs.purge(workspace.pk, now=now, run=run)


def approve(done: Batch) -> Batch:
    batches.approve(done, actor="user:ann", now=GRACE_OVER)
    return batches.apply_batch(done, now=GRACE_OVER)


def everywhere(word: str) -> dict[str, int]:
    """The rows of every table, the session's own messages aside, in which a word still stands."""
    data = {}
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            if table.startswith("memories_"):
                cursor.execute(f"SELECT count(*) FROM {table} t WHERE t::text LIKE %s", [f"%{word}%"])
                if count := cursor.fetchone()[0]:
                    data[table] = count
    return data


def furnish(scope: Scope) -> Entry:
    """A memory with everything that can hang on one, each telling the word."""
    (entry, other) = remember(scope, f"the {WORD} of 年糕", "a bicycle stands in the hall", slots={"mood": WORD})
    entries.update(entry, Edit(slots={"mood": None, "name": WORD}), now=NOW, actor="user:ann")
    entry.refresh_from_db()
    entries.update(entry, Edit(columns={"content": f"another {WORD}"}), now=NOW, actor="user:ann")
    Link.objects.create(
        workspace=scope.workspace, from_entry=entry, to_entry=other, kind=LinkKind.ALIKE, created_at=NOW
    )
    RecallTrace.objects.create(
        workspace=scope.workspace, scopes=[scope.pk], message=f"where is my {WORD}?", note=WORD, served=[entry.pk],
        created_at=NOW - timedelta(days=1), query={"topic": WORD}, timings={"total": 12.0},
    )  # fmt: skip
    planned = PlanRow(step=EditStep(columns={"content": f"a third {WORD}"}), entry_id=entry.pk)
    batches.plan(scope, [planned], name="test", run="test:1", actor="t", now=NOW)
    worker.drain(now=NOW, use_cache=False)
    return entry


def test_nothing_of_it_is_left_but_numbers(workspace: Workspace, scope: Scope) -> None:
    entry = furnish(scope)
    expire(workspace)
    assert len(everywhere(WORD)) >= 5
    assert propose(workspace) == {"scopes": 1, "entries": 2}
    done = approve(Batch.objects.get(name="purge"))
    assert everywhere(WORD) == {}
    assert not Entry.objects.exists()
    for table in ("entryaccess", "entryvector", "entryindex", "indexqueueitem", "slot", "link"):
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT count(*) FROM memories_{table}")
            assert cursor.fetchone() == (0,), table
    assert not Change.objects.filter(table_name__in=["memories_entry", "memories_slot", "memories_link"]).exists()
    trace = RecallTrace.objects.get()
    assert (trace.served, trace.timings, trace.message) == ([entry.pk], {"total": 12.0}, "")
    assert (done.state, done.counts) == ("applied", {"purge": 2})
    assert set(BatchChange.objects.filter(batch=done).values_list("entry", "state")) == {(None, "applied")}
    assert Batch.objects.get(name="expire").counts == {"expire": 2}
    assert BatchChange.objects.get(batch__name="test").state == "left"


def test_it_waits_for_a_person_who_is_told_that_there_is_no_undo(workspace: Workspace, scope: Scope) -> None:
    ann = enter(make_user("ann", workspace=workspace, is_staff=True))
    remember(scope, "the extraction batch came on Tuesday")
    expire(workspace)
    propose(workspace)
    done = Batch.objects.get(name="purge")
    assert done.state == "proposed"
    batches.resume(now=GRACE_OVER)
    assert Entry.objects.count() == 1
    assert "It cannot be undone." in _page(ann, done, "change")
    approve_page = _page(ann, done, "approve")
    assert ("There is no undo." in approve_page, "You can undo it" in approve_page) == (True, False)
    ann.post(reverse("admin:memories_batch_approve", args=[done.pk]), {"confirmed": "yes"})
    assert not Entry.objects.exists()
    assert "Undo" not in _page(ann, done, "change")
    with pytest.raises(NothingToUndo):
        batches.plan_undo(Batch.objects.get(pk=done.pk), actor="user:ann", now=GRACE_OVER)


def test_no_bot_approves_what_has_no_undo(workspace: Workspace, scope: Scope) -> None:
    remember(scope, "the extraction batch came on Tuesday")
    expire(workspace)
    propose(workspace)
    done = Batch.objects.get(name="purge")
    assert Api(make_key(workspace)).post(f"batches/{done.uid}/approve").status_code == 403
    assert Entry.objects.exists() and Batch.objects.get(pk=done.pk).state == "proposed"


def _page(client: Client, done: Batch, what: str) -> str:
    return client.get(reverse(f"admin:memories_batch_{what}", args=[done.pk])).content.decode()


def test_switched_off_nothing_is_proposed(workspace: Workspace, scope: Scope, settings: Any) -> None:
    settings.MEMORY_JOB_PURGE = False
    remember(scope, "the extraction batch came on Tuesday")
    expire(workspace)
    assert propose(workspace) == {"scopes": 0, "entries": 0}
    assert not Batch.objects.filter(name="purge").exists()


def test_only_what_has_been_expired_for_its_grace_is_proposed(workspace: Workspace, scope: Scope) -> None:
    remember(scope, "the extraction batch came on Tuesday")
    remember(scope, "still in use", days_ago=1, type=EntryType.USER_EXPLICIT, source=Source.TOOL)
    expire(workspace)
    assert propose(workspace, GRACE_OVER - timedelta(seconds=1))["entries"] == 0
    assert propose(workspace)["entries"] == 1


def test_what_people_took_out_stays_so_that_no_machine_writes_it_again(workspace: Workspace, scope: Scope) -> None:
    (wrong,) = remember(scope, "the extraction batch came on Tuesday", days_ago=1)
    bulk_actions.apply_action([wrong], bulk_actions.EXPIRE, now=NOW, actor="user:ann", reason="wrong")
    assert propose(workspace)["entries"] == 0
    again = make_draft(scope, wrong.content, source=Source.EXTRACTION, type=EntryType.FACT, tier=2)
    assert entries.remember(again, now=GRACE_OVER, actor="job:extract").outcome == "suppressed"


def test_what_was_restored_or_taken_out_by_people_meanwhile_is_left(workspace: Workspace, scope: Scope) -> None:
    first, second = remember(scope, "the extraction batch came on Tuesday", "会议改到周四下午")
    expire(workspace)
    propose(workspace)
    expiry.restore_all(Batch.objects.filter(name="expire"), term=None, now=GRACE_OVER, actor="user:ann", reason="r")
    done = approve(Batch.objects.get(name="purge"))
    assert (done.counts, live(scope)) == ({}, {first.content, second.content})


def test_what_it_had_taken_the_place_of_does_not_come_back(workspace: Workspace, scope: Scope) -> None:
    old, new = remember(scope, "the office is in Porto", "the office is in 杭州")
    step = PlanRow(step=SupersedeStep(into=Successor(entry=new.pk)), entry_id=old.pk)
    batches.apply_batch(batches.plan(scope, [step], name="t", run="t:1", actor="t", now=NOW), now=NOW)
    expire(workspace)
    propose(workspace)
    approve(Batch.objects.get(name="purge"))
    left = Entry.objects.get()
    assert (left.pk, left.superseded_by_id, left.is_live()) == (old.pk, None, False)


def test_a_newer_proposal_takes_the_place_of_an_older_one(workspace: Workspace, scope: Scope) -> None:
    remember(scope, "the extraction batch came on Tuesday")
    expire(workspace)
    for night in (1, 2):
        propose(workspace, run=f"purge:1:{night}")
        propose(workspace, run=f"purge:1:{night}")  # killed, and called again
    assert list(Batch.objects.filter(name="purge").order_by("pk").values_list("state", flat=True)) == [
        "refused", "proposed",
    ]  # fmt: skip
    assert len(Batch.objects.get(state="proposed").held_because) == 1


def test_other_workspaces_and_their_numbers_stay(workspace: Workspace, stranger: Workspace, scope: Scope) -> None:
    theirs = make_scope(stranger)
    for place in (scope, theirs):
        (entry,) = remember(place, f"{WORD} here")
        Slot.objects.create(workspace=place.workspace, entry=entry, name="mood", value=WORD)
    for number, owner in enumerate((workspace, stranger)):
        expire(owner, f"expire:{number}:night")
    before = everywhere(WORD)
    assert propose(workspace) == {"scopes": 1, "entries": 1}
    approve(Batch.objects.get(name="purge"))
    assert all(everywhere(WORD)[table] * 2 == count for table, count in before.items())
    assert Entry.objects.get().scope == theirs


def test_the_checks_find_nothing_wrong_afterwards(workspace: Workspace, scope: Scope) -> None:
    furnish(scope)
    expire(workspace)
    propose(workspace)
    approve(Batch.objects.get(name="purge"))
    call_command("check")
    assert (
        batches.describe(batch_ := Batch.objects.get(name="test"), list(batch_.changes.all()))[0].change.entry is None
    )
