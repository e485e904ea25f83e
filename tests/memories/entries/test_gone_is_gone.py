"""What was deleted stays gone when it is said again, and its copies go and come back with it (A15)."""

import json
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from memories import entries
from memories.models import Entry, Scope, Suppression, Workspace
from tests.conftest import GROUP, NOW, TELEGRAM, Api, make_draft, make_key

pytestmark = pytest.mark.django_db
TURN = {"user": "my locker stands in hall 774126", "assistant": "Noted: 774126."}
TOOLS = {"tool_calls": [{"name": "notes"}, {"name": "mail"}], "outcome": "written down"}
OWN, CHAT = "telegram:direct_u42", "telegram:mybot:group_g1"


def say(api: Api, address: dict[str, Any], **turn: Any) -> list[dict[str, Any]]:
    answer = api.post("turns", {"address": address, **TURN, **turn})
    assert answer.status_code == 201, answer.json()
    return list(answer.json()["entries"])


def delete(api: Api, entry: str, query: str = "") -> dict[str, Any]:
    answer = api.request("DELETE", f"entries/{entry}{query}")
    assert answer.status_code == 200, answer.json()
    return dict(answer.json())


def restore(api: Api, entry: str, **body: Any) -> dict[str, Any]:
    answer = api.post(f"entries/{entry}/restore", body)
    assert answer.status_code == 200, answer.json()
    return dict(answer.json())


def served(api: Api, address: dict[str, Any]) -> str:
    data = {"message": "what was my locker code, yesterday or today?", "need": "off", "cache": False}
    answer = api.post("recall", {"address": address, **data})
    return json.dumps([answer.json()["memories"], answer.json()["events"], answer.json()["context"]])


def state(api: Api, entry: str) -> str:
    return str(api.get(f"entries/{entry}").json()["state"])


def by_scope_of_wish(entries: list[dict[str, Any]], outcome: str = "created") -> dict[str, str]:
    return {entry["scope"]: entry["id"] for entry in entries if entry["outcome"] == outcome}


def by_scope(entries: list[dict[str, Any]]) -> dict[str, str]:
    return {entry["scope"]: entry["id"] for entry in entries if entry["type"] == "chat_turn"}


@pytest.mark.thorough
@pytest.mark.parametrize("again", [{}, {"user": "MY LOCKER STANDS in  hall 774126 "}], ids=["same words", "other case"])
def test_the_same_turn_after_a_deletion_is_suppressed_and_says_so(api: Api, again: dict[str, str]) -> None:
    (first,) = say(api, TELEGRAM)
    assert (first["outcome"], first["reason"]) == ("created", None)
    delete(api, first["id"])
    (second,) = say(api, TELEGRAM, **again)
    assert (second["outcome"], second["reason"], second["id"]) == ("suppressed", "taken_out", first["id"])
    assert "774126" not in served(api, TELEGRAM)
    session = api.get("sessions").json()["results"][0]["key"]
    assert "774126" not in api.get(f"sessions/{session}/history").content.decode()


@pytest.mark.thorough
def test_so_is_what_was_done_in_it(api: Api) -> None:
    first = say(api, TELEGRAM, **TOOLS)
    assert {entry["type"] for entry in first} == {"chat_turn", "auto_capture", "workflow_trace"}
    for taken in first:
        delete(api, taken["id"])
        again = say(api, TELEGRAM, **TOOLS)
        assert {entry["outcome"] for entry in again} == {"suppressed"}, taken["type"]
        restore(api, taken["id"])


def test_an_earlier_wording_is_gone_too(api: Api) -> None:
    (first,) = say(api, TELEGRAM)
    api.request("PATCH", f"entries/{first['id']}", json.dumps({"content": "The locker has a code."}))
    delete(api, first["id"])
    assert [entry["outcome"] for entry in say(api, TELEGRAM)] == ["suppressed"]


def test_only_saving_it_on_purpose_brings_it_back(api: Api) -> None:
    (first,) = say(api, TELEGRAM)
    content = api.get(f"entries/{first['id']}").json()["content"]
    delete(api, first["id"])
    captured = api.post("entries", {"scope": OWN, "content": content, "source": "conversation_capture"}).json()
    assert (captured["outcome"], captured["reason"]) == ("suppressed", "taken_out")
    saved = api.post("entries", {"scope": OWN, "content": content}).json()
    assert (saved["outcome"], saved["brought_back"], saved["reason"]) == ("created", True, None)
    assert say(api, TELEGRAM)[0]["outcome"] == "created"
    assert not Suppression.objects.exists()


@pytest.mark.parametrize("wish", ["Remember that my locker is in hall 774126.", "请记住，我的柜子是774126号。"])
def test_so_does_a_new_wish_to_keep_it_and_no_old_one(api: Api, wish: str) -> None:
    before = (timezone.now() - timedelta(hours=1)).isoformat()
    (first,) = say(api, TELEGRAM, user=wish, at=before)
    delete(api, first["id"])
    (replayed,) = say(api, TELEGRAM, user=wish, at=before)
    assert replayed["outcome"] == "suppressed"
    (anew,) = say(api, TELEGRAM, user=wish)
    assert (anew["outcome"], anew["brought_back"]) == ("created", True) and anew["id"] != first["id"]
    assert "774126" in served(api, TELEGRAM)
    assert not Suppression.objects.exists()


def test_in_a_group_nobody_asks_for_what_another_member_had_taken_out(api: Api) -> None:
    wish = "Remember that my locker is in hall 774126."
    taken = by_scope_of_wish(say(api, GROUP, user=wish))[CHAT]
    delete(api, taken)
    of_another = by_scope_of_wish(say(api, {**GROUP, "peer": "u77"}, user=wish), "suppressed")
    assert CHAT in of_another and "774126" not in served(api, {**GROUP, "peer": "u78"})
    assert CHAT in by_scope_of_wish(say(api, GROUP, user=wish), "created")


def test_restored_it_is_said_again_as_any_other(api: Api) -> None:
    (first,) = say(api, TELEGRAM)
    delete(api, first["id"])
    say(api, TELEGRAM)
    restore(api, first["id"])
    assert "774126" in served(api, TELEGRAM)
    assert say(api, TELEGRAM)[0]["outcome"] == "skipped"


@pytest.mark.thorough
@pytest.mark.parametrize("first", [OWN, CHAT])
def test_the_copies_of_a_statement_go_together_and_the_answer_names_them(api: Api, first: str) -> None:
    result = by_scope(say(api, GROUP))
    other = CHAT if first == OWN else OWN
    answer = delete(api, result[first])
    assert answer["state"] == "expired"
    assert [(copy["id"], copy["scope"], copy["state"]) for copy in answer["copies"]] == [
        (result[other], other, "expired")
    ]
    assert "774126" not in served(api, GROUP)
    assert {entry["outcome"] for entry in say(api, GROUP)} == {"suppressed"}


@pytest.mark.thorough
@pytest.mark.parametrize("first", [OWN, CHAT])
def test_what_went_together_comes_back_together(api: Api, first: str) -> None:
    result = by_scope(say(api, GROUP))
    delete(api, result[first])
    answer = restore(api, result[CHAT])
    assert [(copy["id"], copy["state"]) for copy in answer["copies"]] == [(result[OWN], "live")]
    assert state(api, result[OWN]) == state(api, result[CHAT]) == "live"
    assert not Suppression.objects.exists()


def test_told_otherwise_only_one_comes_back(api: Api) -> None:
    result = by_scope(say(api, GROUP))
    delete(api, result[OWN])
    answer = restore(api, result[OWN], copies="none")
    assert [copy["state"] for copy in answer["copies"]] == ["expired"]
    assert state(api, result[CHAT]) == "expired"


@pytest.mark.thorough
def test_what_was_taken_out_by_itself_stays_out_when_a_copy_comes_back(api: Api) -> None:
    result = by_scope(say(api, GROUP))
    delete(api, result[CHAT], "?copies=none")
    delete(api, result[OWN], "?copies=none")
    restore(api, result[OWN])
    assert (state(api, result[OWN]), state(api, result[CHAT])) == ("live", "expired")


@pytest.mark.thorough
@pytest.mark.parametrize("where", ["query", "body"])
def test_told_otherwise_only_one_goes_and_the_answer_names_what_stays(api: Api, where: str) -> None:
    result = by_scope(say(api, GROUP))
    path = f"entries/{result[OWN]}"
    if where == "query":
        answer = api.request("DELETE", f"{path}?copies=none")
    else:
        answer = api.request("DELETE", path, json.dumps({"copies": "none"}))
    assert [(copy["id"], copy["state"]) for copy in answer.json()["copies"]] == [(result[CHAT], "live")]
    assert "774126" in served(api, GROUP)


def test_copies_are_all_or_none(api: Api) -> None:
    (item,) = say(api, TELEGRAM)
    answer = api.request("DELETE", f"entries/{item['id']}?copies=some")
    assert (answer.status_code, answer.json()["errors"][0]["attr"]) == (400, "copies")
    twice = api.request("DELETE", f"entries/{item['id']}?copies=all", json.dumps({"copies": "none"}))
    assert (twice.status_code, twice.json()["errors"][0]["attr"]) == (400, "copies")


@pytest.mark.thorough
def test_a_fact_drawn_from_it_goes_too_wherever_it_is_kept(api: Api, workspace: Workspace) -> None:
    result = by_scope(say(api, GROUP))
    turn = Entry.objects.get(uid=result[OWN])
    copy = Entry.objects.get(uid=result[CHAT])
    Entry.objects.filter(pk=copy.pk).update(type="fact", tier=2, content="the locker is in hall 774126", sender_id="")
    answer = delete(api, str(turn.uid))
    assert [(copy["id"], copy["state"]) for copy in answer["copies"]] == [(str(copy.uid), "expired")]
    answer = restore(api, str(turn.uid))
    assert [(copy["id"], copy["state"]) for copy in answer["copies"]] == [(str(copy.uid), "live")]


@pytest.mark.thorough
def test_a_bound_key_takes_along_and_names_what_it_reaches(api: Api, workspace: Workspace) -> None:
    result = by_scope(say(api, GROUP))
    own = Api(make_key(workspace, scope_patterns=["telegram:direct_*"]))
    assert delete(own, result[OWN])["copies"] == []
    assert state(api, result[CHAT]) == "live"


@pytest.mark.thorough
def test_what_another_said_in_the_same_words_stays(api: Api) -> None:
    result = by_scope(say(api, GROUP))
    theirs = by_scope(say(api, {**GROUP, "peer": "u43"}))
    delete(api, result[OWN])
    assert state(api, theirs["telegram:direct_u43"]) == "live"


def test_what_nobody_in_particular_said_goes_alone(api: Api) -> None:
    result = by_scope(say(api, GROUP))
    turn = Entry.objects.select_related("scope").get(uid=result[CHAT])
    draft = make_draft(turn.scope, "The group talked about lockers.", origins=tuple(turn.origins))
    summary = entries.remember(draft, now=NOW, actor="job:compress").entry
    states = {copy["id"]: copy["state"] for copy in delete(api, str(summary.uid))["copies"]}
    assert states == {result[OWN]: "live", result[CHAT]: "suppressed"}


def test_a_frozen_copy_refuses_the_whole_deletion(api: Api) -> None:
    result = by_scope(say(api, GROUP))
    Scope.objects.filter(key=CHAT).update(frozen=True)
    assert api.request("DELETE", f"entries/{result[OWN]}").status_code == 409
    assert state(api, result[OWN]) == "live"
    assert delete(api, result[OWN], "?copies=none")["state"] == "expired"
