"""Scopes are locked and read in one statement."""

from django.db import migrations

#: Each statement of a function sees what was committed before it: what is read here is read under the locks.
LOCK = """
CREATE FUNCTION memplatform_lock_scopes(kind bigint, wanted bigint[])
RETURNS TABLE (scope memories_scope, somebody_erased boolean)
LANGUAGE plpgsql AS $$
DECLARE
    one bigint;
BEGIN
    FOR one IN SELECT unnest(wanted) ORDER BY 1 LOOP
        PERFORM pg_advisory_xact_lock(kind + one);
    END LOOP;
    RETURN QUERY
        SELECT s, EXISTS (SELECT FROM memories_tombstone t WHERE t.workspace_id = s.workspace_id)
        FROM memories_scope s WHERE s.id = ANY (wanted);
END $$
"""


class Migration(migrations.Migration):

    dependencies = [
        ('memories', '0014_entries_looked_through'),
    ]

    operations = [
        migrations.RunSQL(LOCK, "DROP FUNCTION memplatform_lock_scopes(bigint, bigint[])"),
    ]
