"""Whether somebody means what they say of themselves: «I work for Siemens» lasts, «I work for peanuts» does not."""

from pathlib import Path

import pytest

from memories.language.attributes import lasting_sentences

LINES = Path(__file__).with_name("figures.txt").read_text(encoding="utf-8").splitlines()
EARNEST = [line[2:] for line in LINES if line.startswith("+ ")]
FIGURES = [line[2:] for line in LINES if line.startswith("- ")]


@pytest.mark.parametrize("sentence", EARNEST)
def test_what_is_said_in_earnest_lasts(sentence: str) -> None:
    assert lasting_sentences(sentence) == [sentence]


@pytest.mark.parametrize("sentence", FIGURES)
def test_a_joke_an_idiom_and_an_exaggeration_tell_nothing_that_lasts(sentence: str) -> None:
    assert lasting_sentences(sentence) == []


def test_what_stands_beside_a_joke_in_another_sentence_lasts() -> None:
    assert lasting_sentences("I work for peanuts. I live in Lisbon.") == ["I live in Lisbon."]
    assert lasting_sentences("我对上班过敏。我住在玉林。") == ["我住在玉林。"]


def test_traditional_characters_make_no_other_joke() -> None:
    assert lasting_sentences("我老闆是魔鬼。") == []
