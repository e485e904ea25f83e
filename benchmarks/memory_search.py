"""How long does memory_search take over files and messages? `python -m benchmarks memory_search`, about five minutes.

One direct chat with ten thousand lines of markdown in a hundred files and ten thousand messages of older conversations,
all with vectors of 384 dimensions. Asked through the wire of this process, as the role of the web; what the embedder
takes of a call is shown apart.
"""

import argparse
import sys
import time
from collections import defaultdict
from datetime import UTC, datetime, timedelta

from django.db import connection
from django.test import Client

from benchmarks.context import QUESTIONS, embed_events, older_events
from benchmarks.ground import percentile, sql
from benchmarks.latency import ADDRESS, Clock, turn
from memories import embeddings
from memories.embeddings.deterministic import Deterministic
from memories.entries.files import folder_of
from memories.index import worker
from memories.models import Bot, BotKey, Entry, RecallTrace, Scope, Workspace
from memories.notes.index import sync_scope
from memories.tenancy import row_level_security

NOW = datetime.now(UTC)
SCOPE = "telegram:direct_u1"
FILES = 100
WARM_UP = 5  # the first calls read what later ones know
MODES = ("hybrid", "keyword", "fts", "vector")
QUERY = QUESTIONS["a question"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--lines", type=int, default=10_000, help="of files")
    parser.add_argument("--events", type=int, default=10_000, help="messages of older conversations")
    parser.add_argument("--calls", type=int, default=100, help="of each mode")


def main(options: argparse.Namespace) -> None:
    Deterministic.model, Deterministic.dimension = "deterministic-384", 384  # as wide as the bundled model's
    embeddings.forget()
    workspace = Workspace.objects.create(name="bench")
    _key, token = BotKey.issue(Bot.objects.create(workspace=workspace, name="bench"), permissions=["read", "write"])
    scope = Scope.objects.create(workspace=workspace, key=SCOPE, kind="user")
    began = time.perf_counter()
    write_lines(scope, options.lines)
    print(f"{options.lines:,} lines of {FILES} files indexed in {time.perf_counter() - began:.0f} s", flush=True)
    while worker.index_queued(now=NOW, limit=256, use_cache=False):
        pass
    wire = Client(SERVER_NAME="localhost", headers={"Authorization": f"Bearer {token}"})
    older_events(wire, options.events)
    embed_events()
    sql("VACUUM ANALYZE")
    print(f"{Entry.objects.count():,} entries, {options.events:,} messages, {options.calls} calls of each mode")
    report(measure(wire, workspace.pk, options.calls))


def write_lines(scope: Scope, lines: int) -> None:
    """A hundred daily notes, as people and the platform write them."""
    folder = folder_of(scope)
    for number in range(FILES):
        path = folder.workspace / folder.daily((NOW - timedelta(days=number)).date())
        path.parent.mkdir(parents=True, exist_ok=True)
        texts = (turn(number * lines // FILES + n)["user"] for n in range(lines // FILES))
        path.write_text("\n".join(["# Notes", *(f"- {text}" for text in texts)]) + "\n")
    sync_scope(scope, now=NOW)


def measure(wire: Client, workspace: int, calls: int) -> dict[str, dict[str, list[float]]]:
    """By mode: the whole call, without the embedder, in SQL, and how many statements."""
    sql(f"SET ROLE {row_level_security.WEB_ROLE}")  # as the web asks
    took: dict[str, dict[str, list[float]]] = {mode: defaultdict(list) for mode in MODES}
    nouns = ("harbour", "boat", "violin", "garden", "letter", "engine", "market", "bridge", "recipe", "camera")
    for mode in MODES:
        for n in range(calls + WARM_UP):
            body = {"address": ADDRESS, "query": QUERY.format(noun=nouns[n % 10], n=n), "mode": mode}
            clock, begun = Clock(), time.perf_counter()
            with connection.execute_wrapper(clock):
                answer = wire.post("/api/v1/tools/memory_search", body, content_type="application/json")
            total = (time.perf_counter() - begun) * 1000
            if answer.status_code != 200 or not answer.json()["results"]:
                sys.exit(f"POST /tools/memory_search answered {answer.status_code}: {answer.content.decode()[:500]}")
            if n < WARM_UP:
                continue
            row_level_security.enter([workspace])
            timings = RecallTrace.objects.get(uid=answer.json()["recall_id"]).timings
            steps = {"total": total, "without": total - timings.get("embedding", 0.0), "sql": clock.milliseconds}
            steps |= {step: timings.get(step, 0.0) for step in ("search", "events")}
            for step, value in (steps | {"statements": float(clock.statements)}).items():
                took[mode][step].append(value)
    return took


def report(took: dict[str, dict[str, list[float]]]) -> None:
    """p50 and p95 of each mode, in milliseconds."""
    steps = ("total", "without", "sql", "search", "events", "statements")
    print(f"{'p50 / p95, ms':14}" + "".join(f"{step:>18}" for step in steps))
    for mode, values in took.items():
        cells = (f"{percentile(values[step], 50):.1f} / {percentile(values[step], 95):.1f}" for step in steps)
        print(f"{mode:14}" + "".join(f"{cell:>18}" for cell in cells), flush=True)
