"""Which messages need memory at all, and the rule that says so (D3)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memories.recall import gate as rules
from memories.recall.gate import GateDecision, decide

CODE = "def add(a, b):\n    total = a + b\n    return total\n"
FENCED = "```python\nprint('hello')\nfor i in range(3):\n    print(i)\n```"

#: Messages by the rule that decides about them, one between two bars.
NO_SIGN = {
    "too_short": """好 | a | ok | yes | no | hi! | 1+1 | 😀 | 你 | 😀 | okay""",
    "acknowledgement": """
        继续 | 好的 | 确认 | 嗯。 | 好的，继续 | 明白了。 | 谢谢你！ | 收到，谢谢 | 我知道了 | 沒問題 | 謝謝 | 对的～
        | 可以的
        | OKAY! | thanks | Thank you! | sounds good | got it | yes, continue | ok ok ok | sure 👍 | go ahead
        | That’s right.
        | no problem | Perfect!
    """,
    "no_sign": """
        fix the login bug | run all tests | translate: good morning | write a haiku about rain | print the report
        | good bread everywhere | translate good into French | summarize | hello world | 写一首诗 | 打开客厅的灯
        | 翻译成英文
        | 运行全部测试 | 画一只猫
    """,
}
SIGNS = {
    "remember": """
        remember that tea is green | Remind the team at noon | forget the old address | please note that tea is out
        | keep in mind: rain | recall the plan | 记住：周报要写 | 还记得吗 | 提醒大家开会 | 别忘了带伞 | 記得帶傘
    """,
    "time": """
        book a table for tomorrow | the report from last week | deploy next monday | recently released films
        | the other day at lunch | news from 2024-05-01 | films in 2019 | run the job from yesterday again
        | 昨天的会议纪要
        | 上次的方案 | 之前的配置文件 | 下周的安排 | 五月三日出发 | 5月3号出发 | 週五的會議 | 剛才的文件 | 周三开会
    """,
    "question": """
        what is the plan | Where's the key | is Paris nice | could somebody help | port of the server?
        | run the tests and tell me the result | 猫叫什么名字 | 服务器在哪里 | 谁负责部署 | 能不能快一点 | 多少钱
        | 告诉我结果
        | 有没有更好的办法 | 密碼是什麼 | 真的嗎
    """,
    "preference": """
        use the default colour | set up the printer | Alice likes green tea | the database port | change the settings
        | deploy to production | always answer in French | 修改配置文件 | 张三喜欢喝茶 | 默认端口 | 部署到生产环境
        | 習慣早起
    """,
    "pronoun": """
        write a poem for my wife | fix it | I'm tired | it's raining | call her | send them the report | book us a table
        | ok, do it | 帮我订机票 | 给他打电话 | 把这个删掉 | 您好，帮忙翻译 | 妳好漂亮 | 咱们出发
    """,
}
CODES = [
    CODE,
    FENCED,
    "what does this do?\n" + FENCED,
    "SELECT name, my_port\nFROM servers\nWHERE id = 7;",
    '{\n  "name": "me",\n  "port": 8080\n}',
    "const me = 1;\nlet you = 2;\nfunction f() {\n  return me;\n}",
    "<div>\n  <p>you</p>\n</div>",
]


def messages(table: dict[str, str]) -> list[tuple[str, str]]:
    return [(message.strip(), rule) for rule, lines in table.items() for message in lines.split("|")]


NO = [*messages(NO_SIGN), *((code, "code") for code in CODES), ("", "too_short"), ("   ", "too_short")]
YES = messages(SIGNS)


def test_the_table_is_long_enough_to_mean_something() -> None:
    assert len(NO) + len(YES) >= 80


@pytest.mark.parametrize(("message", "rule"), NO)
def test_these_need_no_memory(message: str, rule: str) -> None:
    assert decide(message) == GateDecision(False, rule)


@pytest.mark.parametrize(("message", "rule"), YES)
def test_these_need_memory(message: str, rule: str) -> None:
    assert decide(message) == GateDecision(True, rule)


@pytest.mark.parametrize(
    "message",
    [
        "If you remember, what did we plan?\nFor my birthday, I want (a cake).",
        "From Paris, where did I fly?\nReturn the book to me, please: it is late.",
        "> I like tea\nme too",
        "remember this: x = 5",  # one line is said, not programmed
        "Select a gift for my wife,\nwhile I am away, please.",
        "看看这段代码有什么问题，我昨天写的，一直跑不通，报错说找不到模块\n```\nimport a\n```",
    ],
)
def test_sentences_that_use_words_of_programs_are_no_code(message: str) -> None:
    assert decide(message).retrieve


@pytest.mark.parametrize(
    ("message", "project", "rule"),
    [
        ("ship apollo", "Apollo", "project"),
        ("发布阿波罗项目", "阿波罗", "project"),
        ("用apollo发布", "apollo", "project"),
        ("ship c++ build", "C++", "project"),
        ("good bread everywhere", "go", "no_sign"),  # not a word of its own
        ("ship apollo-next", "apollo", "project"),
        ("ship pollo", "apollo", "no_sign"),
        ("ship everything", "", "no_sign"),
        ("ship everything", "  ", "no_sign"),
    ],
)
def test_a_known_project_is_worth_a_search(message: str, project: str, rule: str) -> None:
    assert decide(message, projects=[project]).rule == rule


@pytest.mark.parametrize(
    ("message", "retrieve"), [("年糕", False), ("年糕呢", True), ("猫?a", True), ("cat?", False), ("cats?", True)]
)
def test_shortness_is_counted_in_bytes(message: str, retrieve: bool) -> None:
    need = decide(message)
    assert need.retrieve is retrieve
    assert (need.rule == "too_short") == (len(message.encode()) < 5)


@pytest.mark.parametrize("position", ["beginning", "end"])
def test_a_long_message_is_asked_at_both_its_ends(position: str) -> None:
    filler = "lorem ipsum dolor sit amet " * 2_000
    message = f"remember: {filler}" if position == "beginning" else f"{filler} do remember"
    assert decide(message) == GateDecision(True, "remember")


def test_however_long_a_message_is_no_more_than_its_ends_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []

    class Watching:
        """The rules' word pattern, noting how much text it is given."""

        def findall(self, text: str) -> list[str]:
            seen.append(len(text))
            return []

    monkeypatch.setattr(rules, "_WORD", Watching())
    decide("x\n" * 500_000)
    assert max(seen) <= 2 * rules.LOOK_CHARS + 1


@given(st.text(max_size=300))
def test_every_message_gets_an_answer_with_a_rule(message: str) -> None:
    need = decide(message)
    negative = {"too_short", "acknowledgement", "code", "no_sign", "small_talk", "command", "world_knowledge"}
    assert (need.rule in negative) != need.retrieve
    assert need.rule in negative | {
        "project",
        "remember",
        "time",
        "question",
        "preference",
        "pronoun",
        "personal",
        "unfinished",
        "local",
        "errand",
        "name",
        "search",
    }


@pytest.mark.thorough
@given(st.sampled_from([message for message, _rule in YES + NO]))
def test_space_around_a_message_changes_nothing(message: str) -> None:
    assert decide(f" \n{message}\t ") == decide(message)
