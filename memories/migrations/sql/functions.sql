-- Questions asked across the wall. Each answers as the owner of the tables: a key is found by its digest before its
-- workspace is known, an operator by their account, and how far work is behind is told of all workspaces together.

CREATE FUNCTION memplatform_workspace_of_key(asked text) RETURNS bigint
LANGUAGE plpgsql STABLE SECURITY DEFINER AS $$
BEGIN RETURN (SELECT workspace_id FROM memories_botkey WHERE digest = asked); END $$;

CREATE FUNCTION memplatform_workspace_of_invitation(asked text) RETURNS bigint
LANGUAGE plpgsql STABLE SECURITY DEFINER AS $$
BEGIN RETURN (SELECT workspace_id FROM memories_invitation WHERE digest = asked); END $$;

CREATE FUNCTION memplatform_workspaces_of_user(asked bigint) RETURNS bigint[]
LANGUAGE plpgsql STABLE SECURITY DEFINER AS $$
BEGIN
    RETURN (
        SELECT CASE WHEN is_superuser THEN (SELECT array_agg(id) FROM memories_workspace)
            ELSE (SELECT array_agg(workspace_id) FROM memories_member WHERE user_id = asked) END
        FROM auth_user WHERE id = asked AND is_active AND is_staff
    );
END $$;

-- How far embedding is behind is told by memories in use that have no vector, not by those only blended anew.
CREATE FUNCTION memplatform_backlog(
    failed_after timestamptz, model_failed text,
    OUT stale bigint, OUT stale_since timestamptz,
    OUT buffered_since timestamptz, OUT parked bigint,
    OUT held_up bigint, OUT held_up_since timestamptz, OUT failed bigint
) LANGUAGE sql STABLE SECURITY DEFINER AS $$
    SELECT s.stale, s.since, p.since, p.parked, p.held_up, p.held_up_since,
        (SELECT count(*) FROM memories_jobrun WHERE state = 'failed' AND finished_at > failed_after)
    FROM (SELECT count(*) AS stale, min(q.since) AS since FROM memories_indexqueueitem q
        JOIN memories_entry e ON e.id = q.entry_id
        WHERE e.expired_at IS NULL AND e.archived_at IS NULL AND e.superseded_by_id IS NULL
            AND e.suppressed_at IS NULL AND NOT EXISTS (
                SELECT FROM memories_entryvector v WHERE v.entry_id = e.id AND v.fingerprint = e.fingerprint
            )) s,
        (SELECT min(began_at) FILTER (WHERE state <> 'parked') AS since,
            count(*) FILTER (WHERE state = 'parked') AS parked,
            count(*) FILTER (WHERE starts_with(error, model_failed)) AS held_up,
            min(began_at) FILTER (WHERE starts_with(error, model_failed)) AS held_up_since
        FROM memories_extractionbatch) p
$$;


-- History and the audit log may only be added to. What is removed for good takes its history along through a function,
-- which leaves a line in the log of the database; an erasure that is under way removes the history of rows that stay.

CREATE FUNCTION memplatform_forget_history(workspace bigint, of_table text, row_ids bigint[]) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE forgotten bigint; remaining bigint;
BEGIN
    EXECUTE format('SELECT count(*) FROM %I WHERE id = ANY ($1)', of_table) INTO remaining USING row_ids;
    IF remaining > 0 THEN
        RAISE EXCEPTION 'The history of a row that still exists is kept.' USING ERRCODE = '42501';
    END IF;
    DELETE FROM memories_change
    WHERE workspace_id = workspace AND table_name = of_table AND row_id = ANY (row_ids);
    GET DIAGNOSTICS forgotten = ROW_COUNT;
    RAISE LOG 'memplatform: the history of % removed rows of % in workspace % was removed by %: % changes',
        cardinality(row_ids), of_table, workspace, session_user, forgotten;
    RETURN forgotten;
END $$;

CREATE FUNCTION memplatform_erase_history(erasure uuid, workspace bigint, of_table text, row_ids bigint[])
RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE forgotten bigint;
BEGIN
    IF NOT EXISTS (SELECT FROM memories_erasure
                   WHERE uid = erasure AND workspace_id = workspace AND state = 'running') THEN
        RAISE EXCEPTION 'No erasure of this id is under way.' USING ERRCODE = '42501';
    END IF;
    DELETE FROM memories_change
    WHERE workspace_id = workspace AND table_name = of_table AND row_id = ANY (row_ids);
    GET DIAGNOSTICS forgotten = ROW_COUNT;
    RAISE LOG 'memplatform: the history of % rows of % in workspace % was erased by %: % changes',
        cardinality(row_ids), of_table, workspace, session_user, forgotten;
    RETURN forgotten;
END $$;

CREATE FUNCTION memplatform_forget_audit(before timestamptz) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE removed bigint;
BEGIN
    DELETE FROM memories_auditrecord WHERE at < least(before, now() - interval '31 days');
    GET DIAGNOSTICS removed = ROW_COUNT;
    RETURN removed;
END $$;


-- Searches by words. To roles that row-level security binds PostgreSQL does not use an index of words: what compares
-- words might tell of rows before the wall is asked. These read as the owner of the tables and answer with ids, of
-- workspaces their caller sees alone; what is read of those rows goes through the wall.

CREATE FUNCTION memplatform_entries_with_terms(wanted integer[], most integer) RETURNS bigint[]
LANGUAGE sql STABLE SECURITY DEFINER AS $$
    SELECT coalesce(array_agg(id), '{}') FROM (
        SELECT id FROM memories_entry
        WHERE terms @> wanted AND workspace_id = ANY ((SELECT memplatform_workspaces())::bigint[]) LIMIT most
    ) found
$$;

CREATE FUNCTION memplatform_traces_with_terms(wanted integer[], most integer) RETURNS bigint[]
LANGUAGE sql STABLE SECURITY DEFINER AS $$
    SELECT coalesce(array_agg(id), '{}') FROM (
        SELECT id FROM memories_recalltrace
        WHERE terms @> wanted AND workspace_id = ANY ((SELECT memplatform_workspaces())::bigint[]) LIMIT most
    ) found
$$;

-- The entries of a large scope that hold one of the rare terms, or both of a pair.
CREATE FUNCTION memplatform_entries_holding(
    of_workspace bigint, of_scope bigint, rare int[], pairs int[], most int
) RETURNS bigint[] LANGUAGE plpgsql STABLE SECURITY DEFINER SET enable_seqscan = off SET enable_indexscan = off
SET enable_indexonlyscan = off AS $$
DECLARE
    caller name := CASE current_setting('role') WHEN 'none' THEN session_user ELSE current_setting('role') END;
    held text := format('e.terms && %L::int[]', rare);
    found bigint[];
BEGIN
    IF NOT (of_workspace = ANY (memplatform_workspaces()) OR pg_has_role(caller, current_user, 'USAGE')
        OR EXISTS (SELECT 1 FROM pg_policies WHERE schemaname = current_schema()
            AND tablename = 'memories_entry' AND policyname = 'every_workspace' AND caller = ANY (roles))) THEN
        RETURN '{}';
    END IF;
    FOR n IN 1 .. coalesce(array_length(pairs, 2), 0) LOOP
        held := held || format(' OR e.terms @> %L::int[]', ARRAY[pairs[1][n], pairs[2][n]]);
    END LOOP;
    EXECUTE format(
        'SELECT array_agg(id) FROM (SELECT e.id FROM memories_entry e'
        ' WHERE e.workspace_id = $1 AND e.scope_id = $2 AND (%s) LIMIT $3) found', held
    ) INTO found USING of_workspace, of_scope, most;
    RETURN coalesce(found, '{}');
END $$;

-- The entries of a scope that share words with new ones, found by an index of each scope's own words.
CREATE FUNCTION memplatform_entries_sharing(of_workspace bigint, wanted jsonb, most integer)
RETURNS TABLE (n integer, entry bigint) LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 50
SET enable_seqscan = off SET enable_indexscan = off SET enable_indexonlyscan = off AS $$
DECLARE
    caller name := CASE current_setting('role') WHEN 'none' THEN session_user ELSE current_setting('role') END;
BEGIN
    IF NOT (of_workspace = ANY (memplatform_workspaces()) OR pg_has_role(caller, current_user, 'USAGE')
        OR EXISTS (SELECT 1 FROM pg_policies WHERE schemaname = current_schema()
            AND tablename = 'memories_entry' AND policyname = 'every_workspace' AND caller = ANY (roles))) THEN
        RETURN;
    END IF;
    RETURN QUERY
        SELECT d.n, e.id
        FROM jsonb_to_recordset(wanted) AS d (
            n integer, scope bigint, probe integer[], type text, fingerprint text, before bigint, echo text
        )
        CROSS JOIN LATERAL (
            SELECT t.id FROM memories_entry t
            WHERE memplatform_scoped_terms(t.scope_id, t.terms) && memplatform_scoped_terms(d.scope, d.probe)
                AND t.workspace_id = of_workspace AND t.archived_at IS NULL AND t.expired_at IS NULL
                AND t.superseded_by_id IS NULL AND t.suppressed_at IS NULL
                AND (d.type IS NULL OR t.type = d.type)
                AND (d.fingerprint IS NULL OR t.fingerprint <> d.fingerprint)
                AND (d.before IS NULL OR t.id < d.before)
                AND (d.echo IS NULL OR t.echo IS DISTINCT FROM d.echo)
            ORDER BY t.id + 0 DESC LIMIT most
        ) e;
END $$;


-- Several steps in one statement, bound by the rights and walls of whoever calls them. Each statement of a function sees
-- what was committed before it: what is read after a lock is read under it.

-- A bot's key is admitted: its wall and actor are set, it is read through that wall, and the call is counted.
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
END $$;

-- Scopes are locked and read.
CREATE FUNCTION memplatform_lock_scopes(kind bigint, wanted bigint[])
RETURNS TABLE (scope memories_scope, somebody_erased boolean)
LANGUAGE plpgsql AS $$
DECLARE
    one bigint;
BEGIN
    FOR one IN SELECT unnest(wanted) ORDER BY 1 LOOP
        PERFORM pg_advisory_xact_lock(kind + one);
    END LOOP;
    RETURN QUERY
        SELECT s, EXISTS (SELECT FROM memories_tombstone t WHERE t.workspace_id = s.workspace_id)
        FROM memories_scope s WHERE s.id = ANY (wanted);
END $$;

-- Scopes are locked, and what bears on new entries is read; it comes with the first scope.
CREATE FUNCTION memplatform_begin_write(
    kind bigint, wanted bigint[], of_workspace bigint, of_terms integer[], of_words varchar[], of_origins varchar[]
) RETURNS TABLE (
    scope memories_scope, somebody_erased boolean, terms jsonb, policies jsonb, has_suppressions boolean
)
LANGUAGE plpgsql AS $$
DECLARE
    one record;
BEGIN
    FOR one IN
        SELECT locked.scope, locked.somebody_erased FROM memplatform_lock_scopes(kind, wanted) locked
        ORDER BY (locked.scope).id
    LOOP
        scope := one.scope;
        somebody_erased := one.somebody_erased;
        IF terms IS NULL THEN
            SELECT coalesce(jsonb_agg(jsonb_build_array(t.scope_id, t.term, t.entries)), '[]') INTO terms
            FROM memories_scopeterm t WHERE t.scope_id = ANY (wanted) AND t.term = ANY (of_terms);
            SELECT coalesce(jsonb_agg(to_jsonb(p) - 'id' - 'updated_at'), '[]') INTO policies
            FROM memories_policy p WHERE p.workspace_id = of_workspace;
            has_suppressions := EXISTS (
                SELECT FROM memories_suppression s WHERE s.scope_id = ANY (wanted)
                AND (s.fingerprint = ANY (of_words) OR s.wordings && of_words OR s.origins && of_origins)
            );
        END IF;
        RETURN NEXT;
    END LOOP;
END $$;

-- Which lines of a profile hold no more: planned once a connection, and not for every recall. Those marked with a newer
-- statement that is in use, read apart so that it is found by its id; and those a machine wrote that rest on facts that
-- are out of use and live on in nothing. A line that was written again of something else since, or checked by a person,
-- holds.
CREATE FUNCTION memplatform_outdated_lines(of_workspace bigint, of_scopes bigint[])
RETURNS TABLE (line_id bigint, correction_id bigint) LANGUAGE plpgsql STABLE PARALLEL SAFE ROWS 1 AS $$
DECLARE core bigint[] := ARRAY(
    SELECT l.id FROM memories_entry l
    WHERE l.workspace_id = of_workspace AND l.scope_id = ANY (of_scopes) AND l.tier = 1
        AND l.expired_at IS NULL AND l.archived_at IS NULL AND l.superseded_by_id IS NULL AND l.suppressed_at IS NULL);
BEGIN
    IF cardinality(core) = 0 THEN RETURN; END IF;
    RETURN QUERY
    SELECT m.entry_id, n.id FROM (
        SELECT s.entry_id,
            CASE WHEN s.value ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' THEN s.value::uuid END AS uid
        FROM memories_slot s
        WHERE s.workspace_id = of_workspace AND s.entry_id = ANY (core) AND s.name = 'contradicted_by' OFFSET 0
    ) m JOIN memories_entry n ON n.uid = m.uid AND n.workspace_id = of_workspace
        AND n.expired_at IS NULL AND n.archived_at IS NULL AND n.superseded_by_id IS NULL AND n.suppressed_at IS NULL
        AND n.verification <> 'quoted'
    UNION ALL
    SELECT l.id, f.superseded_by_id FROM memories_entry l
    JOIN memories_link k ON k.to_entry_id = l.id AND k.kind = 'source_of'
    JOIN memories_entry f ON f.id = k.from_entry_id AND f.workspace_id = of_workspace AND NOT (
        f.expired_at IS NULL AND f.archived_at IS NULL AND f.superseded_by_id IS NULL AND f.suppressed_at IS NULL)
    WHERE l.id = ANY (core) AND l.source = 'compression' AND NOT l.pinned
        AND (l.verified_at IS NULL OR l.verified_at < f.updated_at)
        AND NOT EXISTS (
            SELECT 1 FROM memories_link o JOIN memories_entry g ON g.id = o.from_entry_id
                AND g.expired_at IS NULL AND g.archived_at IS NULL AND g.superseded_by_id IS NULL
                AND g.suppressed_at IS NULL
            WHERE o.to_entry_id = l.id AND o.kind = 'source_of' AND o.created_at > f.updated_at)
        AND NOT EXISTS (
            WITH RECURSIVE whole (id) AS (
                SELECT b.from_entry_id FROM memories_link b WHERE b.to_entry_id = f.id AND b.kind = 'merged_from'
                UNION
                SELECT b.from_entry_id FROM whole
                JOIN memories_link b ON b.to_entry_id = whole.id AND b.kind = 'merged_from'
            ) SELECT 1 FROM whole JOIN memories_entry w ON w.id = whole.id AND w.expired_at IS NULL
                AND w.archived_at IS NULL AND w.superseded_by_id IS NULL AND w.suppressed_at IS NULL);
END $$;

-- Before a workspace is set no row can be read: its workspace is found by a code or refresh token, also by a used one.
CREATE FUNCTION memplatform_workspace_of_grant(asked text) RETURNS bigint
LANGUAGE plpgsql STABLE SECURITY DEFINER AS $$
BEGIN
    RETURN (
        SELECT workspace_id FROM memories_oauthgrant
        WHERE code_digest = asked OR refresh_digest = asked OR spent_digests @> ARRAY[asked]::varchar[] LIMIT 1
    );
END $$;

-- Batches that wait for a person, of all workspaces together: whoever asks for the figures sees these two numbers alone.
CREATE FUNCTION memplatform_held(OUT batches bigint, OUT since timestamptz)
LANGUAGE sql STABLE SECURITY DEFINER AS $$
    SELECT count(*), min(created_at) FROM memories_batch WHERE state = 'proposed' AND held_because <> '[]'::jsonb
$$;


-- Functions that read more than their caller may look for tables where these were made, and never among somebody's
-- temporary ones; each is closed to all but whom the platform opens it to.
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
