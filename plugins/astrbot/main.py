"""Long-term memory for AstrBot: in the prompt of each turn, kept after it, and for people to see and correct."""

from collections.abc import AsyncIterator
from typing import Any

from astrbot.api import AstrBotConfig, logger
from astrbot.api.event import AstrMessageEvent, filter
from astrbot.api.provider import LLMResponse, ProviderRequest
from astrbot.api.star import Context, Star
from astrbot.core.agent.message import TextPart

from .memory import COMMANDS, Memory, Message

#: AstrBot's adapters as the API calls their platforms; others have the same name, or one that an operator adds.
PLATFORMS = {
    "aiocqhttp": "qq",
    "qq_official": "qq",
    "qq_official_webhook": "qq",
    "wecom_ai_bot": "wecom",
    "weixin_official_account": "wechat",
    "weixin_oc": "wechat",
    "webchat": "web",
}
RECALL = "memplatform_recall"


class Memplatform(Star):
    """The plugin, with its three settings."""

    def __init__(self, context: Context, config: AstrBotConfig) -> None:
        super().__init__(context)
        self.memory: Memory | None = None
        if config["key"]:
            self.memory = Memory(config["url"], config["key"], config["language"], logger.warning)
        else:
            logger.warning("memplatform: no key is set; nothing is remembered")

    @filter.on_llm_request()
    async def remember(self, event: AstrMessageEvent, request: ProviderRequest) -> None:
        """Give the model what is remembered, as a part of this turn that AstrBot does not store."""
        if not self.memory or not event.get_sender_id():
            return
        context = await self.memory.context(message_of(event), request.contexts or [])
        event.set_extra(RECALL, context.recall_id)
        if context.text:
            request.extra_user_content_parts.append(TextPart(text=context.text).mark_as_temp())

    @filter.on_agent_done()
    async def report(self, event: AstrMessageEvent, run: Any, response: LLMResponse) -> None:
        """Have the turn remembered once its tools are done."""
        answer = (response.completion_text or "").strip()
        if self.memory and answer and response.role == "assistant" and event.get_sender_id():
            self.memory.report(message_of(event), answer, event.get_extra(RECALL))

    @filter.command("memory", alias=set(COMMANDS["memory"][1:]))
    async def show(self, event: AstrMessageEvent) -> AsyncIterator[Any]:
        """What I remember about you, with numbers; /memory 1 shows all of it. 查看我记得的关于你的事。"""
        yield await self._answer("memory", event)

    @filter.command("forget", alias=set(COMMANDS["forget"][1:]))
    async def forget(self, event: AstrMessageEvent) -> AsyncIterator[Any]:
        """/forget 1 forgets what /memory shows as 1. 忘记某一条。"""
        yield await self._answer("forget", event)

    @filter.command("correct", alias=set(COMMANDS["correct"][1:]))
    async def correct(self, event: AstrMessageEvent) -> AsyncIterator[Any]:
        """/correct 1 new words: corrects what /memory shows as 1. 更正某一条。"""
        yield await self._answer("correct", event)

    async def terminate(self) -> None:
        """Wait for reports that are under way."""
        if self.memory:
            await self.memory.close()

    async def _answer(self, name: str, event: AstrMessageEvent) -> Any:
        event.stop_event()
        argument = "".join(event.message_str.split(maxsplit=1)[1:])
        if not self.memory:
            return event.plain_result("memplatform: no key is set / 未设置密钥")
        return event.plain_result(await self.memory.command(name, argument.strip(), message_of(event)))


def message_of(event: AstrMessageEvent) -> Message:
    """An event as memory takes it."""
    platform, is_group = event.get_platform_name(), not event.is_private_chat()
    group = event.get_group_id() or event.session_id
    return Message(
        platform=PLATFORMS.get(platform, platform),
        account=event.get_self_id() or event.get_platform_id(),
        peer=event.get_sender_id(),
        chat=group if is_group else f"direct_{event.get_sender_id()}",
        text=event.message_str.strip(),
        is_group=is_group,
        id=str(event.message_obj.message_id or ""),
        sender_name=event.get_sender_name() or "",
    )
