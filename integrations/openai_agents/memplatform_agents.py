"""A session of the OpenAI Agents SDK that is a conversation of a memplatform, and memory before each answer.

A run's items are reported as one turn when its answer is there: then they are history, and remembered. `recall` is the
run's `call_model_input_filter`: what is known of the person goes into the instructions, and never into the history.
"""

import asyncio
import json
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from agents import TResponseInputItem
from agents.memory import SessionABC
from agents.run import CallModelData, ModelInputData
from memplatform_client.errors import MemplatformError
from memplatform_client.turns import Before, BotMemory, Reported, is_refused, words_of

MOST_TOOL_CALLS = 20


@dataclass(frozen=True)
class Turn:
    """An answered turn that memory has not taken; reported again, it is the same in all its parts."""

    key: str
    items: list[Any]
    recall_id: str | None


class MemplatformSession(SessionABC):
    """The conversation `session_id` of a person; another object with the same ids goes on with it."""

    def __init__(self, memory: BotMemory, person: str, session_id: str) -> None:
        self.session_id = session_id
        self._memory, self._person = memory, person
        self._pending: list[Any] = []  # of a turn that is not answered
        self._unsent: list[Turn] = []
        self._taken_back = 0
        self._asked, self._latest = "", Before()

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """The history as memory has it, a summary for what is long ago; then what it has not taken yet."""
        history = await asyncio.to_thread(self._stored)
        history = history[: len(history) - self._taken_back]
        items = [*history, *(item for turn in self._unsent for item in turn.items), *self._pending]
        return items if limit is None else items[-limit:] if limit > 0 else []

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Take the items of a run; with the answer to them they are a turn, which is reported.

        A turn that memory cannot take now is reported before the next one; one that it refuses is left out.
        """
        self._pending += items
        if not self._pending or not is_answer(self._pending[-1]):
            return
        self._unsent.append(Turn(uuid4().hex, self._pending, self._latest.recall_id))
        self._pending = []
        while self._unsent:
            try:
                reported = await asyncio.to_thread(self._report, self._unsent[0])
            except MemplatformError as error:  # of a memory that is strict
                if is_refused(error):
                    del self._unsent[0]
                raise
            if reported == "later":
                return
            del self._unsent[0]
            self._taken_back = 0 if reported == "taken" else self._taken_back

    async def pop_item(self) -> TResponseInputItem | None:
        """Take the newest item back. One that is stored already is left out by this object alone."""
        items = await self.get_items()
        if self._pending:
            return self._pending.pop()
        if self._unsent:
            items = self._unsent.pop().items
            self._pending = items[:-1]
            return items[-1]
        self._taken_back += bool(items)
        return items[-1] if items else None

    async def clear_session(self) -> None:
        """Begin the conversation anew; what is remembered of it stays."""
        self._pending, self._unsent, self._taken_back = [], [], 0
        await asyncio.to_thread(self._memory.begin_anew, self._person, self.session_id)

    async def recall(self, data: CallModelData[Any]) -> ModelInputData:
        """What is known that helps to answer goes into the instructions of a call of the model."""
        prompt = data.model_data
        last = next((n for n, item in reversed(list(enumerate(prompt.input))) if role(item) == "user"), None)
        if last is not None:
            words, before = words_of(prompt.input[last].get("content")), prompt.input[:last]  # type: ignore[union-attr]
            if words != self._asked:
                ask = (self._person, words, self.session_id, [dict(item) for item in before])
                self._asked, self._latest = words, await asyncio.to_thread(self._memory.before, *ask)
        text = "\n\n".join(part for part in (prompt.instructions, self._latest.text) if part)
        return ModelInputData(input=prompt.input, instructions=text or None)

    def _stored(self) -> list[Any]:
        return [item for row in self._memory.history(self._person, self.session_id) for item in items_of(row)]

    def _report(self, turn: Turn) -> Reported:
        texts = {side: [words_of(item["content"]) for item in turn.items if role(item) == side] for side in SIDES}
        outputs = {item["call_id"]: item for item in turn.items if item.get("type") == "function_call_output"}
        calls = [
            {
                "name": item["name"],
                "arguments": arguments(item["arguments"]),
                "result": str(outputs.get(item["call_id"], {}).get("output", "")),
            }
            for item in turn.items
            if item.get("type") == "function_call"
        ]
        return self._memory.report(
            self._person,
            *("\n".join(texts[side]) for side in SIDES),
            self.session_id,
            recall_id=turn.recall_id,
            tool_calls=calls[:MOST_TOOL_CALLS] or None,
            once=turn.key,
        )


SIDES = ("user", "assistant")


def role(item: Any) -> str:
    """Whose words an item is; empty where it is a call or a result."""
    return str(item.get("role", "")) if item.get("type", "message") == "message" else ""


def is_answer(item: Any) -> bool:
    """Whether a turn ends with it."""
    return role(item) == "assistant"


def arguments(text: str) -> Any:
    """The arguments of a call as memory takes them."""
    try:
        value = json.loads(text or "{}")
    except ValueError:
        value = None
    return value if isinstance(value, dict) else {"arguments": text}


def items_of(message: dict[str, Any]) -> list[Any]:
    """A message of the history as items of a run: the calls of tools that led to an answer stand before it."""
    side = message["role"] if message["role"] in SIDES else "developer"
    items: list[Any] = []
    for number, call in enumerate((message.get("data") or {}).get("tool_calls") or ()):
        reference = {"call_id": f"call_{message['position']}_{number}"}
        arguments_json = json.dumps(call.get("arguments") or {}, ensure_ascii=False)
        items.append({"type": "function_call", **reference, "name": call["name"], "arguments": arguments_json})
        items.append({"type": "function_call_output", **reference, "output": str(call.get("result") or "")})
    return [*items, {"role": side, "content": message["content"]}]
