"""A model and an embedder of OpenAI's form on this machine.

The model knows what a request holds, and deploys when it is asked to; or its facts are written down before.
"""

import hashlib
import json
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import takewhile
from typing import Any, ClassVar
from uuid import uuid4

MODEL = "scripted"
DIMENSIONS = 64
#: How a person has it call a tool, on a line of its own: the name, and the arguments as JSON.
CALL = re.compile(r"^Call (\w+) with (\{[^{}]*\})$", re.MULTILINE)
_WORD = re.compile(r"[\u4e00-\u9fff]|[^\W_\u4e00-\u9fff]+")


def vector(text: str) -> list[float]:
    """Words, each at a place of its own: texts with the same words lie together."""
    places = [0.001] * DIMENSIONS
    for word in _WORD.findall(text.casefold()):
        places[hashlib.md5(word.encode(), usedforsecurity=False).digest()[0] % DIMENSIONS] += 1.0
    return places


class Handler(BaseHTTPRequestHandler):
    """Its calls; `inputs` are those of the responses it keeps, `requests` what it was asked, `script` what it makes
    facts of.
    """

    protocol_version = "HTTP/1.1"
    requests: ClassVar[list[Any]] = []
    inputs: ClassVar[dict[str, list[Any]]] = {}
    script: ClassVar[Mapping[str, Sequence[str]] | None] = None

    def do_GET(self) -> None:
        if "/input_items" in self.path:
            kept = self.inputs.get(self.path.split("/")[3], [])[::-1]
            self._send({"object": "list", "data": kept, "has_more": False})
            return
        self._send({"id": self.path.rpartition("/")[2], "object": "model", "created": 0, "owned_by": "x"})

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.requests.append(asked)
        if self.path.endswith("/embeddings"):
            self._send(embedded(asked))
            return
        if self.script is not None:
            self._send(scripted_facts(asked, self.script))
            return
        answer = Responses(asked) if self.path.endswith("/responses") else Chat(asked)
        if isinstance(asked.get("input"), list):
            self.inputs[answer.id] = asked["input"]
        if asked.get("stream"):
            self._stream(answer.events())
        else:
            self._send(answer.whole())

    def _send(self, data: Any) -> None:
        body = json.dumps(data).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("x-request-id", "req_1")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _stream(self, events: Iterator[bytes]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        for event in events:
            self.wfile.write(event)
            self.wfile.flush()
        self.close_connection = True

    def log_message(self, *args: Any) -> None:
        pass


@contextmanager
def scripted_model(script: Mapping[str, Sequence[str]] | None = None) -> Iterator[str]:
    """Its base_url. With a script, a message with a word of it becomes the facts written there, any other none."""
    handler = type("Scripted", (Handler,), {"script": script})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def written_in(message: dict[str, Any]) -> str:
    """The words of a message, one part of it after another."""
    content = message["content"]
    return content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)


class Answer:
    """What the model says to a request: a call of a tool, or words."""

    def __init__(self, asked: dict[str, Any]) -> None:
        self.id = f"resp_{uuid4().hex}"
        request = json.dumps(asked)
        tools = [tool.get("name") or (tool.get("function") or {}).get("name") for tool in asked.get("tools") or ()]
        has_result = "function_call_output" in request or '"role": "tool"' in request
        self.tool = tools[0] if tools and "deploy the shop" in request.casefold() and not has_result else None
        self.arguments = "{}"
        newest = takewhile(lambda message: message["role"] == "user", reversed(asked.get("messages") or []))
        wanted = CALL.search("\n".join(map(written_in, newest)))
        if wanted and wanted[1] in tools:
            self.tool, self.arguments = wanted[1], wanted[2]
        self.text = (
            "Deployed." if has_result else "It is called Wren." if "called Wren" in request else "I do not know."
        )


class Chat(Answer):
    """It as a chat completion."""

    def _choice(self, key: str, message: dict[str, Any], reason: str | None) -> dict[str, Any]:
        kind = "chat.completion" if key == "message" else "chat.completion.chunk"
        choice = {"index": 0, key: message, "finish_reason": reason, "logprobs": None}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        answer = {"id": "chatcmpl-1", "object": kind, "created": 1, "model": MODEL, "choices": [choice]}
        return {**answer, "usage": usage} if key == "message" else answer

    def _call(self) -> dict[str, Any]:
        return {"id": "call_1", "type": "function", "function": {"name": self.tool, "arguments": self.arguments}}

    def whole(self) -> dict[str, Any]:
        if self.tool:
            message = {"role": "assistant", "content": None, "tool_calls": [self._call()]}
            return self._choice("message", message, "tool_calls")
        return self._choice("message", {"role": "assistant", "content": self.text}, "stop")

    def events(self) -> Iterator[bytes]:
        if self.tool:
            parts: list[tuple[dict[str, Any], str | None]] = [
                ({"role": "assistant", "tool_calls": [{"index": 0, **self._call()}]}, None),
                ({}, "tool_calls"),
            ]
        else:
            words = [({"content": part}, None) for part in (self.text[:5], self.text[5:])]
            parts = [({"role": "assistant", "content": ""}, None), *words, ({}, "stop")]
        for delta, reason in parts:
            yield b"data: " + json.dumps(self._choice("delta", delta, reason)).encode() + b"\n\n"
        yield b"data: [DONE]\n\n"


class Responses(Answer):
    """It as a response."""

    def _item(self) -> dict[str, Any]:
        if self.tool:
            call = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": self.tool, "arguments": "{}"}
            return {**call, "status": "completed"}
        part = {"type": "output_text", "text": self.text, "annotations": [], "logprobs": []}
        return {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [part]}

    def whole(self, *, done: bool = True) -> dict[str, Any]:
        usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
        usage |= {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
        response = {"id": self.id, "object": "response", "created_at": 1, "model": MODEL, "error": None}
        response |= {"status": "completed" if done else "in_progress", "output": [self._item()] if done else []}
        response |= {
            "instructions": None,
            "metadata": {},
            "parallel_tool_calls": True,
            "temperature": 1.0,
            "top_p": 1.0,
        }
        return {
            **response,
            "tools": [],
            "tool_choice": "auto",
            "incomplete_details": None,
            "usage": usage if done else None,
        }

    def events(self) -> Iterator[bytes]:
        item = self._item()
        events: list[dict[str, Any]] = [{"type": "response.created", "response": self.whole(done=False)}]
        place = {"item_id": item["id"], "output_index": 0}
        begun = {**item, "status": "in_progress", **({"arguments": ""} if self.tool else {"content": []})}
        events.append({"type": "response.output_item.added", "output_index": 0, "item": begun})
        if self.tool:
            events.append({"type": "response.function_call_arguments.delta", **place, "delta": "{}"})
            events.append(
                {"type": "response.function_call_arguments.done", **place, "arguments": "{}", "name": self.tool}
            )
        else:
            whole = item["content"][0]
            part = {**whole, "text": ""}
            events.append({"type": "response.content_part.added", **place, "content_index": 0, "part": part})
            events += [
                {"type": "response.output_text.delta", **place, "content_index": 0, "delta": text, "logprobs": []}
                for text in (self.text[:5], self.text[5:])
            ]
            done = {**place, "content_index": 0, "text": self.text, "logprobs": []}
            events.append({"type": "response.output_text.done", **done})
            events.append(
                {"type": "response.content_part.done", **place, "content_index": 0, "part": item["content"][0]}
            )
        events.append({"type": "response.output_item.done", "output_index": 0, "item": item})
        events.append({"type": "response.completed", "response": self.whole()})
        for number, one in enumerate(events):
            yield f"event: {one['type']}\ndata: {json.dumps({**one, 'sequence_number': number})}\n\n".encode()


def embedded(asked: Mapping[str, Any]) -> dict[str, Any]:
    texts = [asked["input"]] if isinstance(asked["input"], str) else asked["input"]
    rows = [{"object": "embedding", "index": n, "embedding": vector(text)} for n, text in enumerate(texts)]
    return {"object": "list", "data": rows, "model": MODEL, "usage": {"prompt_tokens": 0, "total_tokens": 0}}


def scripted_facts(asked: Mapping[str, Any], script: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """As mem0's library asks for facts: those of the new messages, which stand last in its question."""
    question = asked["messages"][-1]["content"]
    new = question[question.rfind("## New Messages") :]
    facts = [
        {"id": str(n), "text": text} for n, text in enumerate(fact for w, f in script.items() if w in new for fact in f)
    ]
    message = {"role": "assistant", "content": json.dumps({"memory": facts}, ensure_ascii=False)}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    usage = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
    return {
        "id": "1",
        "object": "chat.completion",
        "created": 0,
        "model": MODEL,
        "choices": [choice],
        "usage": usage,
    }
