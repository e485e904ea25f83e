"""POST /v1/responses, as OpenAI's newer clients call it: with memory before and the turn afterwards.

What is remembered stands in `instructions`, which hold for one answer and are no part of what the upstream keeps for
`previous_response_id`. A turn that goes on with tools of the bot is remembered with its last answer; where the bot
sends no more than what its tools answered, the question is that of the response it goes on from.
"""

import json
import re
from collections.abc import Iterator, Mapping
from threading import Lock
from typing import Any, ClassVar

import structlog
from cachetools import LRUCache
from django.http import HttpResponse
from rest_framework.request import Request
from rest_framework.status import HTTP_200_OK as HTTP_OK

from channels_app.doors.openai import upstream
from channels_app.doors.openai.answers import Asked, data_of, read_answer, read_messages
from channels_app.doors.openai.calls import Exchange, MemoryView
from channels_app.doors.openai.memory import Memory, MemoryTools, let_go
from channels_app.doors.tools.registry import Form
from memories.api.access import caller_of
from memories.api.calls import Method
from memories.choices import Permission
from sessions_app.models import in_language

log = structlog.get_logger(__name__)
PATH = "responses"
#: Questions of responses that called tools of their bot, by workspace and id, as far as this process has seen them.
_questions: LRUCache[tuple[int, str], Asked] = LRUCache(2_048)
_lock = Lock()
_RESPONSE_ID = re.compile(r"[A-Za-z0-9_-]{1,200}")
_STEPS_BACK = 8
CALL, RESULT = "function_call", "function_call_output"
#: What is called by a model, and waits for an answer of the bot where it comes with none.
CALLS = frozenset(
    {CALL, "custom_tool_call", "computer_call", "shell_call", "local_shell_call", "apply_patch_call"}
    | {"mcp_approval_request"}
)
#: Of these, what may be answered in words; and what is, beside a call of memory.
AGAIN = (CALL, "custom_tool_call")
CALL_AGAIN = {
    "en": "Not carried out, as a tool of memory was called with it. If it is still needed, call it again by itself.",
    "zh-hans": "没有执行，因为同时调用了记忆的工具。如果仍然需要，请单独再调用一次。",
}


def read_input(input_value: Any) -> Asked | None:
    """What is asked, and what was said before it: a text, or items; None where no user says a word in it."""
    if isinstance(input_value, str):
        return read_messages([{"role": "user", "content": input_value}])
    if not isinstance(input_value, list):
        return None
    # Each item as a message of a chat; what has no words of anybody, as a reasoning has, is none
    messages: list[dict[str, Any]] = []
    for item in input_value:
        if not isinstance(item, dict):
            continue
        if item.get("type") == CALL:
            function = {"name": item.get("name"), "arguments": item.get("arguments")}
            calls = [{"id": item.get("call_id"), "function": function}]
            messages.append({"role": "assistant", "tool_calls": calls})
        elif item.get("type") == RESULT:
            messages.append({"role": "tool", "tool_call_id": item.get("call_id"), "content": item.get("output")})
        elif item.get("role"):
            messages.append({"role": item.get("role"), "content": item.get("content")})
    return read_messages(messages)


class ModelOutput:
    """What a model has said so far in a response, and which tools it called."""

    def __init__(self) -> None:
        self.id = ""
        self.calls: list[dict[str, Any]] = []
        self._deltas: list[str] = []
        self._text: str | None = None

    @property
    def text(self) -> str:
        """Its words."""
        return "".join(self._deltas) if self._text is None else self._text

    def add(self, data: Any) -> None:
        """An event of a stream, or a whole response; what is neither says nothing."""
        if not isinstance(data, dict):
            return
        if data.get("type") == "response.output_text.delta" and isinstance(data.get("delta"), str):
            self._deltas.append(data["delta"])
            return
        inner = data.get("response")
        response: dict[str, Any] = inner if isinstance(inner, dict) else data
        if isinstance(response.get("id"), str):
            self.id = response["id"]
        output = response.get("output")
        if response.get("object") == "response" and isinstance(output, list) and output:
            items = [item for item in output if isinstance(item, dict)]
            answered = {item.get("call_id") for item in items if str(item.get("type")).endswith("_output")}
            calls = [item for item in items if item.get("type") in CALLS]
            self.calls = [call for call in calls if call.get("call_id") is None or call["call_id"] not in answered]
            parts = [part for item in items if item.get("type") == "message" for part in item.get("content") or ()]
            texts = [part.get("text") for part in parts if isinstance(part, dict)]
            self._text = "".join(text for text in texts if isinstance(text, str))


class ResponseTools(MemoryTools):
    """The tools of memory in a response."""

    form = Form.OPENAI_RESPONSES

    def is_own(self, item: Mapping[str, Any]) -> bool:
        """Whether an item calls a tool of memory."""
        return item.get("type") == CALL and item.get("name") in self.names

    def next_round(self, payload: dict[str, Any], output: ModelOutput, items: list[Any]) -> dict[str, Any] | None:
        """What is asked next, the calls answered; None where none is of memory, or only the bot can answer one.

        A function of the bot that is called beside is to be called again: the upstream takes no call without its
        output, and the bot would have to answer what it does not know.
        """
        own = [call for call in output.calls if self.is_own(call)]
        theirs = [call for call in output.calls if not self.is_own(call)]
        if not own or any(call.get("type") not in AGAIN for call in theirs):
            return None
        calls = [
            {
                "id": str(call.get("call_id")),
                "type": "function",
                "function": {"name": call.get("name"), "arguments": call.get("arguments") or "{}"},
            }
            for call in own
        ]
        answers = self._memory.carry_out(calls)
        results = [
            {"type": RESULT, "call_id": answer["tool_call_id"], "output": answer["content"]} for answer in answers
        ]
        again = in_language(CALL_AGAIN, self._language)
        results += [
            {"type": f"{call['type']}_output", "call_id": str(call.get("call_id")), "output": again} for call in theirs
        ]
        self.rounds += 1
        input_value = payload.get("input")
        before = [{"role": "user", "content": input_value}] if isinstance(input_value, str) else list(input_value or [])
        return self.offered_in({**payload, "input": [*before, *items, *results]})


class ResponsesView(MemoryView):
    """A response with memory."""

    methods: ClassVar = {"POST": Method("response", Permission.WRITE, None)}
    user_fields = ("user", "safety_identifier")

    def asked_in(self, request: Request, body: dict[str, Any]) -> Asked | None:
        if prompt := read_input(body.get("input")):
            return prompt
        # The question of a response that went on with tools of its bot. What another process has seen is asked of the
        # upstream, which keeps what such a response was asked
        workspace, response = caller_of(request).workspace_id, body.get("previous_response_id")
        for _step in range(_STEPS_BACK):
            if not (isinstance(response, str) and _RESPONSE_ID.fullmatch(response)):
                return None
            with _lock:
                if prompt := _questions.get((workspace, response)):
                    return prompt
            let_go()
            items = _kept(f"{PATH}/{response}/input_items?limit=100").get("data")
            if isinstance(items, list) and (prompt := read_input(items[::-1])):  # the newest come first
                return prompt
            response = _kept(f"{PATH}/{response}").get("previous_response_id")
        return None

    def exchange(
        self, memory: Memory, prompt: Asked | None, body: dict[str, Any], *, text: str, has_tools: bool
    ) -> "ResponseExchange":
        caller = caller_of(self.request)
        # A text of memory stands behind the bot's own instructions
        payload, own = dict(body), body.get("instructions")
        if text and (own is None or isinstance(own, str)):
            payload["instructions"] = f"{own}\n\n{text}" if own else text
        theirs = payload["tools"] if isinstance(payload.get("tools"), list) else []
        tools = ResponseTools(memory, theirs, caller.language) if has_tools else None
        let_go()
        return ResponseExchange(memory, prompt, caller.workspace_id, payload, tools)


class ResponseExchange(Exchange[ModelOutput, ResponseTools]):
    """The rounds of a response."""

    path = PATH

    def __init__(
        self, memory: Memory, prompt: Asked | None, workspace: int, payload: dict[str, Any], tools: ResponseTools | None
    ) -> None:
        self._prompt, self._workspace = prompt, workspace
        super().__init__(memory, payload, tools, ModelOutput)

    def remember(self) -> None:
        if not 200 <= self.response.status < 300 or self._prompt is None:
            return
        if self._output.calls:
            if self._output.id:
                with _lock:
                    _questions[self._workspace, self._output.id] = self._prompt
            return
        self._memory.remember(self._output.text)

    def whole(self) -> HttpResponse:
        """The answer of the last round as it came."""
        while True:
            content = upstream.read(self.response)
            data = read_answer(content)
            self._output = ModelOutput()
            self._output.add(data)
            if not self._goes_on(data):
                return self._passed(content)

    def _with_tools(self, tools: ResponseTools) -> Iterator[bytes]:
        """Events wait until it is clear what the model does first; where it calls a function, for all of them.

        So the bot sees no call that is to be made again.
        """
        while True:
            held_events: list[bytes] = []
            speaks, has_call, last = False, False, None
            for event in self._events():
                data = data_of(event)
                if isinstance(data, dict) and isinstance(data.get("response"), dict):
                    last = data["response"]
                held_events.append(event)
                # The kind of item that the event begins, if any
                is_added = isinstance(data, dict) and data.get("type") == "response.output_item.added"
                item = data.get("item") if is_added else None
                kind = str(item.get("type")) if isinstance(item, dict) else ""
                has_call = has_call or kind in AGAIN
                speaks = speaks or not (has_call or kind in ("", "reasoning"))
                if speaks:
                    yield from held_events
                    held_events = []
            if speaks or not self._goes_on(last):
                yield from held_events
                return

    def _error_event(self, problem: dict[str, Any]) -> bytes:
        data = json.dumps({"type": "error", **problem})
        return b"\n\nevent: error\ndata: " + data.encode() + b"\n\n"

    def _goes_on(self, data: Any) -> bool:
        """Whether the model was asked again, with what memory answered to its calls."""
        items = data.get("output") if isinstance(data, dict) else None
        following = (
            self._tools.next_round(self._payload, self._output, items)
            if self._tools and isinstance(items, list) and 200 <= self.response.status < 300
            else None
        )
        if following is None:
            return False
        self.response.close()
        self._ask(following)
        return True


def _kept(path: str) -> dict[str, Any]:
    """What the upstream keeps under a path; nothing where it keeps none, or cannot be asked."""
    try:
        answer = upstream.ask("GET", path)
        content = upstream.read(answer)
    except upstream.FAILURES:
        return {}
    data = read_answer(content) if answer.status == HTTP_OK else None
    return data if isinstance(data, dict) else {}
