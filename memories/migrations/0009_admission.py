"""A bot's key is admitted in one statement: its wall and actor are set, it is read, and the call is counted."""

from django.db import migrations

#: Bound by the rights and walls of whoever calls it: it reads what the wall it has just set lets through.
ADMIT = """
CREATE FUNCTION memplatform_admit(asked text, at timestamptz, counted timestamptz, recorded_every interval)
RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    admitted record;
    counted_calls int;
BEGIN
    PERFORM set_config(
        'memplatform.workspaces', coalesce('{' || memplatform_workspace_of_key(asked) || '}', ''), false);
    SELECT k.id, k.digest, k.prefix, k.permissions, k.scope_patterns, k.expires_at, k.last_used_at,
        jsonb_build_object('id', b.id, 'name', b.name) AS bot,
        jsonb_build_object('id', w.id, 'language', w.language, 'time_zone', w.time_zone, 'folder', w.folder,
            'is_enabled', w.is_enabled) AS workspace
    INTO admitted
    FROM memories_botkey k JOIN memories_bot b ON b.id = k.bot_id JOIN memories_workspace w ON w.id = k.workspace_id
    WHERE k.digest = asked AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > at)
        AND b.disabled_at IS NULL;
    IF NOT FOUND THEN
        PERFORM set_config('memplatform.workspaces', '', false), set_config('memplatform.actor', '', false);
        RETURN NULL;
    END IF;
    PERFORM set_config('memplatform.actor', 'bot:' || (admitted.bot ->> 'name'), false);
    IF counted IS NOT NULL THEN
        INSERT INTO memories_keyusage AS usage (key_id, minute, calls) VALUES (admitted.id, counted, 1)
        ON CONFLICT (key_id, minute) DO UPDATE SET calls = usage.calls + 1 RETURNING usage.calls INTO counted_calls;
    END IF;
    IF admitted.last_used_at IS NULL OR at - admitted.last_used_at > recorded_every THEN
        UPDATE memories_botkey SET last_used_at = at WHERE id = admitted.id;
    END IF;
    RETURN to_jsonb(admitted) || jsonb_build_object('calls', counted_calls);
END $$
"""


class Migration(migrations.Migration):

    dependencies = [
        ('memories', '0008_outdated_lines'),
    ]

    operations = [
        migrations.RunSQL(ADMIT, "DROP FUNCTION memplatform_admit(text, timestamptz, timestamptz, interval)"),
    ]
