"""A question about the past finds what is told of a day, when the messages themselves are gone (C5, D1)."""

from datetime import date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from memories import entries
from memories.entries import daily_events
from memories.models import DailyEvent, Entry, Scope, Workspace
from sessions_app.models import SessionEvent
from tests.channels_app.context.test_session_events import asked, events
from tests.channels_app.doors.tools.asking import tool
from tests.conftest import GROUP, NOW, TELEGRAM, make_draft, make_scope
from tests.sessions_app.conftest import Talk

pytestmark = pytest.mark.django_db
IN_MAY = date(2025, 5, 3)
TOLD = "我们参观了灵隐寺，下午在茶园喝龙井"
MOVED = "Nina moved her violin lessons to Tuesdays"


def tell(scope: Scope, content: str, on: date, **more: Any) -> DailyEvent:
    return DailyEvent.objects.create(
        workspace=scope.workspace, scope=scope, local_date=on, content=content, source="extraction",
        created_at=NOW, updated_at=NOW, **more,
    )  # fmt: skip


@pytest.fixture
def mine(workspace: Workspace) -> Scope:
    scope = make_scope(workspace)
    tell(scope, TOLD, IN_MAY)
    tell(scope, MOVED, NOW.date() - timedelta(days=1))
    return scope


@pytest.mark.usefixtures("mine")
@pytest.mark.parametrize(
    ("message", "content"),
    [
        ("What did we do on 3 May 2025?", TOLD),
        ("2025年5月3日我们做了什么？", TOLD),
        ("还记得灵隐寺那次吗？", TOLD),
        ("昨天我们说了什么？", MOVED),
        ("what did I tell you yesterday about violins?", MOVED),
    ],
)
def test_a_day_is_found_by_its_date_and_by_its_words(talk: Talk, message: str, content: str) -> None:
    assert content in events(talk, message)


@pytest.mark.usefixtures("mine")
@pytest.mark.parametrize("zone", ["UTC", "Asia/Shanghai", "Pacific/Auckland", "Pacific/Honolulu"])
@pytest.mark.parametrize("message", ["What did we do on 3 May 2025?", "还记得灵隐寺那次吗？"])
def test_a_day_is_that_day_wherever_it_is_read_and_has_no_hour(talk: Talk, zone: str, message: str) -> None:
    Workspace.objects.update(time_zone=zone)
    (event,) = [event for event in asked(talk, message)["events"] if event["content"] == TOLD]
    at = datetime.fromisoformat(event["at"])
    assert (at.date(), at.astimezone(ZoneInfo(zone)).date(), at.hour) == (IN_MAY, IN_MAY, 12)
    line = f"[2025-05-03] Summary: {TOLD}"
    body = {"address": TELEGRAM, "message": message}
    texts = [talk.post("context", body).json()["text"], talk.post("recall", body).json()["context"]]
    assert all(line in text for text in texts), texts
    assert line in tool(talk, "memory_search", query=message)["text"]


@pytest.mark.usefixtures("mine")
@pytest.mark.parametrize(
    ("bound", "expected"),
    [
        ({"since": "2025-05-03T11:00:00Z"}, [TOLD]),  # 23:00 of that day in Auckland
        ({"since": "2025-05-03T13:00:00Z"}, []),  # an hour into the next
        ({"until": "2025-05-02T13:00:00Z"}, [TOLD]),  # an hour into that day
        ({"until": "2025-05-02T11:00:00Z"}, []),
    ],
)
def test_a_day_begins_and_ends_where_it_is_asked_for(talk: Talk, bound: dict[str, str], expected: list[str]) -> None:
    Workspace.objects.update(time_zone="Pacific/Auckland")
    assert events(talk, "What did we do on 3 May 2025?", **bound) == expected


def tell_many(scope: Scope, content: str, since: date, count: int = 70) -> None:
    for n in range(count):
        tell(scope, f"{content} ({n})", since + timedelta(days=n))


@pytest.mark.parametrize(
    ("message", "content", "newer"),
    [
        ("What did I say about work on 3 May 2025?", "他说 work 太多", "She worked late"),
        ("2025年5月3日我说了什么工作上的事？", TOLD, "工作到很晚"),
        ("What did I say about the harbour on 3 May 2025?", "The harbour was closed", "The harbour was busy"),
    ],
)
def test_the_day_that_is_asked_about_is_found_behind_any_number_of_newer_ones(
    talk: Talk, workspace: Workspace, message: str, content: str, newer: str
) -> None:
    scope = make_scope(workspace)
    tell(scope, content, IN_MAY)
    tell_many(scope, newer, IN_MAY + timedelta(days=9))
    assert events(talk, message)[0] == content


def test_of_a_long_time_that_is_named_what_has_the_words_is_found_behind_any_number_of_others(
    talk: Talk, workspace: Workspace
) -> None:
    scope = make_scope(workspace)
    tell(scope, "Nina 在拉小提琴", date(2025, 2, 3))
    tell_many(scope, "下雨", date(2025, 3, 1))
    assert events(talk, "2025年我说了什么小提琴的事？")[0] == "Nina 在拉小提琴"


@pytest.mark.parametrize(
    ("word", "content"),
    [
        ("Ann", "He is planning it"),
        ("Ann", "The annual meeting"),
        ("cat", "The application was sent"),
        ("rat", "他在做 iterations"),
        ("bus", "The business is closed"),
    ],
)
def test_a_short_word_is_not_found_within_others(talk: Talk, workspace: Workspace, word: str, content: str) -> None:
    tell(make_scope(workspace), content, IN_MAY)
    assert events(talk, f"what did I tell you about {word}?") == []


@pytest.mark.parametrize(
    ("word", "content"),
    [
        ("Ann", "Ann's garden"),
        ("cat", "两只cats在家"),
        ("using", "他 using Vim"),
        ("plan", "周日planned了一天"),
        ("work", "she worked late"),
        ("running", "She runs at six"),
        ("bus", "he took three buses"),
        ("deployed", "他Deploys每周二"),
        ("C++", "I write (c++)"),
        ("café", "the Café is closed"),
    ],
)
def test_a_word_is_found_whatever_its_ending_and_its_neighbours(
    talk: Talk, workspace: Workspace, word: str, content: str
) -> None:
    tell(make_scope(workspace), content, IN_MAY)
    assert events(talk, f"what did I tell you about {word}?") == [content]


@pytest.mark.usefixtures("mine")
def test_what_asks_for_something_else_is_left_out(talk: Talk) -> None:
    assert events(talk, "what did I tell you about the boat?") == []
    assert events(talk, "what did I tell you yesterday?", since=NOW.isoformat()) == []


def test_the_message_itself_speaks_before_its_summary(talk: Talk, mine: Scope) -> None:
    talk.say("we saw an otter in the harbour", "lovely", at=NOW - timedelta(days=1))
    entry = Entry.objects.get()
    tell(mine, "They saw an otter in the harbour", NOW.date() - timedelta(days=1), origins=entry.origins[:1])
    result = events(talk, "what did I say yesterday about the otter?")
    assert result[0] == "we saw an otter in the harbour" and "They saw an otter in the harbour" not in result
    SessionEvent.objects.all().delete()
    assert events(talk, "what did I say yesterday about the otter?")[0] == "They saw an otter in the harbour"


def test_what_was_expired_or_rests_on_what_was_taken_out_is_not_told(talk: Talk, mine: Scope) -> None:
    gone = DailyEvent.objects.get(content=TOLD)
    daily_events.expire(DailyEvent.objects.filter(pk=gone.pk), now=NOW, actor="user:ann")
    entry = entries.remember(make_draft(mine, "the code is 7", origins=("m1",)), now=NOW, actor="t").entry
    tell(mine, "the door code was told", IN_MAY, origins=["m1"])
    entries.expire(entry, now=NOW, actor="user:ann")
    assert events(talk, "What did we do on 3 May 2025?") == []


@pytest.mark.usefixtures("mine")
def test_a_person_s_days_are_not_told_in_a_group(talk: Talk, workspace: Workspace) -> None:
    talk.say("hello all", "hi", address=GROUP)
    tell(Scope.objects.get(kind="chat"), "the group planned a picnic", IN_MAY)
    assert events(talk, "What did we do on 3 May 2025?", GROUP) == ["the group planned a picnic"]
    assert "the group planned a picnic" not in events(talk, "What did we do on 3 May 2025?", TELEGRAM)
