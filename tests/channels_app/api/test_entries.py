"""«Remember this» says where it was said, and is recalled there (A3)."""

from typing import Any

import pytest

from channels_app.models import Channel
from memories.models import Entry, Workspace
from tests.conftest import GROUP, TELEGRAM, Api, make_key

pytestmark = pytest.mark.django_db
USER, CHAT = "telegram:direct_u42", "telegram:mybot:group_g1"
OTHER_GROUP = {**GROUP, "chat": "g2"}
FACT = "The release is on Thursday at noon"
ASKED = "when is the release?"


def save(api: Api, content: str = FACT, status: int = 201, **more: Any) -> dict[str, Any]:
    answer = api.post("entries", {"content": content, **more})
    assert answer.status_code == status, answer.json()
    return dict(answer.json())


def recalled(api: Api, address: Any, message: str = ASKED) -> list[str]:
    answer = api.post("recall", {"address": address, "message": message})
    assert answer.status_code == 200, answer.json()
    return [memory["content"] for memory in answer.json()["memories"]]


def test_what_a_person_saves_in_a_group_is_recalled_in_that_group(api: Api) -> None:
    saved = save(api, address={**GROUP, "thread": "t9"})
    assert (saved["scope"], saved["type"], saved["outcome"]) == (USER, "user_explicit", "created")
    assert saved["slots"] | {"session_id": ""} == {
        "channel": "telegram", "chat_id": "g1", "session_id": "", "sender_id": "u42", "thread_id": "t9",
    }  # fmt: skip
    assert Entry.objects.get().chats == [CHAT]
    assert recalled(api, GROUP) == [FACT] and recalled(api, TELEGRAM) == [FACT]
    assert recalled(api, OTHER_GROUP) == [] and recalled(api, {**GROUP, "peer": "u7"}) == []


def test_what_is_saved_in_private_stays_there(api: Api) -> None:
    save(api, address=TELEGRAM)
    assert Entry.objects.get().chats == [USER]
    assert recalled(api, TELEGRAM) == [FACT] and recalled(api, GROUP) == []


def test_what_is_saved_for_the_group_is_recalled_by_all_of_it(api: Api) -> None:
    saved = save(api, address=GROUP, scope_kind="chat")
    assert (saved["scope"], Entry.objects.get().chats) == (CHAT, [])
    assert recalled(api, {**GROUP, "peer": "u7"}) == [FACT]
    assert recalled(api, TELEGRAM) == [] and recalled(api, OTHER_GROUP) == []


def test_where_nobody_is_named_it_is_the_groups(api: Api) -> None:
    address = {**GROUP, "peer": ""}
    assert save(api, address=address)["scope"] == CHAT
    refused = save(api, address=address, scope_kind="user", status=400)
    assert refused["errors"][0]["attr"] == "address"


def test_a_credential_is_never_told_in_a_group_wherever_it_was_saved(api: Api) -> None:
    save(api, "The door code is 4471", address=GROUP, category="credential")
    assert recalled(api, GROUP, "what is the door code?") == []
    assert recalled(api, TELEGRAM, "what is the door code?") == ["The door code is 4471"]


def test_said_in_private_as_well_the_group_still_hears_what_it_was_told(api: Api) -> None:
    save(api, address=GROUP)
    save(api, address=TELEGRAM)
    assert recalled(api, GROUP) == [FACT]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "scope"),
        ({"scope": USER, "address": TELEGRAM}, "scope"),
        ({"scope": USER, "scope_kind": "user"}, "scope_kind"),
        ({"address": TELEGRAM, "scope_kind": "chat"}, "scope_kind"),
        ({"address": GROUP, "scope_kind": "team"}, "scope_kind"),
        ({"address": {**GROUP, "chat": ""}}, "address"),
    ],
)
def test_what_does_not_say_where_is_refused_by_name(api: Api, body: dict[str, Any], field: str) -> None:
    assert save(api, **body, status=400)["errors"][0]["attr"] == field
    assert not Entry.objects.exists() and not Channel.objects.exists()


def test_a_key_saves_nothing_where_it_does_not_reach(workspace: Workspace) -> None:
    narrow = Api(make_key(workspace, scope_patterns=["telegram:direct_*"]))
    assert save(narrow, address=GROUP)["scope"] == USER
    save(narrow, address=GROUP, scope_kind="chat", status=404)
