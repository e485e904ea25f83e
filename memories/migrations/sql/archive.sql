-- History leaves the database for an object that is noted in the same transaction, and in no other way but these:
-- memplatform_forget_history, memplatform_erase_history.

CREATE FUNCTION memplatform_archive_history(of_workspace bigint, object bigint, row_ids bigint[]) RETURNS SETOF text
LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM memories_archivedrows
                   WHERE id = object AND workspace_id = of_workspace AND table_name = 'memories_change'
                   AND rows = cardinality(row_ids) AND sha256 <> '') THEN
        RAISE EXCEPTION 'No object of the archive holds these changes.' USING ERRCODE = '42501';
    END IF;
    RAISE LOG 'memplatform: % changes of workspace % were archived by % as object %',
        cardinality(row_ids), of_workspace, session_user, object;
    RETURN QUERY DELETE FROM memories_change t
        WHERE t.workspace_id = of_workspace AND t.id = ANY (row_ids) RETURNING to_jsonb(t)::text;
END $$;
