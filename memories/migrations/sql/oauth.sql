-- Before a workspace is set no row can be read: its workspace is found by a code or refresh token, also by a used one.
CREATE FUNCTION memplatform_workspace_of_grant(asked text) RETURNS bigint
LANGUAGE plpgsql STABLE SECURITY DEFINER AS $$
BEGIN
    RETURN (
        SELECT workspace_id FROM memories_oauthgrant
        WHERE code_digest = asked OR refresh_digest = asked OR spent_digests @> ARRAY[asked]::varchar[] LIMIT 1
    );
END $$;

-- It looks for its tables where it was made, and is closed to all but whom the platform opens it to.
DO $$
BEGIN
    EXECUTE format(
        'ALTER FUNCTION memplatform_workspace_of_grant SET search_path = %I, pg_temp', current_schema());
    REVOKE ALL ON FUNCTION memplatform_workspace_of_grant FROM PUBLIC;
END $$;
