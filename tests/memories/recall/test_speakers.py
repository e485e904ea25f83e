"""Who speaks where nobody says so: whom the id of a direct chat names (A5)."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memories.choices import DmScope
from memories.exceptions import InvalidAddress
from memories.tenancy.resolver import Address, ChannelRules, resolve

HASH = "0" * 32
#: platform, account, chat → the speaker; None: nobody can tell.
NAMED: list[tuple[str, str, str, str | None]] = [
    # as the memory of a person is called
    ("telegram", "mybot", "telegram:direct_u42", "u42"),
    ("telegram", "", "telegram:direct_u42", "u42"),
    ("telegram", "mybot", "telegram:mybot:direct_u42", "u42"),
    ("lark", "cli_a1", "lark:cli_a1:direct_ou_9", "ou_9"),
    ("lark", "", "lark:direct_%41nna", "Anna"),
    ("lark", "", "lark:direct_Anna", "Anna"),
    ("lark", "", "lark:direct_用户42", "用户42"),
    ("wechat", "Shop 1", "wechat:%53hop%201:direct_wx1", "wx1"),
    ("wechat", "Shop 1", "wechat:Shop 1:direct_wx1", "wx1"),
    # the channel, and the peer
    ("telegram", "mybot", "telegram:u42", "u42"),
    ("telegram", "mybot", "telegram:mybot:u42", "u42"),
    ("dingtalk", "", "dingtalk:张三", "张三"),
    # as a session is called: it stands for whoever it is with
    ("lark", "cli_a1", "lark-3f2a91", "lark-3f2a91"),
    ("telegram", "mybot", "tg-3f2a91", "tg-3f2a91"),  # the channel's own prefix
    # nobody
    ("telegram", "mybot", "c7", None),
    ("telegram", "mybot", "", None),
    ("telegram", "mybot", "telegram", None),
    ("telegram", "mybot", "telegram:", None),
    ("telegram", "mybot", "telegram-", None),
    ("telegram", "mybot", "telegram:direct_", None),
    ("telegram", "mybot", "telegram:mybot:", None),
    ("telegram", "mybot", "direct_u42", None),
    ("telegram", "mybot", "lark:direct_u42", None),  # another platform's
    ("telegram", "mybot", "lark-3f2a91", None),
    ("telegram", "mybot", "telegram:other:direct_u42", None),  # another account's
    ("telegram", "mybot", "telegram:group_g1", None),
    ("telegram", "mybot", "telegram:mybot:group_g1", None),
    ("telegram", "mybot", "telegram:mybot:room_g1", None),  # the channel's own prefix of groups
    ("telegram", "mybot", f"telegram:direct_u42~{HASH}", None),  # what was cut off is in no hash
    ("telegrams", "", "telegram:direct_u42", None),
]
RULES = ChannelRules(session_prefix="tg", group_prefix="room_")


@pytest.mark.parametrize(("platform", "account", "chat", "speaker"), NAMED)
def test_the_id_of_a_direct_chat_names_whom_it_is_with(
    platform: str, account: str, chat: str, speaker: str | None
) -> None:
    address = Address(platform=platform, account=account, chat=chat)
    if speaker is None:
        with pytest.raises(InvalidAddress, match="peer"):
            resolve(address, RULES)
    else:
        named = Address(platform=platform, account=account, chat=chat, peer=speaker)
        assert resolve(address, RULES) == resolve(named, RULES)


@pytest.mark.parametrize(("platform", "account", "chat", "_speaker"), NAMED)
def test_who_is_named_by_the_request_speaks_whatever_the_id_says(
    platform: str, account: str, chat: str, _speaker: Any
) -> None:
    address = Address(platform=platform, account=account, chat=chat, peer="u1")
    assert resolve(address, RULES).address.peer == "u1"


@pytest.mark.parametrize(("platform", "account", "chat", "_speaker"), NAMED)
def test_in_a_group_no_id_names_a_speaker(platform: str, account: str, chat: str, _speaker: Any) -> None:
    address = Address(platform=platform, account=account, chat=chat or "g1", is_group=True)
    resolved = resolve(address, RULES)
    assert (resolved.user_scope, resolved.address.peer) == (None, "")


@pytest.mark.parametrize(
    ("chat", "scope"),
    [
        ("", "main"),
        ("c7", "main"),
        ("web-3f2a91", "main"),
        ("web:tab1", "main"),
        ("web:direct_u42", "web:direct_u42"),
        ("cli:direct_u42", "main"),
    ],
)
def test_at_a_keyboard_somebody_local_speaks_unless_a_person_is_named(chat: str, scope: str) -> None:
    assert resolve(Address(platform="web", chat=chat), RULES).user_scope == scope


def test_where_all_is_one_memory_the_id_only_says_who_spoke() -> None:
    resolved = resolve(Address(platform="telegram", chat="telegram:u42"), ChannelRules(dm_scope=DmScope.MAIN))
    assert (resolved.user_scope, resolved.address.peer) == ("main", "u42")


IDS = st.text(min_size=1, max_size=12).filter(lambda text: "\0" not in text and text.isprintable())


@pytest.mark.thorough
@given(platform=st.sampled_from(["telegram", "lark"]), account=IDS, peer=IDS)
def test_the_key_of_a_memory_finds_that_memory_again(platform: str, account: str, peer: str) -> None:
    """Whatever the peer is called: their own scope, given as the chat, is theirs and nobody else's."""
    for dm_scope in (DmScope.PER_CHANNEL_PEER, DmScope.PER_ACCOUNT_CHANNEL_PEER):
        rules = ChannelRules(dm_scope=dm_scope)
        own = resolve(Address(platform=platform, account=account, peer=peer), rules).user_scope
        assert own is not None
        assert resolve(Address(platform=platform, account=account, chat=own), rules).user_scope == own
