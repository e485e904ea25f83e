"""What a machine judged too boldly waits for a person (F4)."""

from datetime import timedelta

import pytest
from django.utils import translation

from memories import batches
from memories.batches import planning
from memories.choices import BatchState, BatchVerb
from memories.exceptions import BatchSettled
from memories.models import Batch, Entry, Scope
from tests.conftest import NOW
from tests.memories.batches.conftest import LATER, applied, create, live, planned, remember, step, undone

pytestmark = pytest.mark.django_db


def crowd(scope: Scope, size: int = 60) -> list[Entry]:
    return remember(scope, *(f"第{n}件事：item number {n} lies in drawer {n}" for n in range(size)))


def judged(scope: Scope, verb: BatchVerb, entries: list[Entry], **draft: object) -> Batch:
    return planned(scope, [step(verb, entry, **draft) for entry in entries], judged=True)


@pytest.mark.thorough
@pytest.mark.parametrize("verb", [BatchVerb.EXPIRE, BatchVerb.ARCHIVE])
def test_more_than_a_fifth_of_a_scope_is_held(scope: Scope, verb: BatchVerb) -> None:
    entries = crowd(scope)
    plan = batches.apply_batch(judged(scope, verb, entries[:13]), now=LATER)
    assert plan.state == BatchState.PROPOSED
    assert plan.held_because == [{"code": "share", "retired": 13, "live": 60, "percent": 20}]
    assert len(live(scope)) == 60


@pytest.mark.thorough
@pytest.mark.parametrize(("size", "retired"), [(60, 12), (20, 10)])
def test_a_fifth_or_ten_memories_are_not(scope: Scope, size: int, retired: int) -> None:
    entries = crowd(scope, size)
    plan = batches.apply_batch(judged(scope, BatchVerb.ARCHIVE, entries[:retired]), now=LATER)
    assert plan.state == BatchState.APPLIED and len(live(scope)) == size - retired


def test_what_is_merged_is_not_retired_for_a_live_row_names_it(scope: Scope) -> None:
    entries = crowd(scope)
    steps = [create(scope, "all in one"), *(step(BatchVerb.MERGE, e, into={"position": 1}) for e in entries[:30])]
    assert planned(scope, steps, judged=True).held_because == []


def test_what_a_live_row_names_as_its_source_may_go(scope: Scope) -> None:
    entries = crowd(scope)
    merged = planned(scope, [step(BatchVerb.MERGE, e, into={"entry": entries[0].pk}) for e in entries[1:31]], "one")
    batches.apply_batch(merged, now=LATER)
    again = batches.plan_undo(merged, actor="user:ann", now=LATER)
    batches.refuse(again, actor="user:ann", now=LATER)
    assert judged(scope, BatchVerb.EXPIRE, entries[1:31]).held_because == []


def test_successors_do_not_save_what_they_supersede(scope: Scope) -> None:
    entries = crowd(scope)
    plan = judged(scope, BatchVerb.SUPERSEDE, entries[1:21], into={"entry": entries[0].pk})
    assert [reason["code"] for reason in plan.held_because] == ["share"]


def test_a_pinned_memory_is_not_touched_without_a_person(scope: Scope) -> None:
    entries = crowd(scope)
    Entry.objects.filter(pk=entries[0].pk).update(pinned=True)
    plan = judged(scope, BatchVerb.CHANGE, entries[:2], columns={"category": "temp"})
    assert plan.held_because == [{"code": "pinned", "pinned": 1}]


def test_an_answer_nobody_could_read_is_not_acted_upon(scope: Scope) -> None:
    entries = crowd(scope)
    steps = [step(BatchVerb.ARCHIVE, entries[0])]
    plan = planned(scope, steps, judged=True, unreadable="expected an object, got “sorry”")
    assert batches.apply_batch(plan, now=LATER).state == BatchState.PROPOSED


def test_what_people_and_time_take_out_passes(scope: Scope) -> None:
    entries = crowd(scope)
    plan = planned(scope, [step(BatchVerb.EXPIRE, entry) for entry in entries])
    assert batches.apply_batch(plan, now=LATER).counts == {"expire": 60}


def test_it_says_why_in_the_reader_s_language(scope: Scope) -> None:
    plan = judged(scope, BatchVerb.ARCHIVE, crowd(scope)[:13])
    assert planning.approval_reasons(plan) == ["It would take 13 of 60 memories out of use, more than 20 %."]
    with translation.override("zh-hans"):
        assert planning.approval_reasons(plan) == ["它会让 60 条记忆中的 13 条停用，超过 20%。"]


def test_a_person_may_approve_it(scope: Scope) -> None:
    plan = judged(scope, BatchVerb.ARCHIVE, crowd(scope)[:13])
    batches.approve(plan, actor="user:ann", now=LATER)
    done = batches.apply_batch(plan, now=LATER)
    assert (done.state, done.decided_by, done.actor) == (BatchState.APPLIED, "user:ann", "job:test")
    assert len(live(scope)) == 47


def test_a_person_may_refuse_it_for_good(scope: Scope) -> None:
    plan = judged(scope, BatchVerb.ARCHIVE, crowd(scope)[:13])
    batches.refuse(plan, actor="user:ann", now=LATER)
    assert (plan.state, plan.decided_by, plan.closed_at) == (BatchState.REFUSED, "user:ann", LATER)
    with pytest.raises(BatchSettled):
        batches.approve(plan, actor="user:bo", now=LATER)
    assert batches.apply_batch(plan, now=LATER).state == BatchState.REFUSED and len(live(scope)) == 60


def archive(scope: Scope, entries: list[Entry], week: int) -> Batch:
    """What the machine of one week takes out."""
    steps = [step(BatchVerb.ARCHIVE, entry) for entry in entries]
    at = NOW + timedelta(weeks=week)
    plan = batches.plan(scope, steps, name="test", run=f"test:week {week}", actor="job:test", now=at, judged=True)
    return batches.apply_batch(plan, now=at)


@pytest.mark.thorough
def test_many_weeks_together_are_held_though_each_takes_little(scope: Scope) -> None:
    entries = crowd(scope, 100)
    weeks = [archive(scope, entries[12 * week : 12 * week + 12], week) for week in range(3)]
    assert [week.state for week in weeks] == [BatchState.APPLIED, BatchState.APPLIED, BatchState.PROPOSED]
    assert weeks[2].held_because == [{"code": "drained", "retired": 36, "live": 100, "percent": 30, "days": 30}]
    assert len(live(scope)) == 76
    with translation.override("zh-hans"):
        assert planning.approval_reasons(weeks[2]) == [
            "连同本批次，机器将在 30 天内让 100 条记忆中的 36 条停用，超过 30%。"
        ]


@pytest.mark.thorough
def test_after_a_month_what_was_taken_out_counts_no_more(scope: Scope) -> None:
    entries = crowd(scope, 100)
    for week in (0, 4, 8):
        assert archive(scope, entries[3 * week : 3 * week + 12], week).state == BatchState.APPLIED


@pytest.mark.thorough
def test_what_was_taken_back_or_a_person_decided_on_counts_no_more(scope: Scope) -> None:
    entries = crowd(scope, 100)
    first, second = (archive(scope, entries[15 * week : 15 * week + 15], week) for week in range(2))
    undone(first)
    assert archive(scope, entries[30:45], 2).state == BatchState.APPLIED
    result = archive(scope, entries[45:60], 3)
    assert result.state == BatchState.PROPOSED
    batches.apply_batch(batches.approve(result, actor="user:ann", now=LATER), now=LATER)
    undone(second)
    assert archive(scope, entries[60:70], 3 + 1).state == BatchState.APPLIED


@pytest.mark.thorough
def test_merged_duplicates_count_when_what_they_became_goes(scope: Scope) -> None:
    entries = crowd(scope, 100)
    steps = [create(scope, "all in one"), *(step(BatchVerb.MERGE, e, into={"position": 1}) for e in entries[:40])]
    batches.apply_batch(planned(scope, steps, judged=True), now=NOW)
    assert archive(scope, entries[40:50], 1).state == BatchState.APPLIED
    entry = Entry.objects.get(content="all in one")
    plan = batches.plan(
        scope, [step(BatchVerb.ARCHIVE, entry)], name="test", run="test:2", actor="job:test", now=LATER, judged=True
    )
    assert plan.held_because == [{"code": "share", "retired": 41, "live": 51, "percent": 20}]


@pytest.mark.thorough
def test_what_is_merged_every_day_is_not_summed_up(scope: Scope) -> None:
    entries = crowd(scope, 100)
    for week in range(4):
        steps = [step(BatchVerb.MERGE, e, into={"entry": entries[99].pk}) for e in entries[20 * week : 20 * week + 20]]
        assert applied(scope, steps, f"day {week}", judged=True).state == BatchState.APPLIED
    assert archive(scope, entries[80:83], 1).state == BatchState.APPLIED


@pytest.mark.thorough
def test_facts_are_not_counted_against_turns(scope: Scope) -> None:
    crowd(scope, 100)
    facts = remember(scope, *(f"fact number {n} of drawer {n}" for n in range(20)), type="fact", tier=2)
    plan = judged(scope, BatchVerb.ARCHIVE, facts[:11])
    assert plan.held_because == [{"code": "share", "retired": 11, "live": 20, "percent": 20}]


def replaced(scope: Scope, old: Entry, words: str, day: int) -> tuple[Batch, Entry]:
    """What the machine of one day puts in the place of a fact."""
    steps = [create(scope, words), step(BatchVerb.SUPERSEDE, old, into={"position": 1})]
    at = NOW + timedelta(days=day)
    plan = batches.plan(scope, steps, name="test", run=f"test:day {day}", actor="job:test", now=at, judged=True)
    plan = batches.apply_batch(plan, now=at)
    return plan, Entry.objects.order_by("pk").last() or old


def test_one_fact_that_is_changed_again_and_again_counts_once(scope: Scope) -> None:
    (fact, *_others) = crowd(scope, 14)
    for day in range(12):
        plan, fact = replaced(scope, fact, f"Kate's party begins at {day + 8} in room {day * 7}", day)
        assert plan.state == BatchState.APPLIED, plan.held_because
    assert len(live(scope)) == 14


def test_many_facts_that_are_replaced_once_each_are_held(scope: Scope) -> None:
    facts = crowd(scope, 14)
    plans = [
        replaced(scope, fact, f"第{n}件事：it lies in no drawer but {n * 7}", n)[0] for n, fact in enumerate(facts)
    ]
    assert plans[-1].held_because[0]["code"] == "drained" and plans[9].state == BatchState.APPLIED


def test_facts_that_took_the_place_of_others_long_ago_count_as_any(scope: Scope) -> None:
    entries = crowd(scope, 100)
    former = remember(scope, *(f"第{n}个旧说法 former saying {n * 13}" for n in range(36)))
    for old, new in zip(former, entries, strict=False):
        Entry.objects.filter(pk=old.pk).update(superseded_by=new, expired_at=NOW)
    weeks = [archive(scope, entries[12 * week : 12 * week + 12], week) for week in range(3)]
    assert [week.state for week in weeks] == [BatchState.APPLIED, BatchState.APPLIED, BatchState.PROPOSED]
