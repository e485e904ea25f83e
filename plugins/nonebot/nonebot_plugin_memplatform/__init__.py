"""Long-term memory for a bot of NoneBot 2.

NoneBot has no model of its own. A plugin that asks one calls `remembered(bot, event)` before it, and puts the text into
its prompt; what the bot then answers is reported here, whoever sends it.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from nonebot import get_driver, get_plugin_config, logger, on_command, require
from nonebot.adapters import Bot, Event
from nonebot.adapters import Message as Text
from nonebot.matcher import Matcher, current_event
from nonebot.params import CommandArg
from nonebot.plugin import PluginMetadata, inherit_supported_adapters
from pydantic import BaseModel

require("nonebot_plugin_uninfo")

from nonebot_plugin_uninfo import get_session  # noqa: E402

from .memory import COMMANDS, Context, Memory, Message  # noqa: E402


class Config(BaseModel):
    """The settings, from `.env`."""

    memplatform_url: str = "http://127.0.0.1:8000"
    memplatform_key: str = ""
    memplatform_language: str = ""  # en, zh-hans; empty: that of the person


__plugin_meta__ = PluginMetadata(
    name="memplatform",
    description="Long-term memory, per person and group",
    usage="/memory, /forget 1, /correct 1 new words (/记忆, /忘记 1, /更正 1 新内容)",
    type="application",
    config=Config,
    supported_adapters=inherit_supported_adapters("nonebot_plugin_uninfo"),
)

#: Seconds without another part of an answer after which it counts as whole.
SETTLED = 1.5
EVENTS = 500
PLATFORMS = {
    "QQClient": "qq",
    "QQGuild": "qq",
    "QQAPI": "qq",
    "Feishu": "lark",
    "Ding": "dingtalk",
    "WeChatOfficialAccountPlatform": "wechat",
    "Mail": "email",
    "Console": "cli",
}


@dataclass
class Turn:
    """A message that the bot is answering, and its answer so far."""

    event: Event  # kept, so that no other event has its id
    message: Message | None = None
    recall_id: str | None = None
    is_asked: bool = False  # of a model, by the plugin that called `remembered`
    is_ours: bool = False  # a command about memory, which is no conversation
    is_reported: bool = False
    parts: list[str] = field(default_factory=list)
    timer: asyncio.TimerHandle | None = None


driver = get_driver()
config = get_plugin_config(Config)
memory = Memory(config.memplatform_url, config.memplatform_key, config.memplatform_language, logger.warning)
turns: OrderedDict[int, Turn] = OrderedDict()


async def remembered(bot: Bot, event: Event, history: Iterable[dict[str, Any]] | None = None) -> Context:
    """What is remembered that helps to answer an event: `text` for the prompt of this turn, not for your history.

    `history` are the messages before it (`role`, `content`) if your plugin keeps them. Without it `history` of the
    answer has the conversation as memory has it. Never raises; empty when memory does not answer within two seconds.
    """
    turn = turn_of(event)
    turn.is_asked = True
    turn.message = await message_of(bot, event)
    if turn.message is None or not config.memplatform_key:
        return Context()
    context = await memory.context(turn.message, history)
    turn.recall_id = context.recall_id
    return context


@Bot.on_called_api
async def collect(bot: Bot, exception: Exception | None, api: str, data: dict[str, Any], result: Any) -> None:
    """Take what the bot sends while it handles a message as a part of its answer."""
    event = current_event.get(None)
    if exception or event is None or event.get_type() != "message" or "send" not in api.casefold():
        return
    turn = turn_of(event)
    text = next((words_of(data[name]) for name in ("message", "content", "text", "segments") if data.get(name)), "")
    if not (text and config.memplatform_key) or turn.is_ours or turn.is_reported or not is_conversation(turn):
        return
    turn.parts.append(text)
    turn.message = turn.message or await message_of(bot, event)
    if turn.timer:
        turn.timer.cancel()
    turn.timer = asyncio.get_running_loop().call_later(SETTLED, settle, turn)


def settle(turn: Turn) -> None:
    """Have a turn remembered whose answer is whole."""
    turn.is_reported = True
    if turn.message:
        memory.report(turn.message, "\n".join(turn.parts), turn.recall_id)


def is_conversation(turn: Turn) -> bool:
    """Whether a model was asked, or the bot was spoken to and not given a command."""
    if turn.is_asked:
        return True
    starts = tuple(start for start in driver.config.command_start if start)
    text = turn.event.get_plaintext().strip()
    return turn.event.is_tome() and bool(text) and not (starts and text.startswith(starts))


def turn_of(event: Event) -> Turn:
    """The turn that begins with an event."""
    turn = turns.setdefault(id(event), Turn(event))
    while len(turns) > EVENTS:
        turns.popitem(last=False)
    return turn


async def message_of(bot: Bot, event: Event) -> Message | None:
    """An event as memory takes it; None where nobody is known to have written it."""
    session = await get_session(bot, event)
    if session is None:
        return None
    scene, scope = session.scene, str(session.scope)
    member = session.member.nick if session.member else None
    return Message(
        platform=PLATFORMS.get(scope, scope.casefold()),
        account=str(session.self_id),
        peer=str(session.user.id),
        chat=f"direct_{session.user.id}" if scene.is_private else str(scene.id),
        text=event.get_plaintext().strip(),
        is_group=not scene.is_private,
        id=str(getattr(event, "message_id", "") or getattr(event, "id", "") or ""),
        sender_name=member or session.user.nick or session.user.name or "",
    )


def words_of(message: Any) -> str:
    """The words of what a bot sends, whatever its adapter calls them."""
    if isinstance(message, Text):
        return message.extract_plain_text().strip()
    return message.strip() if isinstance(message, str) else ""


def answer_to(name: str, *others: str) -> None:
    """Answer a command about one's own memory."""
    arguments: Any = CommandArg()
    matcher = on_command(name, aliases=set(others), force_whitespace=True, priority=1, block=True)

    @matcher.handle()
    async def handle(bot: Bot, event: Event, matcher: Matcher, argument: Text = arguments) -> None:
        turn_of(event).is_ours = True
        message = await message_of(bot, event)
        if message:
            await matcher.finish(await memory.command(name, argument.extract_plain_text().strip(), message))


for names in COMMANDS.values():
    answer_to(*names)


@driver.on_startup
async def look() -> None:
    """Say it once when there is no key."""
    if not config.memplatform_key:
        logger.warning("memplatform: MEMPLATFORM_KEY is not set; nothing is remembered")


@driver.on_shutdown
async def end() -> None:
    """Report what was just answered, and let the connections go."""
    for turn in turns.values():
        if turn.timer and not turn.is_reported:
            turn.timer.cancel()
            settle(turn)
    await memory.close()
