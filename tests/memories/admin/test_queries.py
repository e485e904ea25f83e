"""How many queries each list costs: a known number, whatever the number of rows."""

from datetime import timedelta
from uuid import uuid4

import pytest
from django.contrib import admin
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from django_q.models import Schedule, Task

from channels_app.models import Channel, PathComparison
from memories import entries
from memories.audit.models import AuditEvent, AuditRecord
from memories.choices import EntryType, PolicyKind
from memories.entries import daily_events
from memories.entries.daily_events import EventDraft
from memories.models import (
    Batch,
    Bot,
    BotKey,
    Erasure,
    ExtractionBatch,
    FileState,
    JobRun,
    Link,
    PinnedTest,
    Policy,
    RecallTrace,
    Scope,
    Spend,
    Workspace,
)
from memories.staff.models import Invitation, Member
from memories.webhooks import announce_test
from memplatform.operations.models import Heartbeat
from sessions_app.models import Session
from tests.conftest import make_draft, make_grant
from tests.memories.admin.conftest import House, connected, make_user, replayed
from tests.memories.quoting import refuse
from tests.memories.webhooks.conftest import make_webhook
from tests.support.hosts import make_host

#: Who it is (2), the walls and the clock (3), the credentials to mask, one's own views, and the rows: each list's cost.
EVERY = 8
MORE = {
    "memories.entry": 1,  # the policies that say which rows are due
    "memories.batch": 1,  # how many wait for a decision
    "memories.jobrun": 4,  # the workspaces, and the newest runs and next hours of every job
    "memories.recalltrace": 2,  # the scopes that know who asked, and the sessions
    "memories.refusedfact": 3,  # of each model what was refused, kept and taken back
    "memories.spend": 2,  # the present day of each workspace, and the sums of a month
    "memories.filestate": 0,  # the workspaces to choose from; no own views
    "channels_app.pathcomparison": 1,  # the sums of days
    "memories.erasure": 1,  # the workspaces to choose from
    "channels_app.person": 5,  # the workspaces, who is linked, our accounts, and of those shown the memories and talks
    "memories.policy": 2,  # no own views; the workspaces to choose from, the numbers of one, and what was removed
}
#: What a list costs more once it has rows, and more of them than a page; others count them again.
GROWS = {"memories.filestate": 2, "channels_app.person": 0}  # the scopes with files, and what was indexed of these
MANY = 35  # more than a page
pytestmark = pytest.mark.django_db


def lists() -> list[str]:
    return [model._meta.label_lower for model in admin.site._registry]


def count(client: Client, label: str, **asked: str) -> int:
    with CaptureQueriesContext(connection) as queries:
        response = client.get(reverse(f"admin:{label.replace('.', '_')}_changelist"), asked)
    assert response.status_code == 200
    return len(queries)


def multiply(house: House) -> None:
    """Many rows of every kind that has a list."""
    now, workspace = timezone.now(), house.workspace
    person = make_user("inviting", is_staff=True)
    for n in range(MANY):
        scope = Scope.objects.create(workspace=workspace, key=f"telegram:direct_{n}", kind="user")
        entries.remember(make_draft(scope, f"thing number {n}"), now=now, actor="test")
        PinnedTest.objects.create(
            workspace=workspace, message=f"q{n}", scope_keys=["k"], must_words=["x"], created_by="t", created_at=now
        )
        other = Workspace.objects.create(name=f"house {n}")
        Member.objects.create(workspace=other, user=make_user(f"user{n}", is_staff=True))
        bot = Bot.objects.create(workspace=other, name=f"bot {n}")
        BotKey.issue(bot, permissions=["read"])
        channel = Channel.objects.create(workspace=other, platform="telegram", account=str(n))
        connected(other, str(n), at=now, channel=channel)
        Policy.objects.create(
            workspace=other, kind=PolicyKind.TTL, entry_type=EntryType.FACT, scope_kind="user", value=n
        )
        RecallTrace.objects.create(
            workspace=workspace, bot=house.bot, scopes=[scope.pk], session_key=f"k{n}", message="?", served=[],
            created_at=now,
        )  # fmt: skip
        PathComparison.objects.create(workspace=workspace, platform="telegram", created_at=now)
        FileState.objects.create(
            workspace=workspace, scope=scope, path=f"{n}.md", modified_ns=1, size=1, digest="d", indexed_at=now
        )
        refuse(workspace, f"refused {n}", model=f"m{n}", at=now)
        Spend.objects.create(workspace=workspace, local_date=now.date(), purpose=f"purpose {n}", model="m", refused=1)
        Batch.objects.create(workspace=workspace, scope=scope, name="expire", run=str(n), actor="a", created_at=now)
        replayed(workspace, f"call {n}", at=now)
        make_grant(house.bot, person, str(n))
        webhook, _secret = make_webhook(workspace, f"https://{n}.example/", events=["degraded"])
        announce_test(webhook, actor="test", now=now)
        JobRun.objects.create(job=f"job {n}", workspace=workspace, local_date=now.date(), started_at=now)
        AuditRecord.note(AuditEvent.LOGIN, actor=f"user:{n}", at=now)
        Invitation.make(workspace, "viewer", invited_by=person, label=str(n), days=7, now=now)
        Erasure.objects.create(workspace=workspace, reason=str(n), actor="a", created_at=now)
        Heartbeat.objects.create(name="web", pid=n, started_at=now, beat_at=now)
        make_host(f"host {n}", now)
        daily_events.write([EventDraft(scope=scope, local_date=now.date(), content=f"day {n}")], now=now, actor="test")
        ExtractionBatch.objects.create(workspace=workspace, session_uid=uuid4(), began_at=now, last_at=now, due_at=now)
        Session.objects.create(workspace=workspace, key=f"s{n}", started_at=now, last_at=now, user_scope=scope)
        Schedule.objects.create(name=f"s{n}", func="f", next_run=now + timedelta(days=n))
        for success in (True, False):
            Task.objects.create(id=uuid4().hex, name=f"t{n}", func="f", started=now, stopped=now, success=success)


@pytest.mark.thorough
def test_no_list_costs_more_for_more_rows(owner: Client, mine: House) -> None:
    expected = {label: EVERY + MORE.get(label, 0) for label in lists()}
    assert {label: count(owner, label) for label in lists()} == expected
    multiply(mine)
    counted = {label: queries + GROWS.get(label, 1) for label, queries in expected.items()}
    assert {label: count(owner, label) for label in lists()} == counted


@pytest.mark.thorough
def test_the_home_page_costs_the_same_for_more_rows(owner: Client, mine: House) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            assert owner.get(reverse("admin:index")).status_code == 200
        return len(captured)

    ttl = {"kind": PolicyKind.TTL, "entry_type": EntryType.FACT, "scope_kind": "user"}
    Policy.objects.create(workspace=mine.workspace, value=9, **ttl)  # a time to live of somebody's own
    few = queries()
    multiply(mine)
    assert queries() == few


@pytest.mark.thorough
def test_an_entry_costs_the_same_however_long_its_life(alice: Client, mine: House) -> None:
    def queries(page: str) -> int:
        with CaptureQueriesContext(connection) as captured:
            assert alice.get(reverse(f"admin:memories_entry_{page}", args=[mine.entry.pk])).status_code == 200
        return len(captured)

    pages = ("change", "history")
    few = [[queries(page) for page in pages] for _twice in range(2)][-1]  # the first fills what is kept per process
    for n in range(MANY):
        entries.update(mine.entry, entries.Edit(slots={"mood": str(n)}), now=timezone.now(), actor="test")
        other = entries.remember(make_draft(mine.scope, f"thing number {n}"), now=timezone.now(), actor="test").entry
        Link.objects.create(
            workspace=mine.workspace, from_entry=mine.entry, to_entry=other, kind="alike", created_at=timezone.now()
        )
    assert [queries(page) for page in pages] == few
