"""Composite foreign keys: a conversation of one workspace cannot point into another."""

from django.db import migrations

# (table, column, referenced table, whether the row goes with what it points to)
WALLS = [
    ("sessions_app_session", "user_scope_id", "memories_scope", False),
    ("sessions_app_session", "chat_scope_id", "memories_scope", False),
    ("sessions_app_sessionevent", "session_id", "sessions_app_session", True),
]


def wall(table: str, column: str, target: str, goes_along: bool) -> migrations.RunSQL:
    name = f"{table.removeprefix('sessions_app_')}_{column.removesuffix('_id')}_in_its_workspace"
    return migrations.RunSQL(
        f"ALTER TABLE {table} ADD CONSTRAINT {name} FOREIGN KEY ({column}, workspace_id)"
        f" REFERENCES {target} (id, workspace_id){' ON DELETE CASCADE' if goes_along else ''}",
        f"ALTER TABLE {table} DROP CONSTRAINT {name}",
    )


class Migration(migrations.Migration):
    dependencies = [("sessions_app", "0001_tables"), ("memories", "0003_walls_between_workspaces")]
    operations = [wall(*row) for row in WALLS]
