"""Merges in a model's own words: made where a reader agrees, and of lies none (D6)."""

from typing import Any

import pytest

from memories import batches
from memories.choices import BatchState
from memories.consolidation import proposals
from memories.entries import evidence
from memories.entries.draft import QuotedWords
from memories.models import Batch, Entry, Scope
from tests.conftest import NOW
from tests.memories.consolidation.compression.conftest import FACTS, LATER, compress, facts, live, merging
from tests.memories.consolidation.compression.test_weekly import OWN, TWINS, about_facts
from tests.memories.llm.fake_server import FakeModel, credulous

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_merge_in_words_of_its_own_is_made_where_a_reader_agrees(scope: Scope, model: FakeModel) -> None:
    facts(scope, *FACTS, *TWINS)
    model.otherwise = merging(*TWINS, into=OWN)
    assert compress(scope)["merged"] == 2
    assert live(scope) == {*FACTS, OWN}
    assert Entry.objects.get(content=OWN).verification == "verified"
    cost = Batch.objects.get(name="compress").cost
    assert cost["reader_calls"] == 1 and cost["reader_tokens"] > 0 and cost["decoys"] >= 3
    undo = batches.plan_undo(Batch.objects.get(name="compress"), actor="user:ann", now=LATER)
    batches.apply_batch(undo, now=LATER)
    assert live(scope) == {*FACTS, *TWINS}


def test_quotes_of_the_sources_stand_beside_the_merge(scope: Scope, model: FakeModel) -> None:
    words = QuotedWords(origin="s/1", start=0, end=5, quote="3 pm!", at=NOW)
    facts(scope, *FACTS, TWINS[1])
    facts(scope, TWINS[0], verification="verified", evidence=(words,))
    model.otherwise = merging(*TWINS, into=OWN)
    compress(scope)
    entry = Entry.objects.get(content=OWN)
    assert [row.quote for row in evidence.evidence_of([entry.pk], scope.workspace_id)[entry.pk]] == ["3 pm!"]


def test_what_is_only_quoted_waits_for_a_reader(scope: Scope, model: FakeModel) -> None:
    facts(scope, *FACTS, TWINS[0])
    facts(scope, TWINS[1], verification="quoted")
    compress(scope)
    shown = {fact["content"] for asked in about_facts(model) for fact in asked.data["facts"]}
    assert shown == {*FACTS, TWINS[0]}


@pytest.mark.thorough
@pytest.mark.parametrize("reader", ["credulous", "none", "not entailed", "loses a source"])
def test_without_a_reader_that_agrees_nothing_is_merged_in_other_words(
    scope: Scope, model: FakeModel, settings: Any, reader: str
) -> None:
    settings.MEMORY_VERIFY = reader != "none"
    model.reader = credulous if reader == "credulous" else model.honest
    model.verdicts = {"not entailed": {OWN: "not_stated"}, "loses a source": {TWINS[1]: "not_stated"}}.get(reader, {})
    facts(scope, *FACTS, *TWINS)
    model.otherwise = merging(*TWINS, into=OWN)
    result = compress(scope)
    assert (result["merged"], result["not_merged_unverified"], live(scope)) == (0, 1, {*FACTS, *TWINS})
    assert not Batch.objects.filter(state=BatchState.PROPOSED).exists()


def test_without_a_reader_what_one_fact_says_whole_is_merged_in_its_words(
    scope: Scope, model: FakeModel, settings: Any
) -> None:
    settings.MEMORY_VERIFY = False
    same = ("The bakery opens at six.", "The bakery opens at six and sells rye bread.")
    facts(scope, *FACTS, *same)
    model.otherwise = merging(*same, into="The bakery that opens at six sells rye bread.")
    assert compress(scope)["merged"] == 1
    assert live(scope) == {*FACTS, same[1]}


@pytest.mark.thorough
def test_a_model_whose_work_is_taken_back_acts_no_more(scope: Scope, model: FakeModel) -> None:
    facts(scope, *FACTS, *TWINS)
    model.otherwise = merging(*TWINS, into=OWN)
    for n in range(4):
        run = f"compress:1:2026-03-{n + 2:02}"
        pair = facts(scope, f"Lamp {n} hangs in the hall.", f"The lamp with number {n} is made of brass.", days_ago=-1)
        into = f"Lamp {n} is of brass and hangs in the hall."
        model.otherwise = merging(*(item.content for item in pair), into=into)
        assert compress(scope, run=run)["merged"] == 2
        undo = batches.plan_undo(Batch.objects.get(name="compress", run=run), actor="user:ann", now=LATER)
        batches.apply_batch(undo, now=LATER)
    (figure,) = proposals.figures(scope.workspace_id, now=LATER)
    assert (figure.model, figure.rows, figure.taken_back, figure.is_enough) == ("small", 12, 12, False)
    calls = model.calls
    facts(scope, "A new fact.", days_ago=-2)
    assert compress(scope, run="compress:1:2026-04-01")["stopped_untrusted"] == 1
    assert model.calls == calls


FALSE = [
    ("Sam is allergic to nuts.", "Sam loves cheese.", "Sam loves nuts and is allergic to cheese."),
    ("Guests may read pages.", "Only admins may delete pages.", "Guests may delete and read pages, only admins."),
    (
        "The left key opens the garage.",
        "The right key opens the cellar.",
        "The right key opens the garage, the left key the cellar.",
    ),
    ("小陈负责前端。", "小赵负责后端。", "小陈负责后端，小赵负责前端。"),
    ("弟弟比哥哥高。", "弟弟喜欢篮球。", "哥哥比弟弟高，弟弟喜欢篮球。"),
    ("小李会弹钢琴。", "小李每周五开会。", "小李每周五弹钢琴。"),
    ("先备份再升级。", "升级要半小时。", "先升级再备份，要半小时。"),
]


@pytest.mark.thorough
@pytest.mark.parametrize("reader", ["honest", "credulous"])
@pytest.mark.parametrize(("text", "other", "statement"), FALSE, ids=[statement for _one, _other, statement in FALSE])
def test_what_the_words_of_two_facts_make_a_lie_never_takes_their_place(
    scope: Scope, model: FakeModel, text: str, other: str, statement: str, reader: str
) -> None:
    facts(scope, *FACTS, text, other)
    model.verdicts = {statement: "contradicted"}
    model.reader = credulous if reader == "credulous" else model.honest
    model.otherwise = merging(text, other, into=statement)
    assert compress(scope)["merged"] == 0
    assert live(scope) == {*FACTS, text, other}
