"""Memory as a capability of Pydantic AI: known before each run, reported after it, and tools for the model to look."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from memplatform_client.turns import Before, BotMemory
from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, UserPromptPart
from pydantic_ai.run import AgentRunResult
from pydantic_ai.toolsets import FunctionToolset


@dataclass
class MemplatformMemory(AbstractCapability[Any]):
    """The memory of whoever a run is for, as `person` finds them in it; by default its `deps` are their id."""

    memory: BotMemory
    person: Callable[[RunContext[Any]], str] = lambda ctx: str(ctx.deps)
    chat: Callable[[RunContext[Any]], str] = lambda ctx: ctx.conversation_id or ""
    tools: bool = True
    latest: Before = field(default_factory=Before)

    async def for_run(self, ctx: RunContext[Any]) -> AbstractCapability[Any]:
        """A copy for one run, which knows what memory says to its prompt."""
        ask = (self.person(ctx), words_of_prompt(ctx.prompt), self.chat(ctx), plain_history(ctx.messages))
        return replace(self, latest=await asyncio.to_thread(self.memory.before, *ask))

    def get_instructions(self) -> str | None:
        """What is known that helps to answer."""
        return self.latest.text or None

    def get_toolset(self) -> FunctionToolset[Any] | None:
        """Tools with which the model searches the person's memory, and saves to it."""
        if not self.tools:
            return None
        toolset: FunctionToolset[Any] = FunctionToolset(id="memplatform")

        @toolset.tool
        async def memory_search(ctx: RunContext[Any], words: str) -> list[str]:
            """Search what is remembered of the user. Call it before you answer anything about the past."""
            rows = await asyncio.to_thread(self.memory.search, self.person(ctx), words)
            return [row["content"] for row in rows]

        @toolset.tool
        async def memory_save(ctx: RunContext[Any], sentence: str) -> str:
            """Save what the user asks to remember, as one full sentence that stands by itself."""
            entry_id = await asyncio.to_thread(self.memory.save, self.person(ctx), sentence, self.chat(ctx))
            return "It is remembered." if entry_id else "It could not be saved."

        return toolset

    async def after_run(self, ctx: RunContext[Any], *, result: AgentRunResult[Any]) -> AgentRunResult[Any]:
        """Have the turn remembered."""
        await asyncio.to_thread(
            self.memory.after,
            self.person(ctx),
            words_of_prompt(ctx.prompt),
            str(result.output),
            self.chat(ctx),
            recall_id=self.latest.recall_id,
            once=ctx.run_id or "",
        )
        return result


def words_of_prompt(prompt: Any) -> str:
    """The words of a prompt, its pictures left out."""
    parts = [prompt] if isinstance(prompt, str) else prompt or ()
    return "\n".join(part for part in parts if isinstance(part, str))


def plain_history(messages: list[ModelMessage]) -> list[dict[str, str]]:
    """The messages a run begins with, as memory takes them, so that what they say is not told twice."""
    history = []
    for message in messages:
        match message:
            case ModelRequest(parts=parts):
                words = [words_of_prompt(part.content) for part in parts if isinstance(part, UserPromptPart)]
                history.append({"role": "user", "content": "\n".join(words)})
            case ModelResponse(parts=parts):
                words = [part.content for part in parts if isinstance(part, TextPart)]
                history.append({"role": "assistant", "content": "\n".join(words)})
    return history
