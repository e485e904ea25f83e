"""What would a year of many users take? Rows, bytes, IOPS, processors, hosts and cost: `python -m benchmarks year`.

Turns are reported to the API in this process, each user has ten and asks once a turn, and all is embedded by the
bundled model. What one more turn takes is the slope between two sizes, so that what an empty table has counts nothing:
bytes of every table with its indexes, rows, write-ahead log, blocks that were touched, read and written, and seconds of
the processor of web, embedder and PostgreSQL. It is multiplied by users, turns and days; of what is removed after a
while only so many days are there at a time. What is archived is packed as `manage.py archive` packs it. Prices are
assumptions: give your own.
"""

import argparse
import gzip
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import psutil
from django.db import connection

from benchmarks.ground import sql
from benchmarks.latency import CHINESE, NOUNS, PLACES, VERBS
from benchmarks.walls import client
from memories.index import worker
from sessions_app.search.embedder import EventEmbedder

#: How many days rows are there, by the defaults of docs/reference/settings.md; others stay for the year.
DAYS_KEPT = {
    "sessions_app_sessionevent": 30,
    "sessions_app_eventindex": 30,
    "memories_recalltrace": 30,
    "memories_idempotencykey": 1,
    "memories_keyusage": 1,
    "memories_embeddingcache": 30,
    "memories_bufferedturn": 1,
    "memories_extractionbatch": 1,
    "memories_indexqueueitem": 1,
}
#: With an archive these leave for object storage so many days after they were written.
ARCHIVED = {"memories_recalltrace": 20, "memories_change": 180}
_SIZES = """
    SELECT c.relname, pg_total_relation_size(c.oid) FROM pg_class c
    WHERE c.relkind = 'r' AND c.relname ~ '^(memories|sessions_app|channels_app|operations)_'
"""
_IO = """
    SELECT sum(hits) FILTER (WHERE object = 'relation'), sum(reads) FILTER (WHERE object = 'relation'),
        sum(writes) FILTER (WHERE object = 'relation'), sum(writes) FILTER (WHERE object = 'wal'),
        sum(fsyncs) FILTER (WHERE object = 'wal')
    FROM pg_stat_io
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--turns", type=int, default=3_000, help="in all; the first half is the smaller size")
    parser.add_argument("--minutes", type=float, default=11, help="after which it ends with what there is")
    parser.add_argument("--users", type=int, default=1_000_000)
    parser.add_argument("--day", type=int, default=10, help="turns a day of a user, each with a recall")
    parser.add_argument("--peak", type=float, default=3, help="times as much in the busiest hour as on average")
    parser.add_argument("--busy", type=float, default=0.5, help="share of a processor that is used at the peak")
    parser.add_argument("--cores", type=int, default=16, help="processors of a host")
    parser.add_argument("--copies", type=int, default=3, help="database hosts, each with all of the data")
    parser.add_argument("--price-core", type=float, default=15, help="of a processor with its memory, a month")
    parser.add_argument("--price-disk", type=float, default=0.10, help="of a GB on a fast disk, a month")
    parser.add_argument("--price-archive", type=float, default=0.023, help="of a GB of object storage, a month")


@dataclass
class Point:
    """What there is, and what it took, after so many turns."""

    turns: int
    bytes: dict[str, int]
    rows: dict[str, int]
    log: float
    io: list[float]
    database: float  # seconds of the processor


@dataclass
class Spent:
    """Seconds of the processor of this process, and blocks, by what was done."""

    seconds: dict[str, float] = field(default_factory=lambda: dict.fromkeys(("turn", "embed", "recall"), 0.0))
    database: dict[str, float] = field(default_factory=lambda: dict.fromkeys(("turn", "embed", "recall"), 0.0))
    blocks: dict[str, float] = field(default_factory=lambda: dict.fromkeys(("turn", "embed", "recall"), 0.0))
    log: dict[str, float] = field(default_factory=lambda: dict.fromkeys(("turn", "embed", "recall"), 0.0))


def main(options: argparse.Namespace) -> None:
    post, costs = client(), Spent()
    ends = time.monotonic() + options.minutes * 60
    say(post, 0, 20, Spent())  # caches and plans
    points = [point(20)]
    while points[-1].turns < options.turns and time.monotonic() < ends:
        turns = points[-1].turns
        say(post, turns, turns + 100, costs)
        points.append(point(turns + 100))
        print(f"{turns + 100:,} turns", flush=True)
    small, large = points[len(points) // 2], points[-1]
    report(options, small, large, costs, large.turns - 20)


def say(post: Callable[..., None], first: int, last: int, costs: Spent) -> None:
    """These turns, then their vectors, then a question after each: a user has ten."""
    embed = EventEmbedder()
    numbers = range(first, last)
    measured(costs, "turn", lambda: [post("turns", turn(n)) for n in numbers])
    measured(costs, "embed", lambda: embedded(embed))
    measured(costs, "recall", lambda: [post("recall", question(n)) for n in numbers])


def turn(n: int) -> dict[str, Any]:
    """Some eighty characters of a user, as many of a bot, every third in Chinese."""
    pick = random.Random(n)
    statement = f"On day {n} I {pick.choice(VERBS)} the {pick.choice(NOUNS)} in {pick.choice(PLACES)}"
    more = f", and {pick.choice(CHINESE)}。" if n % 3 == 0 else f", then {pick.choice(VERBS)} a {pick.choice(NOUNS)}."
    answer = f"Day {n}: that sounds good, and {pick.choice(PLACES)} is worth another visit when there is time."
    return {"address": address(n), "user": statement + more, "assistant": answer}


def question(n: int) -> dict[str, Any]:
    pick = random.Random(-n - 1)
    return {"address": address(n), "message": f"when was it that I {pick.choice(VERBS)} the {pick.choice(NOUNS)}?"}


def address(n: int) -> dict[str, Any]:
    user = f"user{n // 10}"
    return {"platform": "telegram", "account": "bench", "peer": user, "chat": user}


def embedded(embed: EventEmbedder) -> None:
    now = datetime.now(UTC)
    worker.drain(now=now, use_cache=False)
    while not embed(now=now):
        pass


def measured(costs: Spent, what: str, work: Callable[[], object]) -> None:
    began, database, io, log = time.process_time(), of_database(), stats(), written()
    work()
    costs.seconds[what] += time.process_time() - began
    costs.database[what] += of_database() - database
    now = stats()
    costs.blocks[what] += now[0] + now[1] - io[0] - io[1]
    costs.log[what] += written() - log


def stats() -> list[float]:
    sql("SELECT pg_stat_force_next_flush()")
    return [float(value or 0) for value in sql(_IO)[0]]


def written() -> float:
    """Bytes of the write-ahead log so far."""
    return float(sql("SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')")[0][0])


def of_database() -> float:
    """Seconds of the processor that the session of this process took."""
    (pid,) = sql("SELECT pg_backend_pid()")[0]
    times = psutil.Process(pid).cpu_times()
    return float(times.user + times.system)


def point(turns: int) -> Point:
    names = dict(sql(_SIZES))
    rows = {name: sql(f"SELECT count(*) FROM {name}")[0][0] for name in names}
    return Point(turns, names, rows, written(), stats(), of_database())


def packed(table: str) -> float:
    """Bytes of an archived row, packed by a thousand."""
    lines = [row[0] for row in sql(f"SELECT to_jsonb(t)::text FROM {table} t ORDER BY id DESC LIMIT 1000")]
    return len(gzip.compress("\n".join(lines).encode())) / max(len(lines), 1)


def report(options: argparse.Namespace, small: Point, large: Point, costs: Spent, measured_turns: int) -> None:
    turns = large.turns - small.turns
    a_day = options.users * options.day
    print(f"slope from {small.turns:,} to {large.turns:,} turns; {a_day:,} turns and as many recalls a day")
    print("| table | rows a turn | bytes a turn | bytes a row | days kept | rows | GB |")
    print("|---|---|---|---|---|---|---|")
    total = with_archive = bucket = 0.0
    for table in sorted(large.bytes, key=lambda name: small.bytes[name] - large.bytes[name]):
        size, rows = ((side[1][table] - side[0][table]) / turns for side in (
            (small.bytes, large.bytes), (small.rows, large.rows)))  # fmt: skip
        if size <= 0 and rows <= 0:
            continue
        days = DAYS_KEPT.get(table, 365)
        there = size * a_day * days
        total += there
        with_archive += size * a_day * min(days, ARCHIVED.get(table, days))
        if table in ARCHIVED:
            bucket += rows * packed(table) * a_day * (365 - ARCHIVED[table])
        each = f"{size / rows:,.0f}" if rows else ""
        print(f"| `{table}` | {rows:.2f} | {size:,.0f} | {each} | {days} | {rows * a_day * days:,.0f} "
              f"| {there / 1e9:,.0f} |")  # fmt: skip
    print(f"database after a year {total / 1e12:.1f} TB; with the archive {with_archive / 1e12:.1f} TB, and")
    print(f"{bucket / 1e12:.2f} TB of objects ({packed('memories_recalltrace'):.0f} bytes a trace, ", end="")
    print(f"{packed('memories_change'):.0f} a change)")
    a_second = a_day / 86_400
    peak = a_second * options.peak
    for what in costs.seconds:
        each = [values[what] / measured_turns for values in (costs.seconds, costs.database, costs.blocks, costs.log)]
        print(f"{what}: {each[0] * 1e3:.1f} ms of the processor, {each[1] * 1e3:.1f} ms of PostgreSQL's, "
              f"{each[2]:.0f} blocks touched, {each[3]:,.0f} bytes of log")  # fmt: skip
    log = sum(costs.log.values()) / measured_turns
    io = [(now - before) / turns for before, now in zip(small.io, large.io, strict=True)]
    print(f"a turn with its recall, by pg_stat_io: {io[0]:.0f} blocks found in memory, {io[1]:.2f} read,", end=" ")
    print(f"{io[2]:.2f} written; the log written {io[3]:.2f} times and flushed {io[4]:.2f} times,", end=" ")
    print(f"{(io[3] + io[4]) * peak:,.0f} a second at the peak")
    print(
        f"log {log:,.0f} bytes a turn: {log * a_second / 1e6:.0f} MB a second on average, "
        f"{log * peak / 1e6:.0f} at the peak"
    )
    pages = log / 8192
    print(f"{a_second:,.0f} turns a second, {peak:,.0f} at the peak; pages written at the peak if each holds one "
          f"change: {pages * peak:,.0f} a second")  # fmt: skip
    hosts(options, costs, measured_turns, peak, {"without an archive": (total, 0.0), "with it": (with_archive, bucket)})
    connection.close()


def hosts(
    options: argparse.Namespace, costs: Spent, turns: int, peak: float, sizes: dict[str, tuple[float, float]]
) -> None:
    web = (costs.seconds["turn"] + costs.seconds["recall"]) / turns * peak / options.busy
    embedder = costs.seconds["embed"] / turns * peak / options.busy
    database = sum(costs.database.values()) / turns * peak / options.busy
    print(f"processors at the peak, {options.busy:.0%} busy: web {web:,.0f}, embedder {embedder:,.0f}, "
          f"PostgreSQL {database:,.0f} in all its primaries")  # fmt: skip
    count = {name: -(-cores // options.cores) for name, cores in (("web", web), ("embedder", embedder))}
    primaries = -(-database // options.cores)
    print(f"hosts of {options.cores}: web {count['web']:.0f}, embedder {count['embedder']:.0f}, "
          f"PostgreSQL {primaries:.0f} primaries, {primaries * options.copies:.0f} with copies")  # fmt: skip
    all_cores = (sum(count.values()) + primaries * options.copies) * options.cores
    for name, (size, bucket) in sizes.items():
        disk = size * options.copies * 1.3 / 1e9  # a third of room
        money = all_cores * options.price_core + disk * options.price_disk + bucket / 1e9 * options.price_archive
        print(f"a month at the end of the year {name}: {money:,.0f}, of it processors "
              f"{all_cores * options.price_core:,.0f}, disks {disk * options.price_disk:,.0f}, objects "
              f"{bucket / 1e9 * options.price_archive:,.0f}; a user {money / options.users:.3f}")  # fmt: skip
