"""Memory for agents of AutoGen: known before each answer, and each answered turn remembered.

An agent of AutoGen is one conversation with its state, so the memory is of one person and one chat. `Memory` is asked
before an answer and hears of none; the context of the model hears both sides, so it is what reports.
"""

import asyncio
import json
from collections.abc import Mapping
from typing import Any

from autogen_core import CancellationToken
from autogen_core.memory import Memory, MemoryContent, MemoryMimeType, MemoryQueryResult, UpdateContextResult
from autogen_core.model_context import ChatCompletionContext, UnboundedChatCompletionContext
from autogen_core.models import (
    AssistantMessage,
    FunctionExecutionResultMessage,
    LLMMessage,
    SystemMessage,
    UserMessage,
)
from memplatform_client.turns import Before, BotMemory, words_of


class MemplatformMemory(Memory):
    """What is remembered of a person. `source` is the name under which their messages come to the agent."""

    def __init__(self, memory: BotMemory, person: str, chat: str = "", source: str = "user") -> None:
        self._memory, self._person, self._chat, self._source = memory, person, chat, source
        self.latest = Before()

    def context(self, within: ChatCompletionContext | None = None) -> "MemplatformContext":
        """The `model_context` of the agent, which reports its turns; the messages are kept by the one within."""
        return MemplatformContext(self, within or UnboundedChatCompletionContext())

    async def update_context(self, model_context: ChatCompletionContext) -> UpdateContextResult:
        """What is known that helps to answer goes before the messages."""
        messages = [message for message in await model_context.get_messages() if message.type != "SystemMessage"]
        last = next((n for n, message in reversed(list(enumerate(messages))) if self.says(message)), None)
        if last is None:
            return UpdateContextResult(memories=MemoryQueryResult(results=[]))
        history = [row for message in messages[:last] if (row := self.as_history(message))]
        ask = (self._person, words_of(messages[last].content), self._chat, history)
        self.latest = await asyncio.to_thread(self._memory.before, *ask)
        if self.latest.text and not isinstance(model_context, MemplatformContext):
            await model_context.add_message(SystemMessage(content=self.latest.text))
        results = [MemoryContent(content=self.latest.text, mime_type=MemoryMimeType.TEXT)] if self.latest.text else []
        return UpdateContextResult(memories=MemoryQueryResult(results=results))

    async def query(
        self, query: str | MemoryContent, cancellation_token: CancellationToken | None = None, **kwargs: Any
    ) -> MemoryQueryResult:
        """The memories that bear on some words, the best first."""
        words = str(query.content if isinstance(query, MemoryContent) else query)
        rows = await asyncio.to_thread(self._memory.search, self._person, words)
        fields = ("id", "scope", "created_at", "score")
        return MemoryQueryResult(
            results=[
                MemoryContent(
                    content=row["content"], mime_type=MemoryMimeType.TEXT, metadata={name: row[name] for name in fields}
                )
                for row in rows
            ]
        )

    async def add(self, content: MemoryContent, cancellation_token: CancellationToken | None = None) -> None:
        """Remember one sentence."""
        await asyncio.to_thread(self._memory.save, self._person, str(content.content), self._chat)

    async def clear(self) -> None:
        """Begin the conversation anew. What is remembered stays: its owner erases it, and no bot."""
        await asyncio.to_thread(self._memory.begin_anew, self._person, self._chat)

    async def close(self) -> None:
        """Leave the connections to the BotMemory, which others share."""

    def says(self, message: LLMMessage) -> bool:
        """Whether it is the person who says it, and not another agent."""
        return isinstance(message, UserMessage) and message.source == self._source

    def as_history(self, message: LLMMessage) -> dict[str, str] | None:
        """A message of a conversation as memory takes it; none of what agents and tools say among themselves."""
        if isinstance(message, AssistantMessage) and isinstance(message.content, str):
            return {"role": "assistant", "content": message.content}
        return {"role": "user", "content": words_of(message.content)} if self.says(message) else None

    async def report(self, turn: list[LLMMessage]) -> None:
        """Have a turn remembered in which the person said something."""
        user = "\n".join(words_of(message.content) for message in turn if self.says(message))
        results = {
            result.call_id: result.content
            for message in turn
            if isinstance(message, FunctionExecutionResultMessage)
            for result in message.content
        }
        calls: list[Any] = [
            {"name": call.name, "arguments": arguments(call.arguments), "result": results.get(call.id, "")}
            for message in turn
            if isinstance(message, AssistantMessage) and not isinstance(message.content, str)
            for call in message.content
        ]
        answers = [message.content for message in turn if isinstance(message, AssistantMessage)]
        assistant = "\n".join(words for words in answers if isinstance(words, str)) or "\n".join(results.values())
        if user and assistant:
            outcome: dict[str, Any] = {"recall_id": self.latest.recall_id, "tool_calls": calls or None}
            await asyncio.to_thread(self._memory.after, self._person, user, assistant, self._chat, **outcome)


class MemplatformContext(ChatCompletionContext):
    """The messages of an agent. What memory says stands before them, and is never one of them."""

    def __init__(self, memory: MemplatformMemory, within: ChatCompletionContext) -> None:
        super().__init__()
        self._memory, self._within = memory, within
        self._turn: list[LLMMessage] = []

    async def add_message(self, message: LLMMessage) -> None:
        """Take a message; with the answer the turn is reported. A tool's result is one where no words follow it."""
        await self._within.add_message(message)
        if self._memory.says(message) and any(isinstance(one, FunctionExecutionResultMessage) for one in self._turn):
            await self._report()
        self._turn.append(message)
        if isinstance(message, AssistantMessage) and isinstance(message.content, str):
            await self._report()

    async def _report(self) -> None:
        turn, self._turn = self._turn, []
        await self._memory.report(turn)

    async def get_messages(self) -> list[LLMMessage]:
        """What memory says, and the messages."""
        text = self._memory.latest.text
        return [*([SystemMessage(content=text)] if text else []), *await self._within.get_messages()]

    async def clear(self) -> None:
        """Drop the messages."""
        self._turn, self._memory.latest = [], Before()
        await self._within.clear()

    async def save_state(self) -> Mapping[str, Any]:
        """The state of the messages."""
        return await self._within.save_state()

    async def load_state(self, state: Mapping[str, Any]) -> None:
        """Go on with messages that were saved."""
        await self._within.load_state(state)


def arguments(text: str) -> Any:
    """The arguments of a call as memory takes them: each value under its name."""
    try:
        value = json.loads(text or "{}")
    except ValueError:
        value = None
    return value if isinstance(value, dict) else {"arguments": text}
