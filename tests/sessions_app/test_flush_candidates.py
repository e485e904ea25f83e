"""Candidates of a flush carry their words, are checked and read a second time, and are refused by name (E4, C7, D5)."""

from typing import Any

import pytest

from memories.models import Entry, RefusedFact
from sessions_app import flush as flushing
from sessions_app.conversation_model import ConversationModel
from sessions_app.models import Flush, Session
from tests.conftest import NOW
from tests.memories.llm.fake_server import FakeModel, credulous
from tests.sessions_app.conftest import Talk
from tests.sessions_app.stretches import candidate, drawing, grown
from tests.support.conversations import Flush as Reported
from tests.support.conversations import load

pytestmark = pytest.mark.django_db
MOCHI = candidate("Mia has a cat, Mochi.", 1, quote="The cat of Mia is called Mochi")
PORT = candidate("staging 的端口是 9090。", 3, category="config", quote="staging 的端口改成 9090")


@pytest.fixture
def direct(talk: Talk) -> Session:
    """Four turns at 1, 3, 5 and 7."""
    return grown(talk, 4)


def flush(session: Session) -> Flush | None:
    """By the platform, with its model."""
    session = Session.objects.select_related("workspace", "user_scope", "chat_scope").get(pk=session.pk)
    return flushing.flush_by_platform(session, now=NOW, model=ConversationModel(session.workspace, now=NOW))


def facts() -> list[tuple[str, str]]:
    return sorted(Entry.objects.filter(type="fact").live().values_list("scope__key", "content"))


def test_what_nobody_said_is_refused_told_once_and_recorded(direct: Session, model: FakeModel) -> None:
    invented = candidate("Penguins huddle against Antarctic winds.", 1, 3)
    elsewhere = candidate("妈妈喜欢菜谱。", 1, quote="妈妈的生日是五月三日")  # somebody said it, but not there
    number = candidate("The port is 9091.", 3, quote="staging 的端口改成 9090")
    model.otherwise = drawing(MOCHI, invented, elsewhere, number)
    model.verdicts[number["content"]] = "contradicted"
    recorded = flush(direct)
    assert recorded is not None and recorded.counts == {"refused": 3, "created": 1, "verified": 1}
    assert facts() == [("telegram:direct_u42", MOCHI["content"])]
    assert [text in model.requests[1].texts[-1] for text in ("candidates.0", "candidates.1", "candidates.2")] == [
        *(False, True, True)
    ]
    assert sorted(RefusedFact.objects.values_list("reason", "purpose", "model", "content")) == [
        ("contradicted", "flush", "small", "The port is 9091."),
        ("no_quote", "flush", "small", "Penguins huddle against Antarctic winds."),
        ("no_quote", "flush", "small", "妈妈喜欢菜谱。"),
    ]


@pytest.mark.parametrize("verdict", ["contradicted", "not_stated"])
def test_what_the_second_reading_refuses_is_not_kept(verdict: str, direct: Session, model: FakeModel) -> None:
    lie = candidate("Carol no longer signs the budget.", 5, quote="Carol signs it")
    goes_on_with = "They spoke of Mochi. 他们放弃了蓝绿部署。"
    model.otherwise = drawing(MOCHI, lie, goes_on_with=goes_on_with)
    model.verdicts = {lie["content"]: verdict, "他们放弃了蓝绿部署。": verdict}
    recorded = flush(direct)
    assert recorded is not None and recorded.goes_on_with == "They spoke of Mochi."
    assert recorded.counts == {"created": 1, "verified": 1, "refused": 1, "left_out": 1}
    assert facts() == [("telegram:direct_u42", MOCHI["content"])]
    assert RefusedFact.objects.get().reason == verdict
    assert len(model.readings) == 1  # one question for both


def test_a_reader_that_believes_decoys_verifies_nothing(direct: Session, model: FakeModel) -> None:
    model.reader = credulous
    model.otherwise = drawing(MOCHI, goes_on_with="Carol hates Mochi.")
    recorded = flush(direct)
    assert recorded is not None and (recorded.goes_on_with, recorded.goes_on_to, recorded.model) == ("", 0, "")
    assert recorded.counts["decoys_passed"] > 0 and recorded.counts["left_out"] == 1
    assert Entry.objects.get(type="fact").verification == "quoted"
    assert "Mochi" in Entry.objects.get(subtype="session_flush").content  # in its own words


def test_without_a_reader_what_passes_the_checks_is_quoted(direct: Session, model: FakeModel, settings: Any) -> None:
    settings.MEMORY_VERIFY = False
    model.otherwise = drawing(MOCHI, goes_on_with="They spoke of Mochi. The port is 9091.")
    recorded = flush(direct)
    assert recorded is not None and recorded.goes_on_with == "They spoke of Mochi."
    assert Entry.objects.get(type="fact").verification == "quoted" and not model.readings


def test_a_fact_stands_beside_the_words_it_rests_on(direct: Session, model: FakeModel) -> None:
    model.otherwise = drawing(MOCHI, PORT)
    flush(direct)
    data = {event.position: event.content for event in direct.events.all()}
    for fact, position in ((MOCHI, 1), (PORT, 3)):
        (words,) = Entry.objects.get(content=fact["content"]).evidence.all()
        assert data[position][words.start : words.end] == words.quote == fact["quote"][0]
        assert words.origin == direct.origin_of(direct.events.get(position=position))


def test_what_is_said_of_another_person_is_not_the_speakers(talk: Talk, model: FakeModel, settings: Any) -> None:
    settings.MEMORY_VERIFY = False  # a reader could only refuse more
    talk.say("My roommate Nils is afraid of heights, 我室友还养蛇。")
    session = Session.objects.get()
    model.otherwise = drawing(
        candidate("The user is afraid of heights.", 1, quote="My roommate Nils is afraid of heights"),
        candidate("用户养蛇。", 1, quote="我室友还养蛇"),
        candidate(
            "Nils is afraid of heights.", 1, quote="My roommate Nils is afraid of heights", subject="my roommate"
        ),
        goes_on_with="Nils is afraid of heights.",
    )
    flush(session)
    assert facts() == [("telegram:direct_u42", "Nils is afraid of heights.")]
    assert set(RefusedFact.objects.values_list("reason", flat=True)) == {"subject"}


@pytest.mark.thorough
@pytest.mark.parametrize("language", ["en", "zh"])
def test_what_an_honest_model_reports_is_kept_and_verified(language: str, talk: Talk, model: FakeModel) -> None:
    """Nine of ten at least, of conversations that were written before the checks."""
    offered = kept = verified = 0
    for row in (item for item in load("flush") if item.language == language):
        counts = _reported(talk, model, row)
        offered += len(row.candidates)
        kept += counts["created"]
        verified += counts["verified"]
    assert kept >= offered * 0.9 and verified >= kept * 0.85, (offered, kept, verified)


def _reported(talk: Talk, model: FakeModel, counts: Reported) -> dict[str, int]:
    """The counts of a flush of this conversation, as an honest model answers it."""
    address = {"platform": "telegram", "account": "mybot", "peer": counts.id}
    first, *_more = counts.messages
    talk.say(first.content, counts.messages[1].content, at=first.at, address=address, slots={"speaker": first.speaker})
    session = Session.objects.get(key=Entry.objects.filter(sender_id=counts.id).latest("pk").session_id)
    later = [
        {"kind": message.role, "content": message.content, "at": message.at.isoformat()}
        for message in counts.messages[2:]
    ]
    talk.do(session, "events", {"events": later}, at=counts.messages[-1].at, status=201)
    model.verdicts |= {candidate.content: "entailed" for candidate in counts.candidates}
    results = [
        candidate(row.content, *row.rests_on, quote=row.quote, category=row.category, importance=row.importance)
        for row in counts.candidates
    ]
    model.otherwise = drawing(*results, goes_on_with=first.content)
    recorded = flush(session)
    assert recorded is not None
    return {"created": 0, "verified": 0, **recorded.counts}
