"""What was said is found by its meaning as well, where no word of the question stands in it (C5, C6)."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from memories.index import worker as embedder
from memories.models import Entry, Workspace
from memories.recall import vector
from memories.tenancy import row_level_security
from sessions_app.models import EventIndex, Session
from sessions_app.search.embedder import EventEmbedder
from tests.channels_app.context.test_session_events import asked, events
from tests.conftest import GROUP, NOW, TELEGRAM, make_key
from tests.sessions_app.conftest import Talk
from tests.sessions_app.embedders import Down, Meaning, Narrow, use

pytestmark = pytest.mark.django_db
Counter = Callable[[int], Any]
LONG_AGO, YESTERDAY = NOW - timedelta(days=9), NOW - timedelta(days=1)
SALARY = "did I tell you about my wages?"


@pytest.fixture(autouse=True)
def meaning(settings: Any) -> None:
    use(settings, Meaning)
    vector.forget_centroids()


def embed() -> None:
    embedder.drain(now=NOW)
    worker = EventEmbedder()
    while worker(now=NOW) == 0:
        pass


@pytest.fixture
def conversation(talk: Talk) -> None:
    talk.say("the ferry leaves at noon", "see you there", at=LONG_AGO)
    talk.say("我的牙医很好", "记下了", at=YESTERDAY)
    talk.say("my salary is 5000", "well done", at=YESTERDAY + timedelta(minutes=9))
    talk.say("good morning", "hello", at=NOW - timedelta(minutes=5))
    embed()


@pytest.mark.usefixtures("conversation")
@pytest.mark.parametrize(
    ("message", "content"),
    [
        ("what did I say about the ship?", "the ferry leaves at noon"),
        ("我之前说过船几点开吗？", "the ferry leaves at noon"),
        ("who did I say my dentist is?", "我的牙医很好"),
        ("还记得我的医生怎么样吗？", "我的牙医很好"),
        (SALARY, "my salary is 5000"),
        ("我说过薪水是多少吗？", "my salary is 5000"),
    ],
)
def test_it_works(talk: Talk, message: str, content: str) -> None:
    answer = asked(talk, message)
    best = answer["events"][0]
    assert best["content"] == content and best["words"] == 0 and best["similarity"] > 0.9
    assert [event["content"] for event in answer["events"]] == [content]  # nothing else is near


@pytest.mark.usefixtures("conversation")
def test_a_message_of_hardly_a_word_is_found_by_its_words_alone(talk: Talk) -> None:
    talk.say("薪水", "ok", at=LONG_AGO)
    embed()
    assert events(talk, SALARY) == ["my salary is 5000"]
    assert "薪水" in events(talk, "我说过薪水是多少吗？")


@pytest.mark.usefixtures("conversation")
def test_words_and_meaning_count_together(talk: Talk) -> None:
    talk.say("a boat has a keel", "yes", at=LONG_AGO)
    talk.say("the keel of a house is no keel", "no", at=LONG_AGO)
    embed()
    events = asked(talk, "what did I say about the keel of the ship?")["events"]
    words = {event["content"]: event["words"] for event in events}
    assert events[0]["content"] == "a boat has a keel"
    assert words == {"a boat has a keel": 0.5, "the keel of a house is no keel": 0.5, "the ferry leaves at noon": 0}
    assert events[0]["score"] > events[1]["score"] > events[2]["score"] > 0


@pytest.mark.usefixtures("conversation")
def test_what_was_said_on_the_day_that_is_named_comes_first(talk: Talk) -> None:
    talk.say("the physician is away", "oh", at=LONG_AGO)
    embed()
    assert events(talk, "what did I say about my dentist yesterday?")[:2] == ["我的牙医很好", "the physician is away"]
    assert events(talk, "what did I say about my wages yesterday?")[0] == "my salary is 5000"


@pytest.mark.usefixtures("conversation")
def test_the_floor_is_that_of_memories(talk: Talk, settings: Any) -> None:
    assert events(talk, SALARY) == ["my salary is 5000"]
    settings.MEMORY_MIN_SIMILARITY = 2.5
    assert events(talk, SALARY) == []
    assert events(talk, "did I tell you about my salary?") == ["my salary is 5000"]  # a word speaks for it


@pytest.mark.usefixtures("conversation")
def test_without_an_embedder_words_answer_alone(talk: Talk, settings: Any) -> None:
    use(settings, Down)
    answer = asked(talk, SALARY)
    assert answer["degraded"] == ["embedding"] and answer["events"] == []
    events = asked(talk, "did I tell you about my salary?")["events"]
    assert [(event["content"], event["similarity"]) for event in events] == [("my salary is 5000", None)]


@pytest.mark.usefixtures("conversation")
def test_vectors_of_other_dimensions_are_passed_over_until_they_are_made_anew(talk: Talk, settings: Any) -> None:
    use(settings, Narrow)
    talk.say("one more", "and one")
    embedder.drain(now=NOW)  # the model is known to be narrower, the messages are not embedded anew yet
    assert events(talk, "did I tell you about my salary?") == ["my salary is 5000"]
    embed()
    assert events(talk, SALARY) == ["my salary is 5000"]


@pytest.mark.usefixtures("conversation")
def test_the_question_is_embedded_once(talk: Talk) -> None:
    Meaning.questions.clear()
    asked(talk, SALARY)
    assert Meaning.questions == [SALARY]


@pytest.mark.thorough
def test_private_messages_are_never_told_in_a_group(talk: Talk, workspace: Workspace) -> None:
    talk.say("my salary is 5000", at=YESTERDAY)
    talk.say("folk music is fine", address=GROUP, at=YESTERDAY)
    embed()
    for rule in ("none", "same_chat", "all"):
        workspace.channels.update(group_user_recall=rule)
        assert events(talk, SALARY, GROUP, need="off") == []
    assert events(talk, SALARY) == ["my salary is 5000"]
    assert events(talk, SALARY, {**TELEGRAM, "peer": "u7", "chat": "c9"}) == []


def test_a_group_hears_its_own_unless_it_remembers_nothing(talk: Talk, workspace: Workspace) -> None:
    talk.say("the ferry leaves at noon", address=GROUP, at=YESTERDAY)
    embed()
    message = "what did we say about the ship?"
    assert events(talk, message, GROUP) == ["the ferry leaves at noon"]
    assert events(talk, message, {**GROUP, "chat": "g2"}) == []
    workspace.channels.update(capture_group_memory=False)
    talk.say("still fine", address=GROUP)
    assert events(talk, message, GROUP) == []


@pytest.mark.usefixtures("conversation")
def test_what_people_took_out_is_not_found_by_its_meaning(talk: Talk) -> None:
    entry = Entry.objects.get(content__contains="salary")
    assert talk.request("DELETE", f"entries/{entry.uid}").status_code in (200, 204)
    assert events(talk, SALARY) == []


@pytest.mark.usefixtures("conversation")
def test_the_trace_tells_why(talk: Talk) -> None:
    answer = asked(talk, SALARY)
    result = talk.get(f"recalls/{answer['recall_id']}").json()
    (event,) = result["events"]
    data = {name: answer["events"][0][name] for name in ("path", "score", "memory", "words", "similarity")}
    assert event == {**data, "version": None}
    assert event["words"] == 0 and event["similarity"] > 0.9 and "events" not in result["evidence"]


def test_a_single_character_and_a_capital_letter_are_words(talk: Talk, settings: Any) -> None:
    settings.MEMORY_SESSION_EVENT_EMBEDDING = False
    talk.say("那只黑猫又来了", "好", at=LONG_AGO)
    talk.say("the HARBOUR is closed", "why", at=LONG_AGO)
    assert events(talk, "我说过猫吗？") == ["那只黑猫又来了"]
    assert events(talk, "did I mention a harbour?") == ["the HARBOUR is closed"]


@pytest.mark.usefixtures("conversation")
def test_it_takes_the_same_statements_however_many_conversations(
    talk: Talk, django_assert_max_num_queries: Counter
) -> None:
    def count() -> int:
        with django_assert_max_num_queries(60) as queries:
            assert events(talk, SALARY, need="off") == ["my salary is 5000"]
        return len(queries)

    result = count()
    for n in range(4):
        talk.say("good evening", "hello", address={**TELEGRAM, "chat": f"c{n + 20}"}, at=YESTERDAY)
    embed()
    assert Session.objects.count() == 5 and count() <= result


@pytest.fixture
def strangers_key(stranger: Workspace) -> str:
    return make_key(stranger)


@pytest.mark.usefixtures("conversation", "strangers_key", "as_the_web")
def test_it_works_behind_the_wall_and_shows_nothing_of_another_workspace(
    talk: Talk, stranger: Workspace, strangers_key: str
) -> None:
    assert events(talk, SALARY) == ["my salary is 5000"]
    talk.say("wages are paid monthly", "fine")
    assert EventIndex.objects.count() == 0  # between two requests the wall is closed
    row_level_security.enter([stranger.pk])
    assert EventIndex.objects.count() == 0
    row_level_security.leave()
    assert events(Talk(strangers_key), SALARY) == []
