"""How much later does a model's first word come through the proxy than directly? `make bench ARGS=proxy`.

The model behind it answers at once, so that what is measured is the way there and memory. The same client asks it
directly, through the proxy without memory, with a message that needs none, and with questions; and `/context` alone.
"""

import argparse
import json
import threading
import time
from collections.abc import Callable
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from openai import OpenAI

from benchmarks.ground import percentile
from benchmarks.latency import Caller, question, turn, wait_for_vectors
from tests.support.house import House, free_port

PORT = free_port()
UPSTREAM = f"http://127.0.0.1:{PORT}/v1"
#: Nobody waits for the vectors of what was said a moment before: people do not ask thirty times a second.
ENVIRONMENT = {
    "MEMORY_PROXY_BASE_URL": UPSTREAM,
    "MEMORY_EMBED_RECALL_SECONDS": "5",
    "MEMORY_EMBED_PENDING_SECONDS": "0",
}
WHO = {
    "X-Memplatform-Platform": "telegram",
    "X-Memplatform-Account": "bench",
    "X-Memplatform-Sender": "u1",
    "X-Memplatform-Chat": "c1",
}
OFF = {"X-Memplatform-Memory": "off"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--entries", type=int, default=100, help="turns in the scope before anything is measured")
    parser.add_argument("--calls", type=int, default=30, help="of each kind")


class Model(BaseHTTPRequestHandler):
    """Says ten words in a stream, at once: as chat completions, or as a response."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        events = _RESPONSE if self.path.endswith("/responses") else _CHAT
        for event in events:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(event), event))
        self.wfile.write(b"0\r\n\r\n")

    def log_message(self, *_what: Any) -> None:
        pass


def _event(content: str) -> bytes:
    choice = {"index": 0, "delta": {"content": content}, "finish_reason": None}
    chunk = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
    return b"data: " + json.dumps(chunk).encode() + b"\n\n"


def _sent(body: dict[str, Any]) -> bytes:
    return f"event: {body['type']}\ndata: {json.dumps(body)}\n\n".encode()


def _response_events() -> list[bytes]:
    words = [f"word{n} " for n in range(10)]
    content = {"type": "output_text", "text": "".join(words), "annotations": []}
    message = {"type": "message", "id": "m1", "role": "assistant", "status": "completed", "content": [content]}
    response = {"id": "r1", "object": "response", "created_at": 1, "model": "m", "status": "in_progress", "output": []}
    place = {"item_id": "m1", "output_index": 0, "content_index": 0, "logprobs": []}
    kind = "response.output_text.delta"
    deltas = [{"type": kind, "sequence_number": n + 2, "delta": word, **place} for n, word in enumerate(words)]
    addition = {"type": "response.output_item.added", "sequence_number": 1, "output_index": 0}
    final_response = {**response, "status": "completed", "output": [message]}
    return [
        _sent({"type": "response.created", "sequence_number": 0, "response": response}),
        _sent({**addition, "item": {**message, "status": "in_progress", "content": []}}),
        *map(_sent, deltas),
        _sent({"type": "response.completed", "sequence_number": 12, "response": final_response}),
    ]


_CHAT = [*(_event(f"word{n} ") for n in range(10)), b"data: [DONE]\n\n"]
_RESPONSE = _response_events()


def main(house: House, options: argparse.Namespace) -> None:
    model = ThreadingHTTPServer(("127.0.0.1", PORT), Model)
    threading.Thread(target=model.serve_forever, daemon=True).start()
    key = (house.data / "credentials" / "bot-key").read_text()
    with closing(Caller(house.port, key)) as caller:
        for n in range(options.entries):
            caller.post("turns", turn(n))
        wait_for_vectors(caller)
        direct = OpenAI(base_url=UPSTREAM, api_key="none")
        proxy = OpenAI(base_url=f"http://127.0.0.1:{house.port}/v1", api_key=key)
        kinds: dict[str, Callable[[int], float]] = {
            "directly": lambda n: first_word(direct, question(n)["message"]),
            "through the proxy, without memory": lambda n: first_word(proxy, question(n)["message"], OFF),
            "the least call of the API, GET /tools": lambda _n: caller.least(),
            "a message that needs no memory": lambda _n: first_word(proxy, "Thank you!"),
            "a question": lambda n: first_word(proxy, question(n)["message"]),
            "a response, directly": lambda n: first_word_of_response(direct, question(n)["message"]),
            "a response, without memory": lambda n: first_word_of_response(proxy, question(n)["message"], OFF),
            "a response to a question": lambda n: first_word_of_response(proxy, question(n + 2_000)["message"]),
            "/context alone, the same questions": lambda n: caller.post("context", alone(n))[1],
        }
        took: dict[str, list[float]] = {kind: [] for kind in kinds}
        for n in range(options.calls + 3):  # in turn, so that a slow second is everybody's
            for kind, ask in kinds.items():
                took[kind].append(ask(n))
    model.shutdown()
    for kind, all_of_them in took.items():
        milliseconds = all_of_them[3:]
        print(f"{kind:40} p50 {percentile(milliseconds, 50):8.1f} ms  p95 {percentile(milliseconds, 95):8.1f} ms")


def alone(n: int) -> dict[str, Any]:
    """What the proxy asks of `/context` for another question of the same kind."""
    return {**question(n + 1_000), "client_history": []}


def first_word(client: OpenAI, message: str, headers: dict[str, str] | None = None) -> float:
    """Milliseconds until it is there."""
    begun = time.perf_counter()
    messages: Any = [{"role": "user", "content": message}]
    who = {**WHO, **(headers or {})}
    stream = client.chat.completions.create(model="m", messages=messages, stream=True, extra_headers=who)
    with stream:
        next(stream)
        took = (time.perf_counter() - begun) * 1000
        list(stream)
    return took


def first_word_of_response(client: OpenAI, message: str, headers: dict[str, str] | None = None) -> float:
    """The same of a response."""
    begun = time.perf_counter()
    who = {**WHO, **(headers or {})}
    with client.responses.create(model="m", input=message, stream=True, extra_headers=who) as stream:
        next(event for event in stream if event.type == "response.output_text.delta")
        took = (time.perf_counter() - begun) * 1000
        list(stream)
    return took
