"""Whose memory an address writes to, what it may hear, and which session it belongs to (A3, A5, B1, B8, E1, E2)."""

import hashlib
from dataclasses import replace
from typing import Any

import pytest

from memories.choices import DmScope, GroupSessions, GroupUserRecall, ScopeKind, SessionMode
from memories.exceptions import InvalidAddress
from memories.tenancy.resolver import Address, ChannelRules, Resolution, ScopeRef, resolve

PLATFORMS = ["lark", "dingtalk", "telegram", "wechat"]
LOCAL = ["cli", "web"]
DIRECT = Address(platform="telegram", account="mybot", peer="u42", chat="c7")
GROUP = Address(platform="telegram", account="mybot", peer="u42", chat="g1", is_group=True)
CHAT_SCOPE = "telegram:mybot:group_g1"


def under(dm_scope: str, address: Address, **rules: Any) -> Resolution:
    return resolve(address, ChannelRules(dm_scope=dm_scope, **rules))


def b1(prefix: str, hashed: str) -> str:
    """The formula of B1, written out again."""
    return f"{prefix}-{hashlib.sha1(hashed.encode(), usedforsecurity=False).digest()[:12].hex()}"


@pytest.mark.parametrize("platform", [*PLATFORMS, *LOCAL])
@pytest.mark.parametrize(
    ("dm_scope", "scope"),
    [
        (DmScope.MAIN, "main"),
        (DmScope.PER_PEER, "direct_{platform}%3au42"),
        (DmScope.PER_CHANNEL_PEER, "{platform}:direct_u42"),
        (DmScope.PER_ACCOUNT_CHANNEL_PEER, "{platform}:mybot:direct_u42"),
        ("", "{platform}:direct_u42"),  # the default
    ],
)
def test_a_direct_chat_belongs_to_its_peer_as_far_as_dm_scope_says(platform: str, dm_scope: str, scope: str) -> None:
    resolved = under(dm_scope, replace(DIRECT, platform=platform))
    assert resolved.user_scope == scope.format(platform=platform)
    assert resolved.chat_scope is None
    assert resolved.recall == (ScopeRef(key=resolved.user_scope, kind=ScopeKind.USER),)
    assert resolved.chat == resolved.user_scope


@pytest.mark.parametrize("platform", LOCAL)
@pytest.mark.parametrize(
    ("dm_scope", "scope"),
    [
        (DmScope.MAIN, "main"),
        (DmScope.PER_PEER, "direct_{platform}%3alocal"),
        (DmScope.PER_CHANNEL_PEER, "{platform}:direct_local"),
        (DmScope.PER_ACCOUNT_CHANNEL_PEER, "{platform}::direct_local"),
        ("", "main"),
    ],
)
def test_who_sits_at_a_keyboard_is_local_and_has_the_main_memory(platform: str, dm_scope: str, scope: str) -> None:
    assert under(dm_scope, Address(platform=platform)).user_scope == scope.format(platform=platform)


@pytest.mark.parametrize("platform", LOCAL)
@pytest.mark.parametrize("default", DmScope.values)
def test_the_default_of_platforms_does_not_split_a_keyboard(platform: str, default: str) -> None:
    assert resolve(Address(platform=platform), ChannelRules(), default_dm_scope=default).user_scope == "main"


def test_a_channel_overrides_the_default_for_all() -> None:
    rules = ChannelRules(dm_scope=DmScope.PER_PEER)
    assert resolve(DIRECT, rules, default_dm_scope=DmScope.MAIN).user_scope == "direct_telegram%3au42"
    assert resolve(DIRECT, ChannelRules(), default_dm_scope=DmScope.MAIN).user_scope == "main"


@pytest.mark.parametrize("platform", PLATFORMS)
@pytest.mark.parametrize("dm_scope", ["", *DmScope.values])
def test_a_platform_chat_without_a_peer_is_refused_unless_all_is_one_memory(platform: str, dm_scope: str) -> None:
    nobody = Address(platform=platform, account="mybot", chat="c7")
    if dm_scope == DmScope.MAIN:
        assert under(dm_scope, nobody).user_scope == "main"
    else:
        with pytest.raises(InvalidAddress, match="peer"):
            under(dm_scope, nobody)


def test_per_peer_follows_the_person_across_platforms() -> None:
    person = "0190b8a0-0000-7000-8000-000000000001"
    here = replace(DIRECT, person=person)
    there = Address(platform="lark", peer="ou_9", person=person)
    assert under(DmScope.PER_PEER, here).user_scope == under(DmScope.PER_PEER, there).user_scope == f"direct_{person}"


def test_the_same_id_on_two_platforms_is_two_people_until_they_are_linked() -> None:
    there = replace(DIRECT, platform="lark")
    assert under(DmScope.PER_PEER, DIRECT).user_scope != under(DmScope.PER_PEER, there).user_scope


@pytest.mark.parametrize("dm_scope", ["", *DmScope.values])
@pytest.mark.parametrize("platform", [*PLATFORMS, *LOCAL])
def test_in_a_group_a_speakers_scope_is_theirs_whatever_dm_scope_says(platform: str, dm_scope: str) -> None:
    resolved = under(dm_scope, replace(GROUP, platform=platform, person="someone"))
    assert resolved.user_scope == f"{platform}:direct_u42"
    assert resolved.chat_scope == f"{platform}:mybot:group_g1"
    assert resolved.chat == resolved.chat_scope


@pytest.mark.parametrize("dm_scope", ["", *DmScope.values])
@pytest.mark.parametrize("platform", [*PLATFORMS, *LOCAL])
def test_in_a_group_without_a_sender_there_is_no_user_scope(platform: str, dm_scope: str) -> None:
    resolved = under(dm_scope, replace(GROUP, platform=platform, peer="", person="someone"))
    assert resolved.user_scope is None
    assert [ref.key for ref in resolved.recall] == [f"{platform}:mybot:group_g1"]


def test_two_people_alternating_in_a_group_share_the_session_and_no_memory() -> None:
    alice, bob = under("", GROUP), under("", replace(GROUP, peer="u43"))
    assert alice.session_key == bob.session_key
    assert alice.user_scope != bob.user_scope
    assert {ref.key for ref in alice.recall} & {ref.key for ref in bob.recall} == {CHAT_SCOPE}


@pytest.mark.parametrize(
    ("group_user_recall", "heard"),
    [
        (GroupUserRecall.NONE, []),
        (GroupUserRecall.SAME_CHAT, [CHAT_SCOPE]),
        (GroupUserRecall.ALL, [None]),
        ("", [CHAT_SCOPE]),  # a rule nobody knows is the narrow one
        ("everything", [CHAT_SCOPE]),
    ],
)
def test_a_group_hears_of_a_person_what_its_channel_allows(group_user_recall: str, heard: list[str | None]) -> None:
    *own, chat = under("", GROUP, group_user_recall=group_user_recall).recall
    assert [ref.only_chat for ref in own] == heard
    assert all(ref.in_group and ref.kind == ScopeKind.USER for ref in own)
    assert chat == ScopeRef(key=CHAT_SCOPE, kind=ScopeKind.CHAT, in_group=True)


def test_the_speakers_own_memory_is_asked_before_the_groups() -> None:
    assert [ref.kind for ref in under("", GROUP).recall] == [ScopeKind.USER, ScopeKind.CHAT]


def test_the_prefix_of_groups_can_be_chosen() -> None:
    assert under("", GROUP, group_prefix="room_").chat_scope == "telegram:mybot:room_g1"


@pytest.mark.parametrize(("prefix", "chat"), [("direct_", "x"), ("dir", "ect_x"), ("d", "irect_x"), ("", "direct_x")])
def test_no_prefix_makes_a_group_look_like_a_direct_chat(prefix: str, chat: str) -> None:
    group = under("", replace(GROUP, chat=chat), group_prefix=prefix).chat_scope
    direct = under(DmScope.PER_ACCOUNT_CHANNEL_PEER, replace(DIRECT, peer="x")).user_scope
    assert group != direct
    assert group == "telegram:mybot:%64irect_x"


@pytest.mark.parametrize(
    ("address", "word"),
    [
        (replace(DIRECT, platform=""), "platform"),
        (replace(GROUP, platform=""), "platform"),
        (replace(GROUP, chat=""), "chat"),
        (replace(DIRECT, peer="a\0"), "NUL"),
        (replace(GROUP, chat="\ud800"), "surrogates"),
        (replace(GROUP, thread="\udfff"), "surrogates"),
    ],
)
def test_an_address_that_names_nobody_is_refused(address: Address, word: str) -> None:
    with pytest.raises(InvalidAddress, match=word):
        under("", address)


@pytest.mark.parametrize("dm_scope", [DmScope.PER_CHANNEL_PEER, DmScope.PER_ACCOUNT_CHANNEL_PEER, ""])
@pytest.mark.parametrize("platform", [*PLATFORMS, *LOCAL])
def test_a_direct_session_is_that_of_its_chat(platform: str, dm_scope: str) -> None:
    resolved = under(dm_scope, replace(DIRECT, platform=platform))
    assert resolved.session_key == b1(platform, "c7")
    assert (resolved.session_platform, resolved.session_account) == (platform, "mybot")


def test_a_session_key_is_a_known_one() -> None:
    assert under("", DIRECT).session_key == "telegram-" + hashlib.sha1(b"c7", usedforsecurity=False).hexdigest()[:24]


def test_the_prefix_of_sessions_can_be_chosen() -> None:
    assert under("", DIRECT, session_prefix="tg").session_key == b1("tg", "c7")
    assert under("", GROUP, session_prefix="tg").session_key == b1("tg", "g1")


def test_without_a_chat_id_the_peer_has_the_session() -> None:
    assert under("", replace(DIRECT, chat="")).session_key == b1("telegram", "telegram:direct_u42")


@pytest.mark.parametrize(
    ("dm_scope", "shared"),
    [
        (DmScope.MAIN, True),
        (DmScope.PER_PEER, True),
        (DmScope.PER_CHANNEL_PEER, False),
        (DmScope.PER_ACCOUNT_CHANNEL_PEER, False),
        ("", False),
    ],
)
def test_a_direct_session_is_shared_exactly_when_recall_is(dm_scope: str, shared: bool) -> None:
    here = under(dm_scope, replace(DIRECT, person="p1"))
    there = under(dm_scope, Address(platform="lark", account="other", peer="ou_9", chat="c9", person="p1"))
    identity = [(r.session_platform, r.session_account, r.session_key) for r in (here, there)]
    assert (here.user_scope == there.user_scope) is shared
    assert (identity[0] == identity[1]) is shared


@pytest.mark.parametrize(("dm_scope", "scope"), [(DmScope.MAIN, "main"), (DmScope.PER_PEER, "direct_telegram%3au42")])
def test_a_shared_session_hashes_the_scope_instead_of_the_chat(dm_scope: str, scope: str) -> None:
    assert under(dm_scope, DIRECT).session_key.split("-")[1] == b1("", scope).split("-")[1]


@pytest.mark.parametrize(
    ("group_sessions", "peer", "hashed"),
    [
        (GroupSessions.SHARED, "u42", "g1"),
        (GroupSessions.PER_MEMBER, "u42", "g1:u42"),
        (GroupSessions.PER_MEMBER, "", "g1"),  # nobody to keep apart
    ],
)
def test_a_group_session_is_shared_or_one_per_member(group_sessions: str, peer: str, hashed: str) -> None:
    resolved = under("", replace(GROUP, peer=peer), group_sessions=group_sessions)
    assert resolved.session_key == b1("telegram", hashed)


def test_a_colon_in_an_id_does_not_lend_one_member_the_session_of_another() -> None:
    result = under("", replace(GROUP, chat="g:1", peer="2"), group_sessions=GroupSessions.PER_MEMBER)
    other = under("", replace(GROUP, chat="g", peer="1:2"), group_sessions=GroupSessions.PER_MEMBER)
    assert result.session_key != other.session_key


@pytest.mark.parametrize("address", [DIRECT, GROUP])
@pytest.mark.parametrize("dm_scope", ["", *DmScope.values])
def test_threads_split_neither_session_nor_scope(address: Address, dm_scope: str) -> None:
    plain, threaded = under(dm_scope, address), under(dm_scope, replace(address, thread="t9"))
    assert replace(threaded, address=address) == plain


@pytest.mark.parametrize("address", [DIRECT, GROUP])
def test_fresh_sessions_are_never_met_again_and_keep_their_scopes(address: Address) -> None:
    keys = {under("", address, session_mode=SessionMode.FRESH).session_key for _ in range(50)}
    assert len(keys) == 50
    assert all(key.startswith("telegram-") and len(key) == len("telegram-") + 24 for key in keys)
    assert under("", address, session_mode=SessionMode.FRESH).recall == under("", address).recall


@pytest.mark.parametrize("address", [DIRECT, GROUP])
@pytest.mark.parametrize("dm_scope", ["", *DmScope.values])
def test_the_same_address_always_means_the_same(address: Address, dm_scope: str) -> None:
    assert under(dm_scope, address) == under(dm_scope, address)


def test_rules_travel_with_what_was_resolved() -> None:
    rules = ChannelRules(capture_group_memory=False)
    resolved = resolve(GROUP, rules)
    assert resolved.rules is rules
    assert resolved.address is GROUP
