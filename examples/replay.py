#!/usr/bin/env python3
"""One conversation over HTTP, as a real bot would: every text is remembered, then every question is asked.

    python examples/replay.py --url http://127.0.0.1:8000 --key-file .data/credentials/bot-key \
        --corpus corpus.jsonl.gz --queries queries.jsonl.gz --scope NAME [--json]

Layout of the data: docs/howto/evaluate.md. Needs memplatform-client: docs/howto/python-client.md.
"""

import argparse
import gzip
import json
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import fmean
from typing import Any

import httpx
from memplatform_client import Client, MemplatformError
from memplatform_client.types import AddressField, NewEntry

Row = dict[str, Any]
LIMIT = 10
CUTS = (1, 5, 10)
GROUP_CUTS = (5, 10)
UNDATED = datetime(2020, 1, 1, tzinfo=UTC)  # rows without a time are said one second after another
POLL_SECONDS = 2.0
KEY_CHARS = 4_096  # read of the file of a key


class Bot:
    """A client, and how long each call took, without the pauses before it was tried again."""

    def __init__(self, url: str, key: str) -> None:
        self.took: dict[str, list[float]] = defaultdict(list)
        self.memory = Client(key, url, http=httpx.Client(timeout=60, event_hooks={"response": [self._note]}))

    def _note(self, response: httpx.Response) -> None:
        response.read()
        if response.is_success:
            self.took[response.url.path.rpartition("/")[2]].append(response.elapsed.total_seconds() * 1000)


@dataclass
class Memory:
    """What the platform made of the conversation: two texts that say the same are one entry."""

    docs: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    last: dict[str, Row] = field(default_factory=dict)  # the row each entry was last stated by
    times: dict[int, datetime] = field(default_factory=dict)  # by place in the conversation


def main() -> None:
    options = arguments()
    rows = sorted(of_scope(options.corpus, options.scope), key=lambda row: row["seq"])
    questions = list(of_scope(options.queries, options.scope))
    if not rows or not questions:
        sys.exit(f"No rows or no questions of scope {options.scope} in these files.")
    with options.key_file.open() as file:
        bot = Bot(options.url, file.read(KEY_CHARS))
    try:
        with bot.memory:
            figures = replay(bot, options, rows, questions)
    except MemplatformError as error:
        sys.exit(str(error))
    print_report(figures, as_json=options.json)


def replay(bot: Bot, options: argparse.Namespace, rows: Sequence[Row], questions: Sequence[Row]) -> Row:
    # A memory of its own for every run.
    address: AddressField = {"platform": "web", "peer": f"{options.scope}-{datetime.now(UTC):%Y%m%d%H%M%S}"}
    scope = bot.memory.resolve_address(address=address)["user_scope"]
    say(f"{len(rows)} texts → {scope}")
    memory = remember(bot, scope, rows)
    wait(bot, address, memory, seconds=options.patience)
    bot.took["recall"].clear()
    answers = [ask(bot, address, memory, question) for question in questions]
    return report(options.corpus, bot, memory, answers)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Replay one conversation over HTTP and ask its questions.")
    parser.add_argument("--url", default="http://127.0.0.1:8000")
    parser.add_argument("--key-file", type=Path, default=Path(".data/credentials/bot-key"))
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--queries", type=Path, required=True)
    parser.add_argument("--scope", required=True, help="the conversation, as the files name it")
    parser.add_argument("--patience", type=float, default=900, help="seconds to wait for the embedder")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    return parser.parse_args()


def of_scope(path: Path, scope: str) -> Iterator[Row]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        yield from (row for row in map(json.loads, file) if row["scope"] == scope)


def remember(bot: Bot, scope: str, rows: Sequence[Row]) -> Memory:
    """Save every text in the order it was said."""
    memory = Memory()
    at = UNDATED
    for row in rows:
        at = moment(row.get("created_at")) or at + timedelta(seconds=1)
        entry = bot.memory.save_entry(**entry_of(row, scope, at))["id"]
        memory.docs[entry].add(row["doc_id"])
        memory.last[entry] = row
        memory.times[row["seq"]] = at
    return memory


def entry_of(row: Row, scope: str, at: datetime) -> NewEntry:
    slots = {
        "doc_id": row["doc_id"],
        "session_id": row.get("session_id") or "",
        "speaker": row.get("speaker") or "",
        "time": at.isoformat(),
    }
    return {
        "scope": scope,
        "type": "user_explicit",
        "content": row["text"],
        "slots": {name: value for name, value in slots.items() if value},
        "at": at,
    }


def moment(text: str | None) -> datetime | None:
    """A bare month is its last instant, a day its beginning; UTC unless it says otherwise."""
    if not text:
        return None
    if len(text) == len("2025-12"):
        first = datetime.fromisoformat(f"{text}-01").replace(tzinfo=UTC)
        return (first + timedelta(days=31)).replace(day=1) - timedelta(microseconds=1)
    read = datetime.fromisoformat(text)
    return read if read.tzinfo else read.replace(tzinfo=UTC)


def wait(bot: Bot, address: AddressField, memory: Memory, *, seconds: float) -> None:
    """Until the last text of every session, and of the whole, is found by its vector too."""
    last_of_session = {row.get("session_id"): row for row in memory.last.values()}
    waiting = [*last_of_session.values()]
    end = time.monotonic() + seconds
    reported = 0
    while waiting := [row for row in waiting if not has_vector(bot, address, row)]:
        if time.monotonic() > end:
            sys.exit(f"After {seconds:.0f} s {len(waiting)} sessions are still without vectors: is the embedder alive?")
        if len(waiting) != reported:
            reported = len(waiting)
            say(f"waiting for the embedder: {reported} of {len(last_of_session)} sessions …")
        time.sleep(POLL_SECONDS)


def has_vector(bot: Bot, address: AddressField, row: Row) -> bool:
    only = {"doc_id": row["doc_id"]}
    found = bot.memory.recall(address=address, message=row["text"], filters=only, need="off", limit=1)["memories"]
    return bool(found) and found[0]["why"]["vector"] is not None


def ask(bot: Bot, address: AddressField, memory: Memory, question: Row) -> Row:
    """What a question found: for each memory, best first, the texts it holds."""
    until = memory.times.get(question.get("before_seq", -1))  # asked in the middle of the conversation
    answer = bot.memory.recall(
        address=address, message=question["query"], limit=LIMIT, quotas=False, need="off", until=until
    )
    found = [memory.docs[item["id"]] for item in answer["memories"]]
    return {"question": question, "found": found, "degraded": bool(answer["degraded"])}


def report(corpus: Path, bot: Bot, memory: Memory, answers: Sequence[Row]) -> Row:
    """The figures in the shape of `manage.py evaluate --json`; questions without a right answer are left out."""
    judged = [answer for answer in answers if answer["question"].get("gold")]
    by_category: dict[str, list[Row]] = defaultdict(list)
    for answer in judged:
        by_category[answer["question"].get("category") or "all"].append(measures(answer))
    categories = {name: means(rows) for name, rows in sorted(by_category.items())}
    return {
        "dataset": str(corpus),
        "texts": len(memory.times),
        "entries": len(memory.docs),
        "questions": len(judged),
        "mean": means([measures(answer) for answer in judged]),
        "mean_of_categories": means(list(categories.values())),
        "categories": categories,
        "group": means([group_measures(answer) for answer in judged]),
        "latency_ms": percentiles(bot.took["recall"]),
        "write_latency_ms": percentiles(bot.took["entries"]),
        "degraded": sum(answer["degraded"] for answer in answers),
    }


def measures(answer: Row) -> dict[str, float]:
    gold, found = set(answer["question"]["gold"]), answer["found"]
    ranks = [rank for rank, docs in enumerate(found, start=1) if docs & gold]
    shares = {f"recall@{k}": len(gold & first(found, k)) / len(gold) for k in CUTS}
    return {**shares, "mrr": 1 / ranks[0] if ranks else 0.0}


def group_measures(answer: Row) -> dict[str, float]:
    """A group is found when any of its texts is."""
    question = answer["question"]
    groups = question.get("gold_groups") or [[doc] for doc in question["gold"]]
    hits = {k: sum(bool(first(answer["found"], k) & set(group)) for group in groups) for k in GROUP_CUTS}
    return {f"group_recall@{k}": hits[k] / len(groups) for k in GROUP_CUTS}


def first(found: Sequence[set[str]], k: int) -> set[str]:
    return set().union(*found[:k])


def means(rows: Sequence[dict[str, float]]) -> dict[str, float]:
    return {name: round(fmean(row[name] for row in rows), 4) for name in rows[0]} if rows else {}


def percentiles(milliseconds: Sequence[float]) -> dict[str, float]:
    ascending = sorted(milliseconds)
    return {f"p{p}": round(ascending[min(len(ascending) - 1, len(ascending) * p // 100)], 1) for p in (50, 95)}


def print_report(figures: Row, *, as_json: bool) -> None:
    if as_json:
        print(json.dumps(figures))
    else:
        print_table(figures)
    if figures["degraded"]:
        say(f"{figures['degraded']} answers came from keywords alone, because the embedder took too long.")


def print_table(figures: Row) -> None:
    print(f"{figures['texts']} texts, {figures['entries']} entries, {figures['questions']} questions\n")
    print(f"{'':24}" + "".join(f"{name:>12}" for name in figures["mean"]))
    rows = {**figures["categories"], "mean of categories": figures["mean_of_categories"], "mean": figures["mean"]}
    for name, row in rows.items():
        print(f"{name:24}" + "".join(f"{value:12.4f}" for value in row.values()))
    print()
    for name, call in (("POST /recall", "latency_ms"), ("POST /entries", "write_latency_ms")):
        print(f"{name:24}p50 {figures[call]['p50']:.1f} ms, p95 {figures[call]['p95']:.1f} ms")


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
