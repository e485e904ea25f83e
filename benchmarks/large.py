"""Is recall as quick when there is a hundred times as much? `make bench-large`, up to half an hour.

In a database of its own: a hundredth of the scopes and of the memories, then all of them, the same calls through the
API as the role of a web process would make them; then one scope that holds many, searched whole, while its index is
built, and with it. Between both stands a call in an empty scope, which tells how busy the machine was. Rows are written
straight into the tables; vectors lie around centres. With less than 20 GB free on the disk it does not begin.
"""

import argparse
import os
import random
import shutil
import sys
from collections.abc import Callable
from typing import Any

import psutil
from django.conf import settings

from benchmarks import large_scope
from benchmarks.expiry import ADDRESS, WORDS, write
from benchmarks.ground import Milliseconds, percentile, seconds, sql
from benchmarks.walls import client
from memories import embeddings
from memories.index.search_rows import dense_literal, sparse_literal
from memories.language import text
from memories.models import EmbeddingModel, Scope, Workspace

ROOM = 20_000_000_000  # bytes
CENTRES, AROUND, SPREAD = 500, 20, 0.02  # points around each centre, and how far each of their numbers lies off
_POINTS = "CREATE TABLE bench_points (number int PRIMARY KEY, embedding halfvec)"
_INDEX = """
    INSERT INTO memories_entryindex (entry_id, workspace_id, scope_id, model_id, embedding, keywords)
    SELECT e.id, e.workspace_id, e.scope_id, %s, p.embedding, (%s::text[])[1 + e.id %% 225]::sparsevec
    FROM memories_entry e JOIN bench_points p ON p.number = (e.id * 7919) %% %s
    WHERE e.id > %s
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--entries", type=int, default=1_000_000)
    parser.add_argument("--scopes", type=int, default=10_000)
    parser.add_argument("--alone", type=int, default=1_000_000, help="memories of the one large scope")
    parser.add_argument("--calls", type=int, default=200, help="of each kind")


def main(options: argparse.Namespace) -> None:
    if shutil.disk_usage(settings.DATA_DIR).free < ROOM:
        sys.exit("Less than 20 GB are free on the disk of the data folder.")
    post = client()
    workspace = Workspace.objects.get(name="bench")
    make_points()
    few = options.scopes // 100
    print(f"written in {seconds(lambda: fill(workspace, 'a', few, options.entries // 100)):.0f} s", flush=True)
    small = measure(post, "a", few, options.calls)
    report(f"{options.entries // 100:,} in {few:,} scopes", small)
    rest = options.entries - options.entries // 100
    took = seconds(lambda: fill(workspace, "b", options.scopes - few, rest))
    print(
        f"written in {took:.0f} s: {rest / took:,.0f} a second, {bytes_an_entry():,.0f} bytes on the disk each",
        flush=True,
    )
    large = measure(post, "b", options.scopes - few, options.calls)
    report(f"{options.entries:,} in {options.scopes:,} scopes", large)
    ratio = percentile(large["recall"], 95) / percentile(small["recall"], 95)
    busier = percentile(large["empty"], 95) / percentile(small["empty"], 95)
    print(
        f"the p95 is {ratio:.2f} times that of a hundredth, to be 1.5; of a call in an empty scope {busier:.2f} times"
    )
    if options.alone:
        fill(workspace, "c", 1, options.alone)
        large_scope.measure(post, options.alone, max(options.calls // 10, 10))
    print(f"this process: {psutil.Process().memory_info().rss / 2**20:.0f} MB", end="; ")
    print(f"load average {os.getloadavg()[0]:.1f} after")


def make_points() -> None:
    """Vectors to take from, in clusters."""
    provider, pick = embeddings.main_provider(), random.Random(18)
    assert provider
    sql(_POINTS)
    for centre in range(CENTRES):
        middle = [pick.gauss() for _ in range(provider.dimension)]
        length = sum(value * value for value in middle) ** 0.5
        near = [[value / length + pick.gauss(0, SPREAD) for value in middle] for _ in range(AROUND)]
        numbers = [centre * AROUND + n for n in range(AROUND)]
        sql(
            "INSERT INTO bench_points SELECT n, l2_normalize(v::halfvec)"
            " FROM unnest(%s::int[], %s::text[]) AS x (n, v)",
            numbers,
            [dense_literal(vector) for vector in near],
        )


def fill(workspace: Workspace, name: str, scopes: int, entries: int) -> None:
    """So many memories in so many scopes, as many in each, with their search rows."""
    rows = Scope.objects.bulk_create(
        Scope(workspace=workspace, key=f"telegram:direct_{name}{n}", kind="user", entry_count=entries // scopes)
        for n in range(scopes)
    )
    ((last,),) = sql("SELECT coalesce(max(id), 0) FROM memories_entry")
    sql("ALTER TABLE memories_entry DISABLE TRIGGER USER")
    write(workspace.pk, [scope.pk for scope in rows], entries, 1)
    sql("ALTER TABLE memories_entry ENABLE TRIGGER USER")
    index_rows(workspace, last)
    sql("VACUUM ANALYZE")


def index_rows(workspace: Workspace, after: int) -> None:
    """A search row for each memory that has a higher id."""
    provider = embeddings.main_provider()
    assert provider
    model, _made = EmbeddingModel.objects.get_or_create(
        name=provider.model,
        defaults={"dimension": provider.dimension, "floor": provider.floor, "ceiling": provider.ceiling},
    )
    Workspace.objects.filter(pk=workspace.pk).update(index_model=model)
    keywords = [sparse_literal(dict.fromkeys(text.terms(f"{word} {other}"), 1.5)) for word in WORDS for other in WORDS]
    sql(_INDEX, model.pk, keywords, CENTRES * AROUND, after)


def measure(post: Callable[[str, dict[str, Any]], None], name: str, scopes: int, calls: int) -> dict[str, Milliseconds]:
    """Recalls in scopes taken at random, each beside one in a scope of which nobody has heard."""
    pick, took = random.Random(name), dict[str, Milliseconds](recall=[], empty=[])
    for n in range(calls + 5):
        peers = {"recall": f"{name}{pick.randrange(scopes)}", "empty": f"nobody{n}"}
        for kind, peer in peers.items():
            question = (
                f"when was it that the {pick.choice(WORDS)} and the {pick.choice(WORDS)} number {n} were painted?"
            )
            body = {"address": {**ADDRESS, "peer": peer}, "message": question}
            began = seconds(lambda body=body: post("recall", body))  # type: ignore[misc]
            if n >= 5:
                took[kind].append(began * 1000)
    return took


def report(name: str, took: dict[str, Milliseconds]) -> None:
    p50, p95 = (percentile(took["recall"], part) for part in (50, 95))
    print(f"{name:40} recall p50 {p50:7.1f} ms, p95 {p95:7.1f} ms; in an empty scope", end="")
    print(f" {percentile(took['empty'], 50):.1f}, {percentile(took['empty'], 95):.1f} ms", flush=True)


def bytes_an_entry() -> float:
    ((size,),) = sql("SELECT pg_total_relation_size('memories_entry') + pg_total_relation_size('memories_entryindex')")
    ((entries,),) = sql("SELECT count(*) FROM memories_entry")
    return float(size / entries)
