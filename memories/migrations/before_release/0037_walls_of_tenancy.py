"""Row-level security for who calls, who operates and what is to be done; and the few questions asked across it.

A key is found by its digest before its workspace is known, an operator by their account, and how far work is behind is
told of all workspaces together. Each of these is a function that answers that one question as the owner of the tables,
so that the role of the web needs no right to read the tables as a whole (see memories.walls).

History may be added to and nothing else; what is removed for good takes its history along through a function, which
leaves a line in the log of the database.
"""

from django.db import migrations

TABLES = ["bot", "botkey", "member", "staleentry"]
#: A row without a workspace concerns the whole platform: whoever is inside any workspace may see it.
ALSO_OF_THE_PLATFORM = ["jobrun", "secret"]

FUNCTIONS = {
    "memplatform_workspace_of_key(text)": """
        CREATE FUNCTION memplatform_workspace_of_key(asked text) RETURNS bigint
        LANGUAGE plpgsql STABLE SECURITY DEFINER AS $$
        BEGIN RETURN (SELECT workspace_id FROM memories_botkey WHERE digest = asked); END $$
    """,
    "memplatform_workspaces_of_user(bigint)": """
        CREATE FUNCTION memplatform_workspaces_of_user(asked bigint) RETURNS bigint[]
        LANGUAGE plpgsql STABLE SECURITY DEFINER AS $$
        BEGIN
            RETURN (
                SELECT CASE WHEN is_superuser THEN (SELECT array_agg(id) FROM memories_workspace)
                    ELSE (SELECT array_agg(workspace_id) FROM memories_member WHERE user_id = asked) END
                FROM auth_user WHERE id = asked AND is_active AND is_staff
            );
        END $$
    """,
    "memplatform_backlog(timestamptz, text)": """
        CREATE FUNCTION memplatform_backlog(
            failed_after timestamptz, model_failed text,
            OUT stale bigint, OUT stale_since timestamptz,
            OUT buffered_since timestamptz, OUT parked bigint,
            OUT held_up bigint, OUT held_up_since timestamptz, OUT failed bigint
        ) LANGUAGE sql STABLE SECURITY DEFINER AS $$
            SELECT s.stale, s.since, p.since, p.parked, p.held_up, p.held_up_since,
                (SELECT count(*) FROM memories_jobrun WHERE state = 'failed' AND finished_at > failed_after)
            FROM (SELECT count(*) AS stale, min(since) AS since FROM memories_staleentry) s,
                (SELECT min(began_at) FILTER (WHERE state <> 'parked') AS since,
                    count(*) FILTER (WHERE state = 'parked') AS parked,
                    count(*) FILTER (WHERE starts_with(error, model_failed)) AS held_up,
                    min(began_at) FILTER (WHERE starts_with(error, model_failed)) AS held_up_since
                FROM memories_parcel) p
        $$
    """,
    "memplatform_forget_history(bigint, text, bigint[])": """
        CREATE FUNCTION memplatform_forget_history(workspace bigint, of_table text, row_ids bigint[]) RETURNS bigint
        LANGUAGE plpgsql SECURITY DEFINER AS $$
        DECLARE forgotten bigint; remaining bigint;
        BEGIN
            EXECUTE format('SELECT count(*) FROM %I WHERE id = ANY ($1)', of_table) INTO remaining USING row_ids;
            IF remaining > 0 THEN
                RAISE EXCEPTION 'The history of a row that still exists is kept.' USING ERRCODE = '42501';
            END IF;
            DELETE FROM memories_change
            WHERE workspace_id = workspace AND table_name = of_table AND row_id = ANY (row_ids);
            GET DIAGNOSTICS forgotten = ROW_COUNT;
            RAISE LOG 'memplatform: the history of % removed rows of % in workspace % was removed by %: % changes',
                cardinality(row_ids), of_table, workspace, session_user, forgotten;
            RETURN forgotten;
        END $$
    """,
}

#: The tables are looked for where they were made, and never among somebody's temporary ones.
CLOSED = """
DO $$ BEGIN
    EXECUTE format('ALTER FUNCTION {name} SET search_path = %I, pg_temp', current_schema());
    REVOKE ALL ON FUNCTION {name} FROM PUBLIC;
END $$
"""


def function(name: str, made: str) -> migrations.RunSQL:
    return migrations.RunSQL([made, CLOSED.format(name=name)], f"DROP FUNCTION {name}")


def wall(table: str, seen: str) -> migrations.RunSQL:
    name = f"memories_{table}"
    return migrations.RunSQL(
        f"ALTER TABLE {name} ENABLE ROW LEVEL SECURITY;"
        f"CREATE POLICY {table}_of_the_workspaces ON {name} USING ({seen})",
        f"DROP POLICY {table}_of_the_workspaces ON {name}; ALTER TABLE {name} DISABLE ROW LEVEL SECURITY",
    )


INSIDE = "workspace_id = ANY ((SELECT memplatform_workspaces())::bigint[])"
ANYWHERE_INSIDE = "workspace_id IS NULL AND cardinality((SELECT memplatform_workspaces())) > 0"


class Migration(migrations.Migration):
    dependencies = [
        ("memories", "0036_health_of_the_model"),
        ("auth", "0012_alter_user_first_name_max_length"),
    ]
    operations = [
        *(function(name, made) for name, made in FUNCTIONS.items()),
        *(wall(table, INSIDE) for table in TABLES),
        *(wall(table, f"({INSIDE}) OR ({ANYWHERE_INSIDE})") for table in ALSO_OF_THE_PLATFORM),
    ]
