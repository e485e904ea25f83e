"""No migration breaks the version that still runs beside it, or locks a large table: planted ones are found."""

from typing import Any

import pytest
from django.contrib.postgres.operations import AddConstraintNotValid, AddIndexConcurrently
from django.db import connection, migrations, models
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.state import ProjectState

from memories.migrations._sql import BuildIndex
from memplatform.database.partitions import TABLES
from tests.release.side_by_side import APPS, LARGE, Finding, findings_in, unreleased

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(scope="module")
def tables(django_db_setup: None, django_db_blocker: Any) -> ProjectState:
    with django_db_blocker.unblock():
        return MigrationLoader(connection).project_state()


def planted(tables: ProjectState, *operations: Any, **more: Any) -> list[Finding]:
    """What is found in a migration of memories that does this."""
    kind = type("Migration", (migrations.Migration,), {"operations": list(operations), **more})
    return findings_in(kind("9999_planted", "memories"), tables.clone())


def rules(tables: ProjectState, *operations: Any, **more: Any) -> set[str]:
    return {finding.rule for finding in planted(tables, *operations, **more)}


def test_every_migration_since_the_release_goes_side_by_side_with_it() -> None:
    found = [str(finding) for migration, state in unreleased() for finding in findings_in(migration, state)]
    assert found == []


def test_what_is_looked_at_is_there() -> None:
    assert set(connection.introspection.table_names()) >= LARGE
    assert {app for app, _name in MigrationLoader(connection).disk_migrations} >= set(APPS)


def test_every_table_that_is_divided_for_its_size_counts_as_large() -> None:
    assert set(TABLES) <= LARGE


BAD = {
    "a column that has to be filled": (
        "adding-required-field",
        migrations.RunSQL('ALTER TABLE "memories_bot" ADD COLUMN "mood" integer NOT NULL'),
    ),
    "a column with a default that only the new version knows": (
        "ban-drop-default",
        migrations.AddField("bot", "mood", models.IntegerField(default=0)),
    ),
    "an index of a large table that keeps writers waiting": (
        "require-concurrent-index-creation",
        migrations.AddIndex("entry", models.Index(fields=["created_at"], name="planted")),
    ),
    "an index of a large table taken away under its lock": (
        "require-concurrent-index-deletion",
        migrations.RunSQL('DROP INDEX "trace_by_time"'),
    ),
    "another type of a column": (
        "changing-column-type",
        migrations.AlterField("entry", "tier", models.BigIntegerField(null=True)),
    ),
    "a column that is gone": ("ban-drop-column", migrations.RemoveField("bot", "disabled_at")),
    "a column with another name": ("renaming-column", migrations.RenameField("bot", "name", "title")),
    "a table with another name": ("renaming-table", migrations.RenameModel("Suppression", "Suppressed")),
    "a table that is gone": ("ban-drop-table", migrations.DeleteModel("KeyUsage")),
    "a constraint that reads all of a large table": (
        "constraint-missing-not-valid",
        migrations.AddConstraint("entry", models.CheckConstraint(condition=~models.Q(content="x"), name="planted")),
    ),
}


@pytest.mark.parametrize("what", BAD)
def test_a_bad_migration_is_found(tables: ProjectState, what: str) -> None:
    rule, operation = BAD[what]
    assert rule in rules(tables, operation)


GOOD = {
    "a column that may be empty": migrations.AddField("entry", "mood", models.IntegerField(null=True)),
    "a column the database fills": migrations.AddField("entry", "mood", models.IntegerField(db_default=0)),
    "a constraint that is checked later": AddConstraintNotValid(
        "entry", models.CheckConstraint(condition=~models.Q(content="x"), name="planted")
    ),
    "an index of a small table": migrations.AddIndex("bot", models.Index(fields=["created_at"], name="planted")),
    "a new table with its index": migrations.CreateModel(
        "Planted",
        [
            ("id", models.BigAutoField(primary_key=True)),
            ("of", models.ForeignKey("memories.Bot", models.CASCADE)),
            ("text", models.TextField(db_index=True)),
        ],
    ),
}


@pytest.mark.parametrize("what", GOOD)
def test_a_good_migration_passes(tables: ProjectState, what: str) -> None:
    assert planted(tables, GOOD[what]) == []


def test_an_index_built_beside_the_writers_passes(tables: ProjectState) -> None:
    index = models.Index(fields=["created_at"], name="planted")
    assert planted(tables, BuildIndex("entry", index), atomic=False) == []


@pytest.mark.parametrize("left", ["an index nobody finished", "a whole index nobody noted"])
def test_an_index_that_a_killed_start_left_is_built_anew(tables: ProjectState, left: str) -> None:
    build = BuildIndex("bot", models.Index(fields=["created_at"], name="planted"))
    after = tables.clone()
    build.state_forwards("memories", after)
    valid = "SELECT indisvalid FROM pg_index WHERE indexrelid = 'planted'::regclass"
    with connection.cursor() as cursor:
        cursor.execute("CREATE INDEX planted ON memories_bot (name)")
        if left == "an index nobody finished":
            cursor.execute("UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'planted'::regclass")
        with connection.schema_editor(atomic=False) as editor:
            build.database_forwards("memories", editor, tables, after)
        cursor.execute(f"{valid} AND pg_get_indexdef(indexrelid) LIKE '%(created_at)'")
        assert cursor.fetchone() == (True,)
        cursor.execute("DROP INDEX planted")


def test_no_migration_builds_an_index_that_a_kill_would_leave_in_the_way() -> None:
    """A start that goes on after a kill would find it there already, and end."""
    loader = MigrationLoader(connection)
    wrong = [
        str(migration)
        for migration in loader.disk_migrations.values()
        if migration.app_label in APPS
        for step in migration.operations
        if isinstance(step, AddIndexConcurrently) and not isinstance(step, BuildIndex)
    ]
    assert wrong == []


def test_what_is_right_at_its_time_is_said_with_a_reason(tables: ProjectState) -> None:
    drops = migrations.RemoveField("bot", "disabled_at")
    assert planted(tables, drops, side_by_side={"ban-drop-column": "no version since 0.2 reads it"}) == []
