"""Numbers, dates and times are the same however they are written, and so are those a conversation only means (D5)."""

from datetime import date

import pytest

from memories.choices import Refusal
from memories.language.amounts import amounts_in
from memories.verification import Conversation, Message, invention


@pytest.mark.parametrize(
    ("statement", "amount"),
    [
        ("尿酸五百二", "520"),
        ("一万一", "11000"),
        ("五千二", "5200"),
        ("一百零二", "102"),
        ("八十七万", "870000"),
        ("87万", "870000"),
        ("1.5万元", "15000"),
        ("怀孕十一周", "11"),
        ("九十一公斤", "91"),
        ("两千一百", "2100"),
    ],
)
def test_an_amount_is_read_however_it_is_written(statement: str, amount: str) -> None:
    assert amounts_in(statement) == {amount}


@pytest.mark.parametrize(
    ("statement", "on", "stated"),
    [
        ("so the 13th if nothing slips", date(2026, 3, 31), "He starts on 13 April 2026."),
        ("Last day's the 27th", date(2026, 2, 5), "Her last day is 27 February."),
        ("五月二十二出发", date(2026, 4, 16), "2026年5月22日出发。"),
        ("大夫说二月十六", date(2026, 7, 28), "预产期是2027年2月16日。"),
        ("8月2号回。不对，返程是3号", date(2026, 6, 30), "8月3日返程。"),
        ("几点睡？九点吧", date(2026, 8, 27), "晚上九点睡。"),
        ("today I said yes", date(2026, 6, 8), "On Monday, 8 June 2026, she said yes."),
    ],
)
def test_a_date_the_conversation_means_was_said(statement: str, on: date, stated: str) -> None:
    assert invention(stated, Conversation([Message("m1", statement, "Ann", on)])) is None


@pytest.mark.parametrize(
    "stated", ["He starts on 14 April.", "他2028年4月13日开始。", "He starts at 13:30.", "一共八十七万。"]
)
def test_what_nobody_said_is_an_invention(stated: str) -> None:
    conversation = Conversation([Message("m1", "so the 13th if nothing slips", "Ann", date(2026, 3, 31))])
    assert invention(stated, conversation) is Refusal.AMOUNT
