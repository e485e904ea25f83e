"""Batches at the wire: make one, look at it row by row, decide, take it back (F3, F4)."""

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memories import batches, tasks
from memories.batches import PlanRow
from memories.batches.steps import CreateStep, EditStep, MergeStep, Successor
from memories.models import Batch, Entry, Link, Scope, Slot, Suppression, Workspace
from tests.conftest import NOW, Api, make_draft, make_key, make_scope
from tests.memories.api.conftest import send

pytestmark = pytest.mark.django_db
TEXTS = ("the port of staging is 8080", "我家的猫叫年糕", "the deploy runs on Fridays", "tea is better than coffee")
Make = Callable[..., dict[str, Any]]


@pytest.fixture
def entries(scope: Scope, api: Api) -> list[str]:
    saved = [api.post("entries", {"scope": scope.key, "content": text}) for text in TEXTS]
    return [answer.json()["id"] for answer in saved]


@pytest.fixture
def make(scope: Scope, api: Api) -> Make:
    def post(verb: str, chosen: list[str], status: int = 201, **more: Any) -> dict[str, Any]:
        answer = api.post("batches", {"scope": scope.key, "verb": verb, "entries": chosen, **more})
        assert answer.status_code == status, answer.content
        made: dict[str, Any] = answer.json()
        return made

    return post


@pytest.fixture
def waiting_batch(scope: Scope, entries: list[str]) -> Batch:
    """What a machine judged, and may not do by itself: it touches a pinned entry."""
    one, two = Entry.objects.filter(uid__in=entries[:2]).order_by("pk")
    Entry.objects.filter(pk=one.pk).update(pinned=True)
    steps = [
        PlanRow(step=CreateStep(draft=make_draft(scope, "the port of staging is 9090"))),
        PlanRow(step=MergeStep(into=Successor(position=1)), entry_id=one.pk),
        PlanRow(step=EditStep(columns={"content": "我家的猫叫米饭"}), entry_id=two.pk),
    ]
    return batches.plan(scope, steps, name="compress", run="night", actor="job:compress", now=NOW, judged=True)


def rows(body: dict[str, Any]) -> list[tuple[str, str]]:
    return [(row["verb"], row["state"]) for row in body["changes"]["results"]]


def live() -> set[str]:
    return set(Entry.objects.live().values_list("content", flat=True))


# making one


def test_many_are_taken_out_and_brought_back_in_a_batch(make: Make, entries: list[str]) -> None:
    made = make("expire", [*entries[:2], entries[0]], reason="spring clean")
    assert (made["state"], made["counts"], made["reason"], made["by"]) == (
        "applied",
        {"expire": 2},
        "spring clean",
        "bot:bot",
    )
    assert live() == set(TEXTS[2:]) and Suppression.objects.count() == 2
    back = make("restore", entries[:2], term_days=30)
    assert rows(back) == [("restore", "applied")] * 2
    assert live() == set(TEXTS)
    assert Entry.objects.filter(expires_at__isnull=False).count() == 2
    assert make("archive", entries[:1])["counts"] == {"archive": 1}
    assert Suppression.objects.count() == 0


def test_many_become_one_that_says_it_all(make: Make, entries: list[str]) -> None:
    made = make("merge", entries[:3], into=entries[0], content="staging: port 8080, deploys on Fridays")
    assert rows(made) == [("change", "applied"), ("merge", "applied"), ("merge", "applied")]
    assert live() == {"staging: port 8080, deploys on Fridays", TEXTS[3]}
    assert Link.objects.filter(kind="merged_from").count() == 2
    assert {row["into"] for row in made["changes"]["results"][1:]} == {entries[0]}


def test_many_are_changed_alike(make: Make, entries: list[str]) -> None:
    columns = {"category": "config", "project": "apollo", "pinned": True, "expires_at": "2030-01-01T00:00:00+08:00"}
    made = make("change", entries[:2], columns=columns, slots={"env": "prod"})
    assert made["counts"] == {"change": 2}
    changed = Entry.objects.filter(category="config", project="apollo", pinned=True)
    assert changed.count() == 2 and Slot.objects.filter(name="env", value="prod").count() == 2
    row = made["changes"]["results"][0]
    assert {"column": "category", "old": "", "new": "config"} in row["changes"]
    assert row["slots"] == [{"name": "env", "old": None, "new": "prod"}]


def test_what_is_made_of_an_entry_in_quarantine_is_not_shown(
    waiting_batch: Batch, entries: list[str], api: Api
) -> None:
    Entry.objects.filter(uid=entries[0]).update(quarantined_at=NOW, suppressed_at=NOW)
    created, merged, changed = api.get(f"batches/{waiting_batch.uid}").json()["changes"]["results"]
    for row in (created, merged):
        assert (row["draft"], row["content"], row["diff"], row["sources"]) == (None, None, None, [])
    assert changed["draft"]["columns"] == {"content": "我家的猫叫米饭"}


@pytest.mark.parametrize("verb", ["change", "merge", "expire"])
def test_no_bot_touches_an_entry_in_quarantine_by_a_batch(
    verb: str, entries: list[str], scope: Scope, api: Api
) -> None:
    Entry.objects.filter(uid=entries[0]).update(quarantined_at=NOW, suppressed_at=NOW)
    before = Entry.objects.values().get(uid=entries[0])
    data: dict[str, Any] = {"scope": scope.key, "verb": verb, "entries": entries[:1], "reason": "tidy"}
    if verb == "change":
        data["columns"] = {"category": ""}
    if verb == "merge":
        data |= {"entries": entries[1:2], "into": entries[0], "content": "它改了"}
    assert api.post("batches", data).status_code == 404
    assert Entry.objects.values().get(uid=entries[0]) == before


def test_a_dry_run_is_a_plan_somebody_may_approve(make: Make, entries: list[str], api: Api) -> None:
    made = make("expire", entries, dry_run=True)
    assert (made["state"], rows(made)) == ("proposed", [("expire", "planned")] * 4)
    assert live() == set(TEXTS)
    approved = api.post(f"batches/{made['id']}/approve")
    assert (approved.status_code, approved.json()["state"], approved.json()["decided_by"]) == (
        200,
        "applied",
        "bot:bot",
    )
    assert live() == set()


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"verb": "create"}, "verb"),
        ({"verb": "merge"}, "into"),
        ({"verb": "change"}, "columns"),
        ({"verb": "change", "columns": {}}, "columns"),
        ({"verb": "change", "columns": {"content": "x"}}, "columns.content"),
        ({"columns": {"pinned": True}}, "columns"),
        ({"term_days": 3}, "term_days"),
        ({"entries": []}, "entries"),
        ({"entries": ["x"]}, "entries.0"),
        ({"reasons": "x"}, "reasons"),
    ],
)
def test_what_makes_no_sense_is_named(
    wrong: dict[str, Any], field: str, scope: Scope, api: Api, entries: list[str]
) -> None:
    answer = api.post("batches", {"scope": scope.key, "verb": "expire", "entries": entries} | wrong)
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["attr"] == field
    assert not Batch.objects.exists()


def test_nothing_is_left_to_merge_into_itself(make: Make, entries: list[str]) -> None:
    assert make("merge", entries[:1], status=400, into=entries[0])["errors"][0]["attr"] == "entries"


def test_an_entry_of_elsewhere_is_no_entry(make: Make, entries: list[str], workspace: Workspace, api: Api) -> None:
    other = make_scope(workspace, "telegram:direct_u43")
    elsewhere = api.post("entries", {"scope": other.key, "content": "another's"}).json()["id"]
    for foreign in (elsewhere, str(uuid4())):
        make("expire", [entries[0], foreign], status=404)
        make("merge", entries[:2], status=404, into=foreign)
    assert len(live()) == 5 and not Batch.objects.exists()


def test_sent_again_it_is_done_once(scope: Scope, api: Api, entries: list[str]) -> None:
    body = {"scope": scope.key, "verb": "expire", "entries": entries[:1]}
    first, again = (api.post("batches", body, **{"Idempotency-Key": "k1"}) for _twice in range(2))
    assert first.json() == again.json() and Batch.objects.count() == 1


# looking at one


def test_a_held_batch_says_why_and_shows_the_words(waiting_batch: Batch, api: Api) -> None:
    shown = api.get(f"batches/{waiting_batch.uid}").json()
    assert shown["held_because"] == [
        {"code": "pinned", "figures": {"pinned": 1}, "text": "Pinned memories it would change: 1."}
    ]
    made, merged, changed = shown["changes"]["results"]
    assert made["sources"] == [merged["entry"]] and merged["into_position"] == 1
    assert ["-", "8080"] in made["diff"] and ["+", "9090"] in made["diff"]
    assert ["-", "年糕"] in changed["diff"] and ["+", "米饭"] in changed["diff"]
    assert changed["draft"] == {"columns": {"content": "我家的猫叫米饭"}} and merged["draft"] is None


def test_it_speaks_the_language_of_the_request(waiting_batch: Batch, workspace: Workspace) -> None:
    api = Api(make_key(workspace))
    answer = send(api, "GET", f"batches/{waiting_batch.uid}", **{"Accept-Language": "zh-hans"})
    assert answer.json()["held_because"][0]["text"] == "将更改已固定的记忆：1 条。"


@pytest.mark.thorough
def test_rows_are_narrowed_by_state_and_verb(make: Make, entries: list[str], api: Api) -> None:
    make("expire", entries[:1])
    made = make("expire", entries)
    (left,) = api.get(f"batches/{made['id']}", state="left").json()["changes"]["results"]
    assert (left["entry"], left["note"]) == (entries[0], "already")
    assert left["note_details"] == {"text": "It was so already.", "batches": []}
    assert api.get(f"batches/{made['id']}", verb="merge").json()["changes"]["results"] == []


@pytest.mark.thorough
def test_a_page_of_rows_costs_the_same_for_more_rows(make: Make, entries: list[str], api: Api) -> None:
    costs = []
    for chosen in (entries[:2], entries):
        made = make("change", chosen, columns={"topic": str(len(chosen))}, slots={"env": str(len(chosen))})
        api.get(f"batches/{made['id']}")
        with CaptureQueriesContext(connection) as queries:
            assert api.get(f"batches/{made['id']}").status_code == 200
        costs.append(len(queries))
    assert costs[0] == costs[1]


# deciding


def test_what_was_to_be_merged_stays_where_the_words_for_both_could_not_be_written(
    make: Make, entries: list[str], api: Api
) -> None:
    both = "staging: port 8080, and the cat is called 年糕"
    plan = make("merge", entries[:2], into=entries[0], content=both, dry_run=True)
    assert send(api, "PATCH", f"entries/{entries[0]}", {"content": "the port of staging is 9090"}).status_code == 200
    done = api.post(f"batches/{plan['id']}/approve").json()
    assert [(row["verb"], row["note"]) for row in done["changes"]["results"]] == [
        ("change", "changed"),
        ("merge", "changed"),
    ]
    assert live() == {"the port of staging is 9090", *TEXTS[1:]}


@pytest.mark.thorough
def test_a_plan_is_changed_row_by_row_then_approved(waiting_batch: Batch, api: Api) -> None:
    address = f"batches/{waiting_batch.uid}/changes"
    reworded = send(api, "PATCH", f"{address}/3", {"content": "我家的猫叫花卷"})
    assert (reworded.status_code, reworded.json()["draft"]["columns"]["content"]) == (200, "我家的猫叫花卷")
    removed = send(api, "PATCH", f"{address}/1", {"removed": True})
    assert removed.json()["note"] == "removed"
    assert send(api, "PATCH", f"{address}/2", {"content": "no words here"}).status_code == 400
    assert send(api, "PATCH", f"{address}/9", {"removed": True}).status_code == 404
    for wrong in ({}, {"removed": False}, {"removed": True, "content": "x"}):
        assert send(api, "PATCH", f"{address}/3", wrong).status_code == 400
    done = api.post(f"batches/{waiting_batch.uid}/approve").json()
    assert rows(done) == [("create", "left"), ("merge", "left"), ("change", "applied")]
    assert send(api, "PATCH", f"{address}/3", {"removed": True}).json()["errors"][0]["code"] == "batch_settled"


def test_what_is_refused_is_never_applied(waiting_batch: Batch, api: Api) -> None:
    refused = api.post(f"batches/{waiting_batch.uid}/refuse").json()
    assert (refused["state"], refused["decided_by"]) == ("refused", "bot:bot")
    again = api.post(f"batches/{waiting_batch.uid}/approve")
    assert (again.status_code, again.json()["errors"][0]["code"]) == (409, "batch_settled")
    assert live() == set(TEXTS)


@pytest.mark.thorough
def test_a_batch_is_taken_back_in_part_and_leaves_what_was_changed_since(
    make: Make, entries: list[str], api: Api
) -> None:
    made = make("expire", entries)
    part = api.post(f"batches/{made['id']}/undo", {"positions": [1], "reason": "not this one"})
    assert (part.status_code, part.json()["undoes"], part.json()["reason"]) == (201, made["id"], "not this one")
    assert live() == {TEXTS[0]}
    assert send(api, "PATCH", f"entries/{entries[1]}", {"topic": "changed since"}).status_code == 200
    rest = api.post(f"batches/{made['id']}/undo").json()
    assert live() == set(TEXTS) - {TEXTS[1]}
    assert [row["note"] for row in rest["changes"]["results"] if row["note"]] == ["changed"]
    forced = api.post(f"batches/{made['id']}/undo", {"force": True})
    assert forced.status_code == 201 and live() == set(TEXTS)
    shown = api.get(f"batches/{made['id']}").json()
    assert (shown["state"], len(shown["undone_by"])) == ("undone", 3)
    assert api.post(f"batches/{made['id']}/undo").status_code == 409


@pytest.mark.thorough
def test_an_undo_is_taken_back_too(make: Make, entries: list[str], api: Api) -> None:
    undo = api.post(f"batches/{make('expire', entries)['id']}/undo").json()
    assert live() == set(TEXTS)
    assert api.post(f"batches/{undo['id']}/undo").status_code == 201
    assert live() == set()


def test_what_is_large_is_left_to_the_worker(
    waiting_batch: Batch, api: Api, monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any
) -> None:
    results: list[Any] = []
    monkeypatch.setattr(tasks, "INLINE_ROWS", 1)
    monkeypatch.setattr(tasks, "async_task", lambda *what, **_group: results.append(what))
    with django_capture_on_commit_callbacks(execute=True):
        answer = api.post(f"batches/{waiting_batch.uid}/approve")
    assert (answer.status_code, answer.json()["state"]) == (202, "applying")
    tasks.carry_out(*results[0][1:])
    assert api.get(f"batches/{waiting_batch.uid}").json()["state"] == "applied"
