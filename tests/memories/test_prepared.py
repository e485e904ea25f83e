"""Statements that are planned once a connection."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memories import postgresql
from memories.models import Scope, Workspace

pytestmark = pytest.mark.django_db

COUNT = "SELECT count(*) FROM pg_prepared_statements WHERE from_sql = false AND statement LIKE %s"


def plans_of(mark: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(COUNT, [f"%{mark}%"])
        return int(cursor.fetchone()[0])


def test_a_statement_is_planned_once_however_often_it_runs() -> None:
    for number in range(3):
        assert postgresql.rows("SELECT %s::int + 1 /* planned once */", [number]) == [(number + 1,)]
    assert plans_of("planned once") == 1


def test_what_is_not_prepared_is_planned_anew_each_time() -> None:
    for _ in range(3):
        with connection.cursor() as cursor:
            cursor.execute("SELECT %s::int /* planned anew */", [1])
    assert plans_of("planned anew") == 0


def test_a_row_comes_back_as_it_was_stored(workspace: Workspace) -> None:
    stored = Scope.objects.create(
        workspace=workspace, key="telegram:direct_林", kind="user", speakers=["小林"], nicknames={"老林": "小林"}
    )
    statement = f"SELECT {postgresql.columns(Scope, 's')} FROM memories_scope s WHERE id = %s::bigint"  # noqa: S608
    (row,) = postgresql.rows(statement, [stored.pk])
    read = postgresql.instance(Scope, row)
    assert [getattr(read, field.attname) for field in Scope._meta.concrete_fields] == [
        getattr(Scope.objects.get(pk=stored.pk), field.attname) for field in Scope._meta.concrete_fields
    ]


def test_a_row_of_some_columns_reads_the_others_when_they_are_asked_for(workspace: Workspace) -> None:
    stored = Scope.objects.create(workspace=workspace, key="telegram:direct_u1", kind="user", label="Ann")
    statement = f"SELECT {postgresql.columns(Scope, 's', 'id', 'key')} FROM memories_scope s WHERE id = %s::bigint"  # noqa: S608
    (row,) = postgresql.rows(statement, [stored.pk])
    read = postgresql.instance(Scope, row, "id", "key")
    with CaptureQueriesContext(connection) as later:
        assert (read.key, read.label) == ("telegram:direct_u1", "Ann")
    assert len(later) == 1


def test_a_log_of_statements_shows_their_values() -> None:
    with CaptureQueriesContext(connection) as captured:
        postgresql.rows("SELECT %s::text", ["Hangzhou"])
    assert "Hangzhou" in captured[0]["sql"]
