"""History: whoever changes a row, and however, it is written down (F2)."""

from collections.abc import Callable

import pytest
from django.db import IntegrityError, connection, transaction
from django.db.models import F

from channels_app.models import Channel
from memories import entries
from memories.models import Change, Entry, Link, Policy, Scope, Workspace
from memories.models.change import acting
from sessions_app.models import Session
from tests.conftest import NOW, make_draft

pytestmark = pytest.mark.django_db


@pytest.fixture
def entry(scope: Scope) -> Entry:
    entry = entries.remember(
        make_draft(scope, "the first wording", slots={"env": "prod"}), now=NOW, actor="bot:a"
    ).entry
    with connection.cursor() as cursor:  # whoever comes next says so for himself
        cursor.execute("SELECT set_config('memplatform.actor', '', true)")
    return entry


def last(table: str = "memories_entry") -> Change:
    return Change.objects.filter(table_name=table).latest("id")


def sql(statement: str, *parameters: object) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)


def test_an_insert_is_recorded_without_repeating_the_row(entry: Entry) -> None:
    change = last()
    assert (change.op, change.row_id, change.version, change.old, change.actor) == ("I", entry.pk, 1, {}, "bot:a")
    assert change.workspace_id == entry.workspace_id
    assert last("memories_slot").op == "I"


def test_an_update_keeps_the_old_values_of_what_changed(entry: Entry) -> None:
    with acting("operator:mei"):
        Entry.objects.filter(pk=entry.pk).update(content="the second wording", pinned=True)
    change = last()
    assert (change.op, change.version, change.actor) == ("U", 2, "operator:mei")
    assert change.old == {"content": "the first wording", "pinned": False}
    entry.refresh_from_db()
    assert entry.version == 2


def test_an_update_by_hand_in_sql_is_recorded_with_the_database_user(entry: Entry) -> None:
    sql("UPDATE memories_entry SET content = 'by hand' WHERE id = %s", entry.pk)
    change = last()
    assert change.old == {"content": "the first wording"}
    assert change.actor.startswith("sql:")


def test_a_deletion_keeps_the_whole_row(entry: Entry) -> None:
    sql("DELETE FROM memories_entry WHERE id = %s", entry.pk)
    change = last()
    assert change.op == "D" and change.old["content"] == "the first wording"
    assert last("memories_slot").old["value"] == "prod"


def test_rows_copied_in_are_recorded(scope: Scope) -> None:
    with (
        connection.cursor() as cursor,
        cursor.copy(
            "COPY memories_policy (workspace_id, kind, entry_type, scope_kind, name, value, updated_at, version,"
            " reason) FROM STDIN"
        ) as copy,
    ):
        for value in (7, 8):
            row = (scope.workspace_id, "quota", "note" if value == 7 else "fact", "user", "", value, NOW, 1, "")
            copy.write_row(row)
    changes = Change.objects.filter(table_name="memories_policy")
    assert [change.op for change in changes] == ["I", "I"]
    assert all(change.actor.startswith("sql:") for change in changes)


@pytest.mark.thorough
def test_a_bulk_update_raises_every_version_and_records_every_row(scope: Scope) -> None:
    entries.remember_many([make_draft(scope, f"thing {n} {'x' * n}") for n in range(200)], now=NOW, actor="bot:a")
    Entry.objects.update(topic="things")
    assert set(Entry.objects.values_list("version", flat=True)) == {2}
    assert Change.objects.filter(table_name="memories_entry", op="U", version=2, old={"topic": ""}).count() == 200


def test_a_row_that_stays_as_it_was_has_no_history(entry: Entry) -> None:
    before = Change.objects.count()
    Entry.objects.update(content=F("content"), pinned=False)
    Entry.objects.update(updated_at=NOW)
    assert Change.objects.count() == before
    entry.refresh_from_db()
    assert entry.version == 1


def test_a_writer_cannot_choose_a_version(entry: Entry) -> None:
    Entry.objects.filter(pk=entry.pk).update(version=77, content="the second wording")
    entry.refresh_from_db()
    assert entry.version == 2


def test_counters_are_not_history(entry: Entry, workspace: Workspace) -> None:
    session = Session.objects.create(workspace=workspace, key="k", started_at=NOW, last_at=NOW)
    before = Change.objects.count()
    Session.objects.update(tokens=F("tokens") + 5, next_position=9, last_at=NOW.replace(year=2027))
    entries.remember(make_draft(entry.scope, "the first wording"), now=NOW, actor="bot:a")
    assert Change.objects.count() == before
    session.refresh_from_db()
    entry.refresh_from_db()
    assert session.version == entry.version == 1
    Session.objects.update(conversation=2)
    assert last("sessions_app_session").old == {"conversation": 1}


def test_every_recorded_table_tells_of_all_three_operations(entry: Entry, workspace: Workspace) -> None:
    other = entries.remember(make_draft(entry.scope, "something else"), now=NOW, actor="bot:a").entry
    makers: dict[str, Callable[[], object]] = {
        "memories_link": lambda: Link.objects.create(
            workspace=workspace, from_entry=entry, to_entry=other, kind="alike", created_at=NOW
        ),
        "memories_policy": lambda: Policy.objects.create(workspace=workspace, kind="weight", name="alpha", value=0.1),
        "channels_app_channel": lambda: Channel.objects.create(workspace=workspace, platform="lark"),
        "sessions_app_session": lambda: Session.objects.create(
            workspace=workspace, key="k", started_at=NOW, last_at=NOW
        ),
    }
    changed = {
        "memories_link": "kind = 'supersedes'",
        "memories_policy": "value = 0.2",
        "channels_app_channel": "label = 'x'",
        "sessions_app_session": "conversation = 2",
    }
    for table, make in makers.items():
        make()
        sql(f"UPDATE {table} SET {changed[table]}")
        sql(f"DELETE FROM {table}")
        ops = Change.objects.filter(table_name=table).order_by("id").values_list("op", "version")
        assert list(ops) == [("I", 1), ("U", 2), ("D", 2)], table


def test_what_was_rolled_back_is_not_history(entry: Entry) -> None:
    before = Change.objects.count()
    with pytest.raises(IntegrityError), transaction.atomic():
        Entry.objects.update(content="another")
        Entry.objects.update(importance=2)
    assert Change.objects.count() == before


def test_old_wordings_can_be_read_back_version_by_version(scope: Scope) -> None:
    words = "the office coffee machine needs fresh filters and clean water every single morning"
    wordings = [words, f"{words} please", f"actually {words} please", f"oh {words}, please"]
    for wording in wordings:
        entries.remember(make_draft(scope, wording), now=NOW, actor="bot:a")
    entry = Entry.objects.get()
    olds = Change.objects.filter(row_id=entry.pk, table_name="memories_entry", op="U").order_by("version")
    assert [change.old["content"] for change in olds] == wordings[:3]
    assert entry.version == 4
