"""Two furnished workspaces, Alice's and Charlie's, and the people who come to the admin."""

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractBaseUser
from django.test import Client
from django.utils import timezone
from django_q.models import Failure, Schedule, Success

from channels_app.models import (
    Answerer,
    Channel,
    Chat,
    Connection,
    IncomingMessage,
    MessageState,
    OutgoingMessage,
    PathComparison,
    ReplayedRecord,
)
from memories import webhooks
from memories.audit.models import AuditEvent, AuditRecord
from memories.batches import bulk_actions
from memories.choices import JobState, PolicyKind
from memories.entries import daily_events
from memories.entries.daily_events import EventDraft
from memories.models import (
    Bot,
    Entry,
    Erasure,
    Evidence,
    FileState,
    JobRun,
    Link,
    PinnedTest,
    Policy,
    RecallTrace,
    Scope,
    Slot,
    Spend,
    Workspace,
)
from memories.staff.models import Invitation, Member
from memories.staff.roles import Role
from memplatform.operations.models import Heartbeat
from sessions_app.models import Session
from tests.conftest import NOW, TELEGRAM, Api, make_grant, make_key
from tests.memories.quoting import refuse
from tests.memories.webhooks.conftest import make_webhook
from tests.support.hosts import make_host
from tests.support.shared_rows import kept_for_many

#: Stands in everything of Charlie's, and in nothing of Alice's.
SECRET = "quillfeather"
OPEN = "marmalade"


@dataclass(frozen=True)
class House:
    """A workspace with one of everything, each telling a word."""

    workspace: Workspace
    bot: Bot
    scope: Scope
    entry: Entry
    trace: RecallTrace
    session: Session
    word: str


def pin(workspace: Workspace, entry: Entry, word: str) -> None:
    """A pinned test of this entry's scope."""
    PinnedTest.objects.create(
        workspace=workspace,
        message=f"pinned {word}",
        scope_keys=[entry.scope.key],
        whom={"said": word, "asker": "", "session": "", "places": []},
        must_words=[word],
        created_by=f"user:{word}",
        created_at=NOW,
    )


def furnish(workspace: Workspace, word: str) -> House:
    """One of everything the admin shows, made through the front door where there is one."""
    api = Api(make_key(workspace, name=f"bot-{word}", label=f"key-{word}"))
    address = {**TELEGRAM, "account": word, "peer": f"peer-{word}", "chat": f"chat-{word}"}
    for said_it in (f"I like {word} with tea", f"My neighbour planted a {word} tree"):
        turn = api.post("turns", {"address": address, "user": said_it, "assistant": "Noted."})
        assert turn.status_code == 201, turn.json()
    asked = api.post("recall", {"address": address, "message": f"what do I drink with {word}?"})
    assert asked.status_code == 200, asked.json()
    first, second = Entry.objects.filter(workspace=workspace).order_by("pk")
    Slot.objects.create(workspace=workspace, entry=first, name="mood", value=f"mood-{word}")
    Link.objects.create(workspace=workspace, from_entry=first, to_entry=second, kind="alike", created_at=NOW)
    bulk_actions.apply_action([second], bulk_actions.EXPIRE, now=NOW, actor=f"user:{word}", reason=f"because {word}")
    Policy.objects.create(workspace=workspace, kind=PolicyKind.WEIGHT, name="alpha", value=0.4)
    draft = EventDraft(
        scope=first.scope, local_date=NOW.date(), content=f"bought {word}", origins=("session_events/s/1/event-1",)
    )
    daily_events.write([draft], now=NOW, actor=f"user:{word}")
    Channel.objects.filter(workspace=workspace).update(label=f"channel-{word}")
    refuse(workspace, f"refused {word}", quote=f"quoted {word}", scope=first.scope, at=timezone.now())
    Evidence.objects.create(
        workspace=workspace, entry=first, origin=first.origins[0], start=0, end=9, quote=f"said {word}", at=NOW
    )
    Spend.objects.create(workspace=workspace, local_date=NOW.date(), purpose=f"purpose-{word}", model="small")
    pin(workspace, first, word)
    JobRun.objects.create(
        job=f"job-{word}", workspace=workspace, local_date=NOW.date(), state=JobState.DONE, started_at=NOW
    )
    replayed(workspace, f"parked-{word}", at=NOW)
    connected(workspace, word, at=NOW)
    webhook, _secret = make_webhook(workspace, f"https://{word}.example/")
    webhooks.announce_test(webhook, actor=f"user:{word}", now=NOW)
    AuditRecord.note(
        AuditEvent.SETTING, actor=f"user:{word}", at=NOW, workspace_id=workspace.pk, about=f"setting of {word}"
    )
    inviting = make_user(f"inviting-{word}", is_staff=True, is_superuser=True)
    Invitation.make(workspace, Role.VIEWER, invited_by=inviting, label=f"friend of {word}", days=7, now=NOW)
    make_grant(Bot.objects.get(workspace=workspace), inviting, word)
    return House(
        workspace=workspace,
        bot=Bot.objects.get(workspace=workspace),
        scope=Scope.objects.get(workspace=workspace),
        entry=first,
        trace=RecallTrace.objects.get(workspace=workspace),
        session=Session.objects.get(workspace=workspace),
        word=word,
    )


def connected(workspace: Workspace, word: str, *, at: datetime, channel: Channel | None = None) -> Connection:
    """A connection to a chat platform, with a message that was not answered and an answer that was not taken."""
    row = Connection.objects.create(
        workspace=workspace,
        channel=channel or Channel.objects.filter(workspace=workspace, platform="telegram").first(),
        answerer=Answerer.CALLBACK,
        callback_url=f"https://bot.{word}.example/",
    )
    place = {"workspace": workspace, "connection": row, "state": MessageState.FAILED, "body": {"text": word}}
    chat = Chat.objects.create(workspace=workspace, connection=row, key=f"chat-{word}", place=f"chat-{word}")
    IncomingMessage.objects.create(
        **place, chat=chat, key=f"update-{word}", kind="message", sent_at=at, received_at=at, due_at=at
    )
    OutgoingMessage.objects.create(**place, chat=chat, created_at=at)
    return row


def replayed(workspace: Workspace, word: str, *, at: datetime) -> ReplayedRecord:
    """A call that was accepted without the database, and could not be applied."""
    return ReplayedRecord.objects.create(
        uid=uuid4(), workspace=workspace, platform="telegram", account="mybot", kind="turn", outcome="parked",
        reason=f"ScopeFrozen: {word}", body={"user": word}, accepted_at=at, replayed_at=at,
    )  # fmt: skip


def make_user(
    name: str, *, workspace: Workspace | None = None, role: Role = Role.OWNER, **kwargs: Any
) -> AbstractBaseUser:
    user = get_user_model().objects.create_user(name, **kwargs)  # no password: logged in by force
    if workspace:
        Member.objects.create(workspace=workspace, user=user, role=role)
    return user


def dismiss_all(workspace: Workspace) -> None:
    """End the memberships of a workspace; a stranger to the test owns it, since somebody has to."""
    make_user(f"caretaker of {workspace.pk}", workspace=workspace)
    workspace.members.exclude(user__username__startswith="caretaker").delete()


def enter(user: AbstractBaseUser | None) -> Client:
    """A browser somebody has logged in with; None: nobody has."""
    client = Client()
    if user:
        client.force_login(user)
    return client


@pytest.fixture(scope="module")
def my_house(django_db_setup: None, django_db_blocker: Any) -> Iterator[House]:
    """Furnished once for all tests of a module: it costs more than most of them."""
    with kept_for_many(
        lambda: furnish(Workspace.objects.create(name="Alice's"), OPEN), django_db_blocker, TEST_CLOCK=False
    ) as house:
        yield house


@pytest.fixture
def mine(my_house: House, db: None) -> House:
    return deepcopy(my_house)


@pytest.fixture
def furnished(mine: House) -> House:
    """With a row of every table of the platform, and another owner, so that one can be dismissed."""
    Heartbeat.objects.create(name="web", pid=1, started_at=NOW, beat_at=NOW)
    make_host("web-1", NOW)
    for model in (Success, Failure):
        model.objects.create(
            id=model.__name__, name=model.__name__, func="f", started=NOW, stopped=NOW, success=model is Success
        )
    Schedule.objects.create(name="s", func="f")
    make_user("other owner", workspace=mine.workspace)
    FileState.objects.create(
        workspace=mine.workspace, scope=mine.scope, path="a.md", modified_ns=1, size=1, digest="d", indexed_at=NOW
    )
    Erasure.objects.create(workspace=mine.workspace, reason="r", actor="user:S", created_at=NOW)
    PathComparison.objects.create(
        workspace=mine.workspace, platform="telegram", account="a", message="m", created_at=NOW
    )
    return mine


@pytest.fixture
def theirs(db: None) -> House:
    return furnish(Workspace.objects.create(name=f"House {SECRET}"), SECRET)


@pytest.fixture
def alice(mine: House) -> Client:
    """A member of Alice's workspace."""
    return enter(make_user("alice", workspace=mine.workspace, is_staff=True))


@pytest.fixture
def charlie(theirs: House) -> Client:
    """A member of the other one."""
    return enter(make_user(f"charlie-{SECRET}", workspace=theirs.workspace, is_staff=True))


@pytest.fixture
def dora(db: None) -> Client:
    """Staff, and a member of nothing."""
    return enter(make_user("dora", is_staff=True))


@pytest.fixture
def owner(db: None) -> Client:
    return enter(make_user("owner", is_staff=True, is_superuser=True))
