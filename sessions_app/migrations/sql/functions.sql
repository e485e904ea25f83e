-- A session is locked and read in one statement. Each statement of a function sees what was committed before it: what
-- is read here is read under the lock.
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
END $$;
