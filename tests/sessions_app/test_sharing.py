"""Whoever shares a session shares what is recalled in it, under every dm_scope (B1, B8, E1, E2)."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memories.choices import DmScope, GroupSessions
from memories.tenancy.resolver import Address, ChannelRules, Resolution, key_of_direct_chat, resolve
from tests.support.properties import examples

PLATFORMS = ["lark", "dingtalk", "telegram", "wechat", "web", "cli"]
IDS = st.text(st.sampled_from("ab:%_~-.A好"), min_size=1, max_size=4)
ME = Address(platform="telegram", account="bot", peer="u1", chat="c1", person="p1")

#: What the other address differs in, and under which dm_scope the two are one session, and one memory.
DIFFERENCES = [
    ({}, set(DmScope.values)),
    ({"thread": "t9"}, set(DmScope.values)),
    ({"peer": "u2", "chat": "c2", "person": "p2"}, {DmScope.MAIN}),
    ({"peer": "u2", "chat": "c2"}, {DmScope.MAIN, DmScope.PER_PEER}),  # another id of the same person
    ({"platform": "lark", "peer": "ou", "chat": "oc"}, {DmScope.MAIN, DmScope.PER_PEER}),
    ({"platform": "lark", "peer": "ou", "chat": "oc", "person": "p2"}, {DmScope.MAIN}),
]


def session_of(resolved: Resolution) -> tuple[str, str, str]:
    return resolved.session_platform, resolved.session_account, resolved.session_key


@pytest.mark.parametrize("dm_scope", DmScope.values)
@pytest.mark.parametrize(("difference", "shared"), DIFFERENCES, ids=lambda value: str(sorted(value)))
def test_two_direct_chats_share_their_session_exactly_when_they_share_their_memory(
    difference: dict[str, str], shared: set[str], dm_scope: str
) -> None:
    rules = ChannelRules(dm_scope=dm_scope)
    here, there = resolve(ME, rules), resolve(replace(ME, **difference), rules)
    assert (session_of(here) == session_of(there)) is (dm_scope in shared)
    assert (here.recall == there.recall) is (dm_scope in shared)


@pytest.mark.parametrize("dm_scope", [DmScope.PER_CHANNEL_PEER, DmScope.PER_ACCOUNT_CHANNEL_PEER])
def test_two_accounts_never_share_a_session_under_the_narrow_ones(dm_scope: str) -> None:
    """The chat of another bot is another conversation, even where what was said in both is one memory."""
    here, there = (resolve(replace(ME, account=account), ChannelRules(dm_scope=dm_scope)) for account in ("a", "b"))
    assert session_of(here) != session_of(there)


def chats(draw: Any) -> tuple[Address, Address]:
    """Two direct chats as platforms know them: a chat of an account is that of one peer."""
    one, other = (
        Address(platform=draw(st.sampled_from(PLATFORMS)), account=draw(IDS), peer=draw(IDS), person=draw(IDS))
        for _twice in range(2)
    )
    return replace(one, chat=f"dm-{one.peer}"), replace(other, chat=f"dm-{other.peer}")


@examples(400)
@given(pair=st.composite(chats)(), dm_scope=st.sampled_from(DmScope.values))
def test_a_shared_session_is_always_a_shared_memory(pair: tuple[Address, Address], dm_scope: str) -> None:
    one, other = (resolve(address, ChannelRules(dm_scope=dm_scope)) for address in pair)
    if session_of(one) == session_of(other):
        assert one.recall == other.recall
    if dm_scope in (DmScope.MAIN, DmScope.PER_PEER) and one.recall == other.recall:
        assert session_of(one) == session_of(other)


@examples(300)
@given(one=st.tuples(IDS, IDS), other=st.tuples(IDS, IDS))
def test_members_of_groups_never_meet_in_one_session(one: tuple[str, str], other: tuple[str, str]) -> None:
    rules = ChannelRules(group_sessions=GroupSessions.PER_MEMBER)
    group = Address(platform="lark", account="bot", is_group=True)
    keys = [session_of(resolve(replace(group, chat=chat, peer=peer), rules)) for chat, peer in (one, other)]
    assert (keys[0] == keys[1]) is (one == other)


@pytest.mark.parametrize("dm_scope", ["", DmScope.PER_CHANNEL_PEER, DmScope.PER_ACCOUNT_CHANNEL_PEER])
def test_a_chat_alone_finds_the_session_it_had_with_its_peer(dm_scope: str) -> None:
    rules = ChannelRules(dm_scope=dm_scope, session_prefix="tg")
    assert key_of_direct_chat(replace(ME, peer=""), rules) == resolve(ME, rules).session_key


@pytest.mark.parametrize(
    "address", [replace(ME, is_group=True), replace(ME, chat=""), replace(ME, platform="cli"), replace(ME, chat="\0")]
)
def test_a_chat_alone_finds_nobody_where_it_could_be_anybodys(address: Address) -> None:
    assert key_of_direct_chat(address, ChannelRules()) is None
