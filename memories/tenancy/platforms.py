"""The platforms: to add one, add an entry to PLATFORMS."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Platform:
    """A platform bots speak on, under the name that addresses and the keys of scopes have."""

    name: str
    aliases: tuple[str, ...] = ()  # other names of it; refused with a hint at the name
    is_local: bool = False  # one person sits at the keyboard: without a peer all of it is one memory


PLATFORMS = {
    platform.name: platform
    for platform in (
        Platform("cli", is_local=True),
        Platform("dingtalk", aliases=("ding",)),
        Platform("discord"),
        Platform("email"),
        Platform("lark", aliases=("feishu",)),
        Platform("line"),
        Platform("matrix"),
        Platform("mem0"),  # the ids of mem0's client
        Platform("messenger"),
        Platform("qq"),
        Platform("signal"),
        Platform("slack"),
        Platform("sms"),
        Platform("teams"),
        Platform("telegram", aliases=("tg",)),
        Platform("web", is_local=True),
        Platform("wechat", aliases=("weixin", "wx")),
        Platform("wecom"),
        Platform("whatsapp"),
    )
}
ALIASES = {alias: platform.name for platform in PLATFORMS.values() for alias in platform.aliases}
LOCAL_PLATFORMS = frozenset(platform.name for platform in PLATFORMS.values() if platform.is_local)
