"""A trace is a record: it tells the words that were served, whatever became of the memory since (F5)."""

import json
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from memories import batches
from memories import entries as store
from memories.batches.steps import PurgeStep
from memories.entries.daily_events import EventDraft, update, write
from memories.models import DailyEvent, Entry, RecallTrace, Scope, Workspace
from memories.recall.traces import record_answer
from tests.conftest import TELEGRAM, Api, make_draft

pytestmark = pytest.mark.django_db
THEN, NOW_SAYS = "The cat is called Mochi", "The cat is called Biscuit"


@pytest.fixture
def entry(api: Api) -> Entry:
    saved = api.post("entries", {"scope": "telegram:direct_u42", "content": THEN})
    return Entry.objects.get(uid=saved.json()["id"])


@pytest.fixture
def recall(api: Api, entry: Entry) -> str:
    answer = api.post("recall", {"address": TELEGRAM, "message": "what is the cat called?"}).json()
    assert [memory["content"] for memory in answer["memories"]] == [THEN]
    return str(answer["recall_id"])


def recorded_memory(api: Api, recall: str) -> dict[str, Any]:
    (memory,) = api.get(f"recalls/{recall}").json()["memories"]
    return dict(memory)


def edit(api: Api, entry: Entry, content: str = NOW_SAYS) -> None:
    assert api.request("PATCH", f"entries/{entry.uid}", json.dumps({"content": content})).status_code == 200


def test_an_edited_memory_does_not_change_what_was_served(api: Api, entry: Entry, recall: str) -> None:
    assert (recorded_memory(api, recall)["version"], recorded_memory(api, recall)["reworded_since"]) == (1, False)
    edit(api, entry)
    memory = recorded_memory(api, recall)
    assert (memory["content"], memory["version"], memory["reworded_since"]) == (THEN, 1, True)
    assert api.get(memory["links"]["now"].removeprefix("/api/v1/")).json()["content"] == NOW_SAYS
    steps = api.get(memory["links"]["then"].removeprefix("/api/v1/")).json()["results"]
    assert memory["version"] in [step["version"] for step in steps]


def test_of_several_edits_the_words_of_that_version_are_told(api: Api, entry: Entry) -> None:
    edit(api, entry, "The cat is called Tofu")
    recall = api.post("recall", {"address": TELEGRAM, "message": "what is the cat called?"}).json()["recall_id"]
    edit(api, entry, "The cat is called Soba")
    edit(api, entry)
    memory = recorded_memory(api, recall)
    assert (memory["content"], memory["version"]) == ("The cat is called Tofu", 2)


def test_what_changes_but_its_words_does_not_reword_it(api: Api, entry: Entry, recall: str) -> None:
    api.request("PATCH", f"entries/{entry.uid}", json.dumps({"importance": 0.9}))
    assert (recorded_memory(api, recall)["content"], recorded_memory(api, recall)["reworded_since"]) == (THEN, False)


def test_a_revert_takes_the_mark_away(api: Api, entry: Entry, recall: str) -> None:
    edit(api, entry)
    api.post(f"entries/{entry.uid}/revert", {"version": 1})
    assert (recorded_memory(api, recall)["content"], recorded_memory(api, recall)["reworded_since"]) == (THEN, False)


def test_a_merge_does_not_change_it_either(api: Api, entry: Entry, recall: str) -> None:
    other = store.remember(make_draft(entry.scope, "The cat sleeps a lot"), now=timezone.now(), actor="test").entry
    body = {"scope": "telegram:direct_u42", "verb": "merge", "entries": [str(entry.uid), str(other.uid)],
            "into": str(entry.uid), "content": "The cat Biscuit sleeps a lot"}  # fmt: skip
    assert api.post("batches", body).status_code in (200, 201)
    entry.refresh_from_db()
    assert entry.content == "The cat Biscuit sleeps a lot"
    assert (recorded_memory(api, recall)["content"], recorded_memory(api, recall)["reworded_since"]) == (THEN, True)


def test_what_expired_or_was_archived_since_was_served_all_the_same(api: Api, entry: Entry, recall: str) -> None:
    Entry.objects.filter(pk=entry.pk).update(expired_at=timezone.now())
    assert (recorded_memory(api, recall)["content"], recorded_memory(api, recall)["withheld"]) == (THEN, None)
    Entry.objects.filter(pk=entry.pk).update(expired_at=None, archived_at=timezone.now())
    assert recorded_memory(api, recall)["content"] == THEN


@pytest.mark.thorough
def test_what_people_took_out_is_not_told_until_it_is_restored(api: Api, entry: Entry, recall: str) -> None:
    edit(api, entry)
    assert api.request("DELETE", f"entries/{entry.uid}").status_code == 200
    memory = recorded_memory(api, recall)
    assert (memory["content"], memory["withheld"], memory["id"]) == (None, "taken_out", str(entry.uid))
    assert "Mochi" not in api.get(f"recalls/{recall}").content.decode()
    api.post(f"entries/{entry.uid}/restore", {})
    assert (recorded_memory(api, recall)["content"], recorded_memory(api, recall)["reworded_since"]) == (THEN, True)


def test_of_what_was_removed_for_good_the_words_are_gone(api: Api, entry: Entry, recall: str) -> None:
    now = timezone.now() + timedelta(seconds=1)
    Entry.objects.filter(pk=entry.pk).update(expired_at=now)
    every = batches.StepForAll(PurgeStep(), Entry.objects.expired())
    plan = batches.plan(entry.scope, every, name="purge", run="r", actor="test", now=now)
    batches.apply_batch(batches.approve(plan, actor="test", now=now), now=now)
    memory = recorded_memory(api, recall)
    assert (memory["id"], memory["content"], memory["withheld"]) == (None, None, "gone")
    assert RecallTrace.objects.get(uid=recall).verdict  # a figure, and no words


def test_old_traces_go_by_the_time_of_the_recall(api: Api, entry: Entry, recall: str) -> None:
    edit(api, entry)
    trace = RecallTrace.objects.get(uid=recall)
    kept: Any = trace.candidates
    at = kept["columns"].index("version")
    kept["columns"].pop(at)
    for row in kept["rows"]:
        row.pop(at)
    RecallTrace.objects.filter(pk=trace.pk).update(versions=[], candidates=kept)
    assert (recorded_memory(api, recall)["content"], recorded_memory(api, recall)["version"]) == (THEN, 1)
    RecallTrace.objects.filter(pk=trace.pk).update(created_at=timezone.now())
    assert (recorded_memory(api, recall)["content"], recorded_memory(api, recall)["version"]) == (NOW_SAYS, 2)


def test_what_was_left_out_is_told_as_it_was_too(api: Api, entry: Entry) -> None:
    other = store.remember(make_draft(entry.scope, "The cat of Ann is called Rex"), now=timezone.now(), actor="t").entry
    body = {"address": TELEGRAM, "message": "what is the cat called?", "limit": 1}
    answer = api.post("recall", body).json()
    served, left = (entry, other) if answer["memories"][0]["id"] == str(entry.uid) else (other, entry)
    edit(api, left)
    trace = api.get(f"recalls/{answer['recall_id']}").json()
    assert (trace["left_out"][0]["content"], trace["left_out"][0]["reworded_since"]) == (left.content, True)
    assert trace["memories"][0]["content"] == served.content


@pytest.mark.thorough
def test_it_takes_as_many_statements_for_many_edits_as_for_one(
    api: Api, entry: Entry, django_assert_max_num_queries: Any
) -> None:
    entries = [
        store.remember(make_draft(entry.scope, f"the cat number {n} is called {word}"), now=timezone.now(), actor="t")
        for n, word in enumerate(("Rex", "Tofu", "Soba", "Udon", "Miso"))
    ]
    recall = api.post("recall", {"address": TELEGRAM, "message": "what is the cat called?"}).json()["recall_id"]
    for kept in entries:
        edit(api, kept.entry, f"{kept.entry.content}, or so")
    with django_assert_max_num_queries(11):
        answer = api.get(f"recalls/{recall}").json()
    assert sum(memory["reworded_since"] for memory in answer["memories"]) >= 4


def test_an_answer_is_compared_with_the_words_it_was_given(entry: Entry, recall: str) -> None:
    """The turn that answers may be merged into the memory: then its words would explain themselves."""
    Entry.objects.filter(pk=entry.pk).update(content="Your dog Rex barks at night")
    trace = RecallTrace.objects.get(uid=recall)
    record_answer(trace, question="what?", answer="Your dog Rex barks at night")
    assert trace.overlap == []


def test_a_day_that_was_reworded_keeps_its_version_in_the_trace(api: Api, workspace: Workspace) -> None:
    scope = Scope.objects.begin(workspace.pk, "telegram:direct_u42", "user")
    yesterday = timezone.now() - timedelta(days=1)
    write(
        [EventDraft(scope=scope, local_date=yesterday.date(), content="bought a lamp")],
        now=timezone.now(),
        actor="test",
    )
    event = DailyEvent.objects.get()
    answer = api.post("recall", {"address": TELEGRAM, "message": "what did I buy yesterday, a lamp?"}).json()
    update(event, "bought a chair", now=timezone.now(), actor="test")
    (kept,) = api.get(f"recalls/{answer['recall_id']}").json()["events"]
    assert (kept["path"], kept["version"]) == (f"daily_events/{event.uid}", 1)
