"""What of a captured turn tells something new (A7), in English and Chinese."""

import pytest

from memories.choices import Echo
from memories.language.quoting import new_sentences, sides_of, substance_of, tells_something, turn_of
from memories.language.text import fingerprint

TELLING = [
    "Since I moved to Porto, where should I go for dinner?",
    "I'm allergic to nuts, remember?",
    "My sister Lena is visiting on Friday, what should we cook?",
    "What was the vet called, Luna's been limping since yesterday?",
    "Did you know I play the cello?",
    "Can you remind me to call mom at 5?",
    "Remember that I'm allergic to nuts.",
    "When I get home I feed the cat.",
    "What a day, I got the job!",
    "Would love some pasta tonight",
    "I don't remember things well, so write it down.",
    "我搬到波尔图以后，去哪儿吃饭好？",
    "房东要涨到3500，我现在租金是多少来着",
    "我今天买了几本书。",
    "我不知道怎么办，我刚失业了",
    "提醒我明天交房租",
    "今天怎么这么冷，我感冒了。",
]
ASKING = [
    "What is the capital of Mongolia?",
    "what's my dog called again",
    "I forgot where I put my keys",
    "Do you remember my dog's name?",
    "tell me about my trip",
    "I don't like comedies, right?",
    "thanks!",
    "我喜欢听什么类型的音乐？",
    "我曾经给你推荐过一档节目，它的名字是？",
    "我家猫叫啥来着",
    "请告诉我我的生日",
    "好的谢谢",
    "我不喜欢健身，对吗？",
]
KNOWING_NOTHING = [
    "I am not sure about that, sorry.",
    "Hmm, I can't remember that.",
    "You haven't told me yet. Could you tell me?",
    "I don't have any information about that in our conversations.",
    "这个我不太清楚。",
    "抱歉，我没有这方面的记录。您能告诉我吗？",
    "Got it, I'll remember that!",
]


@pytest.mark.parametrize("sentence", TELLING)
def test_a_statement_tells_something_also_inside_a_question(sentence: str) -> None:
    assert tells_something(sentence)


@pytest.mark.parametrize("sentence", ASKING)
def test_a_question_and_small_talk_tell_nothing(sentence: str) -> None:
    assert not tells_something(sentence)


@pytest.mark.parametrize("answer", KNOWING_NOTHING)
def test_an_answer_that_does_not_know_tells_nothing(answer: str) -> None:
    assert new_sentences(answer, question="What is my blood type?") == []


@pytest.mark.parametrize(
    ("answer", "memory"),
    [
        ("As far as I remember: Mel adopted a beagle in May.", "Mel adopted a beagle in May."),
        ("Your dentist appointment is on Tuesday at 3.", "My dentist appointment is on Tuesday at 3."),
        ("我记得是：我女儿在学大提琴。", "我女儿在学大提琴。"),
        ("你家猫叫年糕呀。", "我家猫叫年糕，橘色的"),
    ],
)
def test_an_answer_that_repeats_a_memory_tells_nothing(answer: str, memory: str) -> None:
    assert new_sentences(answer, question="?") != []
    assert new_sentences(answer, question="?", memories=[memory]) == []


@pytest.mark.parametrize(
    ("answer", "memory"),
    [
        ("The capital of Mongolia is Ulaanbaatar.", ""),
        ("Your dentist appointment is on Tuesday at 4.", "My dentist appointment is on Tuesday at 3."),
        ("I don't know your size, but a US men's 9 is roughly an EU 42.", "I run 10k every Sunday"),
    ],
)
def test_an_answer_with_something_of_its_own_tells_it(answer: str, memory: str) -> None:
    assert new_sentences(answer, question="?", memories=[memory])


def test_a_turn_is_read_as_it_is_written() -> None:
    content = turn_of("I moved to Porto. Where should I eat?", "I don't know yet.")
    assert sides_of(content) == ("I moved to Porto. Where should I eat?", "I don't know yet.")
    assert sides_of("I moved to Porto.") is None
    assert substance_of(content, Echo.ANSWER) == "I moved to Porto."
    assert substance_of(content, Echo.NONE) == substance_of(content, None) == content


def test_a_turn_of_one_side_is_that_side_alone_and_the_same_as_it_was_written_before() -> None:
    assert turn_of("I moved to Porto.", " ") == "User: I moved to Porto."
    assert turn_of("", "The boat leaves at six.") == "Assistant: The boat leaves at six."
    for before in ("User: I moved to Porto.\nAssistant:", "User: I moved to Porto.\nAssistant: "):
        assert fingerprint(before) == fingerprint(turn_of("I moved to Porto.", ""))
    assert fingerprint("User: \nAssistant: The boat leaves at six.") == fingerprint(
        turn_of("", "The boat leaves at six.")
    )
