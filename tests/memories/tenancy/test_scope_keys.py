"""No two places share a scope, whatever ids a platform invents, on any disk (E1)."""

import unicodedata
from typing import Any
from urllib.parse import unquote

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from memories.choices import DmScope, ScopeKind
from memories.tenancy.resolver import KEY_MAX, Address, ChannelRules, escape, kind_of_key, resolve

#: Ids made to be confused: separators, capitals, escapes, pieces of keys, and letters that fold into others.
PIECES = st.sampled_from(
    [
        "a",
        "A",
        ":",
        "%",
        "%3a",
        "%25",
        "~",
        "_",
        "/",
        ".",
        "direct_",
        "group_",
        "main",
        "汉",
        "é",
        "ß",
        "İ",
        "ſ",
        "K",
        " ",
        "0",
    ]
)
IDS = st.one_of(
    st.lists(PIECES, min_size=1, max_size=6).map("".join),
    st.text(alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=300),
)
MAYBE = st.one_of(st.just(""), IDS)
ADDRESSES = st.builds(Address, platform=IDS, account=MAYBE, peer=IDS, chat=IDS, is_group=st.booleans(), person=MAYBE)
DM_SCOPES = st.sampled_from(DmScope.values)


def scope_of(address: Address, dm_scope: str) -> tuple[str, tuple[Any, ...]]:
    """The key of an address's chat, and what makes it that chat and no other."""
    resolved = resolve(address, ChannelRules(dm_scope=dm_scope))
    key = resolved.chat_scope or resolved.user_scope or ""
    if address.is_group:
        return key, ("group", address.platform, address.account, address.chat)
    if dm_scope == DmScope.MAIN:
        return key, ("main",)
    if dm_scope == DmScope.PER_PEER:
        return key, ("person", address.person) if address.person else ("peer", address.platform, address.peer)
    place = (address.account,) if dm_scope == DmScope.PER_ACCOUNT_CHANNEL_PEER else ()
    return key, ("direct", address.platform, *place, address.peer)


@pytest.mark.thorough
@given(ADDRESSES, ADDRESSES, DM_SCOPES, DM_SCOPES)
@example(Address(platform="a:b", peer="c"), Address(platform="a", peer="b:c"), DmScope.PER_PEER, DmScope.PER_PEER)
@example(
    Address(platform="a", peer="b"), Address(platform="x", peer="y", person="a:b"), DmScope.PER_PEER, DmScope.PER_PEER
)
@example(Address(platform="a%3ab", peer="c"), Address(platform="a:b", peer="c"), DmScope.PER_PEER, DmScope.PER_PEER)
@example(
    Address(platform="t", peer="A"), Address(platform="t", peer="a"), DmScope.PER_CHANNEL_PEER, DmScope.PER_CHANNEL_PEER
)
@example(
    Address(platform="t", peer="x" * 250 + "1"),
    Address(platform="t", peer="x" * 250 + "2"),
    DmScope.PER_CHANNEL_PEER,
    DmScope.PER_CHANNEL_PEER,
)
@example(
    Address(platform="t", peer="p", chat="direct_p", is_group=True),
    Address(platform="t", peer="p"),
    DmScope.PER_ACCOUNT_CHANNEL_PEER,
    DmScope.PER_ACCOUNT_CHANNEL_PEER,
)
def test_two_places_have_two_keys_and_one_place_has_one(one: Address, other: Address, here: str, there: str) -> None:
    (key, place), (other_key, other_place) = scope_of(one, here), scope_of(other, there)
    assert (key == other_key) == (place == other_place)


@pytest.mark.thorough
@given(ADDRESSES, DM_SCOPES)
def test_a_key_is_the_same_file_on_every_disk(address: Address, dm_scope: str) -> None:
    key, _place = scope_of(address, dm_scope)
    assert key.casefold() == key.lower() == key
    assert all(unicodedata.normalize(form, key) == key for form in ("NFC", "NFD", "NFKC", "NFKD"))
    assert not set(key) & set('/\\. \0\n*?"<>|')
    assert len(key) <= KEY_MAX


@pytest.mark.thorough
@given(IDS, IDS)
def test_no_two_parts_become_one(one: str, other: str) -> None:
    assert (escape(one) == escape(other)) == (one == other)
    assert ":" not in escape(one)
    assert "~" not in escape(one)


@pytest.mark.thorough
@given(IDS)
def test_a_part_can_be_joined_from_its_halves(part: str) -> None:
    half = len(part) // 2
    assert escape(part[:half]) + escape(part[half:]) == escape(part)


@pytest.mark.thorough
@given(ADDRESSES, DM_SCOPES, IDS)
@example(Address(platform="t", peer="u" * 300), DmScope.PER_CHANNEL_PEER, "group_")
@example(Address(platform="t", peer="u" * 300), DmScope.PER_PEER, "group_")
@example(Address(platform="p" * 300, account="a" * 300, peer="u"), DmScope.PER_ACCOUNT_CHANNEL_PEER, "group_")
@example(Address(platform="p" * 300, account="a" * 300, chat="c", is_group=True), DmScope.MAIN, "group_")
@example(Address(platform="t", chat="ect_" + "x" * 300, is_group=True), DmScope.MAIN, "dir")
def test_the_kind_of_every_key_the_resolver_makes_is_known(address: Address, dm_scope: str, prefix: str) -> None:
    resolved = resolve(address, ChannelRules(dm_scope=dm_scope, group_prefix=prefix))
    if resolved.user_scope is not None:
        assert kind_of_key(resolved.user_scope) == ScopeKind.USER
    if resolved.chat_scope is not None:
        assert kind_of_key(resolved.chat_scope) == ScopeKind.CHAT


@pytest.mark.parametrize(
    ("key", "kind"),
    [
        ("main", ScopeKind.USER),
        ("direct_0190b8a0-0000-7000-8000-000000000001", ScopeKind.USER),
        ("direct_telegram%3au42", ScopeKind.USER),
        ("telegram:direct_u42", ScopeKind.USER),
        ("telegram:mybot:direct_u42", ScopeKind.USER),
        ("telegram::direct_u42", ScopeKind.USER),
        ("telegram:mybot:group_g1", ScopeKind.CHAT),
        ("telegram:mybot:room_g1", ScopeKind.CHAT),
        ("telegram:mybot:%64irect_x", ScopeKind.CHAT),
        ("wechat:bot:group_%54%45@chatroom", ScopeKind.CHAT),
        ("lark:direct_张三", ScopeKind.USER),
        ("", None),
        ("Main", None),
        ("mains", None),
        ("group_g1", None),
        ("telegram:group_g1", None),
        ("direct_", None),
        ("telegram:direct_", None),
        ("telegram:mybot:direct_", None),
        ("telegram:mybot:", None),
        (":mybot:group_g1", None),
        (":direct_u42", None),
        ("telegram:mybot:x:group_g1", None),
        ("telegram:direct_U42", None),  # capitals are escaped
        ("telegram:direct_%61", None),  # «a» is not
        ("telegram:direct_%e5%bc%a0", None),  # nor is «张»
        ("telegram:direct_%C3%A9", None),
        ("telegram:direct_%c3", None),  # half a letter
        ("telegram:direct_%zz", None),
        ("telegram:direct_a.b", None),
        ("telegram:direct_u42\n", None),
        ("telegram:%64irect_x", None),
        ("direct_%3au42", None),
        ("direct_telegram%3a", None),
        ("telegram:direct_" + "u" * KEY_MAX, None),
        ("telegram:direct_u~" + "0" * 32, ScopeKind.USER),
        ("telegram:mybot:group_g~" + "0" * 32, ScopeKind.CHAT),
        ("telegram:direct_u~" + "0" * 31, None),
        ("telegram:direct_u~" + "0" * 33, None),
        ("telegram:direct_u~" + "G" * 32, None),
        ("telegram:direct_u~", None),
        ("main~" + "0" * 32, None),
    ],
)
def test_only_a_key_the_resolver_could_have_made_stands_for_a_scope(key: str, kind: str | None) -> None:
    assert kind_of_key(key) == kind


@pytest.mark.thorough
@given(st.lists(st.one_of(PIECES, st.sampled_from(["telegram", "%41", "%e9"])), max_size=8).map("".join))
def test_a_short_key_stands_for_a_scope_exactly_when_an_address_leads_there(key: str) -> None:
    assume("~" not in key)
    assert (kind_of_key(key) is not None) == (key in _keys_spelled_like(key))


def _keys_spelled_like(key: str) -> set[str]:
    """The keys of the addresses that this key, read backwards, would stand for."""
    *places, last = key.split(":")
    platform, account = ([unquote(place) for place in places] + ["", ""])[:2]
    name = unquote(last)
    direct = name.removeprefix("direct_")
    person, _colon, peer = direct.partition(":")
    person = person.replace("%3a", ":").replace("%25", "%")
    addresses = [
        (Address(platform=platform, account=account, peer=direct), DmScope.PER_CHANNEL_PEER, "group_"),
        (Address(platform=platform, account=account, peer=direct), DmScope.PER_ACCOUNT_CHANNEL_PEER, "group_"),
        (Address(platform=person, peer=peer), DmScope.PER_PEER, "group_"),
        (Address(platform="x", peer="x", person=person), DmScope.PER_PEER, "group_"),
        (Address(platform=platform, account=account, chat=name, is_group=True), DmScope.MAIN, ""),
    ]
    keys = {"main"}
    for address, dm_scope, prefix in addresses:
        if address.platform and (address.chat if address.is_group else address.peer):
            resolved = resolve(address, ChannelRules(dm_scope=dm_scope, group_prefix=prefix))
            keys.add(resolved.chat_scope or resolved.user_scope or "")
    return keys
