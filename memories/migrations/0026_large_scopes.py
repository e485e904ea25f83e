"""The entries of a large scope that hold words, found by the index of words.

To roles that row-level security binds PostgreSQL does not use that index: what compares words might tell of rows before
the wall is asked. This function reads as the owner of the tables, and answers with ids, of the workspaces its caller
sees alone; what is read of those entries goes through the wall.
"""

from django.db import migrations

from memories.migrations._walls import CALLER, CALLER_SEES, security_definers

FUNCTIONS = {
    "memplatform_entries_holding(bigint, bigint, int[], int[], int)": f"""
        CREATE FUNCTION memplatform_entries_holding(
            of_workspace bigint, of_scope bigint, rare int[], pairs int[], most int
        ) RETURNS bigint[] LANGUAGE plpgsql STABLE SECURITY DEFINER SET enable_seqscan = off SET enable_indexscan = off
        SET enable_indexonlyscan = off AS $$
        DECLARE
            {CALLER}
            held text := format('e.terms && %L::int[]', rare);
            found bigint[];
        BEGIN
            IF NOT {CALLER_SEES} THEN
                RETURN '{{}}';
            END IF;
            FOR n IN 1 .. coalesce(array_length(pairs, 2), 0) LOOP
                held := held || format(' OR e.terms @> %L::int[]', ARRAY[pairs[1][n], pairs[2][n]]);
            END LOOP;
            EXECUTE format(
                'SELECT array_agg(id) FROM (SELECT e.id FROM memories_entry e'
                ' WHERE e.workspace_id = $1 AND e.scope_id = $2 AND (%s) LIMIT $3) found', held
            ) INTO found USING of_workspace, of_scope, most;
            RETURN coalesce(found, '{{}}');
        END $$
    """,
}


class Migration(migrations.Migration):
    dependencies = [("memories", "0025_beginning_a_write")]

    operations = [*security_definers(FUNCTIONS)]
