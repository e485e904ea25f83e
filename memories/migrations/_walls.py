"""What Django's operations cannot say of our tables: keys that stay inside a workspace, and row-level security."""

from collections.abc import Iterable

from django.db import migrations

#: The workspaces of the request, which memories.tenancy.row_level_security sets; none where nothing is set.
INSIDE = "workspace_id = ANY ((SELECT memplatform_workspaces())::bigint[])"
#: Rows without a workspace are everybody's who has one.
INSIDE_OR_OF_ALL = f"{INSIDE} OR (workspace_id IS NULL AND cardinality((SELECT memplatform_workspaces())) > 0)"

#: For functions in plpgsql that read more than their caller may: who calls, and whether they see `of_workspace`.
CALLER = "caller name := CASE current_setting('role') WHEN 'none' THEN session_user ELSE current_setting('role') END;"
CALLER_SEES = """(of_workspace = ANY (memplatform_workspaces()) OR pg_has_role(caller, current_user, 'USAGE')
                OR EXISTS (SELECT 1 FROM pg_policies WHERE schemaname = current_schema()
                    AND tablename = 'memories_entry' AND policyname = 'every_workspace' AND caller = ANY (roles)))"""


def inside_workspace(name: str, table: str, column: str, target: str, *, cascade: bool) -> migrations.RunSQL:
    """A foreign key by which a row cannot point into another workspace; `cascade`: it goes with what it points to."""
    return migrations.RunSQL(
        f"ALTER TABLE {table} ADD CONSTRAINT {name}_in_its_workspace FOREIGN KEY ({column}, workspace_id)"
        f" REFERENCES {target} (id, workspace_id){' ON DELETE CASCADE' if cascade else ''}",
        f"ALTER TABLE {table} DROP CONSTRAINT {name}_in_its_workspace",
    )


def row_level_security(table: str, name: str, condition: str = INSIDE) -> migrations.RunSQL:
    """The policy of a table for the logins of the processes; who owns the tables, and migrates, is not bound by it."""
    return migrations.RunSQL(
        f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY;"
        f"CREATE POLICY {name}_of_the_workspaces ON {table} USING ({condition})",
        f"DROP POLICY {name}_of_the_workspaces ON {table}; ALTER TABLE {table} DISABLE ROW LEVEL SECURITY",
    )


def in_the_row(table: str, *columns: str) -> migrations.RunSQL:
    """Search rows are read by the thousand: their vectors stay in the row, not in a table beside it."""
    return migrations.RunSQL(
        f"ALTER TABLE {table} " + ", ".join(f"ALTER {column} SET STORAGE MAIN" for column in columns),
        f"ALTER TABLE {table} " + ", ".join(f"ALTER {column} SET STORAGE EXTERNAL" for column in columns),
    )


def security_definers(functions: dict[str, str]) -> Iterable[migrations.RunSQL]:
    """Functions that read more than their caller may; each is closed to all but whom the platform opens it to.

    Tables are looked for where they were made, and never among somebody's temporary ones.
    """
    for name, body in functions.items():
        yield migrations.RunSQL(body, f"DROP FUNCTION {name}")
        yield migrations.RunSQL(
            f"""
            DO $$ BEGIN
                EXECUTE format('ALTER FUNCTION {name} SET search_path = %I, pg_temp', current_schema());
                REVOKE ALL ON FUNCTION {name} FROM PUBLIC;
            END $$
            """,
            migrations.RunSQL.noop,
        )
