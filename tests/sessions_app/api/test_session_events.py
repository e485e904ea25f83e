"""The paths a recall hands out can be read, by whoever may recall what they lead to (C4)."""

from datetime import timedelta
from typing import Any

import pytest

from memories.models import Entry, Workspace
from sessions_app.models import Session, SessionEvent
from tests.conftest import GROUP, NOW, TELEGRAM, make_key
from tests.sessions_app.conftest import Talk, clock

pytestmark = pytest.mark.django_db
LONG = "the boat " + "is old and leaves at noon " * 100
NOBODY = "019a0000-0000-7000-8000-000000000000"


def read(talk: Talk, path: str, *, days: float = 0, status: int = 200) -> dict[str, Any]:
    answer = talk.request("GET", path, **clock(NOW + timedelta(days=days)))
    assert answer.status_code == status, answer.json()
    return dict(answer.json())


def path_of(content: str) -> str:
    event = SessionEvent.objects.select_related("session").get(content=content)
    return event.session.origin_of(event)


@pytest.mark.thorough
@pytest.mark.parametrize("address", [TELEGRAM, GROUP])
def test_a_message_that_was_cut_is_read_whole(talk: Talk, address: dict[str, Any]) -> None:
    talk.say(LONG, address=address)
    result = talk.post("recall", {"address": address, "message": "what did I say about the boat?"}).json()
    (event,) = [event for event in result["events"] if event["cut"]]
    answer = read(talk, event["path"])
    assert answer == {
        "path": event["path"], "found": True, "scope": event["scope"], "role": "user", "sender": "u42",
        "content": LONG, "at": event["at"],
    }  # fmt: skip


@pytest.mark.thorough
def test_where_nothing_may_be_told_there_are_no_words(talk: Talk) -> None:
    talk.say("the boat leaves at noon", "aye aye")
    session = Session.objects.get()
    talk.log(session, "ambient: nobody asked")
    path = path_of("the boat leaves at noon")
    place = path.rpartition("/")[0]
    unknown = [
        f"{place}/event-0",
        f"{place}/event-{2**63}",
        path.replace("/1/event", "/2/event"),
        path_of("nobody asked"),
    ]
    for item in unknown:
        answer = read(talk, item)
        assert (answer["found"], answer["content"], answer["role"]) == (False, "", None)
    assert read(talk, path, days=29)["content"] and read(talk, path, days=31)["content"] == ""
    talk.request("DELETE", f"entries/{Entry.objects.get().uid}")
    assert read(talk, path)["content"] == read(talk, path_of("aye aye"))["content"] == ""


def test_after_a_reset_it_is_still_there(talk: Talk) -> None:
    talk.say("the boat leaves at noon")
    talk.do(Session.objects.get(), "reset")
    assert read(talk, path_of("the boat leaves at noon"))["found"]


def test_a_group_that_remembers_nothing_tells_nothing(talk: Talk, workspace: Workspace) -> None:
    talk.say("the boat leaves at noon", address=GROUP)
    workspace.channels.update(capture_group_memory=False)
    talk.say("hello", address=GROUP)
    assert not read(talk, path_of("the boat leaves at noon"))["found"]


def test_other_memories_look_as_if_they_were_not_there(talk: Talk, workspace: Workspace, stranger: Workspace) -> None:
    talk.say("the boat leaves at noon", address=GROUP)
    path = path_of("the boat leaves at noon")
    nobody = path.replace(str(Session.objects.get().uid), NOBODY)
    narrow = Talk(make_key(workspace, name="narrow", scope_patterns=["telegram:direct_*"]))
    for reader in (Talk(make_key(stranger)), narrow):
        assert read(reader, path, status=404) == read(reader, nobody, status=404)
        assert read(reader, path.replace("/1/", "/99/"), status=404) == read(reader, nobody, status=404)
    assert Talk(None).request("GET", path).status_code == 401
    writer = Talk(make_key(workspace, name="writer", permissions=["write"]))
    assert writer.request("GET", path).status_code == 403
