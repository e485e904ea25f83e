"""The memory service of the Agent Development Kit (ADK), and a plugin with which no model has to think of it.

ADK names the person (`user_id`) and the conversation (`session_id`). What one invocation said is one turn, reported
when its answer is there; an invocation that comes again, in a longer session or by itself, is the same turn.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

from google.adk.agents.callback_context import CallbackContext
from google.adk.agents.invocation_context import InvocationContext
from google.adk.events.event import Event
from google.adk.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.models.llm_request import LlmRequest
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.sessions.session import Session
from google.genai import types
from memplatform_client.turns import Before, BotMemory

#: Seconds for which the platform itself knows a turn that comes again; and invocations that are kept in mind.
KNOWN_AGAIN, MOST = 20 * 3_600, 10_000
PERSON = "user"


class MemplatformMemoryService(BaseMemoryService):
    """The memories of a bot's people. Another `app_name` is another bot: give it a key, and a service, of its own."""

    def __init__(self, bot: BotMemory) -> None:
        self.bot = bot
        self._reported: OrderedDict[tuple[str, str], None] = OrderedDict()

    async def add_session_to_memory(self, session: Session) -> None:
        """Have the turns of a session remembered that are not yet."""
        await self._add(session.user_id, session.id, session.events)

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Event],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Have the turns among these events remembered that are not yet."""
        await self._add(user_id, session_id or "", events)

    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[MemoryEntry],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Remember sentences as they are."""
        for memory in memories:
            await asyncio.to_thread(self.bot.save, user_id, words_of(memory.content))

    async def search_memory(self, *, app_name: str, user_id: str, query: str) -> SearchMemoryResponse:
        """The memories of a person that bear on some words, the best first."""
        rows = await asyncio.to_thread(self.bot.search, user_id, query)
        return SearchMemoryResponse(
            memories=[
                MemoryEntry(
                    id=row["id"],
                    content=types.Content(role="user", parts=[types.Part(text=row["content"])]),
                    timestamp=str(row["created_at"]),
                    custom_metadata={"scope": row["scope"], "score": row["score"]},
                )
                for row in rows
            ]
        )

    async def delete_memory(self, *, app_name: str, user_id: str, memory_id: str | None = None) -> None:
        """Forget one memory, if it is this person's."""
        if memory_id:
            await asyncio.to_thread(
                self.bot.tried, "a memory is not deleted", lambda: self._delete(user_id, memory_id), None
            )

    def _delete(self, person: str, memory_id: str) -> None:
        own = self.bot.client.resolve_address(address=self.bot.address(person))["user_scope"]
        if self.bot.client.read_entry(memory_id)["scope"] == own:
            self.bot.client.delete_entry(memory_id)

    async def _add(self, person: str, chat: str, events: Sequence[Event]) -> None:
        turns: dict[str, list[Event]] = {}
        for event in events:
            turns.setdefault(event.invocation_id or event.id, []).append(event)
        there: set[tuple[str, str]] | None = None
        for key, turn in turns.items():
            user, assistant = sides(turn)
            if not user or not assistant or (f"{person}/{chat}", key) in self._reported:
                continue
            if datetime.now(UTC).timestamp() - turn[-1].timestamp > KNOWN_AGAIN:
                there = await asyncio.to_thread(self._there, person, chat) if there is None else there
            if (user, assistant) in (there or ()) or await asyncio.to_thread(self._report, person, chat, key, turn):
                self._reported[f"{person}/{chat}", key] = None
                if len(self._reported) > MOST:
                    self._reported.popitem(last=False)

    def _there(self, person: str, chat: str) -> set[tuple[str, str]]:
        rows = self.bot.history(person, chat)
        return {(one["content"], other["content"]) for one, other in pairwise(rows)}

    def _report(self, person: str, chat: str, key: str, turn: list[Event]) -> bool:
        results = {one.id: one.response for event in turn for one in event.get_function_responses()}
        calls: list[Any] = [
            {"name": call.name, "arguments": dict(call.args or {}), "result": str(results.get(call.id, ""))}
            for event in turn
            for call in event.get_function_calls()
        ]
        when = datetime.fromtimestamp(turn[0].timestamp, UTC)
        once = f"{person}/{chat}/{key}"
        return self.bot.after(person, *sides(turn), chat, tool_calls=calls or None, once=once, at=when)


class MemplatformPlugin(BasePlugin):
    """What is known goes into the instructions of an invocation, and its turn into memory when it is answered."""

    def __init__(self, service: MemplatformMemoryService) -> None:
        super().__init__(name="memplatform")
        self._service = service
        self._contexts: OrderedDict[str, Before] = OrderedDict()

    async def before_model_callback(self, *, callback_context: CallbackContext, llm_request: LlmRequest) -> None:
        """Memory is asked once for an invocation; what it says is in no event of the session."""
        key, session = callback_context.invocation_id, callback_context.session
        if key not in self._contexts:
            earlier = [event for event in session.events if event.invocation_id != key]
            ask = (words_of(callback_context.user_content), session.id, [as_history(event) for event in earlier])
            self._contexts[key] = await asyncio.to_thread(self._service.bot.before, session.user_id, *ask)
            if len(self._contexts) > MOST:
                self._contexts.popitem(last=False)
        if self._contexts[key].text:
            llm_request.append_instructions([self._contexts[key].text])

    async def after_run_callback(self, *, invocation_context: InvocationContext) -> None:
        """Report the turn."""
        session, key = invocation_context.session, invocation_context.invocation_id
        self._contexts.pop(key, None)
        turn = [event for event in session.events if event.invocation_id == key]
        await self._service.add_events_to_memory(
            app_name=session.app_name, user_id=session.user_id, session_id=session.id, events=turn
        )


def words_of(content: types.Content | None) -> str:
    """The words of a content, without pictures, calls and thoughts."""
    parts = (content.parts if content else None) or ()
    return "\n".join(part.text for part in parts if part.text and not part.thought)


def as_history(event: Event) -> dict[str, str]:
    """An event as a message; empty where it has no words."""
    return {"role": "user" if event.author == PERSON else "assistant", "content": words_of(event.content)}


def sides(turn: Sequence[Event]) -> tuple[str, str]:
    """What the person said, and what was answered in the end."""
    user = [words_of(event.content) for event in turn if event.author == PERSON]
    answers = [words_of(event.content) for event in turn if event.author != PERSON and event.is_final_response()]
    return "\n".join(filter(None, user)), "\n".join(filter(None, answers))
