"""How far embedding is behind is told by memories in use that have no vector, not by those only blended anew."""

from django.db import migrations

_BACKLOG = """
CREATE OR REPLACE FUNCTION memplatform_backlog(
    failed_after timestamptz, model_failed text,
    OUT stale bigint, OUT stale_since timestamptz,
    OUT buffered_since timestamptz, OUT parked bigint,
    OUT held_up bigint, OUT held_up_since timestamptz, OUT failed bigint
) LANGUAGE sql STABLE SECURITY DEFINER AS $$
    SELECT s.stale, s.since, p.since, p.parked, p.held_up, p.held_up_since,
        (SELECT count(*) FROM memories_jobrun WHERE state = 'failed' AND finished_at > failed_after)
    FROM (SELECT count(*) AS stale, min(q.since) AS since FROM memories_indexqueueitem q{condition}) s,
        (SELECT min(began_at) FILTER (WHERE state <> 'parked') AS since,
            count(*) FILTER (WHERE state = 'parked') AS parked,
            count(*) FILTER (WHERE starts_with(error, model_failed)) AS held_up,
            min(began_at) FILTER (WHERE starts_with(error, model_failed)) AS held_up_since
        FROM memories_extractionbatch) p
$$
"""
_WITHOUT_VECTOR = """
        JOIN memories_entry e ON e.id = q.entry_id
        WHERE e.expired_at IS NULL AND e.archived_at IS NULL AND e.superseded_by_id IS NULL
            AND e.suppressed_at IS NULL AND NOT EXISTS (
                SELECT FROM memories_entryvector v WHERE v.entry_id = e.id AND v.fingerprint = e.fingerprint
            )"""
#: Replacing a function takes its search path away; who may call it stays.
_PATH = """
DO $$ BEGIN
    EXECUTE format(
        'ALTER FUNCTION memplatform_backlog(timestamptz, text) SET search_path = %I, pg_temp', current_schema()
    );
END $$
"""


class Migration(migrations.Migration):
    dependencies = [("memories", "0028_secrets_told")]

    operations = [
        migrations.RunSQL(_BACKLOG.format(condition=_WITHOUT_VECTOR), _BACKLOG.format(condition="")),
        migrations.RunSQL(_PATH, _PATH),
    ]
