"""What do two weekly compressions cost of the recall of a set of conversations? A quarter of an hour, real embedder.

    python -m evals.measurements kept_recall SET        a folder with corpus.jsonl.gz and queries.jsonl.gz, see evaluate
    python -m evals.measurements kept_recall SET --here in the database there is, whose cached embeddings save time

Every line of the set becomes a fact, some a second time with their sentences in another order. A fake model merges
exactly these pairs; another merges and drops at random. Gold follows lineage: an answer that was merged is found where
what it became is. What the second one did is taken back, and every question is asked once more.
"""

import argparse
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any

from evals import dataset
from evals.measurements.compression import model, successors
from evals.measurements.simulated_facts import at_random, merging_twins
from memories import batches, embeddings, entries
from memories.consolidation import compression
from memories.entries.draft import Draft
from memories.evaluation import remove
from memories.index import worker
from memories.models import Batch, Entry, Scope, Workspace
from memories.recall import Query, SearchScope, recall
from memories.tenancy.resolver import ScopeRef

WEEK = timedelta(days=7)
MODELS = ("dutiful", "adversarial")
#: A merged fact may have so many words (memories.llm.schemas); a longer line is not written twice.
FACT_WORDS = 60
_SENTENCES = re.compile(r"(?<=[.!?。！？])\s*(?=\S)")


@dataclass
class Memory:
    """A workspace that remembers the set: which entries hold which line, and which pairs say the same."""

    workspace: Any
    scopes: dict[str, Any] = field(default_factory=dict)
    holders: dict[str, set[int]] = field(default_factory=dict)
    twins: dict[str, str] = field(default_factory=dict)
    pairs: int = 0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("set", type=Path)
    parser.add_argument("--seeded", type=float, default=0.15, help="share of the lines that are written a second time")


def main(options: argparse.Namespace) -> None:
    with clean_database(), model() as fake:
        data = dataset.load(options.set)
        embed_once()
        dutiful(fake, data, options.seeded)
        adversarial(fake, data, options.seeded)


def embed_once() -> None:
    """Every question is asked six times."""
    embeddings.embed_query = cache(embeddings.embed_query)


@contextmanager
def clean_database() -> Iterator[None]:
    """Without the workspaces of this measurement, before (of a run that was killed) and after."""
    try:
        remove_workspaces()
        yield
    finally:
        remove_workspaces()


def remove_workspaces() -> None:
    for workspace in Workspace.objects.filter(name__in=[f"kept recall: {name}" for name in MODELS]):
        remove(workspace)


def remember(data: Any, name: str, seeded: float) -> Memory:
    memory, pick = Memory(Workspace.objects.create(name=f"kept recall: {name}")), random.Random(23)
    began = time.perf_counter()
    for key, rows in data.scopes.items():
        scope = memory.scopes[key] = Scope.objects.create(workspace=memory.workspace, key=key[:255], kind="user")
        keep(memory, scope, rows, [row for row in rows if turned(row.text) and pick.random() < seeded])
    index(after(data))
    lines = sum(map(len, data.scopes.values()))
    print(f"{name}: {lines} lines, {memory.pairs} pairs, in {time.perf_counter() - began:.0f} s", flush=True)
    return memory


def keep(memory: Memory, scope: Any, rows: list[Any], seeds: list[Any]) -> None:
    contents = [(row, row.text) for row in rows] + [(row, turned(row.text)) for row in seeds]
    answers = entries.remember_many([draft(scope, row, one) for row, one in contents], now=rows[-1].at, actor="bench")
    for (row, one), answer in zip(contents, answers, strict=True):
        memory.holders.setdefault(row.doc_id, set()).add(answer.entry.pk)
        if one != row.text and len(memory.holders[row.doc_id]) == 2:  # the door did not take them for one
            memory.twins |= {row.text: one, one: row.text}
            memory.pairs += 1


def draft(scope: Any, row: Any, content: str) -> Any:
    return Draft(
        scope=scope, type="fact", tier=2, content=content[:8_000], source="extraction", at=row.at, category="event",
        project="_global", topic="_general", slots={"speaker": row.speaker} if row.speaker else {},
    )  # fmt: skip


def turned(content: str) -> str:
    """The same with its first sentence at the end; empty where there are not two."""
    first, *rest = _SENTENCES.split(content.strip())
    return " ".join([*rest, first]) if rest and 7 < len(content.split()) <= FACT_WORDS - 5 else ""


def after(data: Any) -> Any:
    """A moment all questions are asked at, before and after: what has faded since is the same."""
    return max(row.at for rows in data.scopes.values() for row in rows if row.at) + 3 * WEEK


def ask(data: Any, memory: Memory) -> tuple[float, float, list[list[int]]]:
    """Recall@10 of all questions, of those about a pair, and what each was answered with."""
    every, pair_hits, answers = [], [], []
    gold = {doc for question in data.questions for doc in question.gold}
    living = {doc: {successor for entry in memory.holders[doc] for successor in successors(entry)} for doc in gold}
    for question in (question for question in data.questions if question.gold):
        scope = memory.scopes[question.scope]
        query = Query(
            workspace_id=memory.workspace.pk, places=[SearchScope(scope, ScopeRef(key=scope.key, kind="user"))],
            message=question.query, limit=10, need="off", cache=False, quotas=False,
        )  # fmt: skip
        result = recall(query, now=after(data), embed_seconds=600.0)
        if result.degraded:
            sys.exit("an answer was degraded: these figures do not count")
        served_pks = {item.entry.pk for item in result.served}
        answers.append([item.entry.pk for item in result.served])
        hits = [bool(living[doc] & served_pks) for doc in question.gold]
        every.append(sum(hits) / len(hits))
        if any(len(memory.holders[doc]) == 2 for doc in question.gold):
            pair_hits.append(every[-1])
    return 100 * sum(every) / len(every), 100 * sum(pair_hits) / max(len(pair_hits), 1), answers


def compress(data: Any, memory: Memory, week: int) -> dict[str, int]:
    now = after(data) + (week - 2) * WEEK
    run = f"compress:{memory.workspace.pk}:{now.date()}"
    counts = compression.compress_facts(memory.workspace.pk, clock=lambda: now, run=run)
    index(now)
    return counts


def count_live(memory: Memory) -> int:
    return Entry.objects.live().filter(workspace=memory.workspace, type="fact").count()


def dutiful(fake: Any, data: Any, seeded: float) -> None:
    memory = remember(data, "dutiful", seeded)
    fake.otherwise = merging_twins(memory.twins)
    before, count_before = ask(data, memory), count_live(memory)
    counts: Counter[str] = Counter()
    for week in (0, 1):
        counts.update(compress(data, memory, week))
    now = ask(data, memory)
    print(f"dutiful: {count_before} facts, {memory.pairs} pairs; {dict(counts)}; {count_live(memory)} left", flush=True)
    print(f"recall@10 {before[0]:.2f} → {now[0]:.2f}, about a pair {before[1]:.2f} → {now[1]:.2f}", flush=True)
    if now[0] < before[0] - 1:
        sys.exit("two weekly compressions cost more than a point")


def adversarial(fake: Any, data: Any, seeded: float) -> None:
    memory = remember(data, "adversarial", seeded)
    fake.otherwise = at_random(random.Random(13))
    before, count_before = ask(data, memory), count_live(memory)
    counts: Counter[str] = Counter()
    for week in (0, 1):
        counts.update(compress(data, memory, week))
    now = ask(data, memory)
    open_ones = Batch.objects.filter(workspace=memory.workspace, state="proposed").order_by("pk")
    waiting = [
        (open_one.name, open_one.counts, [why["code"] for why in open_one.held_because]) for open_one in open_ones
    ]
    print(f"adversarial: {count_before} facts; {dict(counts)}; waiting: {waiting}; {count_live(memory)} left;"
          f" recall@10 {before[0]:.2f} → {now[0]:.2f}", flush=True)  # fmt: skip
    approve_all(memory, after(data))
    careless = ask(data, memory)
    print(f"had somebody approved all of it: {count_live(memory)} left, recall@10 {careless[0]:.2f}", flush=True)
    take_back(memory, after(data))
    again = ask(data, memory)
    same = sum(one == other for one, other in zip(before[2], again[2], strict=True))
    print(
        f"taken back: {count_live(memory)} left, recall@10 {again[0]:.2f}; {same} of {len(before[2])} answers as before"
    )
    if again[0] != before[0]:
        sys.exit("what was taken back is not back")


def approve_all(memory: Memory, now: Any) -> None:
    for batch in Batch.objects.filter(workspace=memory.workspace, state="proposed").order_by("pk"):
        batches.apply_batch(batches.approve(batch, actor="user:careless", now=now), now=now)
    index(now)


def take_back(memory: Memory, now: Any) -> None:
    applied = Batch.objects.filter(workspace=memory.workspace, state="applied", undoes=None, changes__state="applied")
    for batch in applied.distinct().order_by("-pk"):
        batches.apply_batch(batches.plan_undo(batch, actor="user:ann", now=now), now=now)
    index(now)


def index(now: Any) -> None:
    while worker.index_queued(now=now, limit=64):
        pass
