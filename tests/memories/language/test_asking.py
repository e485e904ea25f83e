"""Signs of a question."""

import pytest

from memories.language.text import ANY, BY_ITS_END, Sign, is_question


@pytest.mark.parametrize(
    "sentence",
    ["Do I live in Rome?", "She asked «where?”", "(is it blue?)", "你住在罗马吗", "你住在罗马吗。", "那猫呢", "真的？"],
)
def test_a_question_is_known_by_its_end(sentence: str) -> None:
    assert is_question(sentence)


@pytest.mark.parametrize("sentence", ["I live in Rome.", "Why? Because I like it.", "我住在罗马", "吗啡止痛"])
def test_what_ends_otherwise_is_none(sentence: str) -> None:
    assert not is_question(sentence)


def test_only_the_signs_that_are_named_count() -> None:
    assert is_question("你住在罗马吗", by=(Sign.PARTICLE,))
    assert not is_question("你住在罗马吗", by=(Sign.CLOSING_MARK,))
    assert set(BY_ITS_END) <= set(ANY)


@pytest.mark.parametrize(
    "sentence",
    [
        "谁对花生过敏",
        "我是不是住在罗马",
        "她有没有养猫。",
        "do I live in Rome",
        "How old am I",
        "猫叫什么",
        "在哪里",
        "why? no",
    ],
)
def test_a_question_needs_no_mark(sentence: str) -> None:
    assert is_question(sentence, by=ANY)


@pytest.mark.parametrize("sentence", ["谁都喜欢年糕", "我什么都吃", "我家有几只猫", "I do live in Rome", "我不吃花生"])
def test_a_statement_with_the_words_of_a_question_is_none(sentence: str) -> None:
    assert not is_question(sentence, by=ANY)


@pytest.mark.parametrize(
    ("sentence", "sign"),
    [("Tell me where I live.", Sign.REQUEST_ENGLISH), ("告诉我妈妈的生日", Sign.REQUEST_CHINESE)],
)
def test_a_request_counts_only_where_it_is_named(sentence: str, sign: Sign) -> None:
    assert is_question(sentence, by=(sign,))
    assert not is_question(sentence, by=ANY)
