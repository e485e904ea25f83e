"""Which texts become one memory, and which are kept beside each other (A10)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memories.language.likeness import Likeness, compare, contains

SAME = [
    ("I like green tea", "i like GREEN tea!"),
    ("我喜欢喝绿茶", "我喜欢喝绿茶。"),
    ("我喜欢喝绿茶", "我 喜欢 喝 绿茶"),
    ("User: hi there\nAssistant: hello", "User: Hi there!\nAssistant: Hello."),
    ("The port is 8080", "the port is 8080."),
]
ALIKE = [
    (
        "Please deploy the service to production using the blue green strategy",
        "Please deploy the service to production with the blue green strategy",
    ),
    (
        "Remember that the wifi password at the office is sunflower garden",
        "Remember that the wifi password at our office is sunflower garden",
    ),
    ("My favourite food is noodles with beef and garlic", "My favourite food is noodles with garlic and beef"),
    ("I keep my passport with the papers at home", "I just keep my passport with the papers at home"),
    ("We decided that the shop caches pages at the edge", "We decided that our shop caches pages at the edge"),
    ("记得提醒我每周给阳台上的花浇水", "请记得提醒我每周给阳台上的花浇水"),
    ("每天早上我都会去公园跑步然后回家吃早饭", "每天早上我都会去公园里跑步然后回家吃早饭"),
    ("数据库的备份脚本放在运维同学的共享目录里", "数据库的备份脚本放在运维同学的共享目录里面"),
    ("用户的订单数据会同步到数据仓库做报表分析", "用户的订单数据会同步到数据仓库里做报表分析"),
    ("我们的网站用 Django 开发，缓存页面放在边缘节点", "我们的网站用 Django 来开发，缓存页面放在边缘节点"),
]
APART = [
    # numbers
    ("port 8080", "port 9090"),
    ("The database listens on port 5432 of the server", "The database listens on port 5433 of the server"),
    ("The flat has two rooms and a kitchen by the river", "The flat has three rooms and a kitchen by the river"),
    ("It is 5 degrees in the cellar", "It is -5 degrees in the cellar"),
    ("We run version 3.5 of the app", "We run version 3/5 of the app"),
    ("The scores were 3, 5 and 5", "The scores were 3, 3 and 5"),
    ("I write the engine in C++", "I write the engine in C#"),
    ("数据库端口是5432", "数据库端口是5433"),
    ("我家有两只猫和一只狗", "我家有三只猫和一只狗"),
    ("房租每个月五千块，押一付三", "房租每个月六千块，押一付三"),
    # dates and times
    ("The meeting about the budget is on Monday morning", "The meeting about the budget is on Tuesday morning"),
    ("My exam takes place at the school in May", "My exam takes place at the school in June"),
    ("I moved to the new flat near the river last year", "I moved to the new flat near the river this year"),
    ("Released on 2024-05-01 to every customer", "Released on 2024-06-01 to every customer"),
    ("我的生日是三月五号", "我的生日是三月六号"),
    ("今天我们讨论了项目的部署方案", "昨天我们讨论了项目的部署方案"),
    ("下周我要去参加同学的婚礼和聚会活动", "下个月我要去参加同学的婚礼和聚会活动"),
    ("會議改到星期三下午在辦公室舉行", "會議改到星期四下午在辦公室舉行"),
    # names
    ("The contract was signed by Alice in the office", "The contract was signed by Bob in the office"),
    ("We flew from the coast to Paris for the wedding", "We flew from the coast to London for the wedding"),
    ("Alice owes Bob money", "Bob owes Alice money"),
    ("My neighbour from upstairs has a cat named rice", "My neighbour from upstairs has a cat named bean"),
    ("我女儿的老师姓王，她教数学", "我女儿的老师姓李，她教数学"),
    ("这个项目由陈明负责开发和日常维护工作的安排", "这个项目由刘洋负责开发和日常维护工作的安排"),
    ("我们全家打算坐高铁去北京看望爷爷奶奶和亲戚朋友", "我们全家打算坐高铁去上海看望爷爷奶奶和亲戚朋友"),
    ("楼上邻居养了一只特别黏人的橘猫名字叫年糕", "楼上邻居养了一只特别黏人的橘猫名字叫汤圆"),
    # negation, and words that turn a statement round
    ("I am allergic to peanuts", "I am not allergic to peanuts"),
    ("The alerts of the shop are enabled for the team", "The alerts of the shop are disabled for the team"),
    ("I can drive to the airport with my car", "I can't drive to the airport with my car"),
    ("She never drinks coffee in the office", "She always drinks coffee in the office"),
    ("我对花生过敏", "我对花生不过敏"),
    ("線上環境的告警已經啟用並通知大家", "線上環境的告警已經禁用並通知大家"),
    ("他在银行工作很多年了", "她在银行工作很多年了"),
    ("我在公司楼下买过这种咖啡豆", "我在公司楼下没买过这种咖啡豆"),
]
OTHER = [
    ("I like green tea", "The server is down"),
    ("我喜欢绿茶", "服务器挂了"),
    ("I like tea", "我喜欢茶"),
    ("tea", ""),
    ("👍", "👎"),
    ("8080", "9090"),  # nothing but the number: no reason to think they are about the same
]


def pairs(table: list[tuple[str, ...]]) -> object:
    return pytest.mark.parametrize(("old", "new"), table)


@pairs(SAME)
def test_the_same_words_are_the_same_memory(old: str, new: str) -> None:
    assert compare(old, new, threshold=0.8) == (Likeness.SAME, 1.0)


@pairs(ALIKE)
def test_a_reworded_text_is_one_memory(old: str, new: str) -> None:
    likeness, share = compare(old, new, threshold=0.8)
    assert likeness is Likeness.ALIKE
    assert share >= 0.8


@pairs(APART)
@pytest.mark.parametrize("threshold", [0.8, 0.7])
def test_a_difference_that_matters_keeps_two_memories(old: str, new: str, threshold: float) -> None:
    assert compare(old, new, threshold=threshold)[0] in (Likeness.APART, Likeness.OTHER)
    assert (
        compare(old, new, threshold=0.5)[0] is Likeness.APART
    )  # kept apart for what differs, not for how little is shared


@pairs(OTHER)
def test_different_texts_have_nothing_to_do_with_each_other(old: str, new: str) -> None:
    assert compare(old, new, threshold=0.7)[0] is Likeness.OTHER


@pairs(SAME + ALIKE + APART + OTHER)
@pytest.mark.parametrize("threshold", [0.5, 0.7, 0.8, 1.0])
def test_it_does_not_matter_which_text_came_first(old: str, new: str, threshold: float) -> None:
    assert compare(old, new, threshold=threshold) == compare(new, old, threshold=threshold)


WORDS = st.sampled_from(
    ["I", "not", "Alice", "Bob", "5", "-5", "tea", "teas", "the", "我", "不", "喜欢", "三", "，", "C++", "."]
)
SENTENCES = st.lists(WORDS, max_size=8).map(" ".join)


@given(SENTENCES, SENTENCES, st.floats(0.1, 1.0))
def test_likeness_is_symmetrical(old: str, new: str, threshold: float) -> None:
    assert compare(old, new, threshold=threshold) == compare(new, old, threshold=threshold)


@pytest.mark.thorough
@given(SENTENCES)
def test_every_text_is_the_same_as_itself(content: str) -> None:
    assert compare(content, content, threshold=0.8)[0] is Likeness.SAME


@pytest.mark.thorough
@given(SENTENCES, SENTENCES)
def test_a_higher_threshold_merges_no_more(old: str, new: str) -> None:
    if compare(old, new, threshold=0.9)[0] is Likeness.ALIKE:
        assert compare(old, new, threshold=0.6)[0] is Likeness.ALIKE


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("I like green tea and coffee", "I like green tea", True),
        ("我喜欢喝绿茶和咖啡", "喝绿茶", True),
        ("用Redis做缓存", "redis", True),
        ("We met in the catalog room", "we met in the cat", False),  # half a word says something else
        ("code 8080", "code 808", False),
        ("I like green tea", "I like black tea", False),
        ("I like tea", "I like green tea", False),
    ],
)
def test_the_older_text_stays_when_it_says_all_of_the_newer(old: str, new: str, expected: bool) -> None:
    assert contains(old, new) is expected
