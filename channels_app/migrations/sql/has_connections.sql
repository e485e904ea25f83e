-- Whether any workspace is connected to a chat platform: the health of the whole asks it, and sees that alone.
CREATE FUNCTION memplatform_has_connections() RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER AS $$
    SELECT EXISTS (SELECT FROM channels_app_connection WHERE is_enabled)
$$;

-- It looks for its table where it was made, and is closed to all but whom the platform opens it to.
DO $$
BEGIN
    EXECUTE format('ALTER FUNCTION memplatform_has_connections SET search_path = %I, pg_temp', current_schema());
    REVOKE ALL ON FUNCTION memplatform_has_connections FROM PUBLIC;
END $$;
