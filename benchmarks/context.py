"""How long does POST /context take, and which part of it? `make bench ARGS=context`, about three minutes.

One direct chat with ten thousand memories and vectors of 384 dimensions, a profile of a hundred facts, notes, ten
thousand older session events, and an open conversation of two hundred turns. Asked through the wire of this process,
as the role of the web; what the embedder takes of a call is shown apart.
"""

import argparse
import random
import sys
import time
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import connection
from django.test import Client

from benchmarks.ground import percentile, sql
from benchmarks.latency import ADDRESS, Clock, turn
from memories import embeddings, entries
from memories.consolidation.capture import turn_text
from memories.embeddings.deterministic import Deterministic
from memories.entries import daily_events
from memories.entries.daily_events import EventDraft
from memories.entries.draft import Draft
from memories.index import worker
from memories.models import Bot, BotKey, Entry, RecallTrace, Scope, Workspace
from memories.tenancy import row_level_security
from sessions_app.models import Session, SessionEvent
from sessions_app.search.embedder import EventEmbedder

NOW = datetime.now(UTC)
SCOPE = "telegram:direct_u1"
QUESTIONS = {
    "a question": "When was it that I repaired the {noun} number {n} in Porto?",
    "about yesterday": "What did we say yesterday about the {noun} in Lviv?",
    "about the past": "Do you remember what I told you about the {noun} number {n}?",
    "no need of memory": "ok",
}
NOUNS = ("harbour", "boat", "violin", "garden", "letter", "engine", "market", "bridge", "recipe", "camera")
AIM_MS = 80.0
COPIES = 10  # of each turn that is written, so that filling takes no longer than measuring


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--entries", type=int, default=10_000)
    parser.add_argument("--events", type=int, default=10_000, help="session events of older conversations")
    parser.add_argument("--turns", type=int, default=200, help="of the open conversation")
    parser.add_argument("--calls", type=int, default=100, help="of each kind of message")


def main(options: argparse.Namespace) -> None:
    settings.MEMORY_SESSION_MAX_TOKENS = 1_000_000
    Deterministic.model, Deterministic.dimension = "deterministic-384", 384  # as wide as the bundled model's
    embeddings.forget()
    slowest = report(measure(fill(options), options.calls))
    print(f"p95 without embedding {slowest:.1f} ms; the aim is {AIM_MS:.0f} ms")


def fill(options: argparse.Namespace) -> Any:
    """Write the chat of the docstring; the test client of its bot."""
    workspace = Workspace.objects.create(name="bench")
    _key, token = BotKey.issue(Bot.objects.create(workspace=workspace, name="bench"), permissions=["read", "write"])
    scope = Scope.objects.create(workspace=workspace, key=SCOPE, kind="user")
    count = max(options.entries // COPIES, 1)
    for begin in range(0, count, 250):
        drafts = [_draft(scope, n) for n in range(begin, min(begin + 250, count))]
        entries.remember_many(drafts, now=NOW, actor="bench")
    core = [f"Core fact number {n}: likes the {NOUNS[n % 10]} of year {1900 + n}" for n in range(100)]
    facts = [Draft(scope=scope, type="fact", tier=1, content=fact, source="tool", at=NOW) for fact in core]
    entries.remember_many(facts, now=NOW, actor="bench")
    days = [NOW.date() - timedelta(days=n % 9) for n in range(900)]
    notes = [EventDraft(scope=scope, local_date=day, content=f"Note {n}") for n, day in enumerate(days)]
    daily_events.write(notes, now=NOW, actor="bench")
    while worker.index_queued(now=NOW, limit=256, use_cache=False):
        pass
    _multiply(scope)
    wire = Client(SERVER_NAME="localhost", headers={"Authorization": f"Bearer {token}"})
    older_events(wire, options.events)
    for n in range(options.turns):
        wire.post("/api/v1/turns", turn(50_000 + n), content_type="application/json")
    embed_events()
    sql("VACUUM ANALYZE")
    return wire


def _multiply(scope: Any) -> None:
    """Copies of the turns and of their search rows, at other times: it is not the door that is measured."""
    own = [f.column for f in Entry._meta.concrete_fields if f.column not in ("id", "uid", "content", "created_at")]
    columns = ", ".join(own)
    for n in range(1, COPIES):
        sql(
            f"WITH copied AS (INSERT INTO memories_entry (uid, content, created_at, {columns})"
            f" SELECT gen_random_uuid(), content || ' copy {n} of ' || id, created_at - interval '{n} days', {columns}"
            " FROM memories_entry WHERE scope_id = %s AND type = 'chat_turn' AND content NOT LIKE '%% copy %%'"
            " RETURNING id, content)"
            " INSERT INTO memories_entryindex (entry_id, workspace_id, scope_id, model_id, embedding, keywords)"
            " SELECT copied.id, i.workspace_id, i.scope_id, i.model_id, i.embedding, i.keywords FROM copied"
            " JOIN memories_entryindex i"
            " ON i.entry_id = substring(copied.content from ' copy \\d+ of (\\d+)$')::bigint",
            scope.pk,
        )
    sql("UPDATE memories_scopeterm SET entries = entries * %s", COPIES)
    sql("UPDATE memories_scope SET entry_count = (SELECT count(*) FROM memories_entry)")


def _draft(scope: Any, n: int) -> Any:
    words = turn(n)
    slots = {"sender_id": "u1", "chat_id": "c1", "session_id": f"s{n // 40}"}
    at = NOW - timedelta(minutes=40_000) + timedelta(minutes=3 * n)
    return Draft(
        scope=scope, type="chat_turn", content=turn_text(words["user"], words["assistant"]),
        source="conversation_capture", at=at, slots=slots, chats=(SCOPE,),
    )  # fmt: skip


def older_events(wire: Any, events: int) -> None:
    """Written straight into the table: conversations of a month, forty messages each, searched like all others."""
    wire.post("/api/v1/turns", turn(60_000), content_type="application/json")
    session = Session.objects.get()
    SessionEvent.objects.filter(session=session).delete()
    Session.objects.update(conversation=events // 40 + 1, next_position=1, tokens=0)
    SessionEvent.objects.bulk_create(
        (
            SessionEvent(
                workspace_id=session.workspace_id, session=session, conversation=n // 40 + 1, position=n % 40 + 1,
                kind=(kind := "assistant" if n % 2 else "user"), content=turn(n // 2)[kind], tokens=20,
                at=NOW - timedelta(minutes=4 * (events - n)),
            )
            for n in range(events)
        ),
        batch_size=1_000,
    )  # fmt: skip
    embed_events()


def embed_events() -> None:
    """Embed every message that waits."""
    worker = EventEmbedder()
    while worker(now=NOW) == 0:
        pass


def measure(wire: Any, calls: int) -> dict[str, dict[str, list[float]]]:
    """By kind of message: the whole call, without the embedder, in SQL, and by step of the recall."""
    workspace = Workspace.objects.get().pk
    sql(f"SET ROLE {row_level_security.WEB_ROLE}")  # as the web asks
    took: dict[str, dict[str, list[float]]] = {}
    for kind, question in QUESTIONS.items():
        took[kind] = defaultdict(list)
        for n in range(calls + 5):
            message = question.format(noun=random.choice(NOUNS), n=n)
            clock, begun = Clock(), time.perf_counter()
            with connection.execute_wrapper(clock):
                answer = wire.post(
                    "/api/v1/context", {"address": ADDRESS, "message": message}, content_type="application/json"
                )
            total = (time.perf_counter() - begun) * 1000
            if answer.status_code != 200:
                sys.exit(f"POST /context answered {answer.status_code}: {answer.content.decode()[:500]}")
            if n < 5:
                continue  # the first calls read what later ones know
            row_level_security.enter([workspace])
            timings = RecallTrace.objects.get(uid=answer.json()["recall_id"]).timings
            steps = {"total": total, "without": total - timings.get("embedding", 0.0), "sql": clock.milliseconds}
            steps["statements"] = float(clock.statements)
            for step, value in (timings | steps).items():
                took[kind][step].append(value)
    return took


def report(took: dict[str, dict[str, list[float]]]) -> float:
    """Print the figures; the largest p95 without embedding."""
    steps = ("total", "without", "sql", "search", "passed_over", "events", "statements")
    print(f"{'p50 / p95, ms':20}" + "".join(f"{step:>18}" for step in steps))
    for kind, values in took.items():
        cells = (
            f"{percentile(values[s], 50):.1f} / {percentile(values[s], 95):.1f}" if s in values else "–" for s in steps
        )
        print(f"{kind:20}" + "".join(f"{cell:>18}" for cell in cells), flush=True)
    return max(percentile(values["without"], 95) for values in took.values())
