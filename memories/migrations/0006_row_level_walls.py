"""Row-level security by workspace for the web's database role (see memories.walls).

The owner of the tables, as which jobs and migrations run, is not bound by the policies. Where the database user may
not make roles, the policies stand all the same and `manage.py check --database default` says how to make the role.
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

ROLE = """
DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'memplatform_web') THEN
        BEGIN
            CREATE ROLE memplatform_web NOLOGIN;
        EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;  -- another database of this server was quicker
        END;
    END IF;
    EXECUTE format('GRANT memplatform_web TO %I', current_user);
    GRANT USAGE ON SCHEMA public TO memplatform_web;
    GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO memplatform_web;
    GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO memplatform_web;
    ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO memplatform_web;
    ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT USAGE ON SEQUENCES TO memplatform_web;
EXCEPTION WHEN insufficient_privilege THEN
    RAISE WARNING 'The role memplatform_web could not be made: %', SQLERRM;
END $$
"""

UNROLE = """
ALTER DEFAULT PRIVILEGES IN SCHEMA public REVOKE SELECT, INSERT, UPDATE, DELETE ON TABLES FROM memplatform_web;
ALTER DEFAULT PRIVILEGES IN SCHEMA public REVOKE USAGE ON SEQUENCES FROM memplatform_web;
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
        migrations.RunSQL(ROLE, UNROLE),
    ]
