"""A reranker that does as it is told, in either form: for tests, and by hand: `python -m tests.support.rerank_server`.

A text scores by the share of the question's words it holds, and by `BEST` when it holds that word.
"""

import json
import sys
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from memories.language import text
from memories.reranker import TEI_TEXTS

BEST = "zeolite"


def score(question: str, content: str) -> float:
    """0–1, whatever the platform's own ranking made of it."""
    words = text.shingles(content)
    return 0.9 if BEST in words else 0.8 * text.jaccard(text.shingles(question), words)


def jina(body: dict[str, Any]) -> tuple[int, Any]:
    """As vLLM, Infinity and Jina answer: best first, the first `top_n`."""
    if "documents" not in body:
        return 422, {"detail": "documents: field required"}
    rows = [
        {"index": n, "relevance_score": score(body["query"], content)} for n, content in enumerate(body["documents"])
    ]
    rows.sort(key=lambda row: -row["relevance_score"])
    return 200, {"model": body.get("model"), "results": rows[: body["top_n"]]}


def tei(body: dict[str, Any]) -> tuple[int, Any]:
    """As TEI answers, which takes so many texts at a time."""
    if "texts" not in body:
        return 422, "Failed to deserialize the JSON body into the target type: missing field `texts`"
    if len(body["texts"]) > TEI_TEXTS:
        return 422, {"error": f"batch size {len(body['texts'])} > maximum allowed batch size {TEI_TEXTS}"}
    rows = [{"index": n, "score": score(body["query"], content)} for n, content in enumerate(body["texts"])]
    return 200, sorted(rows, key=lambda row: -row["score"])


def serve(form: Callable[[dict[str, Any]], tuple[int, Any]], port: int, seconds: float = 0.0) -> ThreadingHTTPServer:
    """A server on the loopback; each answer takes so many seconds."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            time.sleep(seconds)
            status, answer = form(body) if self.path.endswith("/rerank") else (404, {})
            content = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    return ThreadingHTTPServer(("127.0.0.1", port), Handler)


if __name__ == "__main__":
    serve({"jina": jina, "tei": tei}[sys.argv[1]], int(sys.argv[2]), float((sys.argv[3:] or ["0"])[0])).serve_forever()
