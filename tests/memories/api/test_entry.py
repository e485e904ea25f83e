"""One entry at the wire: read, changed, taken out, brought back, reverted."""

from typing import Any

import pytest

from memories import entries
from memories.models import Entry, Scope, Suppression, Workspace
from tests.conftest import NOW, Api, make_draft, make_key, make_scope
from tests.memories.api.conftest import send

pytestmark = pytest.mark.django_db


@pytest.fixture
def entry(scope: Scope) -> Entry:
    draft = make_draft(scope, "My cat is called Rice", slots={"service": "home", "chat_id": "c7"})
    return entries.remember(draft, now=NOW, actor="test").entry


def test_it_works(api: Api, entry: Entry) -> None:
    answer = api.get(f"entries/{entry.uid}")
    assert answer.status_code == 200
    assert answer.json()["content"] == "My cat is called Rice"
    assert answer.json()["slots"] == {"chat_id": "c7", "service": "home"}
    assert answer.headers["ETag"] == '"1"'


def test_a_change_keeps_what_it_does_not_name(api: Api, entry: Entry) -> None:
    answer = send(api, "PATCH", f"entries/{entry.uid}", {"content": "My cat is called Rice Cake"})
    assert answer.status_code == 200, answer.json()
    body = answer.json()
    assert (body["content"], body["slots"], body["version"]) == (
        "My cat is called Rice Cake",
        {"chat_id": "c7", "service": "home"},
        2,
    )
    assert answer.headers["ETag"] == '"2"'


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("change", "became"),
    [
        ({"category": "identity"}, {"category": "identity"}),
        ({"project": "home", "topic": "pets"}, {"project": "home", "topic": "pets"}),
        ({"importance": 1}, {"importance": 1.0}),
        ({"pinned": True}, {"pinned": True}),
        ({"expires_at": "2027-01-01T08:00:00+08:00"}, {"expires_at": "2027-01-01T00:00:00Z"}),
        ({"expires_at": None}, {"expires_at": None}),
        ({"slots": {"env": "prod"}}, {"slots": {"chat_id": "c7", "service": "home", "env": "prod"}}),
        ({"slots": {"service": None}}, {"slots": {"chat_id": "c7"}}),
        ({"slots": {"service": ""}}, {"slots": {"chat_id": "c7"}}),
        ({"slots": {"chat_id": "c8"}}, {"slots": {"chat_id": "c8", "service": "home"}}),
        ({"slots": {"source": "tool"}}, {"slots": {"chat_id": "c7", "service": "home"}}),
    ],
)
def test_each_attribute_can_be_changed(api: Api, entry: Entry, change: dict[str, Any], became: dict[str, Any]) -> None:
    answer = send(api, "PATCH", f"entries/{entry.uid}", change)
    assert answer.status_code == 200, answer.json()
    assert {name: answer.json()[name] for name in became} == became
    assert {name: api.get(f"entries/{entry.uid}").json()[name] for name in became} == became


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("change", "attr"),
    [
        ({}, "non_field_errors"),
        ({"colour": "red"}, "colour"),
        ({"content": ""}, "content"),
        ({"content": "  \n "}, "content"),
        ({"content": "x" * 8_001}, "content"),
        ({"content": 3}, "content"),
        ({"importance": 1.5}, "importance"),
        ({"importance": None}, "importance"),
        ({"pinned": "yes"}, "pinned"),
        ({"category": "cats"}, "category"),
        ({"project": "x" * 101}, "project"),
        ({"expires_at": "2027-01-01"}, "expires_at"),
        ({"slots": {"service": 3}}, "slots.service"),
        ({"slots": {"source": "file"}}, "slots.source"),
        ({"slots": {"x" * 65: "y"}}, "slots." + "x" * 64),
        ({"slots": {"service": "x" * 501}}, "slots.service"),
        ({"scope": "main"}, "scope"),
    ],
)
def test_a_change_that_cannot_be_is_refused(api: Api, entry: Entry, change: dict[str, Any], attr: str) -> None:
    answer = send(api, "PATCH", f"entries/{entry.uid}", change)
    assert answer.status_code == 400
    assert [error["attr"] for error in answer.json()["errors"]] == [attr]
    assert api.get(f"entries/{entry.uid}").json()["version"] == 1


def test_changed_words_are_found_at_once(api: Api, entry: Entry) -> None:
    send(api, "PATCH", f"entries/{entry.uid}", {"content": "My parrot is called Jasmine"})
    answer = api.post("recall", {"scope": "telegram:direct_u42", "message": "who is Jasmine?", "mode": "keyword"})
    assert [memory["id"] for memory in answer.json()["memories"]] == [str(entry.uid)]


def test_deleting_is_soft_and_keeps_out(api: Api, entry: Entry) -> None:
    answer = send(api, "DELETE", f"entries/{entry.uid}")
    assert answer.status_code == 200
    assert answer.json()["state"] == "expired"
    recalled = api.post("recall", {"scope": "telegram:direct_u42", "message": "what is my cat called?"})
    assert recalled.json()["memories"] == []
    assert Suppression.objects.filter(entry=entry).exists()


def test_deleting_twice_says_the_same(api: Api, entry: Entry) -> None:
    first, second = (send(api, "DELETE", f"entries/{entry.uid}") for _time in range(2))
    assert first.json() == {**second.json(), "updated_at": first.json()["updated_at"]}


def test_saving_what_was_deleted_brings_it_back_and_says_so(api: Api, entry: Entry) -> None:
    send(api, "DELETE", f"entries/{entry.uid}")
    answer = api.post("entries", {"scope": "telegram:direct_u42", "content": "My cat is called Rice"})
    assert (answer.status_code, answer.json()["brought_back"]) == (201, True)


def test_a_restored_entry_is_recalled_again(api: Api, entry: Entry) -> None:
    send(api, "DELETE", f"entries/{entry.uid}")
    answer = api.post(f"entries/{entry.uid}/restore", {"term_days": 30})
    assert (answer.status_code, answer.json()["state"]) == (200, "live")
    assert answer.json()["expires_at"] is not None
    recalled = api.post("recall", {"scope": "telegram:direct_u42", "message": "what is my cat called?"})
    assert [memory["id"] for memory in recalled.json()["memories"]] == [str(entry.uid)]


@pytest.mark.parametrize("body", [{}, {"term_days": None}])
def test_an_entry_restored_without_a_term_lives_as_its_policy_says(
    api: Api, entry: Entry, body: dict[str, Any]
) -> None:
    send(api, "DELETE", f"entries/{entry.uid}")
    assert api.post(f"entries/{entry.uid}/restore", body).json()["expires_at"] is None


@pytest.mark.parametrize("days", [0, -1, 36_501, 10**12, 1.5, "30", True])
def test_a_term_is_a_number_of_days(api: Api, entry: Entry, days: Any) -> None:
    assert api.post(f"entries/{entry.uid}/restore", {"term_days": days}).status_code == 400


def test_any_version_can_be_brought_back_with_its_slots(api: Api, entry: Entry) -> None:
    send(api, "PATCH", f"entries/{entry.uid}", {"content": "My cat is called Tofu", "category": "identity"})
    send(api, "PATCH", f"entries/{entry.uid}", {"slots": {"service": None, "env": "prod"}})
    send(api, "PATCH", f"entries/{entry.uid}", {"slots": {"env": "test", "chat_id": "c9"}})
    before = api.get(f"entries/{entry.uid}").json()
    assert before["version"] == 4

    second = api.post(f"entries/{entry.uid}/revert", {"version": 2}).json()
    assert (second["content"], second["slots"]) == ("My cat is called Tofu", {"chat_id": "c7", "service": "home"})
    first = api.post(f"entries/{entry.uid}/revert", {"version": 1}).json()
    assert (first["content"], first["category"]) == ("My cat is called Rice", "")
    last = api.post(f"entries/{entry.uid}/revert", {"version": 4}).json()
    assert {name: last[name] for name in ("content", "slots", "category")} == {
        name: before[name] for name in ("content", "slots", "category")
    }


@pytest.mark.parametrize("version", [0, 2, 10**9, 2**40, "1", None])
def test_a_version_that_never_was_is_refused(api: Api, entry: Entry, version: Any) -> None:
    answer = api.post(f"entries/{entry.uid}/revert", {"version": version})
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["attr"] == "version"


WRITES = {
    "PATCH": ("", {"pinned": True}),
    "DELETE": ("", {}),
    "POST restore": ("/restore", {}),
    "POST revert": ("/revert", {"version": 1}),
}
every_write = pytest.mark.parametrize("write", WRITES)


@pytest.mark.thorough
@every_write
@pytest.mark.parametrize("text", ['"2"', "2"])
def test_a_change_of_what_was_read_is_made(api: Api, entry: Entry, write: str, text: str) -> None:
    send(api, "PATCH", f"entries/{entry.uid}", {"topic": "cats"})
    path, body = WRITES[write]
    answer = send(api, write.split()[0], f"entries/{entry.uid}{path}", body, **{"If-Match": text})
    assert answer.status_code == 200, answer.json()
    assert answer.headers["ETag"] == f'"{answer.json()["version"]}"'


@pytest.mark.thorough
@every_write
def test_a_change_of_what_others_changed_meanwhile_is_refused(api: Api, entry: Entry, write: str) -> None:
    path, body = WRITES[write]
    send(api, "PATCH", f"entries/{entry.uid}", {"slots": {"env": "prod"}})
    before = api.get(f"entries/{entry.uid}").json()
    answer = send(api, write.split()[0], f"entries/{entry.uid}{path}", body, **{"If-Match": '"1"'})
    assert answer.status_code == 412
    assert answer.json()["errors"][0]["code"] == "version_conflict"
    assert api.get(f"entries/{entry.uid}").json() == before


@pytest.mark.parametrize("text", ["", "x", 'W/"1"', '"1", "2"', "-1", "1.0", '"1', "9" * 40])
def test_a_version_that_cannot_be_read_is_refused(api: Api, entry: Entry, text: str) -> None:
    answer = send(api, "PATCH", f"entries/{entry.uid}", {"pinned": True}, **{"If-Match": text})
    assert (answer.status_code, answer.json()["errors"][0]["attr"]) == (400, "If-Match")


def test_an_entry_of_another_workspace_does_not_exist(stranger: Workspace, entry: Entry) -> None:
    charlie = Api(make_key(stranger))
    assert charlie.get(f"entries/{entry.uid}").json() == charlie.get(f"entries/{make_uid()}").json()


def test_an_entry_out_of_a_keys_reach_does_not_exist(workspace: Workspace, entry: Entry) -> None:
    narrow = Api(make_key(workspace, scope_patterns=["lark:*"]))
    assert narrow.get(f"entries/{entry.uid}").status_code == 404
    assert send(narrow, "DELETE", f"entries/{entry.uid}").status_code == 404
    entry.refresh_from_db()
    assert entry.expired_at is None


@pytest.mark.parametrize("uid", ["1", "x", "%00", "00000000000000000000000000000000", "../entries"])
def test_what_is_no_id_is_not_found_in_the_shape_of_all_errors(api: Api, uid: str) -> None:
    answer = api.get(f"entries/{uid}")
    assert answer.status_code == 404
    assert answer.json()["errors"][0]["code"] == "not_found"


def test_a_frozen_scope_refuses_changes(api: Api, entry: Entry) -> None:
    Scope.objects.update(frozen=True)
    assert send(api, "PATCH", f"entries/{entry.uid}", {"pinned": True}).status_code == 409
    assert api.get(f"entries/{entry.uid}").status_code == 200


def test_the_version_of_an_entry_said_again_is_the_new_one(api: Api, workspace: Workspace) -> None:
    make_scope(workspace, "main")
    api.post("entries", {"scope": "main", "content": "My cat is called Rice"})
    again = api.post("entries", {"scope": "main", "content": "my cat is called rice!", "importance": 0.9})
    read = api.get(f"entries/{again.json()['id']}")
    assert again.json()["outcome"] == "skipped"
    assert again.headers["ETag"] == read.headers["ETag"]
    assert again.json()["version"] == read.json()["version"]


def make_uid() -> str:
    return "019a0000-0000-7000-8000-000000000000"


def test_fields_are_brought_back_one_by_one(api: Api, entry: Entry) -> None:
    was = entry.content
    changed = {"content": "我搬到了杭州", "category": "event", "slots": {"service": "office", "env": "prod"}}
    assert send(api, "PATCH", f"entries/{entry.uid}", changed).status_code == 200
    back = api.post(f"entries/{entry.uid}/revert", {"version": 1, "only": ["content", "slots.env"]}).json()
    assert (back["content"], back["category"]) == (was, "event")
    assert back["slots"]["service"] == "office" and "env" not in back["slots"]


@pytest.mark.parametrize("name", ["expired_at", "slots.colour", "terms", "nonsense"])
def test_what_no_version_holds_is_not_brought_back(api: Api, entry: Entry, name: str) -> None:
    answer = api.post(f"entries/{entry.uid}/revert", {"version": 1, "only": [name]})
    assert (answer.status_code, answer.json()["errors"][0]["attr"]) == (400, "only")
