"""Who asks what was on a day is told what was said on that day first (C5)."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from memories import entries
from memories.models import Scope
from memories.recall import Query, Recall, SearchScope, recall, vector
from memories.recall.question import date_ranges_of
from memories.tenancy.resolver import ScopeRef
from tests.conftest import make_draft
from tests.memories.recall.diary import ASKED, ZONE, diary_lines, questions

pytestmark = pytest.mark.django_db
ENOUGH = 57  # of sixty


@pytest.fixture(autouse=True)
def nothing_is_kept_of_other_tests() -> None:
    vector.forget_centroids()


def remember(scope: Scope, *lines: tuple[str, datetime]) -> None:
    entries.remember_many([make_draft(scope, content, at=at) for content, at in lines], now=ASKED, actor="test")
    scope.refresh_from_db()


def ask(scope: Scope, message: str, **kwargs: Any) -> Recall:
    places = [SearchScope(scope, ScopeRef(key=scope.key, kind=scope.kind))]
    query = Query(workspace_id=scope.workspace_id, places=places, message=message, limit=8, **kwargs)
    return recall(query, now=ASKED, zone=ZONE)


@pytest.mark.thorough
def test_of_sixty_questions_about_days_nearly_all_begin_with_the_day(scope: Scope) -> None:
    remember(scope, *diary_lines())
    missed = []
    for question, first, last in questions():
        best = [item.entry.created_at.astimezone(ZONE).date() for item in ask(scope, question).served[:2]]
        if not any(first <= day <= last for day in best):
            missed.append((question, [str(day) for day in best]))
    assert len(questions()) == 60
    assert len(missed) <= 60 - ENOUGH, missed


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("what did I say yesterday evening?", "night"),
        ("what did I say yesterday morning?", "dawn"),
        ("昨天早上我说了什么", "dawn"),
        ("昨晚我说了什么", "night"),
    ],
)
def test_the_part_of_the_day_that_is_named_comes_first(scope: Scope, question: str, first: str) -> None:
    day = ASKED - timedelta(days=1)
    remember(scope, ("dawn", day.replace(hour=8)), ("night", day.replace(hour=22)), ("noon", day.replace(hour=13)))
    assert ask(scope, question).served[0].entry.content == first


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("what did I say two hours ago?", "two hours"),
        ("两个小时前我说了什么", "two hours"),
        ("what did I say ten minutes ago?", "minutes"),
        ("刚才我说了什么？", "minutes"),
    ],
)
def test_hours_and_minutes_are_counted_back(scope: Scope, question: str, first: str) -> None:
    hours = {"minutes": 1 / 6, "two hours": 2, "in the morning": 12, "yesterday": 24}
    remember(scope, *((content, ASKED - timedelta(hours=back)) for content, back in hours.items()))
    served = [item.entry.content for item in ask(scope, question).served]
    assert served[0] == first


@pytest.mark.parametrize(
    ("when", "minutes"),
    [
        ("二十分钟前", 20),
        ("三十分鐘前", 30),
        ("十五分钟之前", 15),
        ("120分钟前", 120),
        ("一百二十分钟前", 120),
        ("二十四小时前", 24 * 60),
        ("两个半小时前", 150),
        ("一個半鐘頭前", 90),
        ("半个小时前", 30),
        ("那个半小时前", 30),
        ("几个小时前", 180),
        ("1.5小时前", 90),
        ("1.5 hours ago", 90),
        ("twenty-four hours ago", 24 * 60),
        ("forty five minutes ago", 45),
        ("fifteen minutes ago", 15),
        ("120 minutes ago", 120),
        ("half an hour ago", 30),
        ("a couple of hours ago", 120),
        ("three hours ago", 180),
    ],
)
def test_any_number_of_hours_and_minutes_is_read_whole(when: str, minutes: int) -> None:
    (stretch,) = date_ranges_of(f"我{when}说了什么？ / what did I say {when}?", [], ASKED, ZONE)
    assert stretch.words == when.removeprefix("那个")
    assert stretch.start + (stretch.end - stretch.start) / 2 == ASKED - timedelta(minutes=minutes)


@pytest.mark.parametrize(
    "when",
    [
        *("三四个小时前", "十几分钟前", "1200分钟前", "一小时二十分钟前", "1小时20分钟前", "两千小时前"),
        *("a hundred and twenty minutes ago", "an hour and ten minutes ago", "a quarter of an hour ago"),
        *("one and a half hours ago", "1,200 minutes ago"),
    ],
)
def test_a_number_that_is_not_understood_names_no_time(when: str) -> None:
    assert date_ranges_of(f"我{when}说了什么？ / what did I say {when}?", [], ASKED, ZONE) == []


def test_what_is_to_come_on_a_day_is_found_though_it_was_said_on_another(scope: Scope) -> None:
    remember(
        scope,
        ("the meeting with Delta is on Friday at ten", ASKED - timedelta(days=2)),
        ("had soup for lunch", (ASKED - timedelta(days=6))),  # a Friday
    )
    assert "Delta" in ask(scope, "when is the meeting with Delta on Friday?").served[0].entry.content
    assert "soup" in ask(scope, "what did I have on Friday?").served[0].entry.content
