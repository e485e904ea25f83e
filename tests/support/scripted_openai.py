"""A model and an embedder that speak as OpenAI's do, on this machine: what the model says is written down before."""

import hashlib
import json
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

DIMENSIONS = 64
_WORD = re.compile(r"[\u4e00-\u9fff]|[^\W_\u4e00-\u9fff]+")


def vector(text: str) -> list[float]:
    """Words, each at a place of its own: texts with the same words lie together."""
    places = [0.001] * DIMENSIONS
    for word in _WORD.findall(text.casefold()):
        places[hashlib.md5(word.encode(), usedforsecurity=False).digest()[0] % DIMENSIONS] += 1.0
    return places


@contextmanager
def scripted_openai(script: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Its base_url. A message with a word of the script becomes the facts written there; any other becomes none."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            body = json.dumps(embedded(request) if "input" in request else scripted_facts(request, script)).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def embedded(asked: Mapping[str, Any]) -> dict[str, Any]:
    texts = [asked["input"]] if isinstance(asked["input"], str) else asked["input"]
    rows = [{"object": "embedding", "index": n, "embedding": vector(text)} for n, text in enumerate(texts)]
    return {"object": "list", "data": rows, "model": "scripted", "usage": {"prompt_tokens": 0, "total_tokens": 0}}


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
        "model": "scripted",
        "choices": [choice],
        "usage": usage,
    }
