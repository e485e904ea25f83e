"""Row-level security by workspace for the web's database role (see memories.walls)."""

from django.db import migrations

TABLES = ["channel"]


def wall(table: str) -> migrations.RunSQL:
    name = f"channels_app_{table}"
    return migrations.RunSQL(
        f"ALTER TABLE {name} ENABLE ROW LEVEL SECURITY;"
        f"CREATE POLICY {table}_of_the_workspaces ON {name}"
        " USING (workspace_id = ANY ((SELECT memplatform_workspaces())::bigint[]))",
        f"DROP POLICY {table}_of_the_workspaces ON {name}; ALTER TABLE {name} DISABLE ROW LEVEL SECURITY",
    )


class Migration(migrations.Migration):
    dependencies = [("channels_app", "0001_tables"), ("memories", "0006_row_level_walls")]
    operations = [wall(table) for table in TABLES]
