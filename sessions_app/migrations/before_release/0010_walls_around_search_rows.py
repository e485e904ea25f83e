"""A search row cannot point into another workspace, goes with its message, and the web sees those of its caller only."""

from django.db import migrations

TABLE = "sessions_app_eventindex"
# (column, referenced table, whether the row goes with what it points to)
WALLS = [("event_id", "sessions_app_sessionevent", True), ("session_id", "sessions_app_session", True)]


def wall(column: str, target: str, goes_along: bool) -> migrations.RunSQL:
    name = f"eventindex_{column.removesuffix('_id')}_in_its_workspace"
    return migrations.RunSQL(
        f"ALTER TABLE {TABLE} ADD CONSTRAINT {name} FOREIGN KEY ({column}, workspace_id)"
        f" REFERENCES {target} (id, workspace_id){' ON DELETE CASCADE' if goes_along else ''}",
        f"ALTER TABLE {TABLE} DROP CONSTRAINT {name}",
    )


class Migration(migrations.Migration):
    dependencies = [("sessions_app", "0009_search_rows_of_events"), ("memories", "0006_row_level_walls")]
    operations = [
        *(wall(*row) for row in WALLS),
        migrations.RunSQL(
            f"ALTER TABLE {TABLE} ENABLE ROW LEVEL SECURITY;"
            f"CREATE POLICY eventindex_of_the_workspaces ON {TABLE}"
            " USING (workspace_id = ANY ((SELECT memplatform_workspaces())::bigint[]))",
            f"DROP POLICY eventindex_of_the_workspaces ON {TABLE}; ALTER TABLE {TABLE} DISABLE ROW LEVEL SECURITY",
        ),
        # Read by the thousand: vectors stay in the row, not in a table beside it.
        migrations.RunSQL(
            f"ALTER TABLE {TABLE} ALTER embedding SET STORAGE MAIN, ALTER keywords SET STORAGE MAIN",
            f"ALTER TABLE {TABLE} ALTER embedding SET STORAGE EXTERNAL, ALTER keywords SET STORAGE EXTERNAL",
        ),
    ]
