"""A session is locked and read in one statement."""

from django.db import migrations

#: Each statement of a function sees what was committed before it: what is read here is read under the lock.
OPEN = """
CREATE FUNCTION memplatform_open_session(
    lock bigint, of_workspace bigint, on_platform text, of_account text, with_key text
) RETURNS TABLE (is_locked boolean, transaction text, session sessions_app_session)
LANGUAGE plpgsql AS $$
BEGIN
    is_locked := pg_try_advisory_xact_lock(lock);
    transaction := pg_current_xact_id()::text;
    IF is_locked THEN
        SELECT * INTO session FROM sessions_app_session s
        WHERE s.workspace_id = of_workspace AND s.platform = on_platform AND s.account = of_account
            AND s.key = with_key;
    END IF;
    RETURN NEXT;
END $$
"""


class Migration(migrations.Migration):

    dependencies = [
        ('sessions_app', '0001_initial'),
    ]

    operations = [
        migrations.RunSQL(OPEN, "DROP FUNCTION memplatform_open_session(bigint, bigint, text, text, text)"),
    ]
