"""What a conversation comes to without a model: whose memory, which day, which sentences (D5, A3, A15)."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from channels_app.models import Channel
from memories import entries
from memories.models import BufferedTurn, Change, DailyEvent, Entry, ExtractionBatch, Workspace
from tests.conftest import GROUP, NOW, TELEGRAM, Api
from tests.memories.consolidation.buffer.conversations import QUIET, events_by_scope, extract, held, say

pytestmark = pytest.mark.django_db
BEN = {**GROUP, "peer": "u43"}
GROUP_SCOPE = "telegram:mybot:group_g1"


@pytest.fixture(autouse=True)
def clock(settings: Any) -> None:
    settings.TEST_CLOCK = True


def test_statements_are_told_as_they_were_said_and_pleasantries_are_not(api: Api) -> None:
    say(api, "你好！", "你好，有什么可以帮你的吗？")
    say(api, "我上周搬到了杭州，新地址是西湖路12号。谢谢", "好的，我记住了。")
    say(api, "The staging database listens on port 6543 now.", "Noted. Do you want me to update the config?")
    extract()
    assert events_by_scope() == {
        "telegram:direct_u42": [
            "我上周搬到了杭州，新地址是西湖路12号。The staging database listens on port 6543 now.",
        ]
    }
    event, entries = DailyEvent.objects.get(), Entry.objects.order_by("pk")
    assert event.chats == ["telegram:direct_u42"]
    assert event.origins == [entries[1].origins[0], entries[2].origins[0]]  # of what was told, and of nothing else
    assert (event.source, event.local_date, event.version) == ("extraction", date(2026, 3, 1), 1)


def test_a_conversation_of_pleasantries_comes_to_nothing(api: Api) -> None:
    say(api, "谢谢！", "不客气，随时告诉我。")
    assert extract()["turns"] == 1
    assert events_by_scope() == {} and held() == []


@pytest.mark.thorough
def test_what_is_told_is_short_and_what_tells_most(api: Api) -> None:
    for n in range(12):
        say(api, f"We talked about the weather again and it was nice, part {'abcdefghijkl'[n]}.", "Yes.")
    say(api, "My daughter Yoyo starts school in Hangzhou on 1 September 2027.", "Congratulations!")
    extract()
    ((content,),) = events_by_scope().values()
    assert len(content) <= 200
    assert "My daughter Yoyo starts school in Hangzhou on 1 September 2027." in content


def test_every_local_day_has_an_event_of_its_own(api: Api, workspace: Workspace, settings: Any) -> None:
    Workspace.objects.update(time_zone="Asia/Shanghai")
    late = datetime(2026, 3, 1, 15, 59, tzinfo=UTC)
    say(api, "晚上看了电影《流浪地球》", "", at=late)
    say(api, "凌晨飞往东京", "", at=late + timedelta(minutes=1))
    extract(late + QUIET * 2)
    days = DailyEvent.objects.order_by("local_date").values_list("local_date", "content")
    assert list(days) == [(date(2026, 3, 1), "晚上看了电影《流浪地球》"), (date(2026, 3, 2), "凌晨飞往东京")]


def test_a_group_keeps_the_whole_and_each_speaker_only_their_own_words(api: Api) -> None:
    say(
        api,
        "I moved to Hangzhou",
        "Ben said that he moved to Berlin",
        address=GROUP,
        slots={"speaker": "Amy"},
    )
    say(api, "I bought a red bicycle", "Noted.", address=BEN)
    extract()
    assert events_by_scope() == {
        "telegram:direct_u42": ["I moved to Hangzhou"],
        "telegram:direct_u43": ["I bought a red bicycle"],
        GROUP_SCOPE: [
            "Amy: I moved to Hangzhou\nAssistant: Ben said that he moved to Berlin\nu43: I bought a red bicycle"
        ],
    }
    chats = dict(DailyEvent.objects.values_list("scope__key", "chats"))
    assert chats == {"telegram:direct_u42": [GROUP_SCOPE], "telegram:direct_u43": [GROUP_SCOPE], GROUP_SCOPE: []}


def test_a_group_that_keeps_no_memory_leaves_each_their_own(api: Api, workspace: Workspace) -> None:
    Channel.objects.create(workspace=workspace, platform="telegram", account="mybot", capture_group_memory=False)
    say(api, "I moved to Hangzhou", "Noted.", address=GROUP)
    say(api, "I bought a red bicycle", "Noted.", address=BEN)
    extract()
    assert events_by_scope().keys() == {"telegram:direct_u42", "telegram:direct_u43"}


def test_without_a_speaker_only_the_group_remembers(api: Api) -> None:
    say(api, "the meeting is on Friday at 10", "Noted.", address={**GROUP, "peer": ""})
    extract()
    assert events_by_scope() == {GROUP_SCOPE: ["the meeting is on Friday at 10"]}


def test_what_was_taken_out_while_it_waited_is_not_told(api: Api) -> None:
    say(api, "my passport number is E1234", "Noted.")
    say(api, "I moved to Hangzhou", "Noted.")
    entries.expire(Entry.objects.get(content__contains="passport"), now=NOW, actor="user:alice")
    extract()
    assert events_by_scope() == {"telegram:direct_u42": ["I moved to Hangzhou"]}


@pytest.mark.thorough
def test_nor_is_it_told_when_it_is_said_in_the_same_words_again(api: Api) -> None:
    say(api, "tea", "tea")
    extract()
    scope = DailyEvent.objects.get().scope
    taken = api.post("entries", {"scope": scope.key, "content": "my passport is blue"}).json()["id"]
    assert api.request("DELETE", f"entries/{taken}").status_code == 200
    say(api, "My passport is blue!", "Noted.", at=NOW + QUIET)
    extract(NOW + 2 * QUIET)
    assert events_by_scope() == {scope.key: ["tea"]}


def test_a_frozen_scope_gets_nothing_and_nothing_is_lost(api: Api) -> None:
    say(api, "I moved to Hangzhou", "Noted.")
    scope = BufferedTurn.objects.get().user_scope
    assert scope is not None
    type(scope).objects.update(frozen=True)
    assert extract()["failed"] == 1
    assert events_by_scope() == {} and held() == [["I moved to Hangzhou", "Noted."]]
    assert "frozen" in ExtractionBatch.objects.get().error
    type(scope).objects.update(frozen=False)
    assert extract(NOW + 2 * QUIET)["events"] == 1


def test_the_history_says_that_a_job_wrote_it(api: Api) -> None:
    say(api, "I moved to Hangzhou", "Noted.", address=TELEGRAM)
    extract()
    change = Change.objects.get(table_name="memories_dailyevent")
    assert (change.op, change.actor, change.row_id) == ("I", "job:extract", DailyEvent.objects.get().pk)
