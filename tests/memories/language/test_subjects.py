"""A number, an ordinal, a letter or a name in the subject belongs to it: two rooms are two things (D5, A7, D1)."""

import pytest

from memories.language.compare import ConflictVerdict, corrects, judge, outdates
from memories.language.statement import tells_apart
from tests.memories.language import side_by_side

#: Other words than those the rules were made with.
OTHERS = [
    ("Locker 5 holds the skates.", "Locker 6 holds the skates."),
    ("Order 1001 ships to Rome.", "Order 1002 ships to Oslo."),
    ("Bus 12 stops at the museum.", "Bus 14 stops at the museum now."),
    ("Apartment 4B has a balcony.", "Apartment 4C has no balcony."),
    ("Gate B12 is closed.", "Gate B14 is closed now."),
    ("My twin Max plays chess.", "My twin Leo plays chess."),
    ("Unit 2's boiler leaks.", "Unit 3's boiler leaks."),
    ("The left wing is dark.", "The right wing is dark now."),
    ("Invoice INV-203 was paid.", "Invoice INV-204 was not paid."),
    ("Ticket 5 is due on Monday.", "Ticket 6 is now due on Tuesday."),
    ("The password of account 3 is abc1.", "The password of account 4 is xyz2."),
    ("The rent of flat 2 is 900.", "The rent of flat 3 is 950 now."),
    ("Plan Basic costs 10 euros.", "Plan Premium costs 20 euros."),
    ("Tom's sister Mia lives in Rome.", "Tom's sister Eva moved to Oslo."),
    ("Team 3 uses Postgres.", "Team 4 switched to MySQL."),
    ("3号楼的电梯坏了。", "4号楼的电梯坏了。"),
    ("订单A1001已发货。", "订单A1002已发货。"),
    ("15路公交停运。", "16路公交停运。"),
    ("老大上初中。", "老二上小学。"),
    ("工单5的截止日期是周一。", "工单6的截止日期是周二。"),
    ("账户3的密码是abc1。", "账户4的密码改成xyz2。"),
    ("三号会议室现在归市场部。", "五号会议室现在归销售部。"),
    ("大女儿搬到上海了。", "小女儿搬到杭州了。"),
    ("我的第一台相机是佳能。", "我的第二台相机是索尼。"),
    ("1组的组长是小王。", "2组的组长是小李。"),
]


def hidden(older: str, newer: str) -> bool:
    """Whether any rule takes the newer one for a word on what the older one says."""
    return judge(older, newer) is not ConflictVerdict.NONE or outdates(newer, older) or corrects(newer, older)


def test_of_true_statements_side_by_side_none_hides_another() -> None:
    pairs = [*side_by_side.pairs(), *side_by_side.crossed_pairs()]
    assert len(pairs) > 1_000
    assert [pair for pair in pairs if hidden(*pair)] == []


@pytest.mark.parametrize(("older", "newer"), OTHERS)
def test_none_of_others_hides_another(older: str, newer: str) -> None:
    assert not hidden(older, newer) and not hidden(newer, older)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("The port of server 3 is 8080.", "The port of server 3 is now 9090."),
        ("Room 12 is called Oslo.", "Room 12 was renamed to Lima."),
        ("My second child lives in Rome.", "My second child moved to Oslo."),
        ("服务器3的端口是8080。", "服务器3的端口改成9090。"),
        ("二楼的价格是900元。", "二楼的价格是950元。"),
        ("大女儿住在上海。", "大女儿搬到杭州了。"),
    ],
)
def test_of_one_thing_a_new_value_takes_the_place_of_the_old(older: str, newer: str) -> None:
    assert judge(older, newer) is ConflictVerdict.CERTAIN


@pytest.mark.parametrize(
    ("statement", "apart"),
    [
        ("Room number 12 is free.", {"12"}),
        ("The flight leaves from gate B12.", set()),
        ("Correction: the flight leaves from gate C4.", set()),
        ("Room 12: booked until Friday", {"12"}),
        ("Our standup is at 9:30 every day.", set()),
        ("Building A needs paint.", {"building", "a"}),
        ("五月起我的经理是陈静。", set()),
        ("第二台服务器的端口是8080", {"第二"}),
    ],
)
def test_what_stands_behind_the_verb_is_a_value(statement: str, apart: set[str]) -> None:
    assert tells_apart(statement) == apart
