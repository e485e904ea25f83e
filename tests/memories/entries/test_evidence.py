"""The words a fact rests on go with the message they stand in (D5, A15)."""

from typing import Any

import pytest

from memories import batches
from memories.batches import PlanRow
from memories.batches.steps import CreateStep
from memories.choices import EntryType, Source, Verification
from memories.entries import evidence, remember
from memories.models import BatchChange, Entry, Evidence, RefusedFact, Scope, Workspace
from tests.conftest import NOW, make_draft, make_scope
from tests.memories.quoting import SESSION, fact_of_model, quoted_words, refuse

pytestmark = pytest.mark.django_db


def planned(scope: Scope, content: str, *quotes: Any) -> Any:
    draft = make_draft(
        scope, content, type=EntryType.FACT, tier=2, source=Source.EXTRACTION, verification=Verification.QUOTED,
        evidence=quotes, origins=tuple(quote.origin for quote in quotes),
    )  # fmt: skip
    return batches.plan(scope, [PlanRow(step=CreateStep(draft=draft))], name="extract", run=content, actor="t", now=NOW)


def drafted(batch: Any) -> list[str]:
    (change,) = BatchChange.objects.filter(batch=batch)
    return [row["quote"] for row in change.draft.get("evidence", [])]


def test_a_fact_keeps_the_words_it_rests_on_in_the_order_they_were_said(scope: Scope) -> None:
    fact = fact_of_model(scope, "用户对花生过敏。", "我一吃花生就起疹子", "所以别放花生")
    assert [item.quote for item in evidence.evidence_of([fact.pk], scope.workspace_id)[fact.pk]] == [
        "我一吃花生就起疹子",
        "所以别放花生",
    ]


def test_the_words_of_a_message_that_goes_are_forgotten_and_others_stay(scope: Scope) -> None:
    fact_of_model(scope, "Sam is allergic to nuts.", quoted_words("nuts make me ill", event=1))
    fact_of_model(scope, "Sam plays go.", quoted_words("I play go", event=2))
    assert evidence.forget(scope.workspace_id, [f"{SESSION}/event-1", f"{SESSION}/event-11"]) == 1
    assert [evidence.quote for evidence in Evidence.objects.all()] == ["I play go"]
    assert Entry.objects.live().count() == 2


def test_they_are_forgotten_in_the_plan_the_fact_was_made_by(scope: Scope) -> None:
    gone = planned(scope, "Sam is allergic to nuts.", quoted_words("nuts make me ill", event=1))
    stays = planned(scope, "Sam plays go.", quoted_words("I play go", event=2))
    for batch in (gone, stays):
        batches.apply_batch(batch, now=NOW)
    assert Evidence.objects.count() == 2
    evidence.forget(scope.workspace_id, [f"{SESSION}/event-1"])
    assert (drafted(gone), drafted(stays)) == ([], ["I play go"])


def test_they_are_forgotten_in_a_plan_that_waits(scope: Scope) -> None:
    waits = planned(scope, "Sam is allergic to nuts.", quoted_words("nuts make me ill", event=1))
    evidence.forget(scope.workspace_id, [f"{SESSION}/event-1"])
    assert drafted(waits) == []
    batches.apply_batch(waits, now=NOW)
    assert Entry.objects.get().content == "Sam is allergic to nuts." and not Evidence.objects.exists()


def test_what_was_refused_goes_with_its_message(workspace: Workspace) -> None:
    refuse(workspace, "Sam plays chess", quote="I play go", origins=[f"{SESSION}/event-1", f"{SESSION}/event-2"])
    refuse(workspace, "Sam rows", quote="I run", origins=[f"{SESSION}/event-3"])
    evidence.forget(workspace.pk, [f"{SESSION}/event-2"])
    assert [fact.content for fact in RefusedFact.objects.all()] == ["Sam rows"]


def test_another_workspace_keeps_its_words(scope: Scope, stranger: Workspace) -> None:
    fact_of_model(make_scope(stranger), "Sam plays go.", quoted_words("I play go", event=1))
    refuse(stranger, "Sam rows", origins=[f"{SESSION}/event-1"])
    assert evidence.forget(scope.workspace_id, [f"{SESSION}/event-1"]) == 0
    assert Evidence.objects.count() == RefusedFact.objects.count() == 1


def test_the_same_words_are_kept_once(scope: Scope) -> None:
    first = fact_of_model(scope, "Sam plays go.", "I play go")
    assert fact_of_model(scope, "Sam plays go.", "I play go").pk == first.pk
    assert Evidence.objects.count() == 1


def test_a_fact_said_again_gains_the_new_words(scope: Scope) -> None:
    fact = fact_of_model(scope, "Sam plays go.", quoted_words("I play go", event=1))
    fact_of_model(scope, "Sam plays go.", quoted_words("go is my game", event=5))
    found = evidence.evidence_of([fact.pk], scope.workspace_id)[fact.pk]
    assert [item.quote for item in found] == ["I play go", "go is my game"]


def test_a_person_who_writes_the_same_adds_no_words(scope: Scope) -> None:
    fact = fact_of_model(scope, "Sam plays go.", "I play go")
    remember(
        make_draft(scope, "Sam plays go.", type=EntryType.FACT, tier=2, source=Source.MANUAL), now=NOW, actor="user:a"
    )
    assert len(evidence.evidence_of([fact.pk], scope.workspace_id)[fact.pk]) == 1
