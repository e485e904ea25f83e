-- As at the first migration, for those that came after it: functions that read or delete more than their caller may look
-- for tables where these were made, and never among somebody's temporary ones; each is closed to all but whom the
-- platform opens it to.
DO $$
DECLARE definer regprocedure;
BEGIN
    FOR definer IN
        SELECT p.oid FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
        WHERE n.nspname = current_schema() AND p.prosecdef AND starts_with(p.proname, 'memplatform_')
    LOOP
        EXECUTE format('ALTER FUNCTION %s SET search_path = %I, pg_temp', definer, current_schema());
        EXECUTE format('REVOKE ALL ON FUNCTION %s FROM PUBLIC', definer);
    END LOOP;
END $$;
