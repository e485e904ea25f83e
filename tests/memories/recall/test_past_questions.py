"""Which messages ask about what was said before, and by which words an answer can be found (C5, C13)."""

import time

import pytest

from memories.recall.question import event_words, is_about_past


@pytest.mark.parametrize(
    "message",
    [
        *(
            "昨天我们聊了什么",
            "上次说的端口是多少",
            "还记得我的狗叫什么吗",
            "之前我们讨论过哪些方案",
            "我说过我住在哪里吗",
            "上次聊到哪了",
            "这周二我做了啥",
            "国庆我们去哪玩了",
            "一周前我在忙什么",
        ),
        *("what did we say yesterday?", "Do you remember my dog's name?", "What did I tell you about the violin?"),
        *(
            "Have we ever talked about the roof?",
            "When did I last mention Rosa?",
            "What was the plan we made last week?",
        ),
    ],
)
def test_these_ask_about_the_past(message: str) -> None:
    assert is_about_past(message)


@pytest.mark.parametrize(
    "message",
    [
        *("我昨天去爬山了", "请记住我喜欢喝茶", "明天我要做什么？", "部署窗口是几点？", "继续", "你好吗"),
        *(
            "I went sailing yesterday.",
            "Remember that I like tea",
            "What will I do tomorrow?",
            "where do I live?",
            "ok",
            "",
        ),
    ],
)
def test_these_do_not(message: str) -> None:
    assert not is_about_past(message)


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ("昨天我们聊了什么", []),
        ("what did we talk about last time?", []),
        ("上次说的端口是多少", ["端口"]),
        ("What did I tell you about my violin teacher last week?", ["violin", "teacher"]),
        ("还记得部署窗口吗", ["部署", "窗口"]),
    ],
)
def test_what_only_asks_finds_nothing(message: str, words: list[str]) -> None:
    assert event_words(message) == words


def test_long_messages_are_judged_at_once() -> None:
    begun = time.thread_time()
    for message in ("我们都还" * 16_000, "did we " * 9_000, "什么" * 30_000 + "我们" * 30_000):
        is_about_past(message)
    assert time.thread_time() - begun < 2
