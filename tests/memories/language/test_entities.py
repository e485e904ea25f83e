"""What a memory may not lose when it is said in other words: numbers, dates, names, and whether it is so."""

import pytest

from memories.language import text
from memories.language.names import numbers as numbers_in
from memories.language.names import proper_names


@pytest.mark.parametrize(
    ("content", "numbers"),
    [
        ("The port is 8080.", {"8080"}),
        ("1,000 of them at 10:30", {"1000", "10", "30"}),
        ("on 2026-03-01", {"2026", "3", "1"}),
        ("the third of May, twice a week", {"third", "twice"}),
        ("妈妈的生日是五月三日", {"五", "三"}),
        ("会议改到周四下午", {"周四", "下午"}),
        ("我们一起去，一样的", set()),
        ("full-width ８０８０", {"8080"}),
    ],
)
def test_numbers_and_dates_are_told(content: str, numbers: set[str]) -> None:
    assert numbers_in(content) >= numbers
    if not numbers:
        assert numbers_in(content) == set()


@pytest.mark.parametrize(
    ("content", "names"),
    [
        ("Mia lives in Berlin.", {"mia", "berlin"}),
        ("The cat of Mia's aunt is called “Little Bean”.", {"mia", "little", "bean", "little bean"}),
        ("see /srv/app/conf on staging.example.org", {"/srv/app/conf", "staging.example.org"}),
        ("她叫王芳", {"王芳"}),
        ("the bicycle is green", set()),
    ],
)
def test_names_are_told(content: str, names: set[str]) -> None:
    assert proper_names(content) >= names
    if not names:
        assert proper_names(content) == set()


def test_coverage_is_the_share_of_words_that_are_said_too() -> None:
    assert text.coverage("the green bicycle", ["a bicycle that is green"]) == 1.0
    assert text.coverage("the green bicycle", ["a river in spring"]) == 0.0
