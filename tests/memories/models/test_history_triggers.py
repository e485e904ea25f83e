"""Every recorded table tells of a bulk update, of SQL by hand and of rows copied in, row by row (F2)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth import get_user_model
from django.db import connection
from django.db.models import Model

from channels_app.models import Channel, Connection, Consent, Identity, Person
from memories import entries
from memories.choices import Source
from memories.models import Change, DailyEvent, Entry, Link, PinnedTest, Policy, Scope, Slot, Suppression
from memories.models.change import Recorded, acting
from memories.staff.models import Member
from sessions_app.models import Session
from tests.conftest import NOW, make_draft

pytestmark = pytest.mark.django_db


@dataclass(frozen=True)
class Case:
    """How a row is made, which column changes, and what tells two rows apart."""

    make: Callable[[Entry, Entry], Model]
    column: str
    value: Any
    other: Callable[[Entry, Entry], dict[str, Any]]


def _where(entry: Entry) -> dict[str, Any]:
    return {"workspace_id": entry.workspace_id, "scope_id": entry.scope_id}


def _person(entry: Entry) -> Person:
    return Person.objects.create(workspace_id=entry.workspace_id, name="Ann")


CASES: dict[type[Model], Case] = {
    Entry: Case(lambda a, b: a, "content", "别的话", lambda a, b: {"uid": "019a0000-0000-7000-8000-000000000001"}),
    Slot: Case(
        lambda a, b: Slot.objects.create(workspace_id=a.workspace_id, entry=a, name="env", value="prod"),
        "value",
        "测试",
        lambda a, b: {"name": "other"},
    ),
    Connection: Case(
        lambda a, b: Connection.objects.create(
            workspace_id=a.workspace_id,
            channel=Channel.objects.create(workspace_id=a.workspace_id, platform="lark", account="of a connection"),
        ),
        "instructions",
        "简短回答",
        lambda a, b: {
            "uid": "019a0000-0000-7000-8000-000000000002",
            "channel_id": Channel.objects.create(workspace_id=a.workspace_id, platform="slack").pk,
        },
    ),
    Link: Case(
        lambda a, b: Link.objects.create(
            workspace_id=a.workspace_id, from_entry=a, to_entry=b, kind="alike", created_at=NOW
        ),
        "kind",
        "supersedes",
        lambda a, b: {"kind": "source_of"},
    ),
    Suppression: Case(
        lambda a, b: Suppression.objects.create(
            **_where(a), entry=a, fingerprint="f", actor="user:ann", created_at=NOW
        ),
        "actor",
        "user:bo",
        lambda a, b: {"entry_id": b.pk},
    ),
    DailyEvent: Case(
        lambda a, b: DailyEvent.objects.create(
            **_where(a),
            local_date=NOW.date(),
            content="bought tea",
            source=Source.MANUAL,
            created_at=NOW,
            updated_at=NOW,
        ),
        "content",
        "买了茶",
        lambda a, b: {"uid": "019a0000-0000-7000-8000-000000000002", "local_date": "2026-02-02"},
    ),
    Person: Case(
        lambda a, b: Person.objects.create(workspace_id=a.workspace_id, name="Ann"),
        "name",
        "安",
        lambda a, b: {"key": "019a0000-0000-7000-8000-000000000006"},
    ),
    Identity: Case(
        lambda a, b: Identity.objects.create(
            workspace_id=a.workspace_id, person=_person(a), platform="telegram", peer="ann"
        ),
        "platform",
        "lark",
        lambda a, b: {"peer": "second"},
    ),
    Consent: Case(
        lambda a, b: Consent.objects.create(
            workspace_id=a.workspace_id, person=_person(a), subject="memory", is_given=True, actor="user:ann", at=NOW
        ),
        "note",
        "口头同意",
        lambda a, b: {"subject": "model"},
    ),
    PinnedTest: Case(
        lambda a, b: PinnedTest.objects.create(
            workspace_id=a.workspace_id,
            message="which port?",
            scope_keys=["k"],
            must_words=["8080"],
            created_by="t",
            created_at=NOW,
        ),
        "message",
        "哪个端口？",
        lambda a, b: {"uid": "019a0000-0000-7000-8000-000000000005"},
    ),
    Policy: Case(
        lambda a, b: Policy.objects.create(workspace_id=a.workspace_id, kind="weight", name="alpha", value=0.1),
        "value",
        0.2,
        lambda a, b: {"name": "rrf_k"},
    ),
    Channel: Case(
        lambda a, b: Channel.objects.create(workspace_id=a.workspace_id, platform="lark"),
        "label",
        "商店",
        lambda a, b: {"uid": "019a0000-0000-7000-8000-000000000003", "account": "second"},
    ),
    Member: Case(
        lambda a, b: Member.objects.create(
            workspace_id=a.workspace_id, user=get_user_model().objects.create(username="ann")
        ),
        "role",
        "curator",
        lambda a, b: {"user_id": get_user_model().objects.create(username="bo").pk},
    ),
    Session: Case(
        lambda a, b: Session.objects.create(workspace_id=a.workspace_id, key="k", started_at=NOW, last_at=NOW),
        "metadata",
        {"mood": "好"},
        lambda a, b: {"uid": "019a0000-0000-7000-8000-000000000004", "key": "second"},
    ),
}
every_table = pytest.mark.parametrize("model", CASES, ids=lambda model: model.__name__)


@pytest.fixture
def pair(scope: Scope) -> tuple[Entry, Entry]:
    one, other = (
        entries.remember(make_draft(scope, text), now=NOW, actor="bot:a").entry
        for text in ("the port is 8080", "我家的猫叫年糕")
    )
    return one, other


def made(model: type[Model], pair: tuple[Entry, Entry]) -> Any:
    row = CASES[model].make(*pair)
    _sql("SELECT set_config('memplatform.actor', '', true)")  # whoever comes next says so for himself
    return row


def last(row: Model) -> Change:
    return Change.objects.filter(table_name=row._meta.db_table, row_id=row.pk).latest("id")


def _sql(statement: str, parameters: list[Any] | None = None) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)


def test_no_recorded_table_is_left_out() -> None:
    recorded = {model for model in apps.get_models() if issubclass(model, Recorded)}
    assert recorded == set(CASES)


@every_table
def test_a_bulk_update_is_recorded_for_every_row(model: type[Model], pair: tuple[Entry, Entry]) -> None:
    row, case = made(model, pair), CASES[model]
    before = getattr(row, case.column)
    with acting("job:tidy", run="tidy:1"):
        model._default_manager.filter(pk=row.pk).update(**{case.column: case.value})
    change = last(row)
    assert (change.op, change.version, change.actor, change.run) == ("U", 2, "job:tidy", "tidy:1")
    assert change.old[case.column] == before


@every_table
def test_sql_by_hand_is_recorded_with_the_database_user(model: type[Model], pair: tuple[Entry, Entry]) -> None:
    row, case = made(model, pair), CASES[model]
    value = '{"mood": "好"}' if isinstance(case.value, dict) else case.value
    _sql(f"UPDATE {row._meta.db_table} SET {case.column} = %s WHERE id = %s", [value, row.pk])
    change = last(row)
    assert change.op == "U" and change.actor.startswith("sql:")
    assert change.old[case.column] == getattr(row, case.column)
    _sql(f"DELETE FROM {row._meta.db_table} WHERE id = %s", [row.pk])
    gone = last(row)
    assert (gone.op, gone.actor[:4]) == ("D", "sql:") and gone.old["id"] == row.pk


@every_table
def test_rows_copied_in_are_recorded(model: type[Model], pair: tuple[Entry, Entry]) -> None:
    row, case = made(model, pair), CASES[model]
    table, highest = row._meta.db_table, Change.objects.latest("id").pk
    columns = [field.column for field in row._meta.concrete_fields if field.column != "id"]
    _sql(f"CREATE TEMP TABLE copied ON COMMIT DROP AS SELECT * FROM {table} WHERE id = {row.pk}")
    for column, value in case.other(*pair).items():
        _sql(f"UPDATE copied SET {column} = %s", [value])
    with connection.cursor() as cursor:
        with cursor.copy(f"COPY (SELECT {', '.join(columns)} FROM copied) TO STDOUT") as out:
            text = b"".join(out)
        with cursor.copy(f"COPY {table} ({', '.join(columns)}) FROM STDIN") as copy:
            copy.write(text)
    (change,) = Change.objects.filter(pk__gt=highest, table_name=table)
    assert (change.op, change.old, change.actor[:4]) == ("I", {}, "sql:")
    assert change.row_id != row.pk
