"""What does POST /recall cost without its embedding, in scopes of three sizes? `make bench ARGS=recall`.

Over HTTP, in turns with a ping and with the bare statement of the ranking, so that other work on the machine weighs on
all of them alike. Vectors are hashed: the embedding of a question is measured by itself (`make bench ARGS=embedding`).
"""

import argparse
import json
import random
import sys
from collections import defaultdict
from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from django.db import connection
from django.test import Client

from benchmarks.ground import Milliseconds, percentile, seconds, sql
from benchmarks.latency import NOUNS, PLACES, VERBS, Caller, turn
from channels_app.addresses import ensure_channel
from memories import entries
from memories.consolidation.capture import turn_text
from memories.entries.draft import Draft
from memories.index import worker
from memories.models import Bot, BotKey, Entry, Scope
from memories.tenancy.resolver import Address
from tests.support.house import House

SIZES = (1_000, 10_000, 100_000)
WRITTEN = 1_000  # turns that go through the door; larger scopes hold copies of them
FIRST = timedelta(days=20)  # ago, the first of them was said
#: A recall's own limits are not what is measured.
ENVIRONMENT = {"MEMORY_EMBED_RECALL_SECONDS": "5"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--calls", type=int, default=100, help="of each kind")
    parser.add_argument("--largest", type=int, default=SIZES[-1], help="scope that is measured")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")


def main(house: House, options: argparse.Namespace) -> None:
    sizes = [size for size in SIZES if size <= options.largest]
    key = (house.data / "credentials" / "bot-key").read_text()
    fill(BotKey.objects.get().bot, sizes)
    with closing(Caller(house.port, key)) as caller:
        took = measure(
            caller, Client(SERVER_NAME="localhost", headers={"Authorization": f"Bearer {key}"}), sizes, options.calls
        )
    print_report(took, sizes, as_json=options.json)


# the scopes


def address(size: int) -> dict[str, Any]:
    return {"platform": "telegram", "account": "bench", "peer": f"u{size}", "chat": f"c{size}"}


def question(size: int, n: int) -> dict[str, Any]:
    pick = random.Random(n)
    message = f"When was it that I {pick.choice(VERBS)} the {pick.choice(NOUNS)} number {n} in {pick.choice(PLACES)}?"
    return {"address": address(size), "message": message, "cache": False}


def fill(bot: Bot, sizes: Sequence[int]) -> None:
    """A scope of each size, with vectors, ready to be asked."""
    now = datetime.now(UTC)
    ensure_channel(bot.workspace_id, Address(**address(0)))  # as the first message does
    scopes = [Scope.objects.begin(bot.workspace_id, f"telegram:direct_u{size}", "user") for size in sizes]
    first = scopes[0]
    for begin in range(0, WRITTEN, 250):
        drafts = [_draft(first, n, now) for n in range(begin, begin + 250)]
        entries.remember_many(drafts, now=now, actor="bench")
    while worker.index_queued(now=now, limit=256, use_cache=False):
        pass
    for scope, size in zip(scopes[1:], sizes[1:], strict=True):
        _copy(first, scope, size // WRITTEN)
    sql("ANALYZE")
    sql("VACUUM")


def _draft(scope: Scope, n: int, now: datetime) -> Draft:
    words = turn(n)
    return Draft(
        scope=scope,
        type="chat_turn",
        content=turn_text(words["user"], words["assistant"]),
        source="conversation_capture",
        at=now - FIRST + timedelta(minutes=25 * n),
        slots={"sender_id": scope.key, "chat_id": "c", "session_id": f"s{n // 40}"},
        chats=(scope.key,),
    )


def _copy(source: Scope, scope: Scope, times: int) -> None:
    """So many copies of the entries of a scope in another, with their search rows and the counts of its words."""
    own = [f.column for f in Entry._meta.concrete_fields if f.column not in ("id", "uid", "scope_id", "content")]
    columns = ", ".join(own)
    for n in range(times):
        sql(
            f"WITH copied AS (INSERT INTO memories_entry (uid, scope_id, content, {columns})"
            f" SELECT gen_random_uuid(), %s, content || ' ({n}, ' || id || ')', {columns}"
            " FROM memories_entry WHERE scope_id = %s RETURNING id, content)"
            " INSERT INTO memories_entryindex (entry_id, workspace_id, scope_id, model_id, embedding, keywords)"
            " SELECT copied.id, i.workspace_id, %s, i.model_id, i.embedding, i.keywords FROM copied"
            " JOIN memories_entryindex i ON i.entry_id = substring(copied.content from ', (\\d+)\\)$')::bigint",
            *(scope.pk, source.pk, scope.pk),
        )
    sql(
        "INSERT INTO memories_scopeterm (workspace_id, scope_id, term, entries)"
        " SELECT workspace_id, %s, term, entries * %s FROM memories_scopeterm WHERE scope_id = %s",
        *(scope.pk, times, source.pk),
    )
    sql(
        "UPDATE memories_scope s SET entry_count = o.entry_count * %s, average_length = o.average_length,"
        " index_length = o.index_length, version = o.version FROM memories_scope o WHERE s.id = %s AND o.id = %s",
        *(times, scope.pk, source.pk),
    )


# figures


def measure(caller: Caller, within: Client, sizes: Sequence[int], calls: int) -> dict[str, Milliseconds]:
    """In turns: a ping, a recall and a context of each size, and the bare statement of that recall."""
    took: dict[str, Milliseconds] = defaultdict(list)
    bare = {size: ranking_of(within, size) for size in sizes}
    for n in range(calls + 3):
        took["ping"].append(caller.ping())
        for size in sizes:
            result = question(size, n)
            took[f"recall {size}"].append(caller.post("recall", result)[1])
            took[f"bare {size}"].append(seconds(partial(sql, bare[size])) * 1000)
            context = {name: result[name] for name in ("address", "message")}
            took[f"context {size}"].append(caller.post("context", context)[1])
        if n == 2:
            took.clear()  # the first calls read what later ones know
    return took


def ranking_of(within: Client, size: int) -> str:
    """The statement of the ranking with its values, as a recall of this scope sends it."""
    statements: list[str] = []

    def noted(execute: Any, statement: str, parameters: Any, many: bool, context: Any) -> Any:
        if "ORDER BY fused" in statement and not statements:
            with connection.connection.cursor() as cursor:
                statements.append(cursor.mogrify(statement, parameters))
        return execute(statement, parameters, many, context)

    with connection.execute_wrapper(noted):
        answer = within.post("/api/v1/recall", question(size, 0), content_type="application/json")
    if answer.status_code != 200 or not statements:
        sys.exit(f"POST /recall answered {answer.status_code}: {answer.content.decode()[:500]}")
    return statements[0]


def print_report(took: dict[str, Milliseconds], sizes: Sequence[int], *, as_json: bool) -> None:
    p50 = {name: percentile(values, 50) for name, values in took.items()}
    if as_json:
        print(json.dumps(p50))
        return
    print(f"ping {p50['ping']:.1f} ms; p50 in milliseconds, without embedding\n")
    print(f"{'entries':>10}{'recall':>10}{'x ping':>10}{'bare':>10}{'x bare':>10}{'context':>10}{'x recall':>10}")
    for size in sizes:
        recalled, bare, context = (p50[f"{name} {size}"] for name in ("recall", "bare", "context"))
        ratios = (recalled / p50["ping"], recalled / bare, context / recalled)
        print(
            f"{size:>10,}{recalled:>10.1f}{ratios[0]:>10.1f}{bare:>10.1f}{ratios[1]:>10.1f}{context:>10.1f}{ratios[2]:>10.2f}"
        )
