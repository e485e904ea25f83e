"""What people say about themselves, without a model: facts in their own words, as the rules are sure of them (D5)."""

from datetime import timedelta
from typing import Any

import pytest

from memories import batches
from memories.choices import Act, Origin, PolicyKind
from memories.models import Batch, Entry, Evidence, Policy, Workspace
from memories.models.policy import trust_name
from tests.conftest import GROUP, NOW, TELEGRAM, Api
from tests.memories.consolidation.buffer.conversations import QUIET, extract, say

pytestmark = pytest.mark.django_db
LATER = NOW + timedelta(days=20)


@pytest.fixture(autouse=True)
def clock(settings: Any) -> None:
    settings.TEST_CLOCK = True


def facts() -> dict[str, str]:
    """The facts in use, with the key of the scope of each."""
    rows = Entry.objects.live().filter(type="fact").order_by("pk")
    return dict(rows.values_list("content", "scope__key"))


def test_a_sentence_about_oneself_becomes_a_fact_and_the_request_beside_it_does_not(api: Api) -> None:
    say(api, "Can you suggest a dinner? I'm allergic to peanuts. And quickly please", "A risotto.")
    say(api, "帮我推荐一家店。我对海鲜过敏，别选海鲜馆。", "好的。")
    extract()
    assert facts() == dict.fromkeys(["I'm allergic to peanuts.", "我对海鲜过敏，别选海鲜馆。"], "telegram:direct_u42")


@pytest.mark.parametrize(
    ("told", "taken_back"),
    [
        ("My boss is Clara Hahn.", "Clara has left, Tom Becker is my boss now."),
        ("I work as a bartender.", "I quit the bar, I'm a postman now."),
        ("我女朋友叫小雨。", "我和小雨分手了，现在的女朋友叫婷婷。"),
        ("我的手机是小米13。", "我换手机了，现在用华为Mate 60。"),
    ],
)
def test_what_is_taken_back_before_it_is_read_becomes_no_fact(api: Api, told: str, taken_back: str) -> None:
    say(api, told, "Noted.")
    say(api, taken_back, "Noted.", at=NOW + timedelta(minutes=1))
    extract(NOW + timedelta(minutes=10))
    assert told not in facts()


def test_what_somebody_says_after_it_of_another_takes_no_fact_back(api: Api) -> None:
    say(api, "My boss is Clara Hahn.", "Noted.")
    say(api, "My brother has a new boss, Tom Becker.", "Noted.", at=NOW + timedelta(minutes=1))
    extract(NOW + timedelta(minutes=10))
    assert "My boss is Clara Hahn." in facts()


def test_a_fact_rests_on_its_message_and_has_no_end(api: Api) -> None:
    say(api, "Thanks! My name is Katja. What next?", "Hello Katja.")
    extract()
    (fact,) = Entry.objects.live().filter(type="fact")
    (turn,) = Entry.objects.live().filter(type="chat_turn")
    assert fact.expires_at is None
    assert set(fact.origins) < set(turn.origins)
    words = Evidence.objects.get(entry=fact)
    assert (words.quote, words.start) == ("My name is Katja", len("Thanks! "))


@pytest.mark.parametrize(
    "message",
    [
        "Am I allergic to nuts?",
        "Call me Mr. Brown",
        "My doctor says I'm allergic to nuts",
        "If I lived in Rome I'd walk more",
        "I'm allergic to Mondays lol",
        "I work for peanuts.",
        "My boss is a monster.",
        "我住在互联网上。",
        "我女朋友叫空气。",
        'Please translate: "I live in Rome and I work as a nurse."',
        "Pretend I'm a pirate. I live in Tortuga.",
        "I'm in Berlin until tomorrow, I live in the hotel",
        "我对花生过敏吗？",
        "听说我对花生过敏",
        "如果我住在海南就好了",
        "把这句话翻译成英文：我住在杭州。",
        "我今天住在杭州的酒店",
    ],
)
def test_what_is_not_sure_stays_in_its_conversation(api: Api, message: str) -> None:
    say(api, message, "OK.")
    extract()
    assert facts() == {}


def test_what_is_said_again_is_one_fact(api: Api) -> None:
    say(api, "I live in Rome.", "Nice.")
    extract()
    say(api, "By the way. I live in Rome!", "I know.", at=LATER)
    extract(LATER + QUIET)
    assert list(facts()) == ["I live in Rome."]


def test_what_is_said_anew_replaces_what_was_said_and_one_undo_brings_it_back(api: Api) -> None:
    say(api, "I live in Rome.", "Nice.")
    extract()
    say(api, "I live in Oslo now, for good.", "Cold.", at=LATER)
    extract(LATER + QUIET)
    assert list(facts()) == ["I live in Oslo now, for good."]
    batch = Batch.objects.latest("pk")
    batches.apply_batch(batches.plan_undo(batch, actor="user:ann", now=LATER), now=LATER)
    assert list(facts()) == ["I live in Rome."]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("I live in Berlin.", "I moved to Munich last week."),
        ("I'm vegan.", "I'm vegetarian now."),
        ("Call me Sam.", "Please call me Sammy from now on."),
        ("My birthday is on May 4.", "Sorry, my birthday is on June 4."),
        ("I work at Nokia.", "I left Nokia and joined a charity."),
        ("我在杭州工作。", "我现在换到北京上班了。"),
        ("我开本田思域。", "我把本田卖了，现在开特斯拉。"),
    ],
)
def test_what_there_is_one_of_is_replaced_without_a_word_in_common_and_both_stay_in_the_history(
    api: Api, before: str, after: str
) -> None:
    say(api, before, "OK.")
    extract()
    say(api, after, "OK.", at=LATER)
    extract(LATER + QUIET)
    assert list(facts()) == [after]
    older, newer = Entry.objects.filter(type="fact").order_by("pk")
    assert (older.content, older.superseded_by) == (before, newer)
    batches.apply_batch(batches.plan_undo(Batch.objects.latest("pk"), actor="user:ann", now=LATER), now=LATER)
    assert list(facts()) == [before]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("I live in Norway.", "I live in Bergen."),
        ("I live in Nice.", "My daughter moved to Lyon last month."),
        ("I live in Kyoto.", "I'm planning to move to Osaka."),
        ("I'm allergic to bees.", "I'm now also allergic to kiwis."),
        ("I live in Tampere.", "I moved to Turku in 2004 but came back."),
        ("我住在浙江。", "我住在温州。"),
        ("我在苏州上班。", "我现在在华为上班。"),
        ("I live in Berlin.", "We moved to Kubernetes last week."),
        ("I live in Berlin.", "I moved to Linux."),
        ("我住在北京。", "我住院了。"),
        ("我住在北京。", "我们搬到新办公室了。"),
        ("我叫王芳。", "我叫滴滴了，五分钟到。"),
        ("叫我小王", "叫我起床"),
        ("I have two kids.", "I have one kid at school now."),
    ],
)
def test_what_may_both_be_true_is_not_replaced(api: Api, before: str, after: str) -> None:
    say(api, before, "OK.")
    extract()
    say(api, after, "OK.", at=LATER)
    extract(LATER + QUIET)
    assert before in facts() and not Batch.objects.filter(state="proposed").exists()


def test_a_sentence_that_tells_more_than_what_changed_is_kept(api: Api) -> None:
    say(api, "I live in Berlin, and I'm severely allergic to peanuts.", "OK.")
    extract()
    say(api, "I moved to Munich last week.", "OK.", at=LATER)
    extract(LATER + QUIET)
    assert len(facts()) == 2


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("I live in Berlin.", "I moved to Munich."),
        ("I live in Rome.", "I live in Oslo now, for good."),
        ("我住在北京。", "我搬到杭州了。"),
    ],
)
def test_where_a_person_s_own_words_may_replace_nothing_somebody_is_asked(
    workspace: Workspace, api: Api, before: str, after: str
) -> None:
    name = trust_name(Origin.SELF, Act.SUPERSEDE)
    Policy.objects.create(workspace=workspace, kind=PolicyKind.TRUST, name=name, value=0)
    say(api, before, "OK.")
    extract()
    say(api, after, "OK.", at=LATER)
    extract(LATER + QUIET)
    assert list(facts()) == [before, after]
    assert Batch.objects.filter(state="proposed").count() == 1


def test_of_one_message_the_last_word_is_kept(api: Api) -> None:
    say(api, "I live in Berlin. Oh sorry! I live in Munich now.", "OK.")
    extract()
    assert list(facts()) == ["I live in Munich now."]


def test_in_a_group_it_is_the_speakers_own_and_stays_in_that_chat(api: Api) -> None:
    say(api, "I'm a vegetarian.", "Noted.", address=GROUP, slots={"speaker": "Amy"})
    extract()
    (fact,) = Entry.objects.live().filter(type="fact")
    assert fact.scope.key == "telegram:direct_u42" and fact.chats == ["telegram:mybot:group_g1"]


def test_a_wish_to_keep_is_kept_once_and_a_secret_is_in_no_fact(api: Api) -> None:
    say(api, "Please remember: I'm allergic to latex.", "I will.")
    say(api, "I use the server with password hunter2Xk9Qz", "OK.")
    extract()
    assert not [content for content in facts() if "[secret]" in content or "latex" in content]


def test_an_operator_can_turn_it_off(api: Api, settings: Any) -> None:
    settings.MEMORY_FACTS_IN_OWN_WORDS = False
    say(api, "I live in Rome.", "Nice.")
    extract()
    assert facts() == {}


def test_a_month_later_the_bot_still_knows_it(api: Api) -> None:
    say(api, "Hm. My sister is called Ana. What was I saying?", "Your sister.")
    extract()
    data = {"address": {**TELEGRAM, "chat": "another"}, "message": "What is my sister called?"}
    answer = api.post("recall", data, **{"X-Memplatform-Now": (NOW + timedelta(days=400)).isoformat()}).json()
    assert [memory["content"] for memory in answer["memories"]][:1] == ["My sister is called Ana."]
