"""What Django's operations cannot say, in files of SQL beside the migrations."""

import re
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ProjectState
from pgtrigger.migrations import AddTrigger


def run(file: Path) -> migrations.RunSQL:
    """Run a file; undone, the functions it makes are dropped. What it says of tables goes with them."""
    text = file.read_text()
    functions = re.findall(r"^CREATE FUNCTION (\w+)", text, re.MULTILINE)
    return migrations.RunSQL(text, f"DROP FUNCTION {', '.join(functions)}" if functions else migrations.RunSQL.noop)


class NewTables(Operation):
    """Tables that are made for the first time, and their triggers, of which Django works out the models once.

    One by one, each renders again all models it is related to: of forty-five tables that takes six seconds of nine.
    """

    reduces_to_sql = True

    def __init__(self, operations: Sequence[Operation]) -> None:
        self.operations = operations

    def deconstruct(self) -> tuple[str, list[Any], dict[str, Any]]:
        return type(self).__name__, [self.operations], {}

    def state_forwards(self, app_label: str, state: ProjectState) -> None:
        state.__dict__.pop("apps", None)  # what was rendered; it is made again where somebody asks for it
        for operation in self.operations:
            operation.state_forwards(app_label, state)

    def database_forwards(
        self, app_label: str, schema_editor: Any, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        for operation in self.operations:
            operation.database_forwards(app_label, schema_editor, from_state, to_state)

    def database_backwards(
        self, app_label: str, schema_editor: Any, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        for operation in reversed(self.operations):
            # where a trigger is taken away its table is still there
            operation.database_backwards(app_label, schema_editor, from_state, from_state)

    def describe(self) -> str:
        return "; ".join(operation.describe() for operation in self.operations)


def new_tables(operations: Sequence[Operation]) -> list[Operation]:
    """Operations of a first migration, with those that make tables and triggers together where they stand in a row."""
    together: list[Operation] = []
    for makes_tables, group in groupby(operations, lambda one: isinstance(one, migrations.CreateModel | AddTrigger)):
        together += [NewTables(list(group))] if makes_tables else list(group)
    return together


class BuildIndex(AddIndexConcurrently):
    """Build an index beside the writers. A start that was killed meanwhile leaves it invalid, or whole and not noted;
    either is taken away first, so that the next start comes through.

    Of a table in partitions PostgreSQL builds none beside the writers: it is built on each, and then on the table.
    """

    def database_forwards(
        self, app_label: str, schema_editor: Any, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        quote, name = schema_editor.quote_name, self.index.name
        model = to_state.apps.get_model(app_label, self.model_name)
        parts = _partitions(schema_editor, model._meta.db_table)
        if not parts:
            schema_editor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {quote(name)}")
            super().database_forwards(app_label, schema_editor, from_state, to_state)
            return
        root = model._meta.db_table
        names = {table: f"{name}_{n}" for n, (table, _, _) in enumerate(parts)} | {root: name}
        for table, _parent, is_leaf in reversed(parts):  # what is attached goes only with what it is attached to
            if not is_leaf:
                schema_editor.execute(f"DROP INDEX IF EXISTS {quote(names[table])}")
        for table, _parent, is_leaf in parts:
            index = self.index.clone()
            index.name = names[table]
            statement = index.create_sql(model, schema_editor, concurrently=is_leaf)
            on: Any = quote(table) if is_leaf else f"ONLY {quote(table)}"
            statement.parts["table"] = on
            if is_leaf:
                schema_editor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {quote(index.name)}")
            schema_editor.execute(statement)
        for table, parent, _ in parts:
            if parent:
                schema_editor.execute(f"ALTER INDEX {quote(names[parent])} ATTACH PARTITION {quote(names[table])}")


def _partitions(schema_editor: Any, table: str) -> list[tuple[str, str | None, bool]]:
    """The partitions of a table, the lowest first and itself last: name, what it is of, and whether it holds rows.

    Of a table in one piece none.
    """
    with schema_editor.connection.cursor() as cursor:
        cursor.execute(
            "SELECT t.relid::regclass::text, t.parentrelid::regclass::text, t.isleaf"
            " FROM pg_partition_tree(%s::regclass) t ORDER BY t.level DESC, 1",
            [table],
        )
        parts: list[tuple[str, str | None, bool]] = cursor.fetchall()
        return parts if len(parts) > 1 else []
