"""What does compression keep, what does it let through, and does it hold when it is killed? About ten minutes.

Facts of simulated people, and a fake model: one that merges only the duplicate pairs it was seeded with, one that
merges and drops at random. Recall is asked for facts; one that was merged is found where what it became is. Then a
week of 2,000 turns a day, and a weekly run that is killed with -9 at ten random points.
"""

import argparse
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from django.conf import settings

from benchmarks.ground import begun, scope_of
from evals.measurements.simulated_facts import at_random, merging_twins, texts
from memories import batches, entries
from memories.consolidation import compression, summaries
from memories.entries import daily_events
from memories.entries.daily_events import EventDraft
from memories.entries.draft import Draft
from memories.index import worker
from memories.lifecycle import access_counting, expiry
from memories.llm import client
from memories.models import Batch, DailyEvent, Entry, Link
from memories.recall import recall as recall_entries
from memories.recall.query import Query, SearchScope
from memories.tenancy.resolver import ScopeRef
from tests.memories.llm.fake_server import FakeModel, plausible

NOW = datetime(2026, 3, 2, 4, 0, tzinfo=UTC)
#: What another process does, until it is done or killed.
WORK = """
from datetime import datetime
from memories.consolidation import compression
from memories.llm import client  # loaded before it says so
print("begun", flush=True)
now = datetime.fromisoformat(sys.argv[2])
compression.compress_facts(int(sys.argv[1]), clock=lambda: now, run=sys.argv[3])
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--facts", type=int, default=600)
    parser.add_argument("--turns", type=int, default=2_000, help="a day")
    parser.add_argument("--kills", type=int, default=10)


def main(options: argparse.Namespace) -> None:
    with model() as fake:
        dutiful(fake, options.facts)
        adversarial(fake, options.facts)
        a_week(fake, options.turns)
        killed(fake, options.kills)


@contextmanager
def model() -> Iterator[Any]:
    with FakeModel() as fake:
        os.environ |= {"MEMORY_LLM_BASE_URL": fake.url, "MEMORY_LLM_MODEL": "fake"}
        settings.MEMORY_LLM_BASE_URL, settings.MEMORY_LLM_MODEL = fake.url, "fake"
        settings.MEMORY_LLM_DAILY_TOKENS = 100_000_000
        settings.MEMORY_COMPRESS_TIME = timedelta(hours=1)
        client.DIALECTS.clear()
        yield fake


def remember(scope: Any, facts: list[tuple[str, str]], at: datetime = NOW) -> None:
    for n, (topic, content) in enumerate(facts):
        moment = at - timedelta(hours=n % 700 + 1)
        entries.remember(
            Draft(scope=scope, type="fact", tier=2, content=content, source="extraction", at=moment, category="config",
                  project="_global", topic=topic), now=moment, actor="bench",
        )  # fmt: skip
    worker.drain(now=at)


def recall(scope: Any, facts: list[tuple[str, str]], sample: int = 200) -> float:
    """Of so many facts asked for by half of their words, the share found among ten; gold follows lineage."""
    pick = random.Random(5)
    hits = 0
    selection = facts if len(facts) <= sample else pick.sample(facts, sample)
    place = SearchScope(scope, ScopeRef(key=scope.key, kind=scope.kind))
    for _topic, content in selection:
        words = content.rstrip(".").split()
        question = "What about " + " ".join(word for n, word in enumerate(words) if n % 2 == 0 or word[0].isupper())
        query = Query(workspace_id=scope.workspace_id, places=[place], message=question + "?", limit=10, quotas=False,
                      need="off")  # fmt: skip
        served_pks = {item.entry.pk for item in recall_entries(query, now=NOW + timedelta(days=15)).served}
        gold = Entry.objects.in_scope(scope).filter(content=content).order_by("pk").first()
        hits += bool(gold and successors(gold.pk) & served_pks)
    return 100 * hits / len(selection)


def successors(entry: int) -> set[int]:
    """An entry and what it has become part of."""
    pks, new = {entry}, {entry}
    while new:
        links = Link.objects.filter(to_entry__in=new, kind__in=("merged_from", "supersedes"))
        new = set(links.values_list("from_entry_id", flat=True)) - pks
        pks |= new
    return pks


def compress(scope: Any, week: int) -> dict[str, int]:
    now = NOW + timedelta(days=7 * week)
    run = f"compress:{scope.workspace_id}:{now.date()}"
    return compression.compress_facts(scope.workspace_id, clock=lambda: now, run=run)


def live(scope: Any) -> int:
    return Entry.objects.in_scope(scope).live().filter(type="fact").count()


def dutiful(fake: Any, count: int) -> None:
    scope = scope_of("dutiful")
    facts, twins = texts(count)
    remember(scope, facts)
    fake.otherwise = merging_twins(twins)
    before, count_before = recall(scope, facts), live(scope)
    began = time.perf_counter()
    merges = [compress(scope, week).get("merged", 0) for week in (0, 1)]
    took = time.perf_counter() - began
    print(f"dutiful: {count_before} facts, {len(twins) // 2} seeded pairs; merged {merges[0]} and {merges[1]}"
          f" in {took:.1f} s,"
          f" {live(scope)} left; recall@10 {before:.1f} → {recall(scope, facts):.1f}", end="")  # fmt: skip
    approve_all(scope)
    after = recall(scope, facts)
    print(f"; what waited for a person approved: {live(scope)} left, {after:.1f}")
    if after < before - 1:
        sys.exit("two weekly compressions cost more than a point")


def approve_all(scope: Any) -> datetime:
    """As somebody would who looks at nothing; when."""
    later = NOW + timedelta(days=15)
    for batch in Batch.objects.filter(scope=scope, state="proposed").order_by("pk"):
        batches.apply_batch(batches.approve(batch, actor="user:careless", now=later), now=later)
    return later


def adversarial(fake: Any, count: int) -> None:
    scope = scope_of("adversarial")
    facts, _twins = texts(count)
    remember(scope, facts)
    fake.otherwise = at_random(random.Random(13))
    before, count_before = recall(scope, facts), live(scope)
    counts: Counter[str] = Counter()
    for week in (0, 1):
        counts.update(compress(scope, week))
    waiting = {batch.name: batch.counts for batch in Batch.objects.filter(scope=scope, state="proposed")}
    print(f"adversarial: {count_before} facts, {dict(counts)}; waiting for a person: {waiting}; {live(scope)} left;"
          f" recall@10 {before:.1f} → {recall(scope, facts):.1f}", end="")  # fmt: skip
    later = approve_all(scope)
    print(f"; had somebody approved everything: {live(scope)} left, {recall(scope, facts):.1f}", end="")
    applied_batches = Batch.objects.filter(scope=scope, state="applied", undoes=None, changes__state="applied")
    for applied_batch in applied_batches.distinct().order_by("-pk"):
        batches.apply_batch(batches.plan_undo(applied_batch, actor="user:ann", now=later), now=later)
    after = recall(scope, facts)
    print(f"; taken back: {live(scope)} left, {after:.1f}")
    if after < before - 0.5:
        sys.exit("what was taken back is not back")


def a_week(fake: Any, turns: int) -> None:
    """Turns as capture writes them, their days, facts made at night, and at the end the weekly run."""
    scope, pick = scope_of("week"), random.Random(17)
    fake.otherwise = plausible
    began = time.perf_counter()
    for n in range(7):
        day = NOW - timedelta(days=7 - n)
        facts, _twins = texts(160, seed=n)
        facts = [(topic, f"{one} That was number {pick.randrange(10_000)}.") for topic, one in facts]
        drafts = [
            Draft(scope=scope, type="chat_turn", content=f"User: {pick.choice(facts)[1]}\nAssistant: note {n}-{turn}",
                  source="conversation_capture", at=day + timedelta(seconds=30 * turn), slots={"sender_id": "u"})
            for turn in range(turns)
        ]  # fmt: skip
        for start in range(0, turns, 200):
            entries.remember_many(drafts[start : start + 200], now=day, actor="bench")
        events = [EventDraft(scope=scope, local_date=day.date(), content=one) for _topic, one in facts]
        daily_events.write(events, now=day + timedelta(hours=12), actor="bench")
        night = day + timedelta(days=1)
        workspace, run = scope.workspace_id, f"{scope.workspace_id}:{night.date()}"
        compression.compress_days(workspace, clock=lambda now=night: now, run=f"compress-days:{run}")
        expiry.expire_due(workspace, now=night, run=f"expire:{run}")
        expiry.enforce_capacity(workspace, now=night, run=f"capacity:{run}")
        summaries.archive_day(workspace, now=night)
        access_counting.count_served(now=night)
        print(f"week, day {n + 1}: {sizes(scope)}")
    counts = compress(scope, 0)
    print(f"week, Monday: {counts}; {sizes(scope)}; {time.perf_counter() - began:.0f} s in all")


def sizes(scope: Any) -> str:
    result = Entry.objects.in_scope(scope).live()
    tiers = [result.filter(tier=tier).count() for tier in (1, 2)]
    turns = result.filter(type="chat_turn").count()
    return (
        f"tier 1 {tiers[0]}, tier 2 {tiers[1]}, tier 3 {DailyEvent.objects.filter(scope=scope).count()}, turns {turns}"
    )


def killed(fake: Any, kills: int) -> None:
    scopes = [scope_of(f"killed:{n}") for n in range(8)]
    facts, twins = texts(60)
    for scope in scopes:
        remember(scope, facts)
    fake.otherwise, fake.seconds = merging_twins(twins), 0.05
    whole = live(scopes[0])
    pick, counts = random.Random(19), []
    for _kill in range(kills):
        process = begun(WORK, scopes[0].workspace_id, NOW.isoformat(), "compress:killed")
        enough = len(fake.requests) + pick.randrange(8)  # not by the clock: on a busy machine nothing would be done yet
        while len(fake.requests) < enough and process.poll() is None:
            time.sleep(0.01)
        time.sleep(pick.uniform(0.0, 0.4))
        process.kill()
        process.communicate()
        applied = {batch.scope_id for batch in Batch.objects.filter(scope__in=scopes, name="compress", state="applied")}
        for scope in scopes:
            archived = Entry.objects.in_scope(scope).archived().exists()
            if archived != (scope.pk in applied) or (not archived and live(scope) != whole):
                sys.exit(f"{scope} is between before and after")
        counts.append(len(applied))
    fake.seconds = 0.0
    compression.compress_facts(scopes[0].workspace_id, clock=lambda: NOW, run="compress:killed")
    for applied_batch in Batch.objects.filter(scope__in=scopes, state="applied", name="compress"):
        batches.apply_batch(batches.plan_undo(applied_batch, actor="user:ann", now=NOW), now=NOW)
    if any(live(scope) != whole for scope in scopes):
        sys.exit("what was killed and taken back is not as it was")
    print(f"killed {kills} times with {counts} of {len(scopes)} scopes done, none in between; finished, and taken back")
