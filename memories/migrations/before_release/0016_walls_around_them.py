"""Composite foreign keys and row-level security for the buffer, the days and the spend."""

from django.db import migrations

KEYS = [
    ("memories_bufferedturn", "user_scope_id", "memories_scope"),
    ("memories_bufferedturn", "chat_scope_id", "memories_scope"),
    ("memories_dailyevent", "scope_id", "memories_scope"),
]
TABLES = ["bufferedturn", "dailyevent", "spend"]


def key(table: str, column: str, target: str) -> migrations.RunSQL:
    name = f"{table.split('_', 1)[1]}_{column.removesuffix('_id')}_in_its_workspace"
    return migrations.RunSQL(
        f"ALTER TABLE {table} ADD CONSTRAINT {name} FOREIGN KEY ({column}, workspace_id)"
        f" REFERENCES {target} (id, workspace_id)",
        f"ALTER TABLE {table} DROP CONSTRAINT {name}",
    )


def wall(table: str) -> migrations.RunSQL:
    name = f"memories_{table}"
    return migrations.RunSQL(
        f"ALTER TABLE {name} ENABLE ROW LEVEL SECURITY;"
        f"CREATE POLICY {table}_of_the_workspaces ON {name}"
        " USING (workspace_id = ANY ((SELECT memplatform_workspaces())::bigint[]))",
        f"DROP POLICY {table}_of_the_workspaces ON {name}; ALTER TABLE {name} DISABLE ROW LEVEL SECURITY",
    )


class Migration(migrations.Migration):
    dependencies = [("memories", "0015_spend")]
    operations = [*(key(*row) for row in KEYS), *(wall(table) for table in TABLES)]
