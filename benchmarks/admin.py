"""How long do the pages of the admin take at 100,000 entries? Part of `make bench`, about three minutes; with `--here`
on what `manage.py seed` has made.

Pages are asked for in this process, as the web's database role, by a member of a workspace and by an owner who sees two
of them. The database is the embedded one as `make run` configures it, in a temporary folder.
"""

import argparse
import random
import statistics
import sys
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from django.contrib.auth import get_user_model
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from benchmarks.ground import percentile, seconds, sql
from memories.language import text
from memories.models import Batch, Entry, RecallTrace, Scope, Workspace
from memories.staff.models import Member
from memories.tenancy import row_level_security
from sessions_app.models import Session

SCOPES = 200
ENTRIES = "/admin/memories/entry/"
PAGES = {
    "entries": ENTRIES,
    "page 40": f"{ENTRIES}?p=40",
    "live": f"{ENTRIES}?state=live",
    "due": f"{ENTRIES}?state=due",
    "expired": f"{ENTRIES}?state=expired",
    "facts, identity": f"{ENTRIES}?type__exact=fact&category__exact=identity",
    "a project": f"{ENTRIES}?project=apollo",
    "one scope": f"{ENTRIES}?scope__id__exact={{scope}}",
    "a day": f"{ENTRIES}?created_at_from={{day}}&created_at_to={{day}}",
    "search: common word": f"{ENTRIES}?q=garden",
    "search: two words": f"{ENTRIES}?q=garden+lantern",
    "search: rare word": f"{ENTRIES}?q=quincunx",
    "search: nothing": f"{ENTRIES}?q=xylophone",
    "search: Chinese": f"{ENTRIES}?q=年糕",
    "search: one character": f"{ENTRIES}?q=糕",
    "search: a phrase": f"{ENTRIES}?q=%22garden lantern%22",
    "search: an id": f"{ENTRIES}?q={{uid}}",
    "palette": "/admin/search/?extended=1&s=lantern",
    "an entry": f"{ENTRIES}{{entry}}/change/",
    "its history": f"{ENTRIES}{{entry}}/history/",
    "traces": "/admin/memories/recalltrace/",
    "scopes": "/admin/memories/scope/",
    "home": "/admin/",
}
MORE_PAGES = {
    "search: of the seed": f"{ENTRIES}?q=release+branch",
    "search: two Chinese": f"{ENTRIES}?q=龙井茶+成都",
    "scope and project": f"{ENTRIES}?scope__id__exact={{scope}}&project=Atlas",
    "expired last night": f"{ENTRIES}?view=last_night",
    "traces: words": "/admin/memories/recalltrace/?q=release+branch",
    "traces: Chinese": "/admin/memories/recalltrace/?q=龙井茶",
    "sessions": "/admin/sessions_app/session/",
    "a conversation": "/admin/sessions_app/session/{session}/change/",
    "batches": "/admin/memories/batch/",
    "a batch": "/admin/memories/batch/{batch}/change/",
    "a trace": "/admin/memories/recalltrace/{trace}/change/",
    "review": "/admin/review/",
    "audit log": "/admin/memories/auditrecord/",
    "files of a scope": "/admin/memories/filestate/scope/{scope}/",
}
WORDS = ["garden", "lantern", "harbour", "violin", "bakery", "router", "violet", "marble", "winter", "copper", "meadow",
         "thread", "castle", "pepper", "anchor", "saddle", "ribbon", "candle", "basket", "willow"]  # fmt: skip
CHINESE = ["年糕", "花生", "合唱团", "黄山", "雨衣", "房租", "茉莉", "罐头", "钢琴", "自行车"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--entries", type=int, default=100_000)
    parser.add_argument("--times", type=int, default=20, help="each page is asked for")


def main(options: argparse.Namespace) -> None:
    """With `--here`: what `manage.py seed` has filled the database with, by a superuser who is there already."""
    pages, values = (PAGES | MORE_PAGES, there_is()) if options.here else (PAGES, fill(options.entries))
    count = Entry.objects.count()  # as the owner of the tables, before the wall is there
    clients = {"superuser": as_web(superuser())} if options.here else people()
    print(f"{count:,} entries; milliseconds, median and 95th percentile of {options.times}; queries\n")
    print(f"{'':24}" + "".join(f"{name:>28}" for name in clients))
    for name, address in pages.items():
        figures = [measure(client, address.format(**values), options.times) for client in clients.values()]
        print(f"{name:24}" + "".join(f"{p50:12.0f}{p95:8.0f}{queries:8d}" for p50, p95, queries in figures))


def fill(count: int) -> dict[str, Any]:
    """A workspace with so many entries, half of them English, and one beside it with a tenth; what to ask for."""
    now = datetime.now(UTC)
    for name, share in (("bench", count), ("beside", count // 10)):
        workspace = Workspace.objects.create(name=name)
        write(workspace, share, now)
    sql("VACUUM ANALYZE")
    entry = Workspace.objects.get(name="bench").scopes.latest("pk").entries.latest("pk")
    return {"scope": entry.scope_id, "entry": entry.pk, "uid": entry.uid, "day": (now - timedelta(days=9)).date()}


def write(workspace: Any, count: int, now: datetime) -> None:
    """In bulk, as no writer of the platform does: only what the pages read."""
    pick = random.Random(0)
    keys = [Scope(workspace=workspace, key=f"telegram:direct_{n}", kind="user") for n in range(SCOPES)]
    scopes = Scope.objects.bulk_create(keys)
    rows = (entry_of(pick, n, scopes[n % SCOPES], now) for n in range(count))
    while chunk := [row for row, _n in zip(rows, range(2_000), strict=False)]:
        Entry.objects.bulk_create(chunk)
    pks = list(Entry.objects.filter(workspace=workspace).values_list("pk", flat=True)[:1_000])
    RecallTrace.objects.bulk_create(
        RecallTrace(
            workspace=workspace, scopes=[scopes[0].pk], message=sentence(pick), timings={"total": 20.0},
            served=pick.sample(pks, min(8, len(pks))), created_at=now - timedelta(seconds=n),
        )
        for n in range(count // 5)
    )  # fmt: skip


def sentence(pick: random.Random) -> str:
    return " ".join(pick.choices(WORDS if pick.random() < 0.5 else CHINESE, k=8))


def entry_of(pick: random.Random, n: int, scope: Any, now: datetime) -> Any:
    content = f"{sentence(pick)} {n}" + (" quincunx" if n % 20_000 == 7 else "")
    is_fact = n % 5 == 0
    at = now - timedelta(minutes=n)
    return Entry(
        workspace_id=scope.workspace_id, scope=scope, content=content, terms=sorted(text.terms(content)),
        fingerprint=text.fingerprint(content), type="fact" if is_fact else "chat_turn", tier=2 if is_fact else None,
        category="identity" if n % 50 == 0 else "", project="apollo" if n % 1_000 == 0 else "", source="manual",
        sender_id="u", created_at=at, stated_at=at, updated_at=at, expired_at=at if n % 100 == 3 else None,
    )  # fmt: skip


def there_is() -> dict[str, Any]:
    """What to ask for of the newest workspace."""
    entry = Entry.objects.latest("pk")
    newest = {
        name: model._default_manager.filter(workspace_id=entry.workspace_id).latest("pk").pk
        for name, model in (("session", Session), ("batch", Batch), ("trace", RecallTrace))
    }
    day = (datetime.now(UTC) - timedelta(days=9)).date()
    return newest | {"scope": entry.scope_id, "entry": entry.pk, "uid": entry.uid, "day": day}


def superuser() -> Any:
    client = Client(SERVER_NAME="localhost")
    client.force_login(get_user_model().objects.filter(is_superuser=True).earliest("pk"))
    return client


def as_web(client: Any) -> Any:
    """The same, asking as the web's role from now on."""
    sql(f"SET ROLE {row_level_security.WEB_ROLE}")
    return client


def people() -> dict[str, Any]:
    """Logged in, and from then on asking as the web's role."""
    users = get_user_model().objects
    member = users.create_user("member", is_staff=True)
    Member.objects.create(workspace=Workspace.objects.get(name="bench"), user=member, role="owner")
    clients = {}
    for name, user in (("member", member), ("owner", users.create_superuser("owner"))):
        clients[name] = Client(SERVER_NAME="localhost")
        clients[name].force_login(user)
    sql(f"SET ROLE {row_level_security.WEB_ROLE}")
    return clients


def measure(client: Any, address: str, times: int) -> tuple[float, float, int]:
    with CaptureQueriesContext(connection) as queries:
        first = client.get(address)
    if first.status_code != 200:
        sys.exit(f"{address} answered {first.status_code}.")
    durations = [seconds(partial(client.get, address)) * 1_000 for _ in range(times)]
    return statistics.median(durations), percentile(durations, 95), len(queries)
