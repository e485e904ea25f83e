"""What a group may hear of a person (A3), and that people are told apart (A5)."""

from typing import Any

import pytest
from django.utils import timezone

from channels_app.models import Channel
from memories import entries
from memories.models import Entry, Workspace
from tests.conftest import GROUP, TELEGRAM, Api, make_key

pytestmark = pytest.mark.django_db
USER, CHAT = "telegram:direct_u42", "telegram:mybot:group_g1"


def say(api: Api, text: str, address: dict[str, Any], answer: str = "ok") -> None:
    response = api.post("turns", {"address": address, "user": text, "assistant": answer})
    assert response.status_code == 201, response.json()


def heard(api: Api, message: str, address: dict[str, Any], **kwargs: Any) -> set[tuple[str, str]]:
    """(scope, what the user had said) of every memory served."""
    answer = api.post("recall", {"address": address, "message": message, "need": "off", **kwargs}).json()
    return {(memory["scope"], memory["content"].split("\n")[0].removeprefix("User: ")) for memory in answer["memories"]}


@pytest.fixture
def channel(workspace: Workspace) -> Channel:
    channel, _made = Channel.objects.get_or_create(workspace=workspace, platform="telegram", account="mybot")
    return channel


@pytest.fixture
def music_turns(api: Api) -> None:
    say(api, "privately I like jazz music", TELEGRAM)
    say(api, "in here I like folk music", GROUP)
    say(api, "elsewhere I like rock music", {**GROUP, "chat": "g2"})


@pytest.mark.usefixtures("music_turns")
def test_a_group_hears_only_what_was_said_in_it(api: Api) -> None:
    assert {text for _scope, text in heard(api, "which music do I like?", GROUP)} == {"in here I like folk music"}


@pytest.mark.usefixtures("music_turns")
def test_a_group_may_hear_nothing_of_a_person(api: Api, channel: Channel) -> None:
    Channel.objects.update(group_user_recall="none")
    assert heard(api, "which music do I like?", GROUP) == {(CHAT, "in here I like folk music")}


@pytest.mark.usefixtures("music_turns")
def test_a_group_may_hear_everything_of_a_person(api: Api, channel: Channel) -> None:
    Channel.objects.update(group_user_recall="all")
    assert heard(api, "which music do I like?", GROUP) == {
        (USER, "privately I like jazz music"),
        (USER, "in here I like folk music"),
        (USER, "elsewhere I like rock music"),
    }


@pytest.mark.usefixtures("music_turns")
def test_the_deployment_decides_what_channels_leave_open(api: Api, channel: Channel, settings: Any) -> None:
    settings.MEMORY_GROUP_USER_RECALL = "none"
    assert {scope for scope, _text in heard(api, "which music do I like?", GROUP)} == {CHAT}
    Channel.objects.update(group_user_recall="all")
    assert len(heard(api, "which music do I like?", GROUP)) == 3


@pytest.mark.usefixtures("music_turns")
def test_in_private_a_person_hears_all_they_said(api: Api) -> None:
    assert heard(api, "which music do I like?", TELEGRAM) == {
        (USER, "privately I like jazz music"),
        (USER, "in here I like folk music"),
        (USER, "elsewhere I like rock music"),
    }


@pytest.mark.usefixtures("music_turns")
def test_a_group_without_a_speaker_hears_only_its_own(api: Api) -> None:
    assert heard(api, "which music do I like?", {**GROUP, "peer": ""}) == {(CHAT, "in here I like folk music")}


@pytest.mark.thorough
@pytest.mark.parametrize("recall", ["none", "same_chat"])
def test_what_was_saved_without_a_chat_is_not_heard_in_groups(api: Api, channel: Channel, recall: str) -> None:
    Channel.objects.update(group_user_recall=recall)
    api.post("entries", {"scope": USER, "content": "I like swing music"})
    assert heard(api, "which music do I like?", GROUP) == set()


def test_what_two_chats_said_together_is_heard_in_neither(api: Api) -> None:
    """The same channel and chat id under two bot accounts: merged in the user's scope, so it came from two chats."""
    other = {**GROUP, "account": "otherbot"}
    words = "the songs I like best are the quiet slow ones about rivers and harvest and old houses"
    say(api, words, GROUP)
    say(api, words + " please", other)
    merged = Entry.objects.get(scope__key=USER)
    assert sorted(merged.chats) == [CHAT, "telegram:otherbot:group_g1"]
    for address in (GROUP, other):
        assert USER not in {scope for scope, _text in heard(api, "which songs do I like best?", address)}


def test_a_repeat_in_another_chat_makes_it_the_memory_of_two(api: Api) -> None:
    say(api, "I like old songs", GROUP)
    say(api, "I like old songs", {**GROUP, "account": "otherbot"})
    assert len(Entry.objects.get(scope__key=USER).chats) == 2
    assert {scope for scope, _text in heard(api, "which songs do I like?", GROUP)} == {CHAT}


@pytest.mark.parametrize("recall", ["same_chat", "all"])
def test_a_credential_is_never_read_out_in_a_group(api: Api, channel: Channel, recall: str) -> None:
    Channel.objects.update(group_user_recall=recall)
    api.post("entries", {"scope": USER, "content": "the vault password is swordfish", "category": "credential"})
    Entry.objects.update(chats=[CHAT])
    assert heard(api, "what is the vault password?", GROUP) == set()
    assert len(heard(api, "what is the vault password?", TELEGRAM)) == 1


def keep_secret_in_the_group(api: Api, content: str) -> None:
    """A memory of the group that somebody recognised as a credential afterwards."""
    saved = api.post("entries", {"scope": CHAT, "content": content}).json()
    edit = entries.Edit(columns={"category": "credential"})
    entries.update(Entry.objects.get(uid=saved["id"]), edit, now=timezone.now(), actor="user:ann")


def test_a_credential_is_not_saved_for_a_group_that_would_never_hear_it(api: Api, channel: Channel) -> None:
    say(api, "the picnic is at the lake", GROUP)
    refused = api.post("entries", {"scope": CHAT, "content": "the vault password is trout", "category": "credential"})
    assert (refused.status_code, refused.json()["errors"][0]["attr"]) == (400, "category")
    assert not Entry.objects.filter(content__contains="trout").exists()
    unknown = api.post("entries", {"scope": CHAT, "content": "the vault opens at nine", "category": "secrets"}).json()
    assert unknown["errors"][0]["detail"].startswith("“secrets” is not one of: identity, config, credential")


def in_the_group(api: Api, **kwargs: Any) -> str:
    """All a bot is told in the group of a question about its password, as one text."""
    data = {"address": {**GROUP, "peer": "ann"}, "need": "off", "include_session_events": True, **kwargs}
    recalled = api.post("recall", {"message": "what did we say the vault password was?", **data}).json()
    return str([recalled["memories"], recalled.get("events"), recalled["context"]])


@pytest.mark.thorough
@pytest.mark.parametrize("mode", ["hybrid", "keyword", "fts"])
def test_a_credential_of_the_groups_own_is_never_served_there(api: Api, channel: Channel, mode: str) -> None:
    say(api, "the picnic is at the lake", GROUP)
    keep_secret_in_the_group(api, "the vault password is swordfish")
    api.post("entries", {"scope": CHAT, "content": "the vault opens at nine"})
    text = in_the_group(api, mode=mode)
    assert "swordfish" not in text and "opens at nine" in text
    assert Entry.objects.live().filter(category="credential").count() == 1


@pytest.mark.thorough
@pytest.mark.parametrize("secret", ["swordfish", "Tr0ub4dor&3"])
def test_neither_is_a_turn_or_a_message_with_its_words(api: Api, channel: Channel, secret: str) -> None:
    Channel.objects.update(secrets="off")
    say(api, f"the vault password is {secret}", {**GROUP, "peer": "bob"}, answer="noted")
    assert secret in in_the_group(api)
    keep_secret_in_the_group(api, f"The vault password is {secret}.")
    assert secret not in in_the_group(api)


def test_neither_is_what_rests_on_the_message_it_was_told_in(api: Api, channel: Channel) -> None:
    say(api, "the vault password is swordfish", {**GROUP, "peer": "bob"}, answer="noted")
    turn = Entry.objects.get(scope__key=CHAT)
    api.post("entries", {"scope": "telegram:direct_bob", "content": "Bob's word is trout", "category": "credential"})
    Entry.objects.filter(category="credential").update(
        origins=turn.origins or ["session_events/x/event-1"], chats=[CHAT]
    )
    Entry.objects.filter(pk=turn.pk).update(origins=turn.origins or ["session_events/x/event-1"])
    assert "swordfish" not in in_the_group(api)


def test_a_profile_is_read_out_only_where_all_is(api: Api, channel: Channel) -> None:
    api.post("entries", {"scope": USER, "type": "fact", "tier": 1, "content": "I am called Mei"})
    Entry.objects.update(chats=[CHAT])
    assert heard(api, "what am I called?", GROUP) == set()
    Channel.objects.update(group_user_recall="all")
    assert heard(api, "what am I called?", GROUP) == {(USER, "I am called Mei")}


@pytest.mark.thorough
def test_two_people_in_turn_never_hear_each_others_memories(api: Api, channel: Channel) -> None:
    Channel.objects.update(group_user_recall="all", capture_group_memory=False)
    for n in range(4):
        say(api, f"Ann's secret number {n} is a{n}", {**GROUP, "peer": "ann"})
        say(api, f"Bob's secret number {n} is b{n}", {**GROUP, "peer": "bob"})
        for peer, other in (("ann", "bob"), ("bob", "ann")):
            scopes = {scope for scope, _text in heard(api, "the secret number?", {**GROUP, "peer": peer}, quotas=False)}
            assert scopes == {f"telegram:direct_{peer}"}
            assert f"telegram:direct_{other}" not in scopes


def test_the_chats_copy_of_ones_own_turn_is_left_out(api: Api) -> None:
    say(api, "I like folk music", GROUP)
    answer = api.post("recall", {"address": GROUP, "message": "which music do I like?", "explain": True}).json()
    assert [memory["scope"] for memory in answer["memories"]] == [USER]
    assert [(memory["scope"], memory["reason"]) for memory in answer["left_out"]] == [(CHAT, "duplicate")]


@pytest.mark.thorough
def test_the_chats_memories_keep_to_their_quota(api: Api) -> None:
    for n in range(9):
        say(api, f"round {n} of folk music " + "la" * n, {**GROUP, "peer": f"u{n}"})
    answer = api.post("recall", {"address": {**GROUP, "peer": "new"}, "message": "which folk music round?"}).json()
    assert [memory["scope"] for memory in answer["memories"]] == [CHAT, CHAT]


def test_a_group_of_another_account_is_another_group(api: Api) -> None:
    say(api, "our song is about rivers", GROUP)
    assert heard(api, "what is our song about?", {**GROUP, "account": "otherbot", "peer": "u9"}) == set()


def test_a_group_that_calls_itself_direct_reaches_nobody(workspace: Workspace) -> None:
    api = Api(make_key(workspace))
    say(api, "I live in Lisbon", TELEGRAM)
    for chat in ("direct_u42", "u42", ":direct_u42", "../telegram:direct_u42"):
        assert heard(api, "where do I live?", {**GROUP, "peer": "", "chat": chat}) == set()
