"""The `Memory` of LlamaIndex with what a memplatform knows of a person, and each answered turn remembered.

The messages of the conversation are kept by LlamaIndex as before, with its limit of tokens and its blocks. What is
known goes into the system message each time they are read, and is never stored with them.
"""

import asyncio
from typing import Any

from llama_index.core.base.llms.types import ChatMessage, MessageRole, TextBlock, ToolCallBlock
from llama_index.core.memory import Memory
from memplatform_client.turns import Before, BotMemory
from pydantic import PrivateAttr

SIDES = (MessageRole.USER, MessageRole.ASSISTANT)


class MemplatformMemory(Memory):
    """One conversation of a person; made by `of`."""

    _bot: BotMemory | None = PrivateAttr(default=None)
    _person: str = PrivateAttr(default="")
    _chat: str = PrivateAttr(default="")
    _turn: list[ChatMessage] = PrivateAttr(default_factory=list)  # not answered yet
    _asked: str = PrivateAttr(default="")
    _latest: Before = PrivateAttr(default_factory=Before)

    @classmethod
    def class_name(cls) -> str:
        """Its name among LlamaIndex's components."""
        return "MemplatformMemory"

    @classmethod
    def of(cls, bot: BotMemory, person: str, chat: str = "", **options: Any) -> "MemplatformMemory":
        """The memory of a person's chat; `options` are those of `Memory.from_defaults`."""
        memory = cls.from_defaults(session_id=f"{person}/{chat}", **options)
        assert isinstance(memory, cls)
        memory._bot, memory._person, memory._chat = bot, person, chat
        return memory

    async def aget(self, input: str | ChatMessage | None = None, **block_kwargs: Any) -> list[ChatMessage]:  # type: ignore[override]
        """The messages, with what is known in the system message."""
        messages = await super().aget(input=input, **block_kwargs)
        talk = [message for message in messages if message.role in SIDES]
        if talk and talk[-1].role == MessageRole.USER:
            await self._ask(talk.pop(), talk)
        elif input:  # a chat engine reads before it stores
            await self._ask(input if isinstance(input, ChatMessage) else ChatMessage(content=input), talk)
        if not self._latest.text:
            return messages
        first = messages[0] if messages and messages[0].role == MessageRole.SYSTEM else None
        blocks = [TextBlock(text=self._latest.text), *(first.blocks if first else ())]
        return [ChatMessage(role=MessageRole.SYSTEM, blocks=blocks), *messages[1 if first else 0 :]]

    async def aput(self, message: ChatMessage) -> None:
        """Keep a message; with the answer to them they are a turn, which is reported."""
        await super().aput(message)
        await self._hear([message])

    async def aput_messages(self, messages: list[ChatMessage]) -> None:
        """Keep the messages of a run."""
        await super().aput_messages(messages)
        await self._hear(messages)

    async def aset(self, messages: list[ChatMessage]) -> None:
        """Go on with another history, which is no turn of this one; its last question may be."""
        await super().aset(messages)
        self._turn = [message for message in messages[-1:] if message.role == MessageRole.USER]

    async def areset(self, *args: Any, **kwargs: Any) -> None:
        """Begin the conversation anew; what is remembered of it stays."""
        await super().areset(*args, **kwargs)
        self._turn, self._asked, self._latest = [], "", Before()
        if self._bot:
            await asyncio.to_thread(self._bot.begin_anew, self._person, self._chat)

    async def _ask(self, message: ChatMessage, before: list[ChatMessage]) -> None:
        words = message.content or ""
        question = f"{len(before)} {words}"
        if self._bot and question != self._asked:
            history = [{"role": one.role.value, "content": answer_of(one)} for one in before]
            self._asked = question
            self._latest = await asyncio.to_thread(self._bot.before, self._person, words, self._chat, history)

    async def _hear(self, messages: list[ChatMessage]) -> None:
        for message in messages:
            self._turn.append(message)
            if message.role == MessageRole.ASSISTANT and not calls_of(message) and message.content:
                turn, self._turn = self._turn, []
                await self._report(turn)

    async def _report(self, turn: list[ChatMessage]) -> None:
        results = {one.additional_kwargs.get("tool_call_id"): one.content or "" for one in turn if one.role == "tool"}
        calls: list[Any] = [
            {"name": call.tool_name, "arguments": arguments_of(call), "result": results.get(call.tool_call_id, "")}
            for message in turn
            for call in calls_of(message)
        ]
        user, assistant = ("\n".join(answer_of(one) for one in turn if one.role == side) for side in SIDES)
        if self._bot and user.strip():
            report: dict[str, Any] = {"recall_id": self._latest.recall_id, "tool_calls": calls or None}
            await asyncio.to_thread(self._bot.after, self._person, user, assistant.strip(), self._chat, **report)


def calls_of(message: ChatMessage) -> list[ToolCallBlock]:
    """The calls of tools in a message."""
    return [block for block in message.blocks if isinstance(block, ToolCallBlock)]


def arguments_of(call: ToolCallBlock) -> dict[str, Any]:
    """The arguments of a call as memory takes them."""
    return call.tool_kwargs if isinstance(call.tool_kwargs, dict) else {"arguments": call.tool_kwargs}


def answer_of(message: ChatMessage) -> str:
    """The words of a message; of what a ReActAgent writes down only its answer, not its thoughts."""
    words = message.content or ""
    is_reasoning = message.role == MessageRole.ASSISTANT and words.startswith("Thought:")
    return words.rpartition("Answer:")[2].strip() if is_reasoning else words
