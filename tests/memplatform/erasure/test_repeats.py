"""A bot sends once more what was erased with a person: it is passed over by every door, and kept if said anew (F7)."""

from typing import Any
from zlib import crc32

import pytest

from sessions_app.models import SessionEvent
from tests.conftest import NOW
from tests.memplatform.erasure.conftest import BEN, CANARY, PEER, Town, direct, drain_journal, files_with, group, word
from tests.memplatform.erasure.test_walk import erase, tables_with

pytestmark = pytest.mark.django_db
ANSWER = {"kind": "assistant", "content": "I have written the garden shed down"}


def message(content: str, sender: str = PEER, **more: Any) -> dict[str, Any]:
    return {"kind": "user", "content": content, "sender": sender, **more}


def report(town: Town, place: dict[str, Any], *events: dict[str, Any], **more: Any) -> list[str]:
    """What was appended to the session of a place; sent under the same key whenever the body is the same."""
    drain_journal()
    key = town.api.post("sessions", {"address": place}).json()["id"]
    body = {"events": events, **more}
    once = {"Idempotency-Key": str(crc32(repr(body).encode()))}
    answer = town.api.post(f"sessions/{key}/events", body, **once)
    assert answer.status_code == 201, answer.content
    return [event["content"] for event in answer.json()["events"]]


@pytest.mark.parametrize("place", [direct, group])
def test_a_message_that_was_erased_is_passed_over_like_a_turn(town: Town, place: Any) -> None:
    moment = NOW.isoformat()
    hers = (message(word("event")), ANSWER, message("ok", at=moment))
    assert len(report(town, place(PEER), *hers)) == 3
    erase(town)
    assert report(town, place(PEER), *hers) == []
    assert report(town, place(PEER), *hers[:2]) == []
    assert tables_with(CANARY) == []
    assert report(town, place(PEER), message("ok")) == ["ok"], "said at another moment it is said anew"
    answered = (hers[0], {**ANSWER, "content": "Which shed do you mean?"})
    assert len(report(town, place(PEER), *answered)) == 2, "so it is with another answer"


def test_what_a_person_said_is_refused_to_nobody_else(town: Town) -> None:
    report(town, group(PEER), message(word("event")), ANSWER)
    erase(town)
    assert len(report(town, group(BEN), message(word("event"), BEN), ANSWER, ANSWER)) == 3


def test_a_history_that_still_holds_what_was_erased_goes_on_without_it(town: Town) -> None:
    history = [{"role": "user", "content": word("event")}, {"role": ANSWER["kind"], "content": ANSWER["content"]}]
    report(town, direct(PEER), message(word("event")), ANSWER)
    erase(town)
    anew = [message("I am back"), message("and like tea"), message("very much")]
    assert len(report(town, direct(PEER), *anew, history=history)) == 3
    assert report(town, direct(PEER), *anew, message("so do you"), history=history) == ["so do you"]
    assert SessionEvent.objects.filter(session__peer=PEER).count() == 4
    assert tables_with(CANARY) == []


def test_a_turn_that_is_passed_over_stands_in_no_transcript(town: Town, settings: Any) -> None:
    settings.MEMORY_TRANSCRIPTS = True
    erase(town)
    drain_journal()
    data = {"address": direct(PEER), "user": word("turn"), "assistant": "Noted."}
    assert town.api.post("turns", data).json()["entries"][0]["reason"] == "erased"
    assert files_with(CANARY) == files_with(PEER) == []
