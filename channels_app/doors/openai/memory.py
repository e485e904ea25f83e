"""Memory for a chat: the context before, the turn afterwards, and its tools, which are answered here."""

import io
import json
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

import structlog
from django.core.handlers.wsgi import WSGIRequest
from django.db import connection
from django.http import HttpResponseBase
from rest_framework.request import Request

from channels_app.api.context import ContextView
from channels_app.api.tools import ToolCallView
from channels_app.api.turns import TurnsView
from channels_app.doors.openai.answers import Answer, Asked, calls_in, cut, data_of, message_in
from channels_app.doors.tools.registry import TOOLS, Form
from memories.api.access import caller_of
from memories.language.text import is_blank
from memories.tenancy import row_level_security
from sessions_app.models import in_language

log = structlog.get_logger(__name__)
View = Callable[[WSGIRequest], HttpResponseBase]
#: The chat was counted already.
CONTEXT: View = ContextView.as_view(throttle_classes=[])
TURNS: View = TurnsView.as_view(throttle_classes=[])
TOOL_CALLS: View = ToolCallView.as_view(throttle_classes=[])
#: What each of these calls is told of the chat's own request.
NOT_REACHED = {
    "en": "Memory cannot be reached at the moment. Answer without it, and say so.",
    "zh-hans": "暂时无法访问记忆。请在没有记忆的情况下回答，并说明这一点。",
}
_HEADERS = ("HTTP_AUTHORIZATION", "HTTP_X_MEMPLATFORM_NOW")
_ONCE = "HTTP_IDEMPOTENCY_KEY"
#: A turn waits for others of its session for so many times so many seconds.
BUSY_TIMES, BUSY_SECONDS = 40, 0.25


class Memory:
    """What memory does for one chat, and what it could not do: `degraded`."""

    def __init__(self, request: Request, address: dict[str, Any] | None, prompt: Asked | None) -> None:
        self._meta, self._language = request.META, caller_of(request).language
        self._address, self._prompt = address, prompt
        self.degraded = [] if address or not prompt else ["speaker"]
        self.recall_id = ""
        self._log = structlog.contextvars.get_contextvars()  # a stream ends when its request has been logged

    @property
    def is_on(self) -> bool:
        """Whether it is known who speaks, and words were said."""
        return self._address is not None and self._prompt is not None

    def context(self, *, tools: bool) -> str:
        """What is remembered, as a text for the model; empty where there is nothing, or nobody knows who asks."""
        if self._prompt is None or self._address is None:
            return ""
        body = {"message": self._prompt.question, "client_history": self._prompt.before, "tools": tools}
        context = self._call("context", CONTEXT, body)
        if context is None:
            return ""
        self.recall_id = str(context["recall_id"] or "")
        self.degraded += context["degraded"]
        return str(context["text"])

    def remember(self, answer: str) -> None:
        """The turn, once there is an answer; the same as sent before under its Idempotency-Key is stored once."""
        if self._prompt is None or self._address is None or is_blank(answer):
            return
        turn: dict[str, Any] = {
            "user": self._prompt.question,
            "assistant": cut(answer),
            "recall_id": self.recall_id or None,
        }
        turn |= {"tool_calls": self._prompt.calls} if self._prompt.calls else {}
        self._call("turn", TURNS, turn, **{_ONCE: self._meta[_ONCE]} if _ONCE in self._meta else {})

    def carry_out(self, calls: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """The answers to a model's calls of the tools of memory, as messages."""
        answer = self._call("tools", TOOL_CALLS, {"calls": list(calls)})
        if answer is not None:
            return list(answer["messages"])
        content = in_language(NOT_REACHED, self._language)
        return [{"role": "tool", "tool_call_id": call.get("id", ""), "content": content} for call in calls]

    def _call(self, part: str, view: View, body: dict[str, Any], **meta: str) -> Any:
        """What a call of the API answers; where it fails, its code is among what is degraded."""
        content = json.dumps({"address": self._address, **body}).encode()
        for _attempt in range(BUSY_TIMES):
            environ = {
                "REQUEST_METHOD": "POST",
                "PATH_INFO": f"/v1/chat/completions/{part}",
                "CONTENT_TYPE": "application/json",
                "CONTENT_LENGTH": str(len(content)),
                "wsgi.input": io.BytesIO(content),
                **{name: self._meta[name] for name in _HEADERS if name in self._meta},
                **meta,
            }
            try:
                answer: Any = view(WSGIRequest(environ))
            finally:
                let_go()
            if answer.status_code < 300:
                return answer.data
            code = answer.data["errors"][0]["code"]
            if code != "session_busy":
                break
            time.sleep(BUSY_SECONDS)
        if code != "idempotency_key_taken":
            log.warning("proxy.degraded", **self._log, part=part, status=answer.status_code, code=code)
            self.degraded.append(f"{part}:{code}")
        return None


def let_go() -> None:
    """Give the connection to the database back: nobody holds one while a model thinks."""
    row_level_security.leave()
    connection.close()


#: Times the tools of memory are answered before the model has to do without them.
MOST_ROUNDS = 8


class MemoryTools:
    """The tools of memory beside those of the bot; one whose name the bot uses itself is left to it."""

    form: ClassVar[Form]

    def __init__(self, memory: Memory, theirs: list[Any], language: str) -> None:
        self._memory, self._theirs, self._language, self.rounds = memory, theirs, language, 0
        their_names = {name_of(tool) for tool in theirs}
        own = [tool for tool in TOOLS.values() if tool.name not in their_names]
        self.names = {tool.name for tool in own}
        self._offered = [tool.definition(self.form, language) for tool in own]

    def offered_in(self, payload: dict[str, Any]) -> dict[str, Any]:
        """What is asked, with the tools of memory beside those of the bot, as long as they may be used."""
        tools = [*self._theirs, *(self._offered if self.rounds < MOST_ROUNDS else [])]
        rest = {name: value for name, value in payload.items() if name != "tools"}
        return {**rest, "tools": tools} if tools else {n: v for n, v in rest.items() if n != "tool_choice"}


class ChatTools(MemoryTools):
    """The tools of memory in a chat completion."""

    form = Form.OPENAI

    def next_round(self, payload: dict[str, Any], message: dict[str, Any]) -> dict[str, Any] | None:
        """What the model is asked next, its calls answered; None where its message is for the bot.

        In a message that calls tools of the bot as well, those of memory are carried out, and the bot answers the
        others; the model sees in its next turn that it was not told more.
        """
        calls = calls_in(message)
        own = [call for call in calls if self._is_own(call)]
        if not own or self.rounds == MOST_ROUNDS:
            return None
        answers = self._memory.carry_out(own)
        if len(own) < len(calls):
            return None
        self.rounds += 1
        return self.offered_in({**payload, "messages": [*payload["messages"], message, *answers]})

    def without_own(self, message: dict[str, Any]) -> dict[str, Any]:
        """A message as the bot is to see it."""
        calls = [call for call in calls_in(message) if not self._is_own(call)]
        rest = {name: value for name, value in message.items() if name != "tool_calls"}
        return {**rest, "tool_calls": calls} if calls else rest

    def events_for_bot(self, events: Sequence[bytes], answer: Answer) -> Iterator[bytes]:
        """Events as the bot is to see them: the calls that are left are numbered anew."""
        numbers: dict[int, int] = {}
        for n, call in answer.by_number.items():
            if not self._is_own(call):
                numbers[n] = len(numbers)
        for event in events:
            data = data_of(event)
            message = message_in(data)
            if calls := calls_in(message):
                bot_calls = [call for call in calls if call.get("index", 0) in numbers]
                message["tool_calls"] = [{**call, "index": numbers[call.get("index", 0)]} for call in bot_calls]
                event = b"data: " + json.dumps(data).encode() + b"\n\n"
            yield event

    def _is_own(self, call: dict[str, Any]) -> bool:
        return name_of(call) in self.names


def name_of(tool: Any) -> Any:
    """The name of a tool, or of the tool a call means, in either of OpenAI's forms."""
    function = tool.get("function", tool) if isinstance(tool, dict) else None
    return function.get("name") if isinstance(function, dict) else None
