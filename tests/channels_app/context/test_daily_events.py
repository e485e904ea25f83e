"""A question about the past finds what is told of a day, when the messages themselves are gone (C5, D1)."""

from datetime import date, timedelta
from typing import Any

import pytest

from memories import entries
from memories.entries import daily_events
from memories.models import DailyEvent, Entry, Scope, Workspace
from sessions_app.models import SessionEvent
from tests.channels_app.context.test_session_events import events
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
