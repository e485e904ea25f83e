"""Row-level security by workspace for the web's database role (see memories.walls).

The owner of the tables, who migrates, is not bound by the policies. Roles and what they may do are no part of the
tables: `manage.py migrate` sees to them every time (see memplatform.database_roles).
"""

from django.db import migrations

#: Tables that hold what people said, or what is known of it. Left open: who may log in, and work lists without content.
TABLES = [
    "scope", "entry", "entryaccess", "slot", "link", "entryvector", "entryindex", "scopeterm", "batch", "batchchange",
    "change", "receipt", "policy", "suppression", "idempotencykey",
]

WORKSPACES = """
CREATE FUNCTION memplatform_workspaces() RETURNS bigint[] LANGUAGE sql STABLE PARALLEL SAFE AS
$$ SELECT coalesce(nullif(current_setting('memplatform.workspaces', true), '')::bigint[], '{}') $$
"""

def wall(table: str) -> migrations.RunSQL:
    name = f"memories_{table}"
    return migrations.RunSQL(
        f"ALTER TABLE {name} ENABLE ROW LEVEL SECURITY;"
        f"CREATE POLICY {table}_of_the_workspaces ON {name}"
        " USING (workspace_id = ANY ((SELECT memplatform_workspaces())::bigint[]))",
        f"DROP POLICY {table}_of_the_workspaces ON {name}; ALTER TABLE {name} DISABLE ROW LEVEL SECURITY",
    )


class Migration(migrations.Migration):
    dependencies = [("memories", "0005_walls_around_suppressions")]
    operations = [
        migrations.RunSQL(WORKSPACES, "DROP FUNCTION memplatform_workspaces()"),
        *(wall(table) for table in TABLES),
    ]
