"""Corrections in other words: what names neither its subject nor its value as before, and what only sounds so (A7)."""

from pathlib import Path

import pytest

from memories.language.attributes import read
from memories.language.compare import corrects
from tests.memories.language.contradiction_pairs import pairs

#: A statement and one that corrects it in other words, and statements that may be true beside one another.
FILE = Path(__file__).with_name("reworded_pairs.txt")
#: What the rules are known not to read: it may be a second one.
MISSED = {"I've got an iPhone now."}
#: Which they take for another of the same thing: a number of something else, a table to eat at.
MISTAKEN = {"The k8s cluster runs 12 nodes since last night.", "The tables in the office are fine."}
OUTDATED = [
    pair
    for name in ("outdated", "outdated further", "outdated unseen", "outdated later", "outdated read again")
    for pair in pairs(name, FILE)
]
BESIDE = [
    pair for name in ("beside", "beside unseen", "beside later", "beside read again") for pair in pairs(name, FILE)
]


@pytest.mark.parametrize(("older", "newer"), OUTDATED)
def test_what_is_said_in_other_words_corrects_what_was_said(older: str, newer: str) -> None:
    assert corrects(newer, older) or newer in MISSED


@pytest.mark.parametrize(("older", "newer"), BESIDE)
def test_what_is_true_beside_it_corrects_nothing(older: str, newer: str) -> None:
    assert not corrects(newer, older) or newer in MISTAKEN


def test_two_wishes_in_a_sentence_are_taken_back_together_or_stay() -> None:
    older = "Please don't use emojis and keep it short."
    assert corrects("Emojis are fine after all, and write as long as you like.", older)
    assert not corrects("Emojis are fine after all.", "Please don't use emojis and answer in German.")


def test_a_new_thing_is_no_new_employer() -> None:
    assert not [value for value in read("我换电脑了。").values if value.attribute == "employer"]
    assert [value for value in read("我换到百度了。").values if value.attribute == "employer"]
