"""Of a dialogue the last lines of the person make the vector of the question (A7)."""

import pytest

from memories.recall.question import person_lines

ENGLISH = """<Bart>: "I ate so many fries this morning!"
<Assistant>: "Wow, what flavour do you love the most?"
<Bart>: "Ketchup! I always dip loads of it."
<Assistant>: "What else is there for breakfast?"
<Bart>: "Burgers and cola,
but mom says not too much."
<Assistant>: "Mom is right."
<Bart>: "I love apple juice!"
"""


def test_the_last_lines_of_the_person_are_left() -> None:
    assert person_lines(ENGLISH) == "Burgers and cola,\nbut mom says not too much.\nI love apple juice!"


def test_roles_are_known_in_chinese_too() -> None:
    assert person_lines("用户：我在减肥\n助手：加油\n用户：晚饭吃什么好？") == "我在减肥\n晚饭吃什么好？"
    assert person_lines("User: hi there\nAssistant: hello\nUser: what did I eat?") == "hi there\nwhat did I eat?"


@pytest.mark.parametrize(
    "message",
    [
        "What did I eat yesterday?",
        "Note: the AI: course starts on Monday",
        "Ann: I am late\nBob: no problem",
        "AI: hello\nAI: anybody there?",
        "",
    ],
)
def test_any_other_message_stays_as_it_is(message: str) -> None:
    assert person_lines(message) == message
