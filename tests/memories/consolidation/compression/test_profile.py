"""The profile is refreshed as a difference; what people wrote stays (D6)."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from memories import batches
from memories.choices import BatchState, Category, LinkKind, Source
from memories.models import Batch, Entry, Link, Scope
from tests.memories.consolidation.compression.conftest import LATER, compress, facts, live
from tests.memories.llm.fake_server import Asked, FakeModel, credulous

pytestmark = pytest.mark.django_db(transaction=True)


def line(scope: Scope, content: str, **kwargs: Any) -> Entry:
    defaults = {"tier": 1, "topic": "_profile", "category": Category.IDENTITY}
    return facts(scope, content, **(defaults | kwargs))[0]


def writing(judge: Callable[[dict[str, str]], dict[str, Any]]) -> Callable[[Asked], dict[str, Any]]:
    """A script for the profile: of what it is shown, by its words."""

    def answer(asked: Asked) -> dict[str, Any]:
        ids = {row["content"]: row["id"] for kind in ("profile", "facts") for row in asked.data.get(kind, [])}
        return {"keep": [], "write": [], "drop": []} | judge(ids)

    return answer


def writes(content: str, *sources: str) -> Callable[[Asked], dict[str, Any]]:
    return writing(
        lambda ids: {
            "write": [{"ids": [ids[source] for source in sources], "content": content, "category": "identity"}]
        }
    )


def test_it_works(scope: Scope, model: FakeModel) -> None:
    (fact,) = facts(scope, "Mia lives in Berlin.", importance=0.9, chats=("c1",), origins=("m1",))
    model.otherwise = writes("Mia lives in Berlin.", "Mia lives in Berlin.")
    assert compress(scope)["lines_written"] == 1
    made = Entry.objects.get(tier=1)
    assert (made.project, made.topic, made.source, made.importance) == (
        "_global", "_profile", Source.COMPRESSION, 0.9,
    )  # fmt: skip
    assert (made.chats, made.origins) == (["c1"], ["m1"])
    assert Link.objects.get(kind=LinkKind.SOURCE_OF).from_entry_id == fact.pk
    assert live(scope, tier=2) == {"Mia lives in Berlin."}  # facts stay


def test_only_important_facts_and_no_secrets_are_shown(scope: Scope, model: FakeModel) -> None:
    facts(scope, "Mia lives in Berlin.", importance=0.7)
    facts(scope, "Mia had a cold.", importance=0.69)
    facts(scope, "The password is marmalade.", importance=1.0, category=Category.CREDENTIAL)
    compress(scope)
    assert [fact["content"] for fact in model.requests[0].data["facts"]] == ["Mia lives in Berlin."]


@pytest.mark.thorough
def test_a_line_something_newer_corrects_is_followed_by_it(scope: Scope, model: FakeModel) -> None:
    old = line(scope, "Mia lives in Berlin.", days_ago=90)
    facts(scope, "Mia moved to Bremen.", importance=0.9, days_ago=3)
    model.otherwise = writes("Mia lives in Bremen.", "Mia moved to Bremen.", "Mia lives in Berlin.")
    compress(scope)
    old.refresh_from_db()
    made = Entry.objects.get(tier=1, content="Mia lives in Bremen.")
    assert (live(scope, tier=1), made.verification) == ({"Mia lives in Bremen."}, "verified")
    assert old.superseded_by == made


@pytest.mark.thorough
def test_a_line_no_rule_can_tell_of_goes_where_a_reader_says_so(scope: Scope, model: FakeModel) -> None:
    old, new = "蒋涛单身。", "蒋涛2026年6月6日和林可领了结婚证。"
    line(scope, old, days_ago=90)
    facts(scope, new, importance=0.9, days_ago=3)
    model.verdicts = {old: "contradicted"}
    model.otherwise = writes("蒋涛2026年6月6日与林可结婚。", new, old)
    compress(scope)
    assert live(scope, tier=1) == {"蒋涛2026年6月6日与林可结婚。"}


def test_nothing_old_takes_the_place_of_a_line(scope: Scope, model: FakeModel) -> None:
    line(scope, "Mia lives in Berlin.", days_ago=3)
    facts(scope, "Mia moved to Bremen.", importance=0.9, days_ago=90)
    model.otherwise = writes("Mia lives in Bremen.", "Mia moved to Bremen.", "Mia lives in Berlin.")
    assert compress(scope)["not_written_outdated"] == 1
    assert live(scope, tier=1) == {"Mia lives in Berlin."}


def test_of_what_no_fact_says_the_fact_alone_is_written(scope: Scope, model: FakeModel) -> None:
    facts(scope, "Mia lives in Berlin.", importance=0.9)
    model.otherwise = writes("Mia lives in Berlin since 2019.", "Mia lives in Berlin.")
    compress(scope)
    assert live(scope, tier=1) == {"Mia lives in Berlin."}
    assert not model.readings  # no reader has to be asked about a year nobody said


def test_what_is_only_quoted_enters_no_profile(scope: Scope, model: FakeModel) -> None:
    facts(scope, "Mia lives in Berlin.", importance=0.9)
    facts(scope, "米娅在上海工作。", importance=0.9, verification="quoted")
    compress(scope)
    assert [fact["content"] for fact in model.requests[0].data["facts"]] == ["Mia lives in Berlin."]


FALSE = [
    ("Ana eats meat.", "Ana eats no meat."),
    ("Ana trusts Kim.", "Kim trusts Ana."),
    ("Ana may want to quit.", "Ana wants to quit."),
    ("Tom prefers tabs over spaces.", "Tom prefers spaces over tabs."),
    ("小汤喜欢用制表符。", "小汤不喜欢用制表符。"),
    ("他已经戒烟了。", "他没有戒烟。"),
    ("弟弟比哥哥高。", "哥哥比弟弟高。"),
]


@pytest.mark.thorough
@pytest.mark.parametrize("reader", ["honest", "credulous", "none"])
@pytest.mark.parametrize(("fact", "statement"), FALSE, ids=[statement for _fact, statement in FALSE])
def test_a_line_no_reader_agrees_with_is_in_the_words_of_its_fact(
    scope: Scope, model: FakeModel, settings: Any, fact: str, statement: str, reader: str
) -> None:
    settings.MEMORY_VERIFY = reader != "none"
    model.verdicts = {statement: "contradicted"}
    model.reader = credulous if reader == "credulous" else model.honest
    facts(scope, fact, importance=0.9)
    model.otherwise = writes(statement, fact)
    compress(scope)
    assert live(scope, tier=1) == {fact}


def test_several_facts_become_one_line_where_a_reader_agrees(scope: Scope, model: FakeModel) -> None:
    facts(scope, "Mia lives in Berlin.", "Mia works at Siemens.", importance=0.9)
    model.otherwise = writes(
        "Mia works at Siemens and lives in Berlin.", "Mia lives in Berlin.", "Mia works at Siemens."
    )
    compress(scope)
    assert live(scope, tier=1) == {"Mia works at Siemens and lives in Berlin."}


def test_a_line_nothing_corrects_stays_beside_the_new_one(scope: Scope, model: FakeModel) -> None:
    line(scope, "Mia likes tea.", days_ago=90)
    facts(scope, "Mia lives in Lisbon.", importance=0.9, days_ago=3)
    model.verdicts = {"Mia likes tea.": "not_stated"}
    model.otherwise = writes("Mia lives in Lisbon.", "Mia lives in Lisbon.", "Mia likes tea.")
    compress(scope)
    assert live(scope, tier=1) == {"Mia likes tea.", "Mia lives in Lisbon."}


@pytest.mark.thorough
@pytest.mark.parametrize("data", [{"pinned": True}, {"source": Source.MANUAL}, {"source": Source.MIGRATION}])
def test_what_people_wrote_stays_whatever_the_model_says(
    scope: Scope, model: FakeModel, settings: Any, data: dict[str, Any]
) -> None:
    settings.MEMORY_LLM_CORRECTIONS = 0
    before = line(scope, "Mia is a nurse.", **data)
    facts(scope, "Mia is a doctor.", importance=0.9, days_ago=1)
    model.otherwise = writing(lambda ids: {"drop": [ids["Mia is a nurse."]]})
    assert compress(scope)["unreadable"] == 1
    model.otherwise = writes("Mia is a doctor.", "Mia is a doctor.", "Mia is a nurse.")
    compress(scope, run="again")
    assert Entry.objects.get(pk=before.pk).is_live() and Entry.objects.get(pk=before.pk).version == before.version


def test_lines_nothing_newer_speaks_against_stay(scope: Scope, model: FakeModel) -> None:
    lines = [line(scope, f"Line about the {word} in the house.") for word in ("stove", "roof", "cellar", "garden")]
    facts(scope, "Mia lives in Berlin.", importance=0.9)
    model.otherwise = writing(lambda ids: {"drop": [pk for content, pk in ids.items() if content.startswith("Line")]})
    assert compress(scope)["not_dropped"] == 4
    assert len(live(scope, tier=1)) == len(lines)
    assert not Batch.objects.filter(name="profile-doubts").exists()


def test_a_correction_of_what_a_person_wrote_waits_for_a_person(scope: Scope, model: FakeModel) -> None:
    line(scope, "Mia lives in Berlin.", days_ago=90, source=Source.MANUAL)
    facts(scope, "Mia moved to Bremen.", importance=0.9, days_ago=3)
    model.otherwise = writes("Mia lives in Bremen.", "Mia moved to Bremen.", "Mia lives in Berlin.")
    compress(scope)
    assert "Mia lives in Berlin." in live(scope, tier=1)
    waiting = Batch.objects.get(name="profile-doubts")
    assert (waiting.state, waiting.counts) == (BatchState.PROPOSED, {"supersede": 1})


def test_there_are_at_most_a_hundred_lines(scope: Scope, model: FakeModel, settings: Any) -> None:
    settings.MEMORY_PROFILE_LINES = 2
    line(scope, "Mia is a nurse.")
    line(scope, "Mia has a cat.")
    facts(scope, "Mia lives in Berlin.", importance=0.9)
    model.otherwise = writes("Mia lives in Berlin.", "Mia lives in Berlin.")
    assert compress(scope)["not_written_no_room"] == 1
    assert len(live(scope, tier=1)) == 2


def test_it_is_asked_about_again_only_when_something_changed(scope: Scope, model: FakeModel) -> None:
    facts(scope, "Mia lives in Berlin.", importance=0.9)
    compress(scope)
    compress(scope, run="next", at=lambda: LATER + timedelta(days=7))
    assert model.calls == 1


def test_undo_takes_the_line_and_its_link_back(scope: Scope, model: FakeModel) -> None:
    facts(scope, "Mia lives in Berlin.", importance=0.9)
    model.otherwise = writes("Mia lives in Berlin.", "Mia lives in Berlin.")
    compress(scope)
    undo = batches.plan_undo(Batch.objects.get(name="profile"), actor="user:ann", now=LATER)
    batches.apply_batch(undo, now=LATER)
    assert live(scope, tier=1) == set() and not Link.objects.exists()
