"""The tools of memory, offered to the model and answered here; the bot sees only what it is to answer itself."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from channels_app.doors.openai.answer import Answer, calls_in, data_of, said_in
from channels_app.doors.openai.memory import Memory
from channels_app.doors.tools.definition import Form
from channels_app.doors.tools.registry import TOOLS

#: Times the tools of memory are answered before the model has to do without them.
MOST_ROUNDS = 8


class MemoryTools:
    """The tools of memory beside those of the bot; one whose name the bot uses itself is left to it."""

    def __init__(self, memory: Memory, payload: dict[str, Any], language: str) -> None:
        self._memory, self._rounds = memory, 0
        self._theirs: list[Any] = payload.get("tools") or []
        taken = {_name(tool) for tool in self._theirs}
        self._own = [tool for tool in TOOLS.values() if tool.name not in taken]
        self.names = {tool.name for tool in self._own}
        self._offered = [tool.definition(Form.OPENAI, language) for tool in self._own]

    def offered_in(self, payload: dict[str, Any]) -> dict[str, Any]:
        return {**payload, "tools": [*self._theirs, *self._offered]}

    def next_round(self, payload: dict[str, Any], message: dict[str, Any]) -> dict[str, Any] | None:
        """What the model is asked next, its calls answered; None where its message is for the bot.

        In a message that calls tools of the bot as well, those of memory are carried out, and the bot answers the
        others; the model sees in its next turn that it was not told more.
        """
        calls = calls_in(message)
        own = [call for call in calls if self._is_own(call)]
        if not own or self._rounds == MOST_ROUNDS:
            return None
        answers = self._memory.carry_out(own)
        if len(own) < len(calls):
            return None
        self._rounds += 1
        asked = {**payload, "messages": [*payload["messages"], message, *answers]}
        return asked if self._rounds < MOST_ROUNDS else self._without(asked)

    def without_own(self, message: dict[str, Any]) -> dict[str, Any]:
        """A message as the bot is to see it."""
        calls = [call for call in calls_in(message) if not self._is_own(call)]
        rest = {name: value for name, value in message.items() if name != "tool_calls"}
        return {**rest, "tool_calls": calls} if calls else rest

    def events_for_bot(self, events: Sequence[bytes], answer: Answer) -> Iterator[bytes]:
        """Events as the bot is to see them: the calls that are left are numbered anew."""
        numbers: dict[int, int] = {}
        for n, call in answer.numbered:
            if not self._is_own(call):
                numbers[n] = len(numbers)
        for event in events:
            told = data_of(event)
            said = said_in(told)
            if calls := calls_in(said):
                left = [call for call in calls if call.get("index", 0) in numbers]
                said["tool_calls"] = [{**call, "index": numbers[call.get("index", 0)]} for call in left]
                event = b"data: " + json.dumps(told).encode() + b"\n\n"
            yield event

    def _is_own(self, call: dict[str, Any]) -> bool:
        return _name(call) in self.names

    def _without(self, payload: dict[str, Any]) -> dict[str, Any]:
        if self._theirs:
            return {**payload, "tools": self._theirs}
        return {name: value for name, value in payload.items() if name not in ("tools", "tool_choice")}


def _name(tool: Any) -> Any:
    """The name of a tool, or of the tool a call means."""
    function = tool.get("function") if isinstance(tool, dict) else None
    return function.get("name") if isinstance(function, dict) else None
