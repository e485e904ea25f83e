"""Is recall as quick in ten million memories over partitions? `python -m benchmarks spread`, an hour and 35 GB free.

Workspaces have scopes of a thousand memories each, written in sessions of twenty straight into tables that stand in
partitions by workspace. At every size the same calls are made through the API, as the role of a web process: in scopes
nobody has asked before (`cold`: their rows may lie on the disk), once more in the same scopes with another question
(`warm`), and in an empty one, which tells how busy the machine was. The plan of one ranking is looked at: which
partitions it reads. Vectors lie around centres, as in `large`; texts have no vector of their own.
"""

import argparse
import os
import random
import re
import shutil
import sys
from collections.abc import Callable
from functools import partial
from io import StringIO
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext

from benchmarks.expiry import ADDRESS, WORDS, write
from benchmarks.ground import Milliseconds, percentile, seconds, sql
from benchmarks.large import index_rows, make_points
from benchmarks.walls import client
from memories.models import Scope, Workspace
from memplatform.database.partitions import TABLES

IN_A_SCOPE, IN_A_SESSION = 1_000, 20
ROOM = 3_500  # bytes of disk a memory, its log included
Post = Callable[[str, dict[str, Any]], None]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    sizes = [100_000, 1_000_000, 3_000_000, 10_000_000]
    parser.add_argument("--entries", type=int, nargs="+", default=sizes, help="in all, at each size")
    parser.add_argument("--workspaces", type=int, default=20)
    parser.add_argument("--parts", type=int, default=8, help="partitions of each table")
    parser.add_argument("--calls", type=int, default=200, help="of each kind, in a scope each")


def main(options: argparse.Namespace) -> None:
    if shutil.disk_usage(settings.DATA_DIR).free < ROOM * max(options.entries):
        sys.exit(f"Less than {ROOM * max(options.entries) / 1e9:.0f} GB are free on the disk of the data folder.")
    posts = [client(f"bench{n}") for n in range(options.workspaces)]
    make_points()
    call_command("partitions", "create", of=options.parts, stdout=StringIO())
    sql("ALTER SYSTEM SET max_wal_size = '4GB'")
    sql("SELECT pg_reload_conf()")
    there, first = 0, dict[str, Milliseconds]()
    for entries in options.entries:
        took = seconds(partial(grow, options.workspaces, there, entries))
        print(
            f"{entries - there:,} written in {took:.0f} s; {bytes_of_all() / entries:,.0f} bytes a memory", flush=True
        )
        there = entries
        figures = measure(posts, entries // IN_A_SCOPE, options.calls)
        first = first or figures
        report(entries, figures, first)
    print("one ranking reads of the partitions:", ", ".join(sorted(partitions_read(posts))))
    print(f"load average {os.getloadavg()[0]:.1f} after")


def grow(workspaces: int, before: int, after: int) -> None:
    """Scopes up to so many memories in all: scope n is in workspace n modulo their count."""
    for number in range(workspaces):
        workspace = Workspace.objects.get(name=f"bench{number}")
        scopes = Scope.objects.bulk_create(
            Scope(workspace=workspace, key=f"telegram:direct_s{n}", kind="user", entry_count=IN_A_SCOPE)
            for n in range(before // IN_A_SCOPE, after // IN_A_SCOPE)
            if n % workspaces == number
        )
        if scopes:
            sql("SET session_replication_role = replica")  # no triggers: what is written is right
            ((last,),) = sql("SELECT coalesce(max(id), 0) FROM memories_entry")
            write(workspace.pk, [scope.pk for scope in scopes], len(scopes) * IN_A_SCOPE, 1, IN_A_SESSION)
            index_rows(workspace, last)
            sql("RESET session_replication_role")
    sql("VACUUM ANALYZE memories_entry, memories_entryindex, memories_scope")
    sql("CHECKPOINT")


def measure(posts: list[Post], scopes: int, calls: int) -> dict[str, Milliseconds]:
    """Recalls in scopes taken at random, each asked twice, beside one in a scope of which nobody has heard."""
    took = dict[str, Milliseconds](cold=[], warm=[], empty=[])
    pick = random.Random(scopes)
    for n in range(-5, calls):
        number = pick.randrange(scopes)
        post = posts[number % len(posts)]
        for kind, peer in (("cold", f"s{number}"), ("warm", f"s{number}"), ("empty", f"nobody{n}")):
            words = f"the {pick.choice(WORDS)} and the {pick.choice(WORDS)} number {pick.randrange(1000)}"
            body = {"address": {**ADDRESS, "peer": peer}, "message": f"when was it that {words} were painted?"}
            began = seconds(partial(post, "recall", body))
            if n >= 0:
                took[kind].append(began * 1000)
    return took


def report(entries: int, took: dict[str, Milliseconds], first: dict[str, Milliseconds]) -> None:
    print(f"{entries:12,}", end="")
    for kind, values in took.items():
        p50, p95 = (percentile(values, part) for part in (50, 95))
        times = p95 / percentile(first[kind], 95)
        print(f"; {kind} p50 {p50:6.1f}, p95 {p95:6.1f} ms, {times:.2f} times", end="")
    print(flush=True)


def partitions_read(posts: list[Post]) -> set[str]:
    """The partitions that the ranking of one question reads from."""
    body = {"address": {**ADDRESS, "peer": "s0"}, "message": "when was the boat painted?"}
    with CaptureQueriesContext(connection) as queries:
        posts[0]("recall", body)
    (ranking,) = [query["sql"] for query in queries if "AS fused" in query["sql"]]
    plan = "\n".join(row[0] for row in sql(f"EXPLAIN {ranking}"))
    return set(re.findall(rf"\b(?:{'|'.join(TABLES)})_[rw]\d+\b", plan))


def bytes_of_all() -> float:
    ((size,),) = sql(
        "SELECT sum(pg_total_relation_size(relid)) FROM"
        " (SELECT * FROM pg_partition_tree('memories_entry') UNION ALL"
        " SELECT * FROM pg_partition_tree('memories_entryindex')) parts WHERE isleaf"
    )
    return float(size)
