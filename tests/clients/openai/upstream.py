"""A model of OpenAI's form on this machine: it knows what it is told in a request, and deploys when it is asked to."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar
from uuid import uuid4

MODEL = "scripted"


class Handler(BaseHTTPRequestHandler):
    """Its calls; `inputs` are those of the responses it keeps, `requests` what it was asked."""

    protocol_version = "HTTP/1.1"
    requests: ClassVar[list[Any]] = []
    inputs: ClassVar[dict[str, list[Any]]] = {}

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
            row = {"object": "embedding", "index": 0, "embedding": [0.5, 0.25]}
            usage = {"prompt_tokens": 1, "total_tokens": 1}
            self._send({"object": "list", "data": [row], "model": MODEL, "usage": usage})
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
def scripted_model() -> Iterator[str]:
    """Its base_url."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class Answer:
    """What the model says to a request: a call of a tool, or words."""

    def __init__(self, asked: dict[str, Any]) -> None:
        self.id = f"resp_{uuid4().hex}"
        told = json.dumps(asked)
        tools = [tool.get("name") or (tool.get("function") or {}).get("name") for tool in asked.get("tools") or ()]
        has_result = "function_call_output" in told or '"role": "tool"' in told
        self.tool = tools[0] if tools and "deploy the shop" in told.casefold() and not has_result else None
        self.text = "Deployed." if has_result else "It is called Wren." if "called Wren" in told else "I do not know."


class Chat(Answer):
    """It as a chat completion."""

    def _choice(self, key: str, message: dict[str, Any], reason: str | None) -> dict[str, Any]:
        kind = "chat.completion" if key == "message" else "chat.completion.chunk"
        choice = {"index": 0, key: message, "finish_reason": reason, "logprobs": None}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        told = {"id": "chatcmpl-1", "object": kind, "created": 1, "model": MODEL, "choices": [choice]}
        return {**told, "usage": usage} if key == "message" else told

    def _call(self) -> dict[str, Any]:
        return {"id": "call_1", "type": "function", "function": {"name": self.tool, "arguments": "{}"}}

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
            told = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": self.tool, "arguments": "{}"}
            return {**told, "status": "completed"}
        part = {"type": "output_text", "text": self.text, "annotations": [], "logprobs": []}
        return {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [part]}

    def whole(self, *, done: bool = True) -> dict[str, Any]:
        usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
        usage |= {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
        told = {"id": self.id, "object": "response", "created_at": 1, "model": MODEL, "error": None}
        told |= {"status": "completed" if done else "in_progress", "output": [self._item()] if done else []}
        told |= {"instructions": None, "metadata": {}, "parallel_tool_calls": True, "temperature": 1.0, "top_p": 1.0}
        return {
            **told,
            "tools": [],
            "tool_choice": "auto",
            "incomplete_details": None,
            "usage": usage if done else None,
        }

    def events(self) -> Iterator[bytes]:
        item = self._item()
        told: list[dict[str, Any]] = [{"type": "response.created", "response": self.whole(done=False)}]
        place = {"item_id": item["id"], "output_index": 0}
        begun = {**item, "status": "in_progress", **({"arguments": ""} if self.tool else {"content": []})}
        told.append({"type": "response.output_item.added", "output_index": 0, "item": begun})
        if self.tool:
            told.append({"type": "response.function_call_arguments.delta", **place, "delta": "{}"})
            told.append(
                {"type": "response.function_call_arguments.done", **place, "arguments": "{}", "name": self.tool}
            )
        else:
            part = {**item["content"][0], "text": ""}
            told.append({"type": "response.content_part.added", **place, "content_index": 0, "part": part})
            told += [
                {"type": "response.output_text.delta", **place, "content_index": 0, "delta": text, "logprobs": []}
                for text in (self.text[:5], self.text[5:])
            ]
            done = {**place, "content_index": 0, "text": self.text, "logprobs": []}
            told.append({"type": "response.output_text.done", **done})
            told.append({"type": "response.content_part.done", **place, "content_index": 0, "part": item["content"][0]})
        told.append({"type": "response.output_item.done", "output_index": 0, "item": item})
        told.append({"type": "response.completed", "response": self.whole()})
        for number, one in enumerate(told):
            yield f"event: {one['type']}\ndata: {json.dumps({**one, 'sequence_number': number})}\n\n".encode()
