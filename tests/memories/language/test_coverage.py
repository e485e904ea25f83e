"""What a model says is looked for in what it was shown: what it invented is not there (D5)."""

import pytest

from memories.language.text import coverage

SAID = ["我上周搬到了杭州，新地址是西湖路12号。", "My daughter Yoyo starts school on 1 September 2027.", "Mia"]


@pytest.mark.parametrize(
    "fact",
    [
        "Mia's daughter Yoyo starts school on 1 September 2027.",
        "Mia 搬到了杭州西湖路12号。",
        "Yoyo is going to school from September 2027 on.",
        "米娅住在杭州。",
    ],
)
def test_what_was_said_is_found(fact: str) -> None:
    assert coverage(fact, SAID) >= 0.15


@pytest.mark.parametrize(
    "fact", ["The capital of France is Paris.", "用户对花生过敏，喜欢蓝色。", "Lorem ipsum dolor sit."]
)
def test_what_was_invented_is_not(fact: str) -> None:
    assert coverage(fact, SAID) < 0.15


def test_nothing_but_common_words_claims_nothing() -> None:
    assert coverage("and so it is", SAID) == 1
    assert coverage("and so it is", []) == 1
    assert coverage("Paris", []) == 0
