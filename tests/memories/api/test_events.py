"""GET /events: by date and by word, the latest day first, behind the walls of scopes."""

from datetime import date, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memories import entries
from memories.entries import daily_events
from memories.entries.daily_events import EventDraft
from memories.models import DailyEvent, Entry, Scope, Workspace
from tests.conftest import NOW, Api, make_draft, make_key, make_scope

pytestmark = pytest.mark.django_db
TODAY = date(2026, 3, 1)


def tell(scope: Scope, content: str, day: date = TODAY, **kwargs: Any) -> DailyEvent:
    draft = EventDraft(scope=scope, local_date=day, content=content, **kwargs)
    return daily_events.write([draft], now=NOW, actor="test")[0]


def found(api: Api, **asked: str) -> list[str]:
    answer = api.get("events", **asked)
    assert answer.status_code == 200, answer.json()
    return [event["content"] for event in answer.json()["results"]]


def test_it_works(api: Api, scope: Scope) -> None:
    event = tell(scope, "我上周搬到了杭州。", chats=(scope.key,))
    (result,) = api.get("events").json()["results"]
    assert result == {
        "id": str(event.uid),
        "scope": scope.key,
        "date": "2026-03-01",
        "content": "我上周搬到了杭州。",
        "source": "extraction",
        "chats": [scope.key],
        "version": 1,
        "created_at": "2026-03-01T09:00:00Z",
        "updated_at": "2026-03-01T09:00:00Z",
        "trust": None,
    }


def test_a_day_says_the_least_trusted_of_what_rests_on_its_messages(api: Api) -> None:
    address = {"platform": "telegram", "peer": "u42"}
    calls = [{"name": "search", "arguments": "q", "result": "Berlin"}]
    turn = {"address": address, "user": "Where is the fair?", "assistant": "In Berlin.", "tool_calls": calls}
    assert api.post("turns", turn).status_code == 201
    asked = Entry.objects.get(type="chat_turn")
    tell(asked.scope, "asked about the fair", origins=tuple(asked.origins))
    tell(asked.scope, "nothing else", origins=("session_events/x/1/event-1",))
    trust_of = {event["content"]: event["trust"] for event in api.get("events").json()["results"]}
    assert trust_of == {"asked about the fair": "tool", "nothing else": None}


def test_the_latest_day_comes_first_and_days_narrow_the_list(api: Api, scope: Scope) -> None:
    for n in (1, 3, 2):
        tell(scope, f"day {n}", TODAY - timedelta(days=n))
    assert found(api) == ["day 1", "day 2", "day 3"]
    assert found(api, **{"from": "2026-02-27"}) == ["day 1", "day 2"]
    assert found(api, to="2026-02-27") == ["day 2", "day 3"]
    assert found(api, **{"from": "2026-02-27", "to": "2026-02-27"}) == ["day 2"]


@pytest.mark.parametrize(
    ("question", "is_found"),
    [
        ("猫", True),
        ("年糕", True),
        ("叫年", True),
        ("我的猫 杭州", True),
        ("move", True),  # another form of the word
        ("moved Hang", True),
        ("MOVED", True),
        ("狗", False),
        ("moved Berlin", False),
        ("100%", False),
        ("the", True),
    ],
)
def test_words_are_found_in_both_languages(api: Api, scope: Scope, question: str, is_found: bool) -> None:
    tell(scope, "我的猫叫年糕，住在杭州。 We moved to Hangzhou in the spring.")
    assert bool(found(api, q=question)) is is_found


def test_pages_neither_shift_nor_repeat(api: Api, scope: Scope) -> None:
    for n in range(7):
        tell(scope, f"event {n}", TODAY - timedelta(days=n // 3))
    seen: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        page = api.get("events", limit="2", **cursor).json()
        seen += [event["content"] for event in page["results"]]
        if page["cursor"] is None:
            break
        tell(scope, "news", TODAY + timedelta(days=1))
        cursor = {"cursor": page["cursor"]}
    assert seen == [f"event {n}" for n in (2, 1, 0, 5, 4, 3, 6)]


@pytest.mark.parametrize("cursor", ["0-1", "zz-1", "1", "ffffff-1", "-", "1-1-1"])
def test_a_cursor_of_another_list_is_refused(api: Api, cursor: str) -> None:
    assert api.get("events", cursor=cursor).status_code == 400


@pytest.mark.parametrize("day", ["yesterday", "2026-02-30", "2026-03-01T00:00:00Z", ""])
def test_a_day_is_a_date(api: Api, day: str) -> None:
    answer = api.get("events", **{"from": day})
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["attr"] == "from"


def test_walls_hold(api: Api, scope: Scope, workspace: Workspace, stranger: Workspace) -> None:
    other = make_scope(workspace, "telegram:direct_u43")
    theirs = make_scope(stranger, "telegram:direct_u99")
    for place in (scope, other, theirs):
        tell(place, f"of {place.key}")
    assert found(api) == ["of telegram:direct_u43", "of telegram:direct_u42"]
    assert found(api, scope=other.key) == ["of telegram:direct_u43"]
    narrow = Api(make_key(workspace, name="narrow", scope_patterns=["telegram:direct_u42"]))
    assert found(narrow) == ["of telegram:direct_u42"]
    for bot, key in ((narrow, other.key), (api, theirs.key), (api, "telegram:direct_nobody")):
        answer = bot.get("events", scope=key)
        assert (answer.status_code, answer.json()["errors"][0]["code"]) == (404, "not_found")


def test_what_was_taken_out_is_not_told(api: Api, scope: Scope) -> None:
    event = tell(scope, "my passport is blue", origins=("session_events/s/1/event-1", "session_events/s/1/event-2"))
    tell(scope, "out of use")
    daily_events.expire(DailyEvent.objects.filter(content="out of use"), now=NOW, actor="test")
    assert found(api) == [event.content]
    draft = make_draft(scope, "passport", origins=("session_events/s/1/event-2",))
    entry = entries.remember(draft, now=NOW, actor="test").entry
    entries.expire(entry, now=NOW, actor="user:alice")
    assert found(api) == []
    entries.restore(entry, now=NOW, actor="user:alice", term=None)
    assert found(api) == [event.content]


def test_a_long_list_costs_no_more_queries(api: Api, scope: Scope, workspace: Workspace) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            api.get("events", q="day", limit="200")
        return len(captured)

    tell(scope, "day")
    few = [queries() for _twice in range(2)][-1]  # the first call of a key writes when it was used
    for n in range(30):
        tell(make_scope(workspace, f"telegram:direct_n{n}"), "day")
    assert queries() == few
