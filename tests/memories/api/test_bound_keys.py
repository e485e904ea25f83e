"""A key bound to scopes learns nothing of the others: no message, no key, no peer, not even that they are there."""

from typing import Any

import pytest

from memories.models import RecallTrace, Scope, Workspace
from sessions_app.models import Session
from tests.conftest import GROUP, TELEGRAM, Api, make_key
from tests.memories.api.conftest import send

pytestmark = pytest.mark.django_db
SECRET = "what did the doctor say about my knee?"
BOSS = {"platform": "lark", "account": "office", "peer": "boss", "chat": "c-boss"}


@pytest.fixture
def narrow(workspace: Workspace) -> Api:
    """A key of the same bot that reaches lark's direct chats alone."""
    return Api(make_key(workspace, scope_patterns=["lark:direct_*"]))


def recall(api: Api, **asked: Any) -> str:
    answer = api.post("recall", {"message": SECRET, **asked})
    assert answer.status_code == 200, answer.json()
    return str(answer.json()["recall_id"])


@pytest.mark.parametrize("address", [TELEGRAM, GROUP], ids=["direct", "group"])
@pytest.mark.parametrize("route", ["recall", "context"])
def test_the_recall_of_a_memory_not_yet_begun_is_out_of_reach(
    api: Api, narrow: Api, address: dict[str, Any], route: str
) -> None:
    recall_id = api.post(route, {"address": address, "message": SECRET}).json()["recall_id"]
    answers = [narrow.get(f"recalls/{recall_id}"), narrow.post(f"recalls/{recall_id}/feedback", {"used": []})]
    assert {answer.status_code for answer in answers} == {404}
    assert not any(SECRET in answer.content.decode() for answer in answers)
    assert api.get(f"recalls/{recall_id}").json()["message"] == SECRET


def test_a_bound_key_reads_its_own_recall_of_somebody_new(narrow: Api) -> None:
    recall_id = recall(narrow, address=BOSS)
    assert narrow.get(f"recalls/{recall_id}").json()["message"] == SECRET
    assert narrow.post(f"recalls/{recall_id}/feedback", {"used": []}).status_code == 200


def test_a_group_recall_is_out_of_reach_of_a_key_that_reaches_only_what_had_begun(
    api: Api, workspace: Workspace
) -> None:
    api.post("turns", {"address": {**GROUP, "peer": ""}, "user": "hello all", "assistant": "hello"})
    assert Scope.objects.get().kind == "chat"
    recall_id = recall(api, address=GROUP)
    of_the_chat = Api(make_key(workspace, scope_patterns=["telegram:mybot:group_*"]))
    assert of_the_chat.get(f"recalls/{recall_id}").status_code == 404


def test_a_trace_that_names_no_scope_is_for_keys_that_reach_all(api: Api, narrow: Api) -> None:
    recall_id = recall(api, address=TELEGRAM)
    RecallTrace.objects.update(scope_keys=[], scopes=[])
    assert narrow.get(f"recalls/{recall_id}").status_code == 404
    assert api.get(f"recalls/{recall_id}").status_code == 200


def test_a_trace_whose_scope_is_gone_is_for_keys_that_reach_all(api: Api, narrow: Api) -> None:
    recall_id = recall(api, address=TELEGRAM)
    RecallTrace.objects.update(scope_keys=[], scopes=[2**40])
    assert narrow.get(f"recalls/{recall_id}").status_code == 404
    assert api.get(f"recalls/{recall_id}").status_code == 200


def test_a_turn_does_not_touch_a_recall_out_of_reach(api: Api, narrow: Api) -> None:
    recall_id = recall(api, address=TELEGRAM)
    turn = {"address": BOSS, "user": "hello", "assistant": "hi", "recall_id": recall_id, "used": []}
    assert narrow.post("turns", turn).status_code == 201
    assert RecallTrace.objects.get(uid=recall_id).used is None


CHAT_ALONE = {"platform": "telegram", "account": "mybot", "chat": "c1"}


def test_resolving_a_chat_does_not_tell_whose_it_is(api: Api, narrow: Api) -> None:
    api.post("turns", {"address": {**CHAT_ALONE, "peer": "u42"}, "user": "hello", "assistant": "hi"})
    assert api.post("scopes/resolve", {"address": CHAT_ALONE}).json()["user_scope"] == "telegram:direct_u42"
    response = narrow.post("scopes/resolve", {"address": CHAT_ALONE})
    never_heard_of = narrow.post("scopes/resolve", {"address": {**CHAT_ALONE, "chat": "c9"}})
    assert "u42" not in response.content.decode()
    assert (response.status_code, response.json()) == (never_heard_of.status_code, never_heard_of.json())


@pytest.mark.thorough
@pytest.mark.parametrize("route", ["recall", "context", "turns", "sessions", "scopes/resolve"])
def test_no_call_tells_a_known_chat_from_an_unknown_one(api: Api, narrow: Api, route: str) -> None:
    api.post("turns", {"address": {**CHAT_ALONE, "peer": "u42"}, "user": "hello", "assistant": "hi"})
    words = {"message": "hi"} if route in ("recall", "context") else {"user": "hi"} if route == "turns" else {}
    existing, unknown = (
        narrow.post(route, {"address": {**CHAT_ALONE, "chat": chat}, **words}) for chat in ("c1", "never-heard-of")
    )
    assert (existing.status_code, existing.json()) == (unknown.status_code, unknown.json())


@pytest.mark.parametrize("address", [TELEGRAM, GROUP], ids=["direct", "group"])
def test_resolving_an_address_out_of_reach_is_refused(narrow: Api, address: dict[str, Any]) -> None:
    answer = narrow.post("scopes/resolve", {"address": address})
    assert (answer.status_code, answer.json()["errors"][0]["code"]) == (404, "not_found")


def test_resolving_tells_only_the_scopes_that_are_reached(workspace: Workspace) -> None:
    of_the_chat = Api(make_key(workspace, scope_patterns=["telegram:mybot:*"]))
    answer = of_the_chat.post("scopes/resolve", {"address": GROUP}).json()
    assert (answer["user_scope"], answer["chat_scope"]) == (None, "telegram:mybot:group_g1")
    assert answer["recall"] == ["telegram:mybot:group_g1"]


def test_a_busy_session_out_of_reach_is_not_waited_for(narrow: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    def wait(*place: Any) -> None:
        raise AssertionError("whoever waits learns that somebody speaks there")

    monkeypatch.setattr("sessions_app.conversations.acquire_lock", wait)
    assert narrow.post("turns", {"address": TELEGRAM, "user": "a", "assistant": "b"}).status_code == 404


def test_the_chats_a_memory_came_from_are_told_as_far_as_they_are_reached(api: Api, workspace: Workspace) -> None:
    api.post("turns", {"address": GROUP, "user": "my favourite tea is oolong", "assistant": "noted"})
    entry = api.get("entries", scope="telegram:direct_u42").json()["results"][0]["id"]
    own = Api(make_key(workspace, scope_patterns=["telegram:direct_*"]))
    assert "group_g1" in api.get(f"entries/{entry}/history").content.decode()
    assert "group_g1" not in own.get(f"entries/{entry}/history").content.decode()


def test_in_a_group_a_key_speaks_only_for_those_whose_memory_it_reaches(api: Api, workspace: Workspace) -> None:
    """What a conversation closes with goes into each speaker's memory: nobody puts words there by another way."""
    api.post("turns", {"address": GROUP, "user": "hello all", "assistant": "hello"})
    session = Session.objects.get()
    of_the_chat = Api(make_key(workspace, scope_patterns=["telegram:mybot:*"]))
    data = {"events": [{"kind": "user", "sender": "u42", "content": "I am the king"}]}
    assert of_the_chat.post(f"sessions/{session.key}/events", data).status_code == 404
    overheard = {"events": [{"kind": "ambient", "sender": "u42", "content": "what a day"}]}
    assert of_the_chat.post(f"sessions/{session.key}/events", overheard).status_code == 201
    assert api.post(f"sessions/{session.key}/events", data).status_code == 201


KEY = {"Idempotency-Key": "a1"}


def test_the_same_key_with_another_query_string_is_another_call(api: Api) -> None:
    """One session key on two accounts: the second reset must not be answered with the first."""
    for account in ("one", "two"):
        api.post("turns", {"address": {**TELEGRAM, "account": account}, "user": "hello", "assistant": "hi"})
    path = f"sessions/{Session.objects.first().key}/reset"  # type: ignore[union-attr]
    first = send(api, "POST", f"{path}?account=one", {}, **KEY)
    second = send(api, "POST", f"{path}?account=two", {}, **KEY)
    assert first.status_code == 200
    assert (second.status_code, second.json()["errors"][0]["code"]) == (409, "idempotency_key_taken")
    again = send(api, "POST", f"{path}?account=one", {}, **KEY)
    assert again.headers["Idempotent-Replayed"] == "true"
    assert list(Session.objects.order_by("account").values_list("conversation", flat=True)) == [2, 1]


def test_the_order_of_the_query_string_does_not_make_another_call(api: Api) -> None:
    api.post("turns", {"address": TELEGRAM, "user": "hello", "assistant": "hi"})
    path = f"sessions/{Session.objects.get().key}/reset"
    send(api, "POST", f"{path}?account=mybot&platform=telegram", {}, **KEY)
    again = send(api, "POST", f"{path}?platform=telegram&account=mybot", {}, **KEY)
    assert again.headers["Idempotent-Replayed"] == "true"


def test_the_same_key_for_another_version_is_another_call(api: Api) -> None:
    entry = api.post("entries", {"scope": "main", "content": "My cat is called Rice"}).json()
    path = f"entries/{entry['id']}"
    assert send(api, "PATCH", path, {"topic": "cats"}, **KEY, **{"If-Match": '"1"'}).status_code == 200
    assert send(api, "PATCH", path, {"topic": "cats"}, **KEY, **{"If-Match": '"9"'}).status_code == 409


def test_a_key_with_other_permissions_does_not_read_the_answer(workspace: Workspace) -> None:
    turn = {"address": TELEGRAM, "user": "hello", "assistant": "hi"}
    Api(make_key(workspace)).post("turns", turn, **KEY)
    assert Api(make_key(workspace, permissions=["write"])).post("turns", turn, **KEY).status_code == 409
