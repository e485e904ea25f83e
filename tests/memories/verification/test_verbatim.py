"""What needs no judgement is only what the facts say themselves: told of both tables of rewordings (D6)."""

import pytest

from memories.verification import rewording, verbatim
from tests.memories.verification.test_rewording import BAD, GOOD

ALIKE = [
    ("Bob has three cats.", "Bob owns 3 cats."),
    ("The call is at 3 pm", "A call is at 15:00."),
    ("Atlas runs the backup at night.", "At night, Atlas runs the backup."),
    ("米娅喜欢喝茶。", "米娅爱喝茶"),
    ("妈妈的生日是五月三日", "妈妈生日是5月3日。"),
    ("Mia LIKES tea!", "Mia enjoys the tea"),
    ("Mia sings. Bob has 3 cats.", "Bob owns three cats. Mia sings."),
]
OTHERS = [
    ("弟弟比哥哥高", "哥哥比弟弟高"),
    ("The dog bit the man", "The man bit the dog"),
    ("Heating is on", "Heating is off"),
    ("米娅要搬家", "米娅搬家"),
    ("Ana was a nurse", "Ana is a nurse"),
    ("Her brother sings", "His brother sings"),
    ("先备份再升级", "先升级再备份"),
    ("It costs 5 €", "It costs 5 $"),
    ("Mia lives in Berlin", "Mia's sister lives in Berlin"),
    ("In Rome Mia met Bob", "In Rome Bob met Mia"),
    ("Mia knows Bob", "Bob knows Mia"),
    ("Mia sings. Bob has 3 cats.", "Bob sings. Mia has 3 cats."),
]


@pytest.mark.parametrize(("one", "other"), ALIKE)
def test_words_that_may_stand_for_one_another_make_no_difference(one: str, other: str) -> None:
    assert verbatim.are_equivalent(one, other)


@pytest.mark.parametrize(("one", "other"), OTHERS)
def test_every_other_word_and_every_other_order_does(one: str, other: str) -> None:
    assert not verbatim.are_equivalent(one, other)


def test_whole_facts_may_stand_side_by_side() -> None:
    facts = ["Mia likes tea.", "Bob has 3.5 euros.", "猫叫年糕。"]
    joined = verbatim.join_sources(facts)
    assert joined == "Mia likes tea；Bob has 3.5 euros；猫叫年糕"
    assert verbatim.is_made_of(joined, facts) and verbatim.contains(joined, facts[1])
    assert not verbatim.is_made_of(joined, [*facts, "Carol sings."])
    assert not verbatim.is_made_of(joined, facts[:2])
    assert verbatim.repeats("Mia enjoys tea.", facts) and not verbatim.repeats("Mia enjoys tea. Bob sings.", facts)
    assert not verbatim.is_made_of("Mia likes tea. Mia likes tea.", facts[:1])


def test_nothing_bad_of_the_table_is_made_of_its_facts_and_no_proof_is_objected_to() -> None:
    assert [case for case in BAD if verbatim.is_made_of(case[1], case[0])] == []
    proven = [case for case in GOOD if verbatim.is_made_of(case[1], case[0])]
    assert len(proven) >= 8 and [case for case in proven if rewording.merge_fault(*case)] == []
