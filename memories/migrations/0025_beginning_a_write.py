"""Scopes are locked, and what bears on new entries is read, in one statement."""

from django.db import migrations

#: Each statement of a function sees what was committed before it: what is read here is read under the locks. What is
#: known comes with the first scope.
BEGIN = """
CREATE FUNCTION memplatform_begin_write(
    kind bigint, wanted bigint[], of_workspace bigint, of_terms integer[], of_words varchar[], of_origins varchar[]
) RETURNS TABLE (
    scope memories_scope, somebody_erased boolean, terms jsonb, policies jsonb, has_suppressions boolean
)
LANGUAGE plpgsql AS $$
DECLARE
    one record;
BEGIN
    FOR one IN
        SELECT locked.scope, locked.somebody_erased FROM memplatform_lock_scopes(kind, wanted) locked
        ORDER BY (locked.scope).id
    LOOP
        scope := one.scope;
        somebody_erased := one.somebody_erased;
        IF terms IS NULL THEN
            SELECT coalesce(jsonb_agg(jsonb_build_array(t.scope_id, t.term, t.entries)), '[]') INTO terms
            FROM memories_scopeterm t WHERE t.scope_id = ANY (wanted) AND t.term = ANY (of_terms);
            SELECT coalesce(jsonb_agg(to_jsonb(p) - 'id' - 'updated_at'), '[]') INTO policies
            FROM memories_policy p WHERE p.workspace_id = of_workspace;
            has_suppressions := EXISTS (
                SELECT FROM memories_suppression s WHERE s.scope_id = ANY (wanted)
                AND (s.fingerprint = ANY (of_words) OR s.wordings && of_words OR s.origins && of_origins)
            );
        END IF;
        RETURN NEXT;
    END LOOP;
END $$
"""


class Migration(migrations.Migration):

    dependencies = [
        ('memories', '0024_pinned_tests'),
    ]

    operations = [
        migrations.RunSQL(
            BEGIN,
            "DROP FUNCTION memplatform_begin_write(bigint, bigint[], bigint, integer[], varchar[], varchar[])",
        ),
    ]
