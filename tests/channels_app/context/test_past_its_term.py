"""What is past its term as a memory is told by no retriever and in no text (A9)."""

from datetime import timedelta
from typing import Any

import pytest

from memories import entries
from memories.entries.daily_events import EventDraft, write
from memories.models import Entry, Policy, Workspace
from sessions_app.models import Session, SessionEvent
from tests.conftest import GROUP, NOW, TELEGRAM
from tests.sessions_app.conftest import Talk, clock

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("turns_are_read")]
BOAT = "the boat leaves at noon"
ASKED = "what did I say about the boat?"


def boat_mentions(talk: Talk, days: float, address: Any = TELEGRAM, message: str = ASKED) -> list[str]:
    """What events, memories and texts tell of the boat so many days later, by /recall and by /context."""
    later = NOW + timedelta(days=days)
    results: list[str] = []
    for call in ("recall", "context"):
        answer = talk.post(call, {"address": address, "message": message}, **clock(later)).json()
        results += [event["content"] for event in answer["events"] if "boat" in event["content"]]
        results += [memory["content"] for memory in answer["memories"] if "boat" in memory["content"]]
        results += [text for text in (answer.get("context", ""), answer.get("text", "")) if "boat" in text]
    return results


@pytest.mark.thorough
@pytest.mark.parametrize(("address", "days"), [(TELEGRAM, 30), (GROUP, 14)])
@pytest.mark.parametrize("closed", [False, True])
def test_it_works(talk: Talk, address: dict[str, Any], days: int, closed: bool) -> None:
    talk.say(BOAT, address=address)
    if closed:
        talk.do(Session.objects.get(), "reset")
    if address == GROUP:  # of the speaker's own copy another test tells
        Entry.objects.filter(scope__kind="user").update(chats=[])
    assert boat_mentions(talk, days - 0.1, address)
    for message in (ASKED, "what did we say on 1 March 2026?", "what did we talk about last time?"):
        assert boat_mentions(talk, days + 0.1, address, message) == []
    assert SessionEvent.objects.filter(content=BOAT).exists()  # for the operator


@pytest.mark.thorough
def test_a_policy_holds_at_once_and_for_what_became_no_memory_as_well(talk: Talk, workspace: Workspace) -> None:
    talk.say("hello")
    talk.log(Session.objects.get(), f"user: {BOAT}")
    assert boat_mentions(talk, 5)
    Policy.objects.create(workspace=workspace, kind="ttl", entry_type="chat_turn", scope_kind="user", value=3)
    assert boat_mentions(talk, 5) == []
    Policy.objects.update(value=None)
    assert boat_mentions(talk, 400)


@pytest.mark.thorough
def test_what_people_keep_longer_is_told_as_long(talk: Talk) -> None:
    talk.say(BOAT)
    Entry.objects.update(pinned=True)
    assert BOAT in boat_mentions(talk, 300)
    Entry.objects.update(pinned=False, expires_at=NOW + timedelta(days=60))
    assert BOAT in boat_mentions(talk, 59) and boat_mentions(talk, 61) == []
    Entry.objects.update(expires_at=NOW + timedelta(days=2))
    assert BOAT in boat_mentions(talk, 1) and boat_mentions(talk, 3) == []


def test_what_is_said_again_lives_from_then_on(talk: Talk, settings: Any) -> None:
    settings.MEMORY_SESSION_STALE_AFTER = timedelta(0)  # what is kept of a closed conversation has a term of its own
    talk.say(BOAT)
    talk.say(BOAT, at=NOW + timedelta(days=20))
    assert BOAT in boat_mentions(talk, 49) and boat_mentions(talk, 51) == []


def test_what_the_nightly_job_took_out_stays_untold_under_a_longer_policy(talk: Talk, workspace: Workspace) -> None:
    talk.say(BOAT)
    entries.expire(Entry.objects.get(), now=NOW, actor="job:expire")
    Policy.objects.create(workspace=workspace, kind="ttl", entry_type="chat_turn", scope_kind="user", value=90)
    assert boat_mentions(talk, 31) == []


@pytest.mark.thorough
def test_it_takes_as_many_statements_however_much_was_said(talk: Talk, django_assert_max_num_queries: Any) -> None:
    for n in range(12):
        talk.say(f"boat {n} leaves at {n}", at=NOW + timedelta(minutes=n))
    boat_mentions(talk, 1)
    with django_assert_max_num_queries(27):
        talk.post("recall", {"address": TELEGRAM, "message": ASKED}, **clock(NOW + timedelta(days=1)))


@pytest.mark.thorough
@pytest.mark.parametrize(("kind", "address", "days"), [("user", TELEGRAM, 30), ("chat", GROUP, 14)])
def test_a_day_told_in_the_words_of_turns_has_their_term(
    talk: Talk, settings: Any, kind: str, address: dict[str, Any], days: int
) -> None:
    talk.say("hello", address=address)
    scope = Entry.objects.filter(scope__kind=kind).latest("id").scope
    told_of = EventDraft(
        scope=scope, local_date=NOW.date(), content=f"{BOAT}.", origins=("session_events/x/1/event-1",)
    )
    write([told_of], now=NOW, actor="test")
    assert boat_mentions(talk, days - 1, address) and boat_mentions(talk, days + 1, address) == []
    settings.MEMORY_LLM_BASE_URL, settings.MEMORY_LLM_MODEL = "http://127.0.0.1:9/v1", "m"
    assert boat_mentions(talk, days + 1, address)  # a model tells it in words of its own
