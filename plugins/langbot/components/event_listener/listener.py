"""In the prompt of each turn, kept after it, and for people to see and correct."""

from typing import Any

from langbot_plugin.api.definition.components.common.event_listener import EventListener
from langbot_plugin.api.entities import events
from langbot_plugin.api.entities.builtin.platform.message import MessageChain, Plain
from langbot_plugin.api.entities.builtin.provider.message import Message as ModelMessage
from langbot_plugin.api.entities.context import EventContext
from main import Turn
from memory import Message, command_of


class Listener(EventListener):
    """What LangBot tells of a turn, in this order: that it came, its prompt, its message, its answer."""

    async def initialize(self) -> None:
        await super().initialize()
        self.handler(events.PersonMessageReceived)(self.note)
        self.handler(events.GroupMessageReceived)(self.note)
        self.handler(events.PromptPreProcessing)(self.remember)
        self.handler(events.PersonNormalMessageReceived)(self.receive)
        self.handler(events.GroupNormalMessageReceived)(self.receive)
        self.handler(events.NormalMessageResponded)(self.report)

    async def note(self, ctx: EventContext) -> None:
        """Note what the platform calls a message, by which it may come again: later that is filtered out."""
        number = next((str(part.id) for part in ctx.event.message_chain if part.type == "Source"), "")
        self.plugin.keep(self.plugin.numbers, str(ctx.query_uuid or ctx.query_id), number)

    async def remember(self, ctx: EventContext) -> None:
        """Give the model what is remembered, in the system prompt of this turn, which LangBot does not store."""
        memory = self.plugin.memory(self.get_plugin_config())
        if memory is None:
            return
        message = await self.message_of(ctx)
        if not message.peer or command_of(message.text):
            return
        context = await memory.context(message, [line.model_dump() for line in ctx.event.prompt])
        self.plugin.keep(
            self.plugin.turns, str(ctx.query_uuid or ctx.query_id), Turn(memory, message, context.recall_id)
        )
        if context.text:
            ctx.event.default_prompt.append(ModelMessage(role="system", content=context.text))

    async def receive(self, ctx: EventContext) -> None:
        """Answer a command about one's own memory, in the place of the model."""
        command = command_of(ctx.event.text_message.strip())
        memory = self.plugin.memory(self.get_plugin_config())
        if command is None or memory is None:
            return
        answer = await memory.command(*command, await self.message_of(ctx))
        ctx.event.reply_message_chain = MessageChain([Plain(text=answer)])
        ctx.prevent_default()

    async def report(self, ctx: EventContext) -> None:
        """Have the turn remembered with its last words: before those there may be calls of tools."""
        if not ctx.event.funcs_called and ctx.event.response_text.strip():
            self.plugin.answered(str(ctx.query_uuid or ctx.query_id), ctx.event.response_text.strip())

    async def message_of(self, ctx: EventContext) -> Message:
        """The message of a turn as memory takes it."""
        variables: dict[str, Any] = await ctx.get_query_vars()
        platform, account = await self.plugin.place_of(await ctx.get_bot_uuid())
        number = self.plugin.numbers.get(str(ctx.query_uuid or ctx.query_id), "")
        peer, is_group = str(variables.get("sender_id") or ""), variables.get("launcher_type") == "group"
        return Message(
            platform=platform,
            account=account,
            peer=peer,
            chat=str(variables.get("launcher_id")) if is_group else f"direct_{peer}",
            text=str(variables.get("user_message_text") or "").strip(),
            is_group=is_group,
            id="" if number in ("-1", "0", "None") else number,
            sender_name=str(variables.get("sender_name") or ""),
        )
