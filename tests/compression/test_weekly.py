"""Once a week facts that say the same become one, in a batch that can be taken back (D6)."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from memories import batch, store
from memories.choices import BatchState, Category, LinkKind, Source
from memories.models import Batch, Entry, Link, Scope
from tests.batches.conftest import differences, state_of_everything
from tests.compression.conftest import FACTS, LATER, compress, dropping, facts, judging, live, merging
from tests.conftest import NOW
from tests.llm.fake_server import Asked, FakeModel

pytestmark = pytest.mark.django_db(transaction=True)
TWINS = ("The backup runs on host Atlas at night.", "At night the backup runs on Atlas, a host.")
ONE = "The backup runs at night on the host Atlas."


def about_facts(model: FakeModel) -> list[Asked]:
    return [asked for asked in model.requests if "profile" not in asked.data]


def test_it_works(scope: Scope, model: FakeModel) -> None:
    facts(scope, *FACTS)
    first, *_ = facts(scope, TWINS[0], days_ago=60, chats=("c1",), origins=("m1",), importance=0.4)
    second, *_ = facts(scope, TWINS[1], days_ago=20, chats=("c2",), origins=("m2",), importance=0.9)
    model.otherwise = merging(*TWINS, into=ONE)
    assert compress(scope)["merged"] == 2
    one = Entry.objects.get(content=ONE)
    assert (one.source, one.tier, one.chats, one.origins) == (Source.COMPRESSION, 2, ["c1", "c2"], ["m1", "m2"])
    assert (one.importance, one.created_at, one.stated_at) == (0.9, first.created_at, second.stated_at)
    assert set(Link.objects.filter(from_entry=one, kind=LinkKind.MERGED_FROM).values_list("to_entry", flat=True)) == {
        first.pk, second.pk,
    }  # fmt: skip
    assert live(scope) == {*FACTS, ONE}
    assert set(Entry.objects.archived().values_list("content", flat=True)) == set(TWINS)


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


def test_pinned_facts_and_those_people_wrote_are_not_even_shown(scope: Scope, model: FakeModel) -> None:
    facts(scope, *FACTS[:10])
    facts(scope, "Pinned is this.", pinned=True)
    facts(scope, "By hand is this.", source=Source.MANUAL)
    facts(scope, "Brought along is this.", source=Source.MIGRATION)
    facts(scope, "With a term is this.", expires_at=NOW + timedelta(days=90))
    compress(scope)
    shown = {fact["content"] for asked in about_facts(model) for fact in asked.data["facts"]}
    assert shown == set(FACTS[:10])


def test_a_drop_time_itself_or_a_newer_fact_speaks_for_is_made(scope: Scope, model: FakeModel) -> None:
    facts(scope, *FACTS)
    facts(scope, "The tunnel is open for a test.", category=Category.TEMP)
    facts(scope, "Dana's desk is in room 4 on the second floor.", days_ago=50)
    facts(scope, "Dana's desk is in room 9 on the second floor.", days_ago=2)
    gone = ("The tunnel is open for a test.", "Dana's desk is in room 4 on the second floor.")
    model.otherwise = dropping(*gone)
    assert compress(scope)["dropped"] == 2
    assert live(scope) == {*FACTS, "Dana's desk is in room 9 on the second floor."}


def test_a_drop_only_the_model_speaks_for_waits_for_a_person(scope: Scope, model: FakeModel) -> None:
    facts(scope, *FACTS)
    model.otherwise = dropping("Mia lives in Berlin.")
    compress(scope)
    assert live(scope) == set(FACTS)
    waiting = Batch.objects.get(name="compress-doubts")
    assert batch.in_words(waiting) == ["The model would take 1 memories out of use, and nothing newer says why."]
    assert batch.carry_out(waiting, now=LATER).state == BatchState.PROPOSED
    batch.carry_out(batch.approve(waiting, actor="user:ann", now=LATER), now=LATER)
    assert live(scope) == set(FACTS) - {"Mia lives in Berlin."}


def test_too_much_at_once_is_held_by_the_fuse(scope: Scope, model: FakeModel) -> None:
    facts(scope, *FACTS)
    passing = [f"test run {n} is on" for n in range(12)]
    facts(scope, *passing, category=Category.TEMP)
    model.otherwise = dropping(*passing)
    assert compress(scope)["held"] == 1
    assert live(scope) == {*FACTS, *passing}


def test_undo_puts_everything_back_and_the_next_run_leaves_it_so(scope: Scope, model: FakeModel) -> None:
    facts(scope, *FACTS, *TWINS)
    before = state_of_everything()
    model.otherwise = merging(*TWINS, into=ONE)
    compress(scope)
    tuesday = LATER + timedelta(days=1)
    undo = batch.plan_undo(Batch.objects.get(name="compress"), actor="user:ann", now=tuesday)
    batch.carry_out(undo, now=tuesday)
    after = state_of_everything()
    made = Entry.objects.get(content=ONE)
    assert {change for change in differences(before, after) if not change.endswith(f" {made.pk}")} == set()
    model.otherwise = judging(lambda ids: {"merge": []})
    compress(scope, run="compress:1:2026-03-09", at=lambda: LATER + timedelta(days=7))
    asked = about_facts(model)
    assert len(asked) == 2
    assert not {fact["content"] for fact in asked[-1].data["facts"]} & set(TWINS)
    assert live(scope) == {*FACTS, *TWINS}


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
        if said := script(asked).get("merge"):
            victim = Entry.objects.get(content=TWINS[0])
            store.expire(victim, now=LATER, actor="user:ann", expected_version=None)
            connection.close()  # the thread's own
            return {"keep": [], "merge": said, "drop": []}
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
    one = Entry.objects.get(content=ONE)
    assert one.category == Category.CREDENTIAL
    assert dict(one.slots.values_list("name", "value")) == {"env": "prod", "service": "backup"}


def test_the_batch_says_what_it_cost_and_what_was_judged(scope: Scope, model: FakeModel) -> None:
    facts(scope, *FACTS)
    compress(scope)
    cost = Batch.objects.get(name="compress").cost
    assert (cost["model"], cost["calls"], cost["judged"]) == ("small", 1, ["_global\n_general"])


def test_a_partition_too_large_for_one_run_is_gone_on_with(
    scope: Scope, model: FakeModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memories.compression.facts.CHUNK", 5)
    facts(scope, *FACTS)
    moments = iter([LATER] * 4 + [LATER + timedelta(hours=1)] * 40)
    compress(scope, at=lambda: next(moments))
    first = {fact["content"] for asked in model.requests for fact in asked.data["facts"]}
    assert 0 < len(first) < len(FACTS)
    compress(scope, run="compress:1:2026-03-09", at=lambda: LATER + timedelta(days=7))
    asked = about_facts(model)
    assert {fact["content"] for one in asked for fact in one.data["facts"]} == set(FACTS)
    assert len(asked) == 3
