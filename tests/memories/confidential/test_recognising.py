"""What is a secret of what people say, and what only looks so."""

import time

import pytest

from memories.language.confidential import asked_kinds, find_secrets, is_masked_form, mask, secret_spans, without
from memories.language.secret_forms import MASKED
from memories.recall import gate
from tests.memories.confidential.texts import INNOCENT, SECRETS, Told


@pytest.mark.parametrize("case", SECRETS, ids=lambda case: case.text[:40])
def test_a_secret_is_recognised_and_its_own_question_asks_for_it(case: Told) -> None:
    assert case.secret not in mask(case.text)
    assert {secret.kind for secret in find_secrets(case.text)} & asked_kinds(case.question)


@pytest.mark.parametrize("text", INNOCENT)
def test_what_only_looks_so_stays_untouched(text: str) -> None:
    assert mask(text) == text


@pytest.mark.parametrize(
    "question",
    [
        "when do the movers come?",
        "which music do I like?",
        "what did Anna say about the trip to Rome?",
        "搬家公司什么时候来？",
        "我喜欢什么音乐？",
        "which password manager did I choose?",
        "what is my password hint?",
        "我的密码提示是什么？",
        "which header image did I choose?",
        "who gave us the authorization to build?",
    ],
)
def test_a_question_about_something_else_asks_for_no_secret(question: str) -> None:
    assert not asked_kinds(question)


def test_only_the_secret_is_taken_out() -> None:
    assert mask("The movers come on Tuesday. The door code is 4471#, ring twice.") == (
        f"The movers come on Tuesday. The door code is {MASKED}, ring twice."
    )
    assert mask("周二搬家，门锁密码是8812，别忘了") == f"周二搬家，门锁密码是{MASKED}，别忘了"


def test_a_secret_is_masked_wherever_it_stands_again() -> None:
    assert "plumtree88" not in mask("The wifi password is plumtree88. I repeat: plumtree88")


def test_masking_twice_changes_nothing() -> None:
    for secret in SECRETS:
        assert mask(mask(secret.text)) == mask(secret.text)


@pytest.mark.parametrize(
    ("masked", "statement", "is_same"),
    [
        (f"my PIN is {MASKED}.", "my PIN is 4711.", True),
        (f"my PIN is {MASKED}.", "my PIN is 4711, now", False),
        (f"{MASKED} and {MASKED}", "a and b", True),
        (f"{MASKED} and {MASKED}", "a or b", False),
        ("plain", "plain", True),
        ("plain", "other", False),
    ],
)
def test_a_text_is_known_by_its_masked_form(masked: str, statement: str, is_same: bool) -> None:
    assert is_masked_form(masked, statement) is is_same


def test_what_is_masked_can_be_noted_by_its_places() -> None:
    for secret in SECRETS:
        assert without(secret.text, secret_spans(secret.text)) == mask(secret.text)
    assert without("4711, noted. 47112 is not it.", secret_spans("4711, noted. 47112 is not it.", ["4711"])) == (
        f"{MASKED}, noted. 47112 is not it."
    )


@pytest.mark.parametrize(
    "question",
    [
        "which GitHub token does CI use?",
        "what API key does the weather service take?",
        "which door code opens the shed?",
        "api密钥是什么？",
        "API key 是什么？",
        "助记词是哪几个？",
    ],
)
def test_a_question_for_the_value_of_a_secret_is_looked_for_in_memory(question: str) -> None:
    assert gate.decide(question).retrieve


@pytest.mark.parametrize(
    "question", ["what is an API key?", "what is a JWT token?", "什么是助记词？", "助记词是什么意思？"]
)
def test_a_question_what_such_a_thing_is_needs_no_memory(question: str) -> None:
    assert not gate.decide(question).retrieve


@pytest.mark.parametrize("repeated", ["代码", "?key=", "code, ", "token="])
def test_a_text_full_of_words_for_secrets_is_read_in_a_moment(repeated: str) -> None:
    text = (repeated * 40_000)[:40_000]
    begun = time.thread_time()
    find_secrets(text)
    assert time.thread_time() - begun < 2  # a tenth of it on an idle machine


def test_code_between_two_texts_in_quotes_is_no_secret() -> None:
    text = 'assert told["entry_key"] == answer["entries"][0]["id"]'
    assert mask(text) == text


@pytest.mark.parametrize("text", ["My password hint is the dog's birthday.", "我的密码提示：小狗的生日。"])
def test_a_hint_at_a_password_is_none(text: str) -> None:
    assert mask(text) == text


def test_a_hint_that_gives_the_password_away_is_masked() -> None:
    assert "Tr0ub4dor&3" not in mask("My password hint is Tr0ub4dor&3")
