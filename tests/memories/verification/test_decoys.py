"""Decoys are false by the way they are made: another number, the opposite, a person nobody mentioned (D5)."""

import random

import pytest

from memories.verification import attributed, decoys, opposite, other_number, other_person

CHANCE = random.Random(7)


@pytest.mark.parametrize(
    ("statement", "turned"),
    [
        ("Sam is allergic to nuts", "Sam is not allergic to nuts"),
        ("I will move in May", "I will not move in May"),
        ("I don't eat meat", "I eat meat"),
        ("she never drives", "she drives"),
        ("Tom has a dog", "Tom does not have a dog"),
        ("nuts make me swell up", ""),
        ("我喜欢喝茶", "我不喜欢喝茶"),
        ("我不吃肉", "我吃肉"),
        ("我有一只猫", "我没有一只猫"),
        ("我对花生过敏", "我对花生不过敏"),
        ("周三开会", ""),
    ],
)
def test_the_opposite_of_what_was_said_is_false(statement: str, turned: str) -> None:
    assert opposite(statement) == turned


def test_another_number_is_one_that_nobody_said() -> None:
    text = "the port was 8080, then 8082, and 8083 is next"
    made = {other_number("The port is 8080.", text, CHANCE) for _turn in range(20)}
    assert made and all(item.startswith("The port is 80") for item in made)
    assert not made.intersection(f"The port is {n}." for n in (8080, 8082, 8083))
    assert other_number("Sam likes tea.", text, CHANCE) == ""


def test_a_number_in_words_counts_as_said() -> None:
    assert other_number("Sam has 2 cats.", "I have two cats, and four dogs, and seven fish", CHANCE) not in (
        "Sam has 4 cats.",
        "Sam has 7 cats.",
    )


@pytest.mark.parametrize(
    ("stated", "people"),
    [
        ("Sam likes tea.", ["Sam", "Tom"]),
        ("The user likes tea.", []),
        ("用户喜欢喝茶。", []),
        ("米娅喜欢喝茶。", ["米娅"]),
    ],
)
def test_another_person_is_one_who_was_never_there(stated: str, people: list[str]) -> None:
    for _turn in range(20):
        made = other_person(stated, "Sam and Odalys drank tea", people, CHANCE)
        assert made and made != stated and made[-4:] == stated[-4:]
        assert "Odalys" not in made and not any(name in made for name in people)
    assert other_person("It rains.", "", ["Sam"], CHANCE) == ""


def test_what_was_said_elsewhere_is_no_decoy() -> None:
    text = "I will move in May. No, wait: I will not move in May."
    assert "I will not move in May" not in decoys("Sam moves in May.", "I will move in May", text, [], CHANCE)


@pytest.mark.parametrize("quote", ["tea is good", "茶不错", "bis morgen"])
def test_every_quote_can_be_denied_and_told_by_somebody_who_was_not_there(quote: str) -> None:
    made = list(decoys(f"{quote}!", quote, quote, [], CHANCE))
    assert len(made) >= 2 and f"{quote}!" not in made
    assert sum(item.startswith(("It is not true that: ", "并非如此：")) for item in made) >= 1
    assert made[-1].endswith((f" said: {quote}", f"说：{quote}"))


def test_whoever_was_mentioned_is_no_stranger() -> None:
    names = "Odalys Thaddeus Ingeborg Percival Wilhelmina Barnaby Philippa"
    assert attributed("tea is good", names, CHANCE) == "Leopold said: tea is good"


def test_the_quote_is_turned_round_and_not_the_statement() -> None:
    """The opposite of a lie may be true."""
    made = list(decoys("Sam does not like tea.", "I like tea", "I like tea", ["Sam"], CHANCE))
    assert "Sam like tea." not in made
