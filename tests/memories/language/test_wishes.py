"""Whether a message asks that something be kept: requests, and what only sounds like one."""

from pathlib import Path

import pytest

from memories.language.text import asks_to_keep, names_what, only_asks_to_keep

LINES = Path(__file__).with_name("wishes.txt").read_text(encoding="utf-8").splitlines()
REQUESTS = [line[2:] for line in LINES if line.startswith("+ ")]
OTHERS = [line[2:] for line in LINES if line.startswith("- ")]


@pytest.mark.parametrize("message", REQUESTS)
def test_a_request_to_keep_something_is_read_as_one(message: str) -> None:
    assert asks_to_keep(message)


@pytest.mark.parametrize("message", OTHERS)
def test_a_question_and_a_story_ask_for_nothing(message: str) -> None:
    assert not asks_to_keep(message)


def test_a_request_is_read_in_the_middle_of_a_message() -> None:
    assert asks_to_keep("Good morning! I had a rough night. I'm allergic to ibuprofen, don't forget that. Any plans?")
    assert asks_to_keep("早上好。我对头孢过敏，千万别忘了。今天天气怎么样？")


def test_what_is_quoted_and_what_stands_in_code_asks_for_nothing() -> None:
    assert not asks_to_keep("> Remember to rotate the keys\nWhat does this line of the manual mean?")
    assert not asks_to_keep("Explain this:\n```\n# remember: never forget the semicolon\n```")


@pytest.mark.parametrize(
    "message", ["Please remember that.", "Never forget this!", "记住这个", "请务必记住这点", "别忘了"]
)
def test_a_bare_request_names_nothing(message: str) -> None:
    assert asks_to_keep(message) and not names_what(message)


@pytest.mark.parametrize(
    "message",
    [
        "Remember that I sail a dinghy.",
        "Can you remember that I sail a dinghy?",
        "记住我喜欢划帆船。",
        "请记住我住在哪里",
    ],
)
def test_a_request_alone_is_no_question(message: str) -> None:
    assert only_asks_to_keep(message)


@pytest.mark.parametrize(
    "message",
    ["Never forget that I sail. What is my boat called?", "别忘了我对花生过敏。我还对什么过敏？", "Where do I sail?"],
)
def test_a_question_beside_a_request_is_one(message: str) -> None:
    assert not only_asks_to_keep(message)


@pytest.mark.parametrize("message", ["Remember: tea, no sugar", "请记住我的生日是五月三日"])
def test_a_request_that_says_what_names_it(message: str) -> None:
    assert names_what(message)
