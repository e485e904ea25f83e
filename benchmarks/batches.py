"""What do batches cost, and do they hold when they are killed? Part of `make bench`, about five minutes.

A hundred thousand memories of one scope are taken out of use in a batch; the batch is undone, and that undone again.
Then as many are changed, and killed with -9 ten times each while that is applied and while it is undone: every time
what is applied must be what the batch says is applied, and in the end the state before must be back, row for row.
Beside it: the bytes of history a change leaves, and how many times as long bulk updates take because of it.
"""

import argparse
import random
import statistics
import sys
import time
from datetime import UTC, datetime
from typing import Any

from benchmarks.ground import begun, seconds, sql
from benchmarks.walls import switch_triggers
from memories import batches as batch
from memories.batches.steps import ArchiveStep, ExpireStep
from memories.models import Entry, Scope, Workspace

NOW = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)
#: What another process does, until it is done or killed.
WORK = """
from datetime import datetime, UTC
from memories import batches as batch
from memories.models import Batch
print("begun", flush=True)
batch.apply_batch(Batch.objects.get(pk=int(sys.argv[1])), now=datetime(2026, 3, 1, 9, 0, tzinfo=UTC))
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--entries", type=int, default=100_000)
    parser.add_argument("--killed-entries", type=int, default=50_000)
    parser.add_argument("--kills", type=int, default=10)


def main(options: argparse.Namespace) -> None:
    scope = fill(options.entries)
    history_of_bulk_updates(10_000)
    batches(scope, options.entries)
    killed(scope, options.killed_entries, options.kills)


def fill(entries: int) -> Any:
    """A scope with so many memories, written straight into the table: it is not the door that is measured."""
    scope = Scope.objects.create(workspace=Workspace.objects.create(name="bench"), key="main", kind="user")
    sql(
        "INSERT INTO memories_entry (uid, workspace_id, scope_id, type, subtype, category, project, topic, content,"
        " terms, length, fingerprint, importance, source, channel, chat_id, session_id, sender_id, speaker, thread_id,"
        " chats, origins, created_at, stated_at, updated_at, pinned, verified_by, path, version)"
        " SELECT gen_random_uuid(), %s, %s, 'user_explicit', '', '', '', '', 'memory number ' || n || ' of the bench',"
        " ARRAY[n, n + 1, n + 2], 6, md5(n::text), 0.5, 'tool', '', 'c', 's' || n / 40, 'u', '', '', '{c}', '{}',"
        " %s::timestamptz + n * interval '1 second', %s, %s, false, '', '', 1 FROM generate_series(1, %s) n",
        scope.workspace_id, scope.pk, NOW, NOW, NOW, entries,
    )  # fmt: skip
    sql("ANALYZE")
    return scope


def history_of_bulk_updates(rows: int) -> None:
    """The same update with and without the triggers, in turns."""
    update = (
        "UPDATE memories_entry SET importance = CASE importance WHEN 0.5 THEN 0.6 ELSE 0.5 END"
        f" WHERE id < (SELECT min(id) + {rows} FROM memories_entry)"
    )
    times_by_word: dict[str, list[float]] = {"ENABLE": [], "DISABLE": []}
    for _ in range(7):
        for word, times in times_by_word.items():
            switch_triggers(word)
            times.append(seconds(lambda: sql(update)))
    switch_triggers("ENABLE")
    with_it, without = (statistics.median(times) for times in times_by_word.values())
    print(f"bulk update of {rows:,} rows: {with_it:.2f} s, {with_it / without:.2f} times as long as without history")
    before, count = size_of_history()
    sql(update)
    after, later_count = size_of_history()
    print(f"history: {(after - before) / (later_count - count):.0f} bytes a change, with its indexes")


def size_of_history() -> tuple[int, int]:
    return sql("SELECT pg_total_relation_size('memories_change'), (SELECT count(*) FROM memories_change)")[0]


def batches(scope: Any, entries: int) -> None:
    before = fingerprint()
    every = batch.StepForAll(ExpireStep(), Entry.objects.live())
    plan = batch.plan(scope, every, name="bench", run="one", actor="b", now=NOW)
    sql("ANALYZE memories_batchchange")
    print(f"{entries:,} memories: applied in {seconds(lambda: batch.apply_batch(plan, now=NOW)):.1f} s", end=", ")
    sql("ANALYZE")
    undo = batch.plan_undo(plan, actor="b", now=NOW)
    took = seconds(lambda: batch.apply_batch(undo, now=NOW))
    print(f"undone in {took:.1f} s, {'exactly' if fingerprint() == before else 'NOT AS IT WAS'}", end=", ")
    redo = batch.plan_undo(undo, actor="b", now=NOW)
    print(f"done again in {seconds(lambda: batch.apply_batch(redo, now=NOW)):.1f} s")
    last = batch.plan_undo(redo, actor="b", now=NOW)
    batch.apply_batch(last, now=NOW)
    if fingerprint() != before:
        sys.exit("what was undone is not as it was")


def killed(scope: Any, entries: int, kills: int) -> None:
    before = fingerprint()
    first = Entry.objects.in_scope(scope).order_by("pk")[0].pk
    memories = Entry.objects.live().filter(pk__lt=first + entries)
    plan = batch.plan(scope, batch.StepForAll(ArchiveStep(), memories), name="bench", run="killed", actor="b", now=NOW)
    print(f"{entries:,} memories, while applied:", end=" ")
    kill_and_resume(plan, kills, "archived_at IS NOT NULL", entries)
    undo = batch.plan_undo(plan, actor="b", now=NOW)
    print(f"{entries:,} memories, while undone:", end=" ")
    kill_and_resume(undo, kills, f"archived_at IS NULL AND id < {first + entries}", entries)
    if fingerprint() != before:
        sys.exit("what was killed while it was undone is not as it was")
    print("the state before is back, row for row")


def kill_and_resume(plan: Any, kills: int, condition: str, entries: int) -> None:
    """Kill the process at work, again and again; each time the entries must be what the batch says of them."""
    counts = []
    pick = random.Random(entries)
    for _ in range(kills):
        process = begun(WORK, plan.pk)
        time.sleep(pick.uniform(0.05, 1.2))
        process.kill()
        process.communicate()
        counts.append(agree(plan, condition))
    begun(WORK, plan.pk).communicate()
    plan.refresh_from_db()
    if (plan.state, agree(plan, condition)) != ("applied", entries):
        sys.exit(f"after the last resumption the batch is {plan.state}")
    print(f"killed {kills} times with {', '.join(f'{n:,}' for n in counts)} done; resumed to the end")


def agree(plan: Any, condition: str) -> int:
    """How many entries are done; as many as the rows of the batch say."""
    entries = sql(f"SELECT count(*) FROM memories_entry WHERE {condition}")[0][0]
    rows = sql("SELECT count(*) FROM memories_batchchange WHERE batch_id = %s AND state = 'applied'", plan.pk)[0][0]
    if entries != rows:
        sys.exit(f"{entries} entries are done, {rows} rows say so")
    return int(entries)


def fingerprint() -> str:
    """Of every memory, less what rises with every change."""
    row = "(to_jsonb(e) - 'version' - 'updated_at')::text"
    return str(sql(f"SELECT md5(string_agg({row}, '' ORDER BY id)) FROM memories_entry e")[0])
