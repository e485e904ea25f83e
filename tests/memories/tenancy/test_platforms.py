"""The table of platforms."""

from memories.tenancy.resolver import ALIASES, LOCAL_PLATFORMS, PLATFORMS


def test_no_alias_is_a_name_or_stands_for_two_platforms() -> None:
    aliases = [alias for platform in PLATFORMS.values() for alias in platform.aliases]
    assert len(set(aliases)) == len(aliases) and not set(aliases) & set(PLATFORMS)
    assert ALIASES["feishu"] == "lark" and ALIASES["wx"] == "wechat"


def test_names_are_in_order_as_an_error_lists_them() -> None:
    assert list(PLATFORMS) == sorted(PLATFORMS)
    assert sorted(LOCAL_PLATFORMS) == ["cli", "web"]
