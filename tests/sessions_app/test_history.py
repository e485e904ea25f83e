"""Messages are appended in order, replayed as they were said, and compared with what a client believes (B2)."""

from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from hypothesis import given
from hypothesis import strategies as st

from memories.models import Entry, Workspace
from sessions_app.models import Session, SessionEvent
from tests.conftest import TELEGRAM, make_key
from tests.sessions_app.conftest import Talk
from tests.support.properties import examples

pytestmark = pytest.mark.django_db
SAID = ["user: where do I live?", 'tool: {"city": "Hangzhou"}', "assistant: In Hangzhou.", "user: 谢谢"]


def spoken(*messages: str) -> list[tuple[str, str]]:
    return [tuple(words.split(": ", 1)) for words in messages]  # type: ignore[misc]


def believed(*messages: str) -> list[dict[str, str]]:
    return [{"role": role, "content": content} for role, content in spoken(*messages)]


@pytest.fixture
def session(talk: Talk) -> Session:
    return begun(talk)


def begun(talk: Talk, chat: str = TELEGRAM["chat"]) -> Session:
    """A direct chat in which nothing has been said."""
    answer = talk.post("sessions", {"address": {**TELEGRAM, "chat": chat}})
    assert answer.status_code == 200, answer.json()
    return Session.objects.get(uid=answer.json()["id"])


def test_a_session_begins_before_anything_is_said(talk: Talk, session: Session) -> None:
    assert talk.history(session) == []
    assert talk.get(f"sessions/{session.key}").json()["is_empty"] is True
    again = talk.post("sessions", {"address": TELEGRAM}).json()
    assert again["id"] == str(session.uid)


def test_roles_and_words_come_back_exactly_as_they_were_said(talk: Talk, session: Session) -> None:
    odd = "assistant:   two  spaces,\n\ttabs, «quotes» and 👩‍👩‍👧 stay  "
    talk.log(session, *SAID, odd)
    assert talk.history(session) == spoken(*SAID, odd)


def test_a_turn_is_two_messages_of_its_history(talk: Talk) -> None:
    talk.say("I moved to Hangzhou", "Noted.")
    assert talk.history(Session.objects.get()) == [("user", "I moved to Hangzhou"), ("assistant", "Noted.")]


def test_appended_messages_are_history_and_no_memory(talk: Talk, session: Session) -> None:
    talk.log(session, *SAID)
    assert not Entry.objects.exists()


def test_a_client_that_knows_the_history_appends_to_it(talk: Talk, session: Session) -> None:
    talk.log(session, *SAID[:2])
    talk.log(session, *SAID[2:], history=believed(*SAID[:2]))
    assert talk.history(session) == spoken(*SAID)


def test_what_a_client_knows_beyond_the_history_is_appended_too(talk: Talk, session: Session) -> None:
    talk.log(session, *SAID[:1])
    answer = talk.log(session, *SAID[3:], history=believed(*SAID[:3]))
    assert [event["content"] for event in answer["events"]] == [content for _role, content in spoken(*SAID[1:])]
    assert talk.history(session) == spoken(*SAID)


def test_what_is_sent_twice_is_appended_once(talk: Talk, session: Session) -> None:
    for _twice in range(2):
        talk.log(session, *SAID[:2], history=[])
        talk.log(session, *SAID[2:], history=believed(*SAID[:2]))
    assert talk.history(session) == spoken(*SAID)


def test_a_conversation_that_was_reset_is_not_gone_on_with(talk: Talk, session: Session) -> None:
    """A bot that always sends all it knows makes no reset void (B6)."""
    talk.log(session, *SAID[:2])
    assert talk.post(f"sessions/{session.key}/reset").status_code == 200
    answer = talk.post(
        f"sessions/{session.key}/events",
        {"history": believed(*SAID[:2]), "events": [{"kind": "user", "content": "hm"}]},
    )
    assert (answer.status_code, answer.json()["errors"][0]["attr"]) == (409, "history.0")
    assert talk.history(session) == []
    talk.log(session, *SAID[2:], history=[])
    assert talk.history(session) == spoken(*SAID[2:])


@pytest.mark.parametrize(
    ("history", "events", "place"),
    [
        (["user: where do you live?"], ["assistant: here"], "history.0"),
        ([*SAID[:2], "assistant: In Beijing."], ["user: hm"], "history.2"),
        ([SAID[0].replace("user", "assistant")], [], "history.0"),
        (SAID[:2], ["assistant: In Beijing."], "events.0"),
        (SAID[:2], [SAID[2], "user: thanks"], "events.1"),
        (["summary: nobody was given this"], ["user: hm"], "history.0"),
    ],
)
def test_a_history_that_differs_is_told_where_and_clears_nothing(
    history: list[str], events: list[str], place: str, talk: Talk, session: Session
) -> None:
    talk.log(session, *SAID)
    new = [{"kind": kind, "content": content} for kind, content in spoken(*events)]
    answer = talk.post(f"sessions/{session.uid}/events", {"events": new, "history": believed(*history)})
    (error,) = answer.json()["errors"]
    assert (answer.status_code, answer.json()["type"]) == (409, "client_error")
    assert (error["code"], error["attr"]) == ("history_differs", place)
    assert talk.history(session) == spoken(*SAID)


MESSAGES = st.lists(st.tuples(st.sampled_from(["user", "assistant", "tool"]), st.sampled_from("abc")), max_size=6)


@pytest.mark.thorough
@examples(30, searched=60)
@given(stored=MESSAGES, history=MESSAGES, new=MESSAGES)
def test_whatever_is_believed_the_history_only_grows_into_what_was_told(
    talk: Talk, stored: Any, history: Any, new: Any
) -> None:
    session = begun(talk, chat=str(uuid4()))
    if stored:
        talk.log(session, *(": ".join(message) for message in stored))
    body = {"events": [{"kind": kind, "content": content} for kind, content in new]}
    body["history"] = [{"role": role, "content": content} for role, content in history]
    answer = talk.post(f"sessions/{session.uid}/events", body)
    messages, now = history + new, [tuple(message) for message in talk.history(session)]
    agrees = messages[: len(stored)] == stored[: len(messages)]
    assert answer.status_code == (201 if agrees and messages else 409 if messages else 400)
    assert now == (max(stored, messages, key=len) if agrees else stored)


def test_a_page_of_messages_leads_to_the_next(talk: Talk, session: Session) -> None:
    talk.log(session, *(f"user: number {n}" for n in range(7)))
    seen, cursor = [], {}
    while cursor is not None:
        page = talk.get(f"sessions/{session.uid}/events", limit=3, **cursor).json()
        seen += [event["content"] for event in page["results"]]
        cursor = {"cursor": page["cursor"]} if page["cursor"] else None
    assert seen == [f"number {n}" for n in range(7)]


def test_an_earlier_conversation_can_still_be_read(talk: Talk, session: Session) -> None:
    talk.log(session, *SAID)
    talk.do(session, "reset")
    talk.log(session, "user: hello")
    assert talk.history(session) == [("user", "hello")]
    earlier = talk.get(f"sessions/{session.uid}/events", conversation=1).json()["results"]
    assert [event["position"] for event in earlier] == [1, 2, 3, 4]


def test_a_history_that_is_too_long_begins_with_a_later_turn(talk: Talk, session: Session) -> None:
    talk.log(session, *(messages for n in range(20) for messages in (f"user: {n} {'word ' * 30}", "assistant: fine")))
    shown = talk.get(f"sessions/{session.uid}/history", max_tokens=200).json()
    assert shown["is_cut"] and shown["tokens"] <= 200
    assert shown["messages"][0]["role"] == "user" and shown["messages"][-1]["position"] == 40


@pytest.mark.thorough
def test_a_history_costs_the_same_however_long_it_is(talk: Talk, session: Session) -> None:
    def queries(path: str) -> int:
        with CaptureQueriesContext(connection) as captured:
            assert talk.get(path).status_code == 200
        return len(captured)

    paths = [f"sessions/{session.uid}/{what}" for what in ("history", "events")] + ["sessions"]
    talk.log(session, "user: hello")
    few = [queries(path) for path in paths]
    talk.log(session, *(f"user: number {n}" for n in range(150)))
    for n in range(30):
        talk.say("hello", address={**TELEGRAM, "peer": f"p{n}", "chat": f"chat {n}"})
    assert [queries(path) for path in paths] == few


def test_fresh_sessions_have_one_message_each(talk: Talk, workspace: Workspace) -> None:
    workspace.channels.create(platform="telegram", account="mybot", session_mode="fresh")
    keys = {talk.say(f"number {n}")["session"]["key"] for n in range(3)}
    assert len(keys) == 3
    assert list(SessionEvent.objects.values_list("position", flat=True)) == [1, 2] * 3


def test_a_key_that_stands_for_two_sessions_is_told_apart_by_its_channel(talk: Talk) -> None:
    key = talk.say("here")["session"]["key"]
    assert talk.say("there", address={**TELEGRAM, "account": "other"})["session"]["key"] == key
    answer = talk.get(f"sessions/{key}")
    assert (answer.status_code, answer.json()["errors"][0]["code"]) == (400, "ambiguous")
    there = talk.get(f"sessions/{key}", account="other").json()
    assert there["account"] == "other" and talk.get(f"sessions/{there['id']}").json() == there


@pytest.mark.parametrize("name", ["nothing", "019a0000-0000-7000-8000-000000000000", "%00", "x" * 300])
def test_a_session_that_never_was_is_not_found(talk: Talk, name: str) -> None:
    assert talk.request("GET", f"sessions/{name}").status_code == 404


def test_a_direct_chat_without_a_peer_is_with_whom_it_was_before(talk: Talk) -> None:
    """A5: what the session knows, outside groups."""
    nobody = {**TELEGRAM, "peer": None}
    assert talk.post("turns", {"address": nobody, "user": "who am I?"}).status_code == 400
    talk.say("I am u42")
    assert talk.say("and I like tea", address=nobody)["entries"][0]["scope"] == "telegram:direct_u42"
    assert Entry.objects.latest("id").sender_id == "u42"
    heard = talk.post("recall", {"address": nobody, "message": "what do I like?"}).json()
    assert heard["memories"]


def test_a_direct_chat_whose_id_names_its_peer_is_with_that_one(talk: Talk) -> None:
    """A5: what the id tells, where the session knows nobody yet."""
    named = {**TELEGRAM, "peer": None, "chat": "telegram:direct_u42"}
    assert talk.say("I like tea 我喜欢茶", address=named)["entries"][0]["scope"] == "telegram:direct_u42"
    assert (Entry.objects.get().sender_id, Session.objects.get().peer) == ("u42", "u42")
    assert talk.post("recall", {"address": TELEGRAM, "message": "what do I like?"}).json()["memories"]
    assert talk.post("context", {"address": named, "message": "what do I like?"}).json()["history"]
    group = {**named, "chat": "telegram:direct_u43", "is_group": True}
    assert [entry["scope"] for entry in talk.say("hi", address=group)["entries"]] == [
        "telegram:mybot:group_telegram%3adirect_u43"
    ]


def test_whom_the_session_knows_comes_before_whom_its_id_names(talk: Talk) -> None:
    named = {**TELEGRAM, "peer": None, "chat": "telegram:u42"}
    talk.say("I am Ann", address={**named, "peer": "ann"})
    assert talk.say("and I like tea", address=named)["entries"][0]["scope"] == "telegram:direct_ann"


def test_a_direct_chat_is_never_shared_by_two_peers(talk: Talk, workspace: Workspace) -> None:
    talk.say("my secret is a pony")
    answer = talk.post("turns", {"address": {**TELEGRAM, "peer": "u43"}, "user": "what was said?"})
    assert (answer.status_code, answer.json()["errors"][0]["attr"]) == (400, "address")
    assert SessionEvent.objects.count() == 2


@pytest.mark.parametrize("kind", ["user", "ambient"])
def test_nor_by_messages_that_are_logged(talk: Talk, kind: str) -> None:
    session = talk.say("my secret is a pony")["session"]["key"]
    events = [{"kind": "user", "content": "mine", "sender": "u42"}, {"kind": kind, "content": "hers", "sender": "u43"}]
    answer = talk.post(f"sessions/{session}/events", {"events": events})
    assert (answer.status_code, answer.json()["errors"][0]["attr"]) == (400, "events.1.sender")
    assert SessionEvent.objects.count() == 2


def test_a_direct_chat_may_be_called_by_the_key_of_its_session(talk: Talk) -> None:
    key = talk.say("I like tea 我喜欢茶")["session"]["key"]
    called = {**TELEGRAM, "peer": None, "chat": key}
    assert talk.say("and coffee", address=called)["entries"][0]["scope"] == "telegram:direct_u42"
    assert Session.objects.count() == 1
    assert talk.post("recall", {"address": called, "message": "what do I like?"}).json()["memories"]


def test_a_group_without_a_sender_has_no_speaker_whatever_its_session_knows(talk: Talk) -> None:
    group = {**TELEGRAM, "chat": "g1", "is_group": True}
    talk.say("I am u42", address=group)
    result = talk.say("and I like tea", address={**group, "peer": None})
    assert [entry["scope"] for entry in result["entries"]] == ["telegram:mybot:group_g1"]


def test_sessions_are_listed_by_scope_channel_and_whether_something_was_said(talk: Talk, session: Session) -> None:
    talk.say("hello", address={"platform": "lark", "account": "b", "peer": "p", "chat": "g", "is_group": True})

    def listed(**asked: Any) -> list[str]:
        return [row["platform"] for row in talk.get("sessions", **asked).json()["results"]]

    assert sorted(listed()) == ["lark", "telegram"]
    assert listed(open="true") == listed(platform="lark") == listed(scope="lark:b:group_g") == ["lark"]
    assert listed(open="false") == listed(account="mybot") == ["telegram"]
    assert talk.get("sessions", scope="unknown:direct_x").status_code == 404


@pytest.mark.thorough
def test_a_key_sees_the_sessions_of_scopes_it_reaches(workspace: Workspace, talk: Talk) -> None:
    group = {**TELEGRAM, "chat": "g1", "is_group": True}
    talk.say("direct")
    talk.say("group", address=group)
    workspace.channels.update(group_sessions="per_member")
    talk.say("mine alone", address=group)
    for patterns, seen in (
        (["telegram:direct_*"], {"direct"}),
        (["telegram:mybot:group_*"], {"group"}),
        (["telegram:*"], {"direct", "group", "mine alone"}),
        (["lark:*"], set()),
    ):
        narrow = Talk(make_key(workspace, scope_patterns=patterns))
        ids = [row["id"] for row in narrow.get("sessions").json()["results"]]
        contents = {narrow.get(f"sessions/{uid}/events").json()["results"][0]["content"] for uid in ids}
        assert contents == seen, patterns
        hidden = Session.objects.exclude(uid__in=ids).values_list("uid", flat=True)
        assert {narrow.get(f"sessions/{uid}/events").status_code for uid in hidden} <= {404}
