"""A flush cannot point into another workspace, and the web sees those of its caller only."""

from django.db import migrations

KEY = "flush_session_in_its_workspace"


class Migration(migrations.Migration):
    dependencies = [("sessions_app", "0004_budgets_and_flushes"), ("memories", "0006_row_level_walls")]
    operations = [
        migrations.RunSQL(
            f"ALTER TABLE sessions_app_flush ADD CONSTRAINT {KEY} FOREIGN KEY (session_id, workspace_id)"
            " REFERENCES sessions_app_session (id, workspace_id) ON DELETE CASCADE",
            f"ALTER TABLE sessions_app_flush DROP CONSTRAINT {KEY}",
        ),
        migrations.RunSQL(
            "ALTER TABLE sessions_app_flush ENABLE ROW LEVEL SECURITY;"
            "CREATE POLICY flush_of_the_workspaces ON sessions_app_flush"
            " USING (workspace_id = ANY ((SELECT memplatform_workspaces())::bigint[]))",
            "DROP POLICY flush_of_the_workspaces ON sessions_app_flush;"
            " ALTER TABLE sessions_app_flush DISABLE ROW LEVEL SECURITY",
        ),
    ]
