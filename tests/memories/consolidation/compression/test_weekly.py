"""Once a week facts that say the same become one, in a batch that can be taken back (D6)."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from memories import batches, entries, tasks
from memories.batches import PlanRow, apply, branch
from memories.batches.steps import ExpireStep, Successor, SupersedeStep
from memories.choices import BatchState, Category, LinkKind, Source
from memories.models import Batch, Entry, Link, Scope
from tests.conftest import NOW
from tests.memories.batches.conftest import differences, state_of_everything
from tests.memories.consolidation.compression.conftest import (
    FACTS,
    LATER,
    RUN,
    compress,
    dropping,
    facts,
    judging,
    live,
    merging,
)
from tests.memories.llm.fake_server import Asked, FakeModel

pytestmark = pytest.mark.django_db(transaction=True)
TWINS = ("Atlas starts three backups at 3 pm.", "Atlas begins 3 backups at 15:00.")
ONE = "Atlas starts 3 backups at 3 pm."
OWN = "At 3 pm Atlas starts its three backups."


def about_facts(model: FakeModel) -> list[Asked]:
    return [request for request in model.requests if "profile" not in request.data]


def test_it_works(scope: Scope, model: FakeModel) -> None:
    facts(scope, *FACTS)
    first, *_ = facts(scope, TWINS[0], days_ago=60, chats=("c1",), origins=("m1",), importance=0.4)
    second, *_ = facts(scope, TWINS[1], days_ago=20, chats=("c2",), origins=("m2",), importance=0.9)
    model.otherwise = merging(*TWINS, into=ONE)
    assert compress(scope)["merged"] == 2
    entry = Entry.objects.get(content=ONE)
    assert (entry.source, entry.tier, entry.chats, entry.origins) == (Source.COMPRESSION, 2, ["c1", "c2"], ["m1", "m2"])
    assert (entry.importance, entry.created_at, entry.stated_at) == (0.9, first.created_at, second.stated_at)
    assert set(Link.objects.filter(from_entry=entry, kind=LinkKind.MERGED_FROM).values_list("to_entry", flat=True)) == {
        first.pk, second.pk,
    }  # fmt: skip
    assert live(scope) == {*FACTS, ONE}
    assert set(Entry.objects.archived().values_list("content", flat=True)) == set(TWINS)


@pytest.mark.thorough
def test_what_the_model_keeps_or_does_not_name_is_not_touched(scope: Scope, model: FakeModel) -> None:
    facts(scope, *FACTS, *TWINS)
    before = dict(Entry.objects.filter(content__in=FACTS).values_list("pk", "version"))
    model.otherwise = merging(*TWINS, into=ONE)
    compress(scope)
    assert dict(Entry.objects.live().filter(content__in=FACTS).values_list("pk", "version")) == before


def test_fewer_than_ten_facts_of_a_partition_are_left_alone(scope: Scope, model: FakeModel) -> None:
    facts(scope, *FACTS[:9])
    facts(scope, *FACTS[9:], topic="other")
    compress(scope)
    assert about_facts(model) == []


@pytest.mark.thorough
def test_pinned_facts_and_those_people_wrote_are_not_even_shown(scope: Scope, model: FakeModel) -> None:
    facts(scope, *FACTS[:10])
    facts(scope, "Pinned is this.", pinned=True)
    facts(scope, "By hand is this.", source=Source.MANUAL)
    facts(scope, "Brought along is this.", source=Source.MIGRATION)
    facts(scope, "With a term is this.", expires_at=NOW + timedelta(days=90))
    compress(scope)
    shown = {fact["content"] for asked in about_facts(model) for fact in asked.data["facts"]}
    assert shown == set(FACTS[:10])


@pytest.mark.thorough
def test_a_drop_time_itself_or_a_newer_fact_speaks_for_is_made(scope: Scope, model: FakeModel) -> None:
    facts(scope, *FACTS)
    facts(scope, "The tunnel is open for a test.", category=Category.TEMP)
    facts(scope, "Dana lives in Porto.", days_ago=50)
    facts(scope, "Dana moved to Bremen.", days_ago=2)
    gone = ("The tunnel is open for a test.", "Dana lives in Porto.")
    model.otherwise = dropping(*gone)
    assert compress(scope)["dropped"] == 2
    assert live(scope) == {*FACTS, "Dana moved to Bremen."}


@pytest.mark.thorough
def test_a_drop_only_the_model_speaks_for_is_not_made(scope: Scope, model: FakeModel) -> None:
    facts(scope, *FACTS)
    model.otherwise = dropping("Mia lives in Berlin.")
    assert compress(scope)["not_dropped"] == 1
    assert live(scope) == set(FACTS)
    assert not Batch.objects.filter(name="compress-doubts").exists()


@pytest.mark.thorough
def test_a_drop_is_made_where_a_reader_finds_it_contradicted(scope: Scope, model: FakeModel) -> None:
    facts(scope, *FACTS)
    facts(scope, "Dana smokes ten cigarettes a day.", days_ago=50)
    facts(scope, "Dana hasn't had a cigarette since New Year.", days_ago=2)
    model.verdicts = {"Dana smokes ten cigarettes a day.": "contradicted"}
    model.otherwise = dropping("Dana smokes ten cigarettes a day.")
    assert compress(scope)["dropped"] == 1
    assert "Dana smokes ten cigarettes a day." not in live(scope)


def test_what_is_only_quoted_drops_nothing(scope: Scope, model: FakeModel) -> None:
    facts(scope, *FACTS)
    facts(scope, "Dana lives in Porto.", days_ago=50)
    facts(scope, "Dana moved to Bremen.", days_ago=2, verification="quoted")
    model.otherwise = dropping("Dana lives in Porto.")
    assert compress(scope)["not_dropped"] == 1
    assert "Dana lives in Porto." in live(scope)


@pytest.mark.thorough
def test_too_much_at_once_is_held_by_the_safety_limit(scope: Scope, model: FakeModel) -> None:
    facts(scope, *FACTS)
    passing = [f"test run {n} is on" for n in range(12)]
    facts(scope, *passing, category=Category.TEMP)
    model.otherwise = dropping(*passing)
    assert compress(scope)["held"] == 1
    assert live(scope) == {*FACTS, *passing}


@pytest.mark.thorough
def test_undo_puts_everything_back_and_the_next_run_leaves_it_so(scope: Scope, model: FakeModel) -> None:
    facts(scope, *FACTS, *TWINS)
    before = state_of_everything()
    model.otherwise = merging(*TWINS, into=ONE)
    compress(scope)
    tuesday = LATER + timedelta(days=1)
    undo = batches.plan_undo(Batch.objects.get(name="compress"), actor="user:ann", now=tuesday)
    batches.apply_batch(undo, now=tuesday)
    after = state_of_everything()
    made = Entry.objects.get(content=ONE)
    assert {change for change in differences(before, after) if not change.endswith(f" {made.pk}")} == set()
    model.otherwise = judging(lambda ids: {"merge": []})
    compress(scope, run="compress:1:2026-03-09", at=lambda: LATER + timedelta(days=7))
    result = about_facts(model)
    assert len(result) == 2
    assert not {fact["content"] for fact in result[-1].data["facts"]} & set(TWINS)
    assert live(scope) == {*FACTS, *TWINS}


@pytest.mark.thorough
def test_what_has_not_changed_since_is_not_asked_about_again(scope: Scope, model: FakeModel) -> None:
    facts(scope, *FACTS)
    compress(scope)
    compress(scope, run="compress:1:2026-03-09", at=lambda: LATER + timedelta(days=7))
    assert len(about_facts(model)) == 1
    facts(scope, "A new fact.", days_ago=-2)
    compress(scope, run="compress:1:2026-03-16", at=lambda: LATER + timedelta(days=14))
    assert len(about_facts(model)) == 2


def test_what_somebody_takes_out_meanwhile_is_not_said_again_by_a_merge(scope: Scope, model: FakeModel) -> None:
    facts(scope, *FACTS, *TWINS)
    script = merging(*TWINS, into=ONE)

    def answer(asked: Any) -> Any:
        if result := script(asked).get("merge"):
            victim = Entry.objects.get(content=TWINS[0])
            entries.expire(victim, now=LATER, actor="user:ann", expected_version=None)
            connection.close()  # the thread's own
            return {"keep": [], "merge": result, "drop": []}
        return script(asked)

    model.otherwise = answer
    compress(scope)
    assert live(scope) == {*FACTS, TWINS[1]}


def test_a_secret_stays_one_and_slots_go_along(scope: Scope, model: FakeModel) -> None:
    facts(scope, *FACTS)
    facts(scope, TWINS[0], category=Category.CREDENTIAL, slots={"env": "prod"})
    facts(scope, TWINS[1], slots={"service": "backup"})
    model.otherwise = merging(*TWINS, into=ONE)
    compress(scope)
    entry = Entry.objects.get(content=ONE)
    assert entry.category == Category.CREDENTIAL
    assert dict(entry.slots.values_list("name", "value")) == {"env": "prod", "service": "backup"}


def test_the_batch_says_what_it_cost_and_what_was_judged(scope: Scope, model: FakeModel) -> None:
    facts(scope, *FACTS)
    compress(scope)
    cost = Batch.objects.get(name="compress").cost
    assert (cost["model"], cost["calls"], cost["judged"]) == ("small", 1, ["_global\n_general"])


def test_a_partition_too_large_for_one_run_is_gone_on_with(
    scope: Scope, model: FakeModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memories.consolidation.compression.merging.CHUNK", 5)
    facts(scope, *FACTS)
    moments = iter([LATER] * 4 + [LATER + timedelta(hours=1)] * 40)
    compress(scope, at=lambda: next(moments))
    first = {fact["content"] for asked in model.requests for fact in asked.data["facts"]}
    assert 0 < len(first) < len(FACTS)
    compress(scope, run="compress:1:2026-03-09", at=lambda: LATER + timedelta(days=7))
    asked = about_facts(model)
    assert {fact["content"] for item in asked for fact in item.data["facts"]} == set(FACTS)
    assert len(asked) == 3


@pytest.mark.thorough
@pytest.mark.parametrize("into", [0, 1])
def test_a_merge_may_be_one_of_its_facts(scope: Scope, model: FakeModel, into: int) -> None:
    facts(scope, *FACTS)
    old = {fact.pk for fact in facts(scope, TWINS[0], origins=("m1",)) + facts(scope, TWINS[1], origins=("m2",))}
    model.otherwise = merging(*TWINS, into=TWINS[into])
    assert compress(scope)["merged"] == 1  # the other one
    assert live(scope) == {*FACTS, TWINS[into]}
    entry = Entry.objects.live().get(content=TWINS[into])
    assert set(entry.origins) == {"m1", "m2"}
    links = Link.objects.filter(from_entry=entry, kind=LinkKind.MERGED_FROM).values_list("to_entry", flat=True)
    assert {*links, entry.pk} >= old
    undo = batches.plan_undo(Batch.objects.get(name="compress"), actor="user:ann", now=LATER)
    batches.apply_batch(undo, now=LATER)
    assert live(scope) == {*FACTS, *TWINS}


def test_what_people_would_not_have_replaced_is_not_shown_to_the_model(scope: Scope, model: FakeModel) -> None:
    facts(scope, *FACTS)
    old, new = facts(scope, *TWINS)
    step = SupersedeStep(into=Successor(entry=new.pk))
    rows = [PlanRow(step=step, entry_id=old.pk, version=old.version)]
    asked = batches.plan(scope, rows, name="extract", run="doubts", actor="job:extract", now=NOW)
    batches.refuse(asked, actor="user:ann", now=NOW)
    compress(scope)
    shown = {fact["content"] for asked in about_facts(model) for fact in asked.data["facts"]}
    assert old.content not in shown and new.content in shown


def test_a_run_that_was_killed_half_way_is_finished_by_the_next_run_of_the_job(
    scope: Scope, model: FakeModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts(scope, *FACTS, *TWINS)
    model.otherwise = merging(*TWINS, into=ONE)
    monkeypatch.setattr(apply, "CHUNK", 1)
    with monkeypatch.context() as crash, pytest.raises(ConnectionAbortedError):
        crash.setattr(apply.entries, "merge", aborted)
        compress(scope)
    assert Batch.objects.get(name="compress").state == BatchState.APPLYING
    assert set(TWINS) < live(scope)
    model.otherwise = judging(lambda ids: {"keep": list(ids.values())})
    compress(scope, run="compress:1:2026-03-09")
    assert live(scope) == {*FACTS, ONE}
    assert Batch.objects.get(run=RUN, name="compress").state == BatchState.APPLIED


def aborted(*args: Any, **kwargs: Any) -> Any:
    raise ConnectionAbortedError


def test_on_a_branch_another_model_tidies_and_nothing_of_it_is_done(scope: Scope, model: FakeModel) -> None:
    facts(scope, *FACTS)
    facts(scope, *TWINS)
    model.otherwise = merging(*TWINS, into=ONE)
    one = branch.begin(scope, "a smaller model", actor="user:ann", now=NOW)
    (edited,) = Entry.objects.filter(content=FACTS[0])
    edit = batches.plan(
        scope, [PlanRow.of(edited, ExpireStep())], name="expire", run="e", actor="user:ann", now=NOW
    )  # fmt: skip
    branch.take_in(one, [edit], actor="user:ann", now=NOW)
    tasks.tidy_branch(one.pk, "a-smaller-one")
    assert {request.body["model"] for request in about_facts(model)} == {"a-smaller-one"}
    one.refresh_from_db()
    assert one.state == BatchState.PROPOSED and one.counts == {"expire": 1, "create": 1, "merge": 2}
    assert one.cost["model"] and one.cost["calls"] == 1
    assert live(scope) == {*FACTS, *TWINS}
    batches.apply_batch(batches.approve(one, actor="user:ann", now=LATER), now=LATER)
    assert live(scope) == {*FACTS[1:], ONE}
    one.refresh_from_db()
    tasks.tidy_branch(one.pk, "a-smaller-one")  # somebody decided meanwhile
    assert one.changes.count() == 4
