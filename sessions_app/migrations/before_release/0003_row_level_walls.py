"""Row-level security by workspace for the web's database role (see memories.walls)."""

from django.db import migrations

TABLES = ["session", "sessionevent"]


def wall(table: str) -> migrations.RunSQL:
    name = f"sessions_app_{table}"
    return migrations.RunSQL(
        f"ALTER TABLE {name} ENABLE ROW LEVEL SECURITY;"
        f"CREATE POLICY {table}_of_the_workspaces ON {name}"
        " USING (workspace_id = ANY ((SELECT memplatform_workspaces())::bigint[]))",
        f"DROP POLICY {table}_of_the_workspaces ON {name}; ALTER TABLE {name} DISABLE ROW LEVEL SECURITY",
    )


class Migration(migrations.Migration):
    dependencies = [("sessions_app", "0002_walls_between_workspaces"), ("memories", "0006_row_level_walls")]
    operations = [wall(table) for table in TABLES]
