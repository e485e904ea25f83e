"""What people took out comes back by no way a conversation is handed out, kept or shortened (A15, B4, C7)."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from django.db import connection, connections
from django.test.utils import CaptureQueriesContext

from memories.models import Entry, Workspace
from sessions_app import conversations, flush
from sessions_app.conversation_model import ConversationModel
from sessions_app.history import retention
from sessions_app.history.replay import replay_messages
from sessions_app.models import Session
from tests.conftest import GROUP, NOW, TELEGRAM
from tests.memories.llm.fake_server import Asked, FakeModel
from tests.sessions_app.conftest import LATER, Talk
from tests.sessions_app.stretches import answering, candidate, compact, drawing, summary_of

pytestmark = pytest.mark.django_db
#: What is told, a word of it, what is asked about it, and what else is said.
TOLD = [
    ("my secret is zeppelin", "zeppelin", "what did I say last time about zeppelin?", "we bake bread on Monday"),
    ("我的乐队是齐柏林飞艇", "齐柏林", "我上次说的齐柏林是什么？", "我们周一烤面包"),
]


class Secret:
    """Something a person said in a direct chat, and then had taken out; the next turn is the neighbour."""

    def __init__(self, talk: Talk, words: tuple[str, str, str, str]) -> None:
        self.talk = talk
        self.sentence, self.word, self.question, self.other = words
        talk.say(self.sentence, f"noted: {self.word}")
        talk.say(self.other, "ok")
        talk.say("and something else / 还有别的", "fine")
        self.session = Session.objects.select_related("workspace", "user_scope", "chat_scope").get()
        self.uid = UUID(self.entries_of_turn()[0])

    def entries_of_turn(self) -> list[str]:
        return [str(entry.uid) for entry in Entry.objects.filter(type="chat_turn", content__contains=self.word)]

    def delete(self) -> None:
        assert self.talk.request("DELETE", f"entries/{self.uid}").status_code == 200

    def delete_meanwhile(self) -> None:
        try:
            self.delete()
        finally:
            connections.close_all()  # those of the model's thread

    def restore(self) -> None:
        assert self.talk.post(f"entries/{self.uid}/restore").status_code == 200

    def kept(self, subtype: str) -> str:
        return "\n".join(Entry.objects.live().filter(subtype=subtype).values_list("content", flat=True))

    def context(self) -> Any:
        answer = self.talk.post("context", {"address": TELEGRAM, "message": self.question})
        assert answer.status_code == 200, answer.json()
        return answer.json()


@pytest.fixture(params=TOLD, ids=["en", "zh"])
def secret(request: Any, talk: Talk) -> Secret:
    return Secret(talk, request.param)


def flush_by_hand(secret: Secret) -> None:
    secret.talk.do(secret.session, "flush", {"version": 1})


def flush_on_a_stop(secret: Secret) -> None:
    assert flush.flush_active(now=NOW)["flushed"] == 1


@pytest.mark.thorough
@pytest.mark.parametrize("flush", [flush_by_hand, flush_on_a_stop])
def test_a_flush_keeps_what_else_was_said(secret: Secret, flush: Callable[[Secret], None]) -> None:
    secret.delete()
    flush(secret)
    result = secret.kept("session_flush")
    assert secret.other in result and secret.word not in result


def test_a_conversation_that_is_closed_keeps_what_else_was_said(secret: Secret) -> None:
    secret.delete()
    secret.talk.say("a new day", at=LATER)
    result = secret.kept("session_expired")
    assert secret.other in result and secret.word not in result
    assert secret.session.events.filter(content=secret.sentence).exists()  # what was said stays as it was said


def test_nothing_is_kept_of_a_conversation_of_which_all_was_taken_out(talk: Talk) -> None:
    talk.say("my secret is zeppelin", "noted")
    assert talk.request("DELETE", f"entries/{Entry.objects.get().uid}").status_code == 200
    assert flush.flush_active(now=NOW)["flushed"] == 1
    assert conversations.sweep(now=LATER) == {"closed": 1, "left": 0}
    assert not Entry.objects.live().exists()


def test_a_summary_and_the_flush_before_it_tell_what_else_was_said(secret: Secret) -> None:
    secret.delete()
    assert compact(secret.session)
    assert secret.other in secret.kept("session_flush") and secret.word not in secret.kept("session_flush")
    assert secret.other in summary_of(secret.session).content
    assert secret.word not in summary_of(secret.session).content
    assert secret.talk.history(secret.session)[0][0] == "summary"


@pytest.mark.thorough
def test_a_summary_that_told_of_it_is_handed_out_no_more_and_made_anew(secret: Secret) -> None:
    """The words it stood for are handed out in its place, but for those."""
    secret.session.refresh_from_db()
    assert compact(secret.session)
    assert secret.word in str(secret.talk.history(secret.session))
    secret.delete()
    handed_out = secret.talk.history(secret.session)
    assert ("user", secret.other) in handed_out and secret.word not in str(handed_out)
    assert secret.word not in str(secret.context()) and secret.other in str(secret.context()["history"])
    secret.talk.say("one more turn / 再来一轮")
    assert compact(secret.session)
    (role, text), *_newest = secret.talk.history(secret.session)
    assert role == "summary" and secret.other in text and secret.word not in text


@pytest.mark.thorough
def test_a_history_holds_the_neighbours_and_all_of_it_after_a_restore(secret: Secret) -> None:
    whole, contents = (
        secret.talk.history(secret.session),
        [message["content"] for message in secret.context()["history"]],
    )
    assert secret.sentence in contents
    secret.delete()
    assert secret.talk.history(secret.session) == whole[2:]
    context = secret.context()
    assert [message["content"] for message in context["history"]] == contents[2:]
    assert secret.word not in context["text"].replace(secret.question, "")
    assert secret.word not in str([context[part] for part in ("memories", "events", "notes", "profile")])
    secret.restore()
    assert secret.talk.history(secret.session) == whole
    assert [message["content"] for message in secret.context()["history"]] == contents


def test_restored_it_is_kept_again_when_the_conversation_closes(secret: Secret) -> None:
    secret.delete()
    secret.restore()
    conversations.sweep(now=LATER)
    assert secret.word in secret.kept("session_expired")


@pytest.mark.thorough
def test_with_a_message_its_answer_goes_and_no_more(secret: Secret) -> None:
    """A fact rests on what was said alone; the answer repeats it."""
    position = secret.session.events.get(content=secret.sentence).position
    body = {"version": 1, "candidates": [{"content": f"It is {secret.word}.", "rests_on": [position]}]}
    fact = secret.talk.do(secret.session, "flush", body)["candidates"][0]["id"]
    assert secret.talk.request("DELETE", f"entries/{fact}").status_code == 200
    assert secret.talk.history(secret.session)[0] == ("user", secret.other)
    assert secret.word not in str(secret.context()["events"])
    assert retention.redacted_events(secret.session).keys() == set(
        secret.session.events.filter(position__in=[1, 2]).values_list("pk", flat=True)
    )


def test_no_candidate_rests_on_it_nor_on_it_and_others(secret: Secret) -> None:
    secret.delete()
    mixed = {"content": f"It is {secret.word}, and bread.", "rests_on": [1, 3]}
    clean = {"content": "Bread is baked on Mondays.", "rests_on": [3]}
    answer = secret.talk.do(secret.session, "flush", {"version": 1, "candidates": [mixed, clean]})
    assert [candidate["reason"] for candidate in answer["candidates"]] == ["taken_out", None]
    assert answer["counts"] == {"created": 1, "taken_out": 1}


def test_what_a_bot_said_the_session_goes_on_with_is_no_summary_once_it_tells_of_it(secret: Secret) -> None:
    secret.talk.do(secret.session, "flush", {"version": 1, "continue": f"They speak of {secret.word}."})
    secret.delete()
    assert compact(secret.session)
    assert secret.word not in summary_of(secret.session).content and secret.other in summary_of(secret.session).content


def _by_model(session: Session) -> None:
    session = Session.objects.select_related("workspace", "user_scope", "chat_scope").get(pk=session.pk)
    flush.flush_by_platform(session, now=NOW, model=ConversationModel(session.workspace, now=NOW))


@pytest.mark.thorough
def test_the_model_is_not_shown_it(secret: Secret, model: FakeModel) -> None:
    model.otherwise = answering(
        flush=drawing(candidate(secret.other, 3), goes_on_with=secret.other), summary={"summary": secret.other}
    )
    secret.delete()
    _by_model(secret.session)
    secret.talk.say(secret.other + " again", "ok")
    secret.session.refresh_from_db()
    assert compact(secret.session)
    shown = str([request.data for request in model.requests])
    assert secret.other in shown and secret.word not in shown
    assert secret.word not in summary_of(secret.session).content


@pytest.mark.thorough
@pytest.mark.django_db(transaction=True)
def test_what_is_taken_out_while_the_model_is_asked_is_not_taken(secret: Secret, model: FakeModel) -> None:
    def answer(asked: Asked) -> Any:
        if model.calls == 1:
            secret.delete_meanwhile()
            return drawing(candidate(secret.sentence, 1), goes_on_with=secret.sentence)
        return drawing(candidate(secret.other, 3), goes_on_with=secret.other)

    model.otherwise = answer
    _by_model(secret.session)
    assert model.calls == 2 and secret.word not in str(model.requests[1].data)
    assert list(Entry.objects.filter(type="fact").values_list("content", flat=True)) == [secret.other]
    flush = secret.session.flushes.get()
    assert flush.goes_on_with == secret.other


@pytest.mark.django_db(transaction=True)
def test_what_is_taken_out_while_a_summary_is_written_is_not_in_it(secret: Secret, model: FakeModel) -> None:
    secret.talk.do(secret.session, "flush", {"version": 1, "reply": "NO_REPLY"})

    def answer(asked: Asked) -> Any:
        if model.calls == 1:
            secret.delete_meanwhile()
            return {"summary": secret.sentence}
        return {"summary": secret.other}

    model.otherwise = answer
    assert compact(secret.session)
    assert model.calls == 2 and summary_of(secret.session).content == secret.other


def test_a_client_that_believes_all_or_what_it_was_handed_out_may_go_on(secret: Secret) -> None:
    whole = [{"role": role, "content": content} for role, content in secret.talk.history(secret.session)]
    secret.delete()
    handed_out = [{"role": role, "content": content} for role, content in secret.talk.history(secret.session)]
    new = {"kind": "user", "content": "go on / 继续"}
    for believed in (whole, [*handed_out, {"role": "user", "content": new["content"]}]):
        body = {"history": believed, "events": [new]}
        assert len(secret.talk.do(secret.session, "events", body, status=201)["events"]) == 1
    wrong = {"history": [{"role": "user", "content": "never said"}], "events": [new]}
    secret.talk.do(secret.session, "events", wrong, status=409)


@pytest.mark.thorough
def test_in_a_group_each_may_take_out_their_own_and_the_others_stay(talk: Talk, workspace: Workspace) -> None:
    for peer, words in (("ann", "I bring the cake"), ("ben", "我的乐队是齐柏林"), ("ann", "we meet at noon")):
        talk.say(words, f"ok {peer}", address={**GROUP, "peer": peer})
    workspace.channels.update(capture_group_memory=False)
    own = Entry.objects.get(scope__key="telegram:direct_ben", type="chat_turn")
    assert talk.request("DELETE", f"entries/{own.uid}").status_code == 200
    session = Session.objects.get()
    results = ["I bring the cake", "ok ann", "we meet at noon", "ok ann"]
    assert [content for _role, content in talk.history(session)] == results
    data = {"address": {**GROUP, "peer": "ann"}, "message": "when do we meet?"}
    assert [message["content"] for message in talk.post("context", data).json()["history"]] == results
    conversations.sweep(now=LATER)
    body = {entry.scope.key: entry.content for entry in Entry.objects.live().filter(subtype="session_expired")}
    assert "cake" in body["telegram:direct_ann"] and "齐柏林" not in str(body)


def test_it_costs_a_history_one_statement_and_another_however_much_was_taken_out(secret: Secret) -> None:
    def statements() -> int:
        with CaptureQueriesContext(connection) as captured:
            replay_messages(secret.session, 1_000)
        return len(captured)

    assert statements() == 2
    for entry in Entry.objects.filter(type="chat_turn"):
        secret.uid = entry.uid
        secret.delete()
    assert statements() == 3 and replay_messages(secret.session, 1_000) == []
