"""What the tables themselves refuse, whoever writes."""

from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.db import IntegrityError, connection, transaction

from channels_app.models import (
    Channel,
    Chat,
    Connection,
    Consent,
    Contact,
    Identity,
    IncomingMessage,
    Notice,
    OutgoingMessage,
    Person,
)
from memories import entries
from memories.index import worker
from memories.models import (
    Batch,
    BatchChange,
    Bot,
    BotKey,
    BufferedTurn,
    DailyEvent,
    EmbeddingModel,
    Entry,
    Erasure,
    ErasureTarget,
    Evidence,
    ExtractionBatch,
    FileState,
    Link,
    Policy,
    RecallTrace,
    Scope,
    Slot,
    StagedVector,
    Suppression,
    Tombstone,
    Webhook,
    WebhookDelivery,
    Workspace,
)
from sessions_app.models import Flush, Session, SessionEvent
from tests.conftest import NOW, TELEGRAM, Api, make_draft, make_grant, make_key, make_scope

pytestmark = pytest.mark.django_db
WALLS = """
    SELECT conname, conrelid::regclass::text, a.attname, confrelid::regclass::text FROM pg_constraint c
    JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = c.conkey[1]
    WHERE contype = 'f' AND array_length(conkey, 1) = 2 ORDER BY 1
"""
OTHER_KEYS = """
    SELECT conname FROM pg_constraint c
    JOIN pg_attribute a ON a.attrelid = c.confrelid AND a.attname = 'workspace_id'
    WHERE contype = 'f' AND array_length(conkey, 1) = 1
      AND EXISTS (SELECT 1 FROM pg_attribute b WHERE b.attrelid = c.conrelid AND b.attname = 'workspace_id')
"""


def rows(statement: str, *parameters: object) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return cursor.fetchall() if cursor.description else []


@pytest.fixture
def furnished_workspace(workspace: Workspace) -> Workspace:
    """A workspace with a row in every table that can point somewhere."""
    turn = {"address": TELEGRAM, "user": "hello there", "assistant": "hi"}
    Api(make_key(workspace)).post("turns", turn, **{"Idempotency-Key": "once"})
    scope, chat = Scope.objects.get(), make_scope(workspace, "telegram:mybot:group_g1", "chat")
    one = entries.remember(make_draft(scope, "the port is 8080", slots={"env": "prod"}), now=NOW, actor="t").entry
    entries.remember(make_draft(scope, "the port is 8080"), now=NOW, actor="t")
    other = entries.remember(make_draft(scope, "something else"), now=NOW, actor="t").entry
    worker.drain(now=NOW)
    entries.remember(make_draft(scope, "and it still waits"), now=NOW, actor="t")
    StagedVector.objects.create(
        workspace=workspace, entry=one, model=EmbeddingModel.objects.get(), fingerprint=one.fingerprint, embedding=[1.0]
    )
    Entry.objects.filter(pk=other.pk).update(superseded_by=one)
    Link.objects.create(workspace=workspace, from_entry=one, to_entry=other, kind="supersedes", created_at=NOW)
    Evidence.objects.create(workspace=workspace, entry=one, origin="m", start=0, end=3, quote="the", at=NOW)
    batch = Batch.objects.create(workspace=workspace, scope=scope, name="n", run="r", actor="t", created_at=NOW)
    BatchChange.objects.create(workspace=workspace, batch=batch, position=1, verb="expire", entry=one)
    Suppression.objects.create(
        workspace=workspace, scope=scope, entry=one, fingerprint=one.fingerprint, actor="t", created_at=NOW
    )
    RecallTrace.objects.create(
        workspace=workspace, bot=Bot.objects.get(), scopes=[], message="?", served=[], created_at=NOW
    )
    Session.objects.update(user_scope=scope, chat_scope=chat)
    BufferedTurn.objects.update(user_scope=scope, chat_scope=chat)  # of the turn
    Flush.objects.create(
        workspace=workspace, session=Session.objects.get(), conversation=1, cycle=1, up_to=1, actor="t", at=NOW
    )
    FileState.objects.create(
        workspace=workspace, scope=scope, path="MEMORY.md", modified_ns=1, size=1, digest="d", indexed_at=NOW
    )
    hook = Webhook.objects.create(workspace=workspace, url="https://a.example", events=["degraded"], created_at=NOW)
    WebhookDelivery.objects.create(workspace=workspace, webhook=hook, event="test", at=NOW, queued_at=NOW)
    ordered = make_erasure(workspace)
    ErasureTarget.objects.create(workspace=workspace, erasure=ordered, table_name="memories_entry", row_id=1)
    Tombstone.objects.create(workspace=workspace, erasure=ordered, digest="d")
    data = {"workspace": workspace, "person": Person.objects.create(workspace=workspace)}
    Identity.objects.create(**data, platform="lark", peer="ou_9")
    Consent.objects.create(**data, subject="memory", is_given=True, actor="t", at=NOW)
    connect_channel(workspace)
    key = BotKey.objects.get()
    key.grant = make_grant(key.bot, get_user_model().objects.create_user("ann"))
    key.save(update_fields=["grant"])
    result = make_event(scope)
    BatchChange.objects.create(workspace=workspace, batch=batch, position=2, verb="tell", event=result)
    return workspace


def connect_channel(workspace: Workspace) -> None:
    """A connection to a chat platform, with a row of all that hangs on one."""
    connected = Connection.objects.create(workspace=workspace, channel=Channel.objects.get())
    place = {"workspace": workspace, "connection": connected}
    talk = Chat.objects.create(**place, key="c7", place="c7")
    Contact.objects.create(**place, peer="u42")
    at = {"sent_at": NOW, "received_at": NOW, "due_at": NOW}
    IncomingMessage.objects.create(**place, chat=talk, key="1", kind="message", **at)
    OutgoingMessage.objects.create(**place, chat=talk, created_at=NOW)
    Notice.objects.create(**place, peer="u42", at=NOW)


def make_erasure(workspace: Workspace) -> Erasure:
    return Erasure.objects.create(workspace=workspace, reason="asked", actor="t", created_at=NOW)


def make_event(scope: Scope) -> DailyEvent:
    return DailyEvent.objects.create(
        workspace=scope.workspace, scope=scope, local_date=NOW.date(), content="moved", source="extraction",
        created_at=NOW, updated_at=NOW,
    )  # fmt: skip


@pytest.fixture
def foreign(stranger: Workspace) -> dict[str, int]:
    """One bare row of another workspace in every table that can be pointed to."""
    scope = make_scope(stranger, "main")
    entry = Entry.objects.create(
        workspace=stranger, scope=scope, type="note", source="file", content="theirs",
        created_at=NOW, stated_at=NOW, updated_at=NOW,
    )  # fmt: skip
    batch = Batch.objects.create(workspace=stranger, name="n", run="r", actor="t", created_at=NOW)
    session = Session.objects.create(workspace=stranger, key="k", started_at=NOW, last_at=NOW)
    bot = Bot.objects.create(workspace=stranger, name="theirs")
    channel = Channel.objects.create(workspace=stranger, platform="lark")
    connected = Connection.objects.create(workspace=stranger, channel=channel)
    return {
        "memories_scope": make_scope(stranger, "direct_nobody").pk,
        "memories_entry": entry.pk,
        "memories_bot": bot.pk,
        "memories_oauthgrant": make_grant(bot, get_user_model().objects.create_user("ben"), "theirs").pk,
        "memories_batch": batch.pk,
        "memories_dailyevent": make_event(scope).pk,
        "memories_erasure": make_erasure(stranger).pk,
        "memories_webhook": Webhook.objects.create(
            workspace=stranger, url="https://b.example", events=["degraded"], created_at=NOW
        ).pk,
        "sessions_app_session": session.pk,
        "channels_app_person": Person.objects.create(workspace=stranger).pk,
        "channels_app_channel": Channel.objects.create(workspace=stranger, platform="slack").pk,
        "channels_app_connection": connected.pk,
        "channels_app_chat": Chat.objects.create(workspace=stranger, connection=connected, key="c", place="c").pk,
        "sessions_app_sessionevent": SessionEvent.objects.create(
            workspace=stranger, session=session, conversation=9, position=1, kind="user", content="theirs", at=NOW
        ).pk,
        "memories_extractionbatch": ExtractionBatch.objects.create(
            workspace=stranger, session_uid=session.uid, began_at=NOW, last_at=NOW, due_at=NOW
        ).pk,
    }


def change(table: str, column: str, what: str, workspace: Workspace, value: int) -> None:
    """One row of a workspace that points somewhere, changed; there must be one."""
    result = rows(
        f"UPDATE {table} SET {what} WHERE ctid = (SELECT ctid FROM {table}"
        f" WHERE workspace_id = %s AND {column} IS NOT NULL LIMIT 1) RETURNING 1",
        value,
        workspace.pk,
    )
    assert result, f"nothing in {table} points by {column}"


def test_no_row_can_be_made_to_point_into_another_workspace(
    furnished_workspace: Workspace, foreign: dict[str, int]
) -> None:
    walls = rows(WALLS)
    assert len(walls) >= 19
    for name, table, column, target in walls:
        with pytest.raises(IntegrityError) as refused, transaction.atomic():
            change(table, column, f"{column} = %s", furnished_workspace, foreign[target])
        assert name in str(refused.value), (name, refused.value)


def test_no_row_can_be_moved_into_another_workspace(
    furnished_workspace: Workspace, stranger: Workspace, foreign: dict[str, int]
) -> None:
    for _name, table, column, _target in rows(WALLS):
        with pytest.raises(IntegrityError), transaction.atomic():
            change(table, column, "workspace_id = %s", furnished_workspace, stranger.pk)


def test_every_pointer_between_tables_of_a_workspace_has_its_wall() -> None:
    """Only to a workspace itself, and from a batch to the one it undoes, does a key stand alone."""
    assert [name for (name,) in rows(OTHER_KEYS) if "undoes" not in name] == []


def entry(scope: Scope, **kwargs: Any) -> Entry:
    fields = {"type": "user_explicit", "source": "tool", "content": "x", "importance": 0.5} | kwargs
    return Entry.objects.create(
        workspace=scope.workspace, scope=scope, created_at=NOW, stated_at=NOW, updated_at=NOW, **fields
    )


@pytest.mark.parametrize(
    ("broken", "constraint"),
    [
        ({"type": "gossip"}, "entry_type_known"),
        ({"source": "heaven"}, "entry_source_known"),
        ({"category": "gossip"}, "entry_category_known"),
        ({"content": ""}, "entry_content_not_empty"),
        ({"importance": 1.5}, "entry_importance_between_0_and_1"),
        ({"importance": -0.5}, "entry_importance_between_0_and_1"),
        ({"type": "fact"}, "entry_tier_of_facts_only"),
        ({"type": "fact", "tier": 3}, "entry_tier_of_facts_only"),
        ({"tier": 1}, "entry_tier_of_facts_only"),
        ({"line_from": 5, "line_to": 4}, "entry_lines_in_order"),
        ({"line_from": 5}, "entry_lines_in_order"),
    ],
)
def test_an_entry_that_makes_no_sense_is_refused(scope: Scope, broken: dict[str, Any], constraint: str) -> None:
    with pytest.raises(IntegrityError, match=constraint), transaction.atomic():
        entry(scope, **broken)


def test_nothing_points_at_itself(scope: Scope) -> None:
    result = entry(scope)
    with pytest.raises(IntegrityError, match="entry_not_its_own_successor"), transaction.atomic():
        Entry.objects.update(superseded_by=result)
    with pytest.raises(IntegrityError, match="link_between_two_entries"), transaction.atomic():
        Link.objects.create(workspace=scope.workspace, from_entry=result, to_entry=result, kind="alike", created_at=NOW)


def test_names_are_unique_where_they_name(scope: Scope, workspace: Workspace) -> None:
    result = entry(scope)
    Slot.objects.create(workspace=workspace, entry=result, name="env", value="prod")
    makers = {
        "slot_name_once_on_entry": lambda: Slot.objects.create(
            workspace=workspace, entry=result, name="env", value="x"
        ),
        "scope_key_once_in_workspace": lambda: make_scope(workspace, scope.key),
        "slot_has_a_name": lambda: Slot.objects.create(workspace=workspace, entry=result, name="", value="x"),
        "scope_has_a_key": lambda: make_scope(workspace, ""),
        "scope_kind_known": lambda: make_scope(workspace, "k", "planet"),
        "scope_relevance_is_a_share": lambda: Scope.objects.filter(pk=scope.pk).update(relevance_likely=1.5),
        "channel_serve_known": lambda: Channel.objects.create(workspace=workspace, platform="lark", serve="most"),
        "channel_has_a_platform": lambda: Channel.objects.create(workspace=workspace, platform=""),
        "channel_group_prefix_not_that_of_direct_chats": lambda: Channel.objects.create(
            workspace=workspace, platform="lark", group_prefix="direct_x"
        ),
        "policy_says_what_it_is_about": lambda: Policy.objects.create(workspace=workspace, kind="ttl", value=1),
        "policy_value_not_negative": lambda: Policy.objects.create(
            workspace=workspace, kind="weight", name="alpha", value=-1
        ),
    }
    for constraint, make in makers.items():
        with pytest.raises(IntegrityError, match=constraint), transaction.atomic():
            make()


def test_a_removed_entry_takes_along_what_hung_on_it(furnished_workspace: Workspace) -> None:
    entry = Entry.objects.get(content="the port is 8080")
    Entry.objects.update(superseded_by=None)
    BatchChange.objects.all().delete()
    Suppression.objects.all().delete()
    rows("DELETE FROM memories_entry WHERE id = %s", entry.pk)
    for table in ("slot", "entryvector", "entryindex", "entryaccess"):
        assert rows(f"SELECT count(*) FROM memories_{table} WHERE entry_id = %s", entry.pk) == [(0,)]
    assert not Link.objects.exists()


def test_an_entry_something_rests_on_cannot_be_removed(furnished_workspace: Workspace) -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        rows("DELETE FROM memories_entry WHERE content = 'the port is 8080'")
