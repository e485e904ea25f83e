"""Which lines of a profile hold no more, as a function: it is planned once a connection, and not for every recall."""

from django.db import migrations

_IN_USE = "{0}.expired_at IS NULL AND {0}.archived_at IS NULL AND {0}.superseded_by_id IS NULL AND {0}.suppressed_at IS NULL"
#: Those marked with a newer statement that is in use, read apart so that it is found by its id; and those a machine wrote
#: that rest on facts that are out of use and live on in nothing. A line that was written again of something else since,
#: or checked by a person, holds.
_FUNCTION = f"""
CREATE FUNCTION memplatform_outdated_lines(of_workspace bigint, of_scopes bigint[])
RETURNS TABLE (line_id bigint, correction_id bigint) LANGUAGE plpgsql STABLE PARALLEL SAFE ROWS 1 AS $$
DECLARE core bigint[] := ARRAY(
    SELECT l.id FROM memories_entry l
    WHERE l.workspace_id = of_workspace AND l.scope_id = ANY (of_scopes) AND l.tier = 1 AND {_IN_USE.format("l")});
BEGIN
    IF cardinality(core) = 0 THEN RETURN; END IF;
    RETURN QUERY
    SELECT m.entry_id, n.id FROM (
        SELECT s.entry_id,
            CASE WHEN s.value ~ '^[0-9a-f]{{8}}(-[0-9a-f]{{4}}){{3}}-[0-9a-f]{{12}}$' THEN s.value::uuid END AS uid
        FROM memories_slot s
        WHERE s.workspace_id = of_workspace AND s.entry_id = ANY (core) AND s.name = 'contradicted_by' OFFSET 0
    ) m JOIN memories_entry n ON n.uid = m.uid AND n.workspace_id = of_workspace AND {_IN_USE.format("n")}
        AND n.verification <> 'quoted'
    UNION ALL
    SELECT l.id, f.superseded_by_id FROM memories_entry l
    JOIN memories_link k ON k.to_entry_id = l.id AND k.kind = 'source_of'
    JOIN memories_entry f ON f.id = k.from_entry_id AND f.workspace_id = of_workspace AND NOT ({_IN_USE.format("f")})
    WHERE l.id = ANY (core) AND l.source = 'compression' AND NOT l.pinned
        AND (l.verified_at IS NULL OR l.verified_at < f.updated_at)
        AND NOT EXISTS (
            SELECT 1 FROM memories_link o JOIN memories_entry g ON g.id = o.from_entry_id AND {_IN_USE.format("g")}
            WHERE o.to_entry_id = l.id AND o.kind = 'source_of' AND o.created_at > f.updated_at)
        AND NOT EXISTS (
            WITH RECURSIVE whole (id) AS (
                SELECT b.from_entry_id FROM memories_link b WHERE b.to_entry_id = f.id AND b.kind = 'merged_from'
                UNION
                SELECT b.from_entry_id FROM whole
                JOIN memories_link b ON b.to_entry_id = whole.id AND b.kind = 'merged_from'
            ) SELECT 1 FROM whole JOIN memories_entry w ON w.id = whole.id AND {_IN_USE.format("w")});
END $$
"""  # noqa: S608 (constants)


class Migration(migrations.Migration):
    dependencies = [("memories", "0007_webhooks")]

    operations = [
        migrations.RunSQL(_FUNCTION, "DROP FUNCTION memplatform_outdated_lines"),
    ]
