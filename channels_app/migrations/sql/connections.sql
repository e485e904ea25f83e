-- Before a workspace is set no row can be read: where a platform calls is found by the id in the address.
CREATE FUNCTION memplatform_workspace_of_connection(asked uuid) RETURNS bigint
LANGUAGE plpgsql STABLE SECURITY DEFINER AS $$
BEGIN
    RETURN (SELECT workspace_id FROM channels_app_connection WHERE uid = asked AND is_enabled);
END $$;

-- It looks for its tables where it was made, and is closed to all but whom the platform opens it to.
DO $$
BEGIN
    EXECUTE format(
        'ALTER FUNCTION memplatform_workspace_of_connection SET search_path = %I, pg_temp', current_schema());
    REVOKE ALL ON FUNCTION memplatform_workspace_of_connection FROM PUBLIC;
END $$;
