"""The entries of a scope that share words with a new one, found by an index of each scope's own words.

To roles that row-level security binds PostgreSQL does not use an index of words: what compares words might tell of rows
before the wall is asked. So each new turn read all entries of its scope. This function reads as the owner of the
tables, and answers with ids, of a workspace its caller sees alone; what is read of those entries goes through the wall.
"""

from django.contrib.postgres.indexes import GinIndex
from django.db import migrations
from django.db.models import F, Func, Q

from memories.migrations._walls import CALLER, CALLER_SEES, security_definers

#: As it is at this migration.
LIVE = Q(archived_at__isnull=True, expired_at__isnull=True, superseded_by__isnull=True, suppressed_at__isnull=True)
LIVE_SQL = "t.archived_at IS NULL AND t.expired_at IS NULL AND t.superseded_by_id IS NULL AND t.suppressed_at IS NULL"
#: Terms are less than 2³⁰: a scope and a term are one number.
SCOPED = """
CREATE FUNCTION memplatform_scoped_terms(scope bigint, terms integer[]) RETURNS bigint[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT coalesce(array_agg((scope << 32) | term::bigint), '{}') FROM unnest(terms) term
$$
"""
FUNCTIONS = {
    "memplatform_entries_sharing(bigint, jsonb, integer)": f"""
        CREATE FUNCTION memplatform_entries_sharing(of_workspace bigint, wanted jsonb, most integer)
        RETURNS TABLE (n integer, entry bigint) LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 50
        SET enable_seqscan = off SET enable_indexscan = off SET enable_indexonlyscan = off AS $$
        DECLARE
            {CALLER}
        BEGIN
            IF NOT {CALLER_SEES} THEN
                RETURN;
            END IF;
            RETURN QUERY
                SELECT d.n, e.id
                FROM jsonb_to_recordset(wanted) AS d (
                    n integer, scope bigint, probe integer[], type text, fingerprint text, before bigint, echo text
                )
                CROSS JOIN LATERAL (
                    SELECT t.id FROM memories_entry t
                    WHERE memplatform_scoped_terms(t.scope_id, t.terms) && memplatform_scoped_terms(d.scope, d.probe)
                        AND t.workspace_id = of_workspace AND {LIVE_SQL}
                        AND (d.type IS NULL OR t.type = d.type)
                        AND (d.fingerprint IS NULL OR t.fingerprint <> d.fingerprint)
                        AND (d.before IS NULL OR t.id < d.before)
                        AND (d.echo IS NULL OR t.echo IS DISTINCT FROM d.echo)
                    ORDER BY t.id + 0 DESC LIMIT most
                ) e;
        END $$
    """,
}


class Migration(migrations.Migration):
    dependencies = [("memories", "0026_large_scopes")]

    operations = [
        migrations.RunSQL(SCOPED, "DROP FUNCTION memplatform_scoped_terms(bigint, integer[])"),
        migrations.AddIndex(
            "entry",
            GinIndex(
                Func(F("scope"), F("terms"), function="memplatform_scoped_terms"),
                condition=LIVE,
                fastupdate=False,
                name="entry_live_scoped_terms",
            ),
        ),
        *security_definers(FUNCTIONS),
    ]
