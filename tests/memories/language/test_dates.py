"""The stretches of time a text names (C5)."""

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memories.language.calendar import Window, windows

SATURDAY = date(2026, 11, 21)


def spelled(window: Window) -> str:
    """A day, or the first and the last of several."""
    last = window.end - timedelta(days=1)
    return str(window.start) if last == window.start else f"{window.start}..{last}"


def named(text: str, asked: date | None = SATURDAY) -> str:
    return " ".join(map(spelled, windows(text, today=asked, years=lambda: (2025, 2026))))


CALENDAR = [
    ("what did we do in May 2023?", "2023-05-01..2023-05-31"),
    ("on 6 May, 2023", "2023-05-06"),
    ("May 6th", "2025-05-06 2026-05-06"),
    ("on Dec. 24", "2025-12-24 2026-12-24"),
    ("by the end of July", "2025-07-21..2025-07-31 2026-07-21..2026-07-31"),
    ("early June 2026", "2026-06-01..2026-06-10"),
    ("late March 2026", "2026-03-21..2026-03-31"),
    ("mid-April 2026", "2026-04-11..2026-04-20"),
    ("in 2025", "2025-01-01..2025-12-31"),
    ("during the year 2025", "2025-01-01..2025-12-31"),
    ("2026-05-06", "2026-05-06"),
    ("2026/5/6", "2026-05-06"),
    ("2026.05", "2026-05-01..2026-05-31"),
    ("last May", "2026-05-01..2026-05-31"),
    ("last December", "2025-12-01..2025-12-31"),
    ("Feb 29, 2025", ""),
    ("Feb 29, 2024", "2024-02-29"),
    ("2026年5月6日", "2026-05-06"),
    ("2026 年 5 月 6 号", "2026-05-06"),
    ("二〇二六年三月", "2026-03-01..2026-03-31"),
    ("二零二五年", "2025-01-01..2025-12-31"),
    ("2025年底", "2025-11-01..2025-12-31"),
    ("2025年上半年", "2025-01-01..2025-06-30"),
    ("去年5月", "2025-05-01..2025-05-31"),
    ("去年十二月", "2025-12-01..2025-12-31"),
    ("前年3月8日", "2024-03-08"),
    ("今年三月初", "2026-03-01..2026-03-10"),
    ("5月6号", "2025-05-06 2026-05-06"),
    ("三月十二日", "2025-03-12 2026-03-12"),
    ("一月二十三号", "2025-01-23 2026-01-23"),
    ("十月底", "2025-10-21..2025-10-31 2026-10-21..2026-10-31"),
    ("10月份", "2025-10-01..2025-10-31 2026-10-01..2026-10-31"),
    ("2月上旬", "2025-02-01..2025-02-10 2026-02-01..2026-02-10"),
    ("11月中旬", "2025-11-11..2025-11-20 2026-11-11..2026-11-20"),
    ("六月份", "2025-06-01..2025-06-30 2026-06-01..2026-06-30"),
    ("5月6號", "2025-05-06 2026-05-06"),
    ("２０２６年５月", "2026-05-01..2026-05-31"),
    ("二月廿三日", "2025-02-23 2026-02-23"),
]
COUNTED_BACK = [
    ("two months ago", "2026-09-06..2026-10-06"),
    ("a couple of weeks ago", "2026-10-30..2026-11-15"),
    ("about a week ago", "2026-11-11..2026-11-17"),
    ("3 days ago", "2026-11-17..2026-11-19"),
    ("a year ago", "2025-08-22..2026-02-20"),
    ("twelve days ago", "2026-11-07..2026-11-11"),
    ("twenty-three days ago", "2026-10-27..2026-10-31"),
    ("about thirty days ago", "2026-10-20..2026-10-24"),
    ("fifteen days ago", "2026-11-04..2026-11-08"),
    ("1.5 years ago", "2025-01-05..2025-10-06"),
    ("over the past twenty-three days", "2026-10-29..2026-11-21"),
    ("二十三天前", "2026-10-27..2026-10-31"),
    ("1.5年前", "2025-01-05..2025-10-06"),
    ("一个半月前", "2026-09-21..2026-10-21"),
    ("a few days ago", "2026-11-16..2026-11-20"),
    ("in the last 10 days", "2026-11-11..2026-11-21"),
    ("over the past two weeks", "2026-11-07..2026-11-21"),
    ("yesterday", "2026-11-20"),
    ("the day before yesterday", "2026-11-19"),
    ("last night", "2026-11-20"),
    ("this morning", "2026-11-21"),
    ("last week", "2026-11-09..2026-11-15"),
    ("this week", "2026-11-16..2026-11-22"),
    ("the past week", "2026-11-09..2026-11-15"),
    ("last Friday", "2026-11-20"),
    ("on Monday", "2026-11-16"),
    ("this past Tuesday", "2026-11-17"),
    ("last weekend", "2026-11-14..2026-11-15"),
    ("this weekend", "2026-11-21..2026-11-22"),
    ("last month", "2026-10-01..2026-10-31"),
    ("this month", "2026-11-01..2026-11-30"),
    ("last summer", "2026-06-01..2026-08-31"),
    ("this spring", "2026-03-01..2026-05-31"),
    ("last winter", "2025-12-01..2026-02-28"),
    ("last year", "2025-01-01..2025-12-31"),
    ("昨天", "2026-11-20"),
    ("前天", "2026-11-19"),
    ("大前天", "2026-11-18"),
    ("昨晚", "2026-11-20"),
    ("今天早上", "2026-11-21"),
    ("3个月前", "2026-08-04..2026-09-09"),
    ("三個月前", "2026-08-04..2026-09-09"),
    ("两周前", "2026-11-04..2026-11-10"),
    ("兩天前", "2026-11-19"),
    ("半年前", "2026-04-06..2026-07-07"),
    ("两年以前", "2024-05-22..2025-05-23"),
    ("十五天前", "2026-11-04..2026-11-08"),
    ("几天前", "2026-11-16..2026-11-20"),
    ("最近三天", "2026-11-18..2026-11-21"),
    ("过去两周", "2026-11-07..2026-11-21"),
    ("過去兩週", "2026-11-07..2026-11-21"),
    ("这三个月", "2026-08-20..2026-11-21"),
    ("上周", "2026-11-09..2026-11-15"),
    ("上週", "2026-11-09..2026-11-15"),
    ("上个星期", "2026-11-09..2026-11-15"),
    ("上周三", "2026-11-11"),
    ("上個星期五", "2026-11-13"),
    ("上上周", "2026-11-02..2026-11-08"),
    ("上上个星期天", "2026-11-08"),
    ("本周", "2026-11-16..2026-11-22"),
    ("上周末", "2026-11-14..2026-11-15"),
    ("这个周末", "2026-11-21..2026-11-22"),
    ("上个月", "2026-10-01..2026-10-31"),
    ("上個月底", "2026-10-21..2026-10-31"),
    ("这个月", "2026-11-01..2026-11-30"),
    ("上上个月", "2026-09-01..2026-09-30"),
    ("去年", "2025-01-01..2025-12-31"),
    ("去年夏天", "2025-06-01..2025-08-31"),
    ("今年春天", "2026-03-01..2026-05-31"),
    ("前年", "2024-01-01..2024-12-31"),
    ("今年上半年", "2026-01-01..2026-06-30"),
    ("去年底", "2025-11-01..2025-12-31"),
    ("周五", "2026-11-20"),
    ("星期天", "2026-11-15"),
    ("禮拜三", "2026-11-18"),
    ("这周二", "2026-11-17"),
    ("本週三", "2026-11-18"),
    ("这个星期五", "2026-11-20"),
    ("昨儿", "2026-11-20"),
    ("一周前", "2026-11-11..2026-11-17"),
    ("半个月前", "2026-11-01..2026-11-11"),
    ("国庆", "2026-10-01..2026-10-07"),
    ("4号晚上", "2026-11-04"),
    ("on the 4th", "2026-11-04"),
    ("last Tues", "2026-11-17"),
    ("two Fridays ago", "2026-11-13"),
    ("the week before last", "2026-11-02..2026-11-08"),
    ("Friday last week", "2026-11-13"),
    ("friday night", "2026-11-20"),
    ("early last month", "2026-10-01..2026-10-10"),
    ("over the weekend", "2026-11-21..2026-11-22"),
    ("the night before last", "2026-11-19"),
    ("a fortnight ago", "2026-11-04..2026-11-10"),
    ("on Halloween", "2026-10-31"),
]
NO_DAYS = [
    "1200 days ago",
    "1,200 days ago",
    "a hundred and twenty days ago",
    "two hundred twenty-three days ago",
    "a year and two months ago",
    "two weeks and three days ago",
    "一年两个月前",
    "1200天前",
    "一百二十天前",
    "三四天前",
    "十几天前",
    "recently",
    "lately",
    "最近",
    "刚才",
    "之前",
    "上次",
    "什么时候",
    "What may I do?",
    "march on",
    "Monday is a fine name",
    "每周三",
    "一个月",
    "三个小时",
    "5月4个",
    "version 2023",
    "13月",
    "the past",
    "next week",
    "May I ask?",
    "7月45日",
    "room 2025",
    "3号线",
    "2号楼",
    "on the 4th floor",
    "明天",
    "週末",
]


@pytest.mark.parametrize(("text", "days"), CALENDAR + COUNTED_BACK)
def test_the_days_a_text_names_are_known(text: str, days: str) -> None:
    assert named(text) == days
    assert named(f"do you know what we did ({text})?") == days


@pytest.mark.parametrize("text", NO_DAYS)
def test_words_that_name_no_days_name_none(text: str) -> None:
    assert named(text) == ""


@pytest.mark.parametrize("text", [text for text, _ in COUNTED_BACK])
def test_without_the_day_of_the_question_nothing_is_counted_back(text: str) -> None:
    assert named(text, asked=None) == ""


def test_a_text_may_name_several_times() -> None:
    assert named("between 3 May 2026 and yesterday, or 上周三?") == "2026-05-03 2026-11-20 2026-11-11"


def test_a_date_is_not_its_month_as_well() -> None:
    assert named("on 6 May 2026") == "2026-05-06"
    assert named("2026年5月6日") == "2026-05-06"


def test_the_words_that_name_a_time_are_told() -> None:
    (window,) = windows("what did we say last week?", today=SATURDAY)
    assert window.words == "last week"


def test_years_are_asked_for_only_when_a_date_has_none() -> None:
    def unasked() -> list[int]:
        raise AssertionError

    assert windows("on 6 May 2026, yesterday, 去年", today=SATURDAY, years=unasked)


def test_last_friday_asked_on_a_friday_is_a_week_ago() -> None:
    assert named("last Friday", date(2026, 11, 20)) == "2026-11-13"


def test_last_weekend_asked_on_a_monday_is_the_one_just_over() -> None:
    assert named("last weekend", date(2026, 11, 23)) == "2026-11-21..2026-11-22"


def test_last_summer_asked_in_summer_is_the_one_before() -> None:
    assert named("last summer", date(2026, 7, 1)) == "2025-06-01..2025-08-31"
    assert named("this summer", date(2026, 7, 1)) == "2026-06-01..2026-08-31"


def test_the_month_before_january_is_december() -> None:
    assert named("上个月", date(2026, 1, 31)) == "2025-12-01..2025-12-31"


@pytest.mark.thorough
@given(
    st.text(alphabet="上下个月周三日年前天昨去今最近几两0123456789 -/.agomythlswek", max_size=40),
    st.dates(date(1980, 1, 1), date(2100, 1, 1)),
)
def test_whatever_is_written_every_stretch_has_days(text: str, asked: date) -> None:
    for window in windows(text, today=asked, years=lambda: (2024,)):
        assert window.start < window.end
