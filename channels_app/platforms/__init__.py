"""Chat platforms a channel can be connected to. To add one, add a line to CONNECTABLE.

wire → intake (stored once) → work (in order, a chat at a time) → answering or commands → sent
"""

from functools import cache

from django.utils.module_loading import import_string

from channels_app.platforms.wire import Platform

#: By name, where its class is: each is imported when it is first used, with the library of its vendor.
CONNECTABLE = {
    "dingtalk": "channels_app.platforms.dingtalk.DingTalk",
    "lark": "channels_app.platforms.lark.platform.Lark",
    "slack": "channels_app.platforms.slack.Slack",
    "telegram": "channels_app.platforms.telegram.Telegram",
    "web": "channels_app.platforms.web.Web",
    "wechat": "channels_app.platforms.wechat.WeChat",
    "wecom": "channels_app.platforms.wecom.WeCom",
}

#: Those whose messages are sent over the connection that receives them, where it is opened from here: by the one
#: process that has it.
SENT_WHERE_PULLED = frozenset({"wecom"})


@cache
def platform_named(name: str) -> Platform:
    """A platform by its name. Raises KeyError."""
    platform: Platform = import_string(CONNECTABLE[name])()
    return platform
