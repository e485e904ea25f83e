"""Does the night disturb the day? Expiry of many due memories while others recall and write. Part of `make bench`.

A hundred thousand memories are due (`--entries 1000000` for a million), a fifth of them, but no more than twenty
thousand, in one scope; three times as many (`--live`) are not. One process expires them as the nightly job does.
Meanwhile this one recalls, in scopes where something is due and elsewhere, and writes to the scope in which most is;
every few seconds the job is made to stand still and the recalls are measured without it. It prints 95th percentiles,
how long the plan of the largest scope took, and how much memory the job took. Then the job is killed with -9 ten times
at random points of another night, and what is expired in the end is compared with what was due.
"""

import argparse
import random
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import Any

import psutil
from django.db import transaction

from benchmarks.ground import begun, percentile, seconds, sql
from benchmarks.walls import client
from memories import embeddings
from memories.index.search_rows import dense_literal, sparse_literal
from memories.language import text
from memories.lifecycle import expiry
from memories.models import EmbeddingModel, Entry, Policy, Scope, Workspace

NOW = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)
ADDRESS = {"platform": "telegram", "account": "bench", "chat": "c"}
LARGEST = 20_000
#: How long the job goes on before it is made to stand still, and how long it stands.
GOES_SECONDS, STANDS_SECONDS = 10.0, 5.0
THINKS_SECONDS = 0.05  # whoever calls, between two calls
#: What the worker does at night, in a process of its own.
NIGHT = """
from datetime import datetime, UTC
from memories import tasks
tasks.LONGEST_SECONDS = 86_400
print("begun", flush=True)
print(tasks.expire(int(sys.argv[1]), now=datetime(2026, 3, 1, 9, 0, tzinfo=UTC), run="expire:1:night"))
"""
WORDS = ["harbour", "boat", "violin", "garden", "letter", "engine", "market", "bridge", "recipe", "camera", "ladder",
         "winter", "copper", "meadow", "candle"]  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--entries", type=int, default=100_000, help="that are due")
    parser.add_argument("--live", type=float, default=3, help="times as many that are not due")
    parser.add_argument("--scopes", type=int, default=200)
    parser.add_argument("--kills", type=int, default=10)


def main(options: argparse.Namespace) -> None:
    workspace = fill(options.entries, options.live, options.scopes)
    explain(workspace)
    calls = callers()
    for call in calls.values():
        for n in range(5):
            call(-n)
    disturbed(workspace, calls, options.entries)
    if options.kills:
        killed(workspace, options.kills)


# what there is


def fill(due: int, live: float, count: int) -> Any:
    """Scopes of chat turns, written straight into the tables: a fifth of what is due in the first, the rest alike."""
    workspace = Workspace.objects.create(name="bench")
    scopes = Scope.objects.bulk_create(
        Scope(workspace=workspace, key=f"telegram:direct_u{n}", kind="user", entry_count=due // count * round(1 + live))
        for n in range(count)
    )
    first, *others = (scope.pk for scope in scopes)
    sql("ALTER TABLE memories_entry DISABLE TRIGGER USER")
    most = min(due // 5, LARGEST)
    write(workspace.pk, [first], most, 40)
    write(workspace.pk, others, due - most, 40)
    write(workspace.pk, [first, *others], round(live * due), 1)
    sql("ALTER TABLE memories_entry ENABLE TRIGGER USER")
    index()
    sql("VACUUM ANALYZE")
    return workspace


def write(workspace: int, scopes: list[int], count: int, days: int, together: int = 1) -> None:
    """So many, stated so many days ago, so many of a scope in a row; every sentence is another."""
    words = "ARRAY[" + ",".join(f"'{word}'" for word in WORDS) + "]"
    sql(
        "INSERT INTO memories_entry (uid, workspace_id, scope_id, type, subtype, category, project, topic, content,"
        " terms, length, fingerprint, importance, source, channel, chat_id, session_id, sender_id, speaker, thread_id,"
        " chats, origins, created_at, stated_at, updated_at, pinned, verified_by, verification, heading,"
        " path, version, names, suspect, origin, trust, subject)"
        " SELECT gen_random_uuid(), %s, (%s::bigint[])[1 + (n - 1) / %s %% %s], 'chat_turn', '', '', '', '',"
        f" 'the ' || ({words})[1 + n %% 15] || ' and the ' || ({words})[1 + n / 15 %% 15] || ' of day ' || n,"
        " ARRAY[7, 11, n], 8, md5(n::text || %s), 0.5, 'conversation_capture', 'telegram', 'c', 's' || n / 400, 'u',"
        " '', '', '{c}', '{}', %s::timestamptz - %s * interval '1 day', %s::timestamptz - %s * interval '1 day', %s,"
        " false, '', '', '', '', 1, '{}', '', 'self', 'self', '' FROM generate_series(1, %s) n",
        workspace, scopes, together, len(scopes), str(days), NOW, days, NOW, days, NOW, count,
    )  # fmt: skip


def index() -> None:
    """A search row for each: the keywords of its two words, and a vector of one of a thousand sentences."""
    provider = embeddings.main_provider()
    assert provider
    vectors = provider.embed_passages([f"the {pick} of day {n}" for n, pick in enumerate(WORDS * 66)], seconds=60)
    model, _made = EmbeddingModel.objects.get_or_create(
        name=provider.model,
        defaults={"dimension": provider.dimension, "floor": provider.floor, "ceiling": provider.ceiling},
    )
    keywords = [sparse_literal(dict.fromkeys(text.terms(f"{word} {other}"), 1.5)) for word in WORDS for other in WORDS]
    sql(
        "INSERT INTO memories_entryindex (entry_id, workspace_id, scope_id, model_id, embedding, keywords)"
        " SELECT id, workspace_id, scope_id, %s, (%s::text[])[1 + id %% %s]::halfvec,"
        " (%s::text[])[1 + id %% 225]::sparsevec FROM memories_entry",
        model.pk, [dense_literal(vector) for vector in vectors], len(vectors), keywords,
    )  # fmt: skip


def explain(workspace: Any) -> None:
    """The plan of the largest scope, as PostgreSQL carries it out; taken back."""
    scope = Scope.objects.filter(workspace=workspace).earliest("pk")
    due_entries = Entry.objects.live().filter(
        Policy.objects.of(workspace.pk).over(NOW, scope_kind="user"), scope=scope, workspace_id=workspace.pk
    )
    print(due_entries.order_by().values_list("pk", "version").explain(analyze=True, buffers=True))
    count_seconds = seconds(lambda: print(expiry.count_due(workspace.pk, now=NOW), end=" "))
    print(f"counted in {count_seconds:.2f} s")
    began = time.perf_counter()
    with transaction.atomic():
        plan = next(expiry.plan_due(workspace.pk, now=NOW, run="expire:1:tried"))
        print(f"the plan of the first scope, {plan.counts}: {time.perf_counter() - began:.2f} s")
        transaction.set_rollback(True)


# what is done meanwhile


def callers() -> dict[str, Callable[[int], None]]:
    post, pick = client(), random.Random(0)

    def recall(peer: str, n: int) -> None:
        question = f"when was it that the {pick.choice(WORDS)} and the {pick.choice(WORDS)} number {n} were painted?"
        post("recall", {"address": {**ADDRESS, "peer": peer}, "message": question})

    def turn(peer: str, n: int) -> None:
        user = f"{pick.random()} the {pick.choice(WORDS)} {n}"
        post("turns", {"address": {**ADDRESS, "peer": peer}, "user": user, "assistant": "Noted."})

    return {
        "recall where most is due": lambda n: recall("u0", n),
        "recall elsewhere": lambda n: recall(f"u{1 + n % 50}", n),
        "write where most is due": lambda n: turn("u0", n),
    }


def disturbed(workspace: Any, calls: dict[str, Callable[[int], None]], due: int) -> None:
    """By turns the night goes on and stands still, so that other work on the machine weighs on both alike."""
    alone: dict[str, list[float]] = {name: [] for name in calls}
    meanwhile: dict[str, list[float]] = {name: [] for name in calls}
    process, began, most, stood, n = begun(NIGHT, workspace.pk), time.perf_counter(), 0, 0.0, 10_000
    job = psutil.Process(process.pid)
    recalls = {name: call for name, call in calls.items() if "recall" in name}
    while process.poll() is None:
        n = turn_by_turn(calls, meanwhile, n, GOES_SECONDS)
        if process.poll() is None:
            most = max(most, job.memory_info().rss)
            job.suspend()
            stop = time.perf_counter()
            n = turn_by_turn(recalls, alone, n, STANDS_SECONDS)
            stood += time.perf_counter() - stop
            job.resume()
    took = time.perf_counter() - began - stood
    assert process.stdout
    print(f"{process.stdout.read().strip()} in {took:.0f} s: {due / took:,.0f} a second, at most {most / 2**20:.0f} MB")
    for name, times in meanwhile.items():
        print(f"{name:26} p95 {percentile(times, 95):6.1f} ms, longest {max(times):.0f} ms, {len(times)} calls", end="")
        still = percentile(alone[name], 95) if alone[name] else 0
        print(f"; while it stood still {still:.1f} ms: {percentile(times, 95) / still:.2f} times" if still else "")


def turn_by_turn(calls: dict[str, Callable[[int], None]], times: dict[str, list[float]], n: int, span: float) -> int:
    """Each of them again and again for a while; the number of the last."""
    ends = time.perf_counter() + span
    while time.perf_counter() < ends:
        n += 1
        for name, call in calls.items():
            times[name].append(1_000 * seconds(partial(call, n)))
            time.sleep(THINKS_SECONDS)
    return n


# what a killed night leaves


def killed(workspace: Any, kills: int) -> None:
    """Every memory that is due is expired once, whenever the job was killed, and the batches say the same."""
    sql("UPDATE memories_entry SET expired_at = NULL WHERE expired_at IS NOT NULL")
    sql("TRUNCATE memories_batchchange, memories_batch CASCADE")
    due = {row[0] for row in sql("SELECT id FROM memories_entry WHERE stated_at < %s", NOW.replace(month=1, day=30))}
    deaths, pick = 0, random.Random(1)
    while (process := begun(NIGHT, workspace.pk)).poll() is None:
        if deaths < kills:
            time.sleep(pick.uniform(0.05, 3))
            if process.poll() is None:
                deaths += 1
                process.kill()
                process.wait()
                continue
        process.wait()
        break
    expired_ids = {row[0] for row in sql("SELECT id FROM memories_entry WHERE expired_at IS NOT NULL")}
    applied_ids = [row[0] for row in sql("SELECT entry_id FROM memories_batchchange WHERE state = 'applied'")]
    twice = sql(
        "SELECT count(*) FROM (SELECT row_id FROM memories_change WHERE batch_id IN (SELECT id FROM memories_batch)"
        " GROUP BY row_id HAVING count(*) > 1) changed"
    )[0][0]
    exact = expired_ids == due and sorted(applied_ids) == sorted(due) and not twice
    how = "exactly" if exact else "NOT EXACTLY"
    print(f"killed {deaths} times: {len(expired_ids):,} of {len(due):,} expired, {how} once each")
