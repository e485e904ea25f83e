-- Which rows are about a person. A part is `-- <phase> <table>: <which>` and the statement that gives their ids.
--
-- `found` are the rows written down so far. Seeds are asked once, in this order; lineage again and again, until nothing
-- new is found; pointers once, last. The phases stay apart: a message that is named by an entry reached through lineage
-- may be somebody else's.
--
-- What one key ties is not said here but at the model (`tied_by`); it is asked after the pointers.

-- seeds memories_scope: of the person alone, by its key
SELECT id FROM memories_scope WHERE workspace_id = %(workspace)s AND key = ANY(%(keys)s)

-- seeds sessions_app_session: direct conversations of these
SELECT id FROM sessions_app_session
WHERE workspace_id = %(workspace)s AND NOT is_group
AND user_scope_id IN (SELECT row_id FROM found WHERE table_name = 'memories_scope')

-- seeds sessions_app_sessionevent: all messages of these
SELECT id FROM sessions_app_sessionevent
WHERE session_id IN (SELECT row_id FROM found WHERE table_name = 'sessions_app_session')

-- seeds sessions_app_sessionevent: what they said elsewhere
SELECT e.id FROM sessions_app_sessionevent e JOIN sessions_app_session s ON s.id = e.session_id
WHERE e.workspace_id = %(workspace)s AND EXISTS (
    SELECT FROM unnest(%(platforms)s::text[], %(peers)s::text[]) AS identity (platform, peer)
    WHERE e.sender_id = identity.peer AND s.platform IN ('', identity.platform)
)

-- seeds sessions_app_sessionevent: what the bot answered to them
SELECT answer.id FROM sessions_app_sessionevent e
CROSS JOIN LATERAL (
    SELECT min(position) AS position FROM sessions_app_sessionevent
    WHERE session_id = e.session_id AND conversation = e.conversation AND position > e.position AND kind = 'user'
) following
JOIN sessions_app_sessionevent answer
    ON answer.session_id = e.session_id AND answer.conversation = e.conversation AND answer.position > e.position
    AND answer.position < coalesce(following.position, 2147483647) AND answer.kind IN ('assistant', 'tool')
WHERE e.kind = 'user' AND e.id IN (SELECT row_id FROM found WHERE table_name = 'sessions_app_sessionevent')

-- seeds sessions_app_sessionevent: summaries that were made with one of them
SELECT summary.id FROM sessions_app_sessionevent summary
WHERE summary.kind = 'summary' AND summary.workspace_id = %(workspace)s AND EXISTS (
    SELECT FROM sessions_app_sessionevent e
    WHERE e.session_id = summary.session_id AND e.conversation = summary.conversation
    AND e.position < summary.position
    AND e.id IN (SELECT row_id FROM found WHERE table_name = 'sessions_app_sessionevent')
)

-- seeds memories_oauthgrant: access to their memory over MCP, with its key
SELECT g.id FROM memories_oauthgrant g
WHERE g.workspace_id = %(workspace)s AND EXISTS (
    SELECT FROM unnest(%(platforms)s::text[], %(peers)s::text[]) AS identity (platform, peer)
    WHERE g.peer = identity.peer AND g.platform = identity.platform
)

-- seeds memories_entry: all of their scopes
SELECT id FROM memories_entry WHERE scope_id IN (SELECT row_id FROM found WHERE table_name = 'memories_scope')

-- seeds memories_entry: what they said elsewhere
SELECT e.id FROM memories_entry e
WHERE e.workspace_id = %(workspace)s AND EXISTS (
    SELECT FROM unnest(%(platforms)s::text[], %(peers)s::text[]) AS identity (platform, peer)
    WHERE e.sender_id = identity.peer AND e.channel = identity.platform
)

-- seeds sessions_app_sessionevent: messages of theirs that are no longer stored
SELECT named.id FROM memories_entry e
CROSS JOIN LATERAL (
    SELECT substring(origin from '/event-([0-9]{1,18})$')::bigint AS id FROM unnest(e.origins) origin
) named
WHERE e.id IN (SELECT row_id FROM found WHERE table_name = 'memories_entry')
AND e.type <> 'fact' AND named.id IS NOT NULL
AND NOT EXISTS (SELECT FROM sessions_app_sessionevent s WHERE s.id = named.id)

-- seeds memories_dailyevent: all of their scopes
SELECT id FROM memories_dailyevent WHERE scope_id IN (SELECT row_id FROM found WHERE table_name = 'memories_scope')

-- lineage memories_entry: what was made of a message
SELECT e.id FROM memories_entry e
WHERE e.workspace_id = %(workspace)s AND EXISTS (
    SELECT FROM unnest(e.origins) origin WHERE substring(origin from '/event-([0-9]{1,18})$')::bigint IN (
        SELECT row_id FROM found WHERE table_name = 'sessions_app_sessionevent'
    )
)

-- lineage memories_dailyevent: what was made of a message
SELECT d.id FROM memories_dailyevent d
WHERE d.workspace_id = %(workspace)s AND EXISTS (
    SELECT FROM unnest(d.origins) origin WHERE substring(origin from '/event-([0-9]{1,18})$')::bigint IN (
        SELECT row_id FROM found WHERE table_name = 'sessions_app_sessionevent'
    )
)

-- lineage memories_entry: what rests on a day
SELECT v.entry_id FROM memories_evidence v JOIN memories_dailyevent d ON v.origin = 'daily/' || d.uid
WHERE v.workspace_id = %(workspace)s AND d.id IN (SELECT row_id FROM found WHERE table_name = 'memories_dailyevent')

-- lineage memories_entry: what was made of an entry
SELECT l.to_entry_id FROM memories_link l
WHERE l.workspace_id = %(workspace)s AND l.kind = 'source_of'
AND l.from_entry_id IN (SELECT row_id FROM found WHERE table_name = 'memories_entry')

-- lineage memories_entry: what an entry was merged into
SELECT l.from_entry_id FROM memories_link l
WHERE l.workspace_id = %(workspace)s AND l.kind = 'merged_from'
AND l.to_entry_id IN (SELECT row_id FROM found WHERE table_name = 'memories_entry')

-- pointers channels_app_identity: as operators noted them
SELECT id FROM channels_app_identity
WHERE workspace_id = %(workspace)s AND EXISTS (
    SELECT FROM unnest(%(platforms)s::text[], %(peers)s::text[]) AS identity (platform, peer)
    WHERE channels_app_identity.platform = identity.platform AND channels_app_identity.peer = identity.peer
)

-- pointers channels_app_person: whom they are or were taken for; with other identities it is somebody else
SELECT who.person FROM (
    SELECT person_id FROM channels_app_identity
    WHERE id IN (SELECT row_id FROM found WHERE table_name = 'channels_app_identity')
    UNION
    SELECT (old ->> 'person_id')::bigint FROM memories_change
    WHERE workspace_id = %(workspace)s AND table_name = 'channels_app_identity' AND old ->> 'person_id' IS NOT NULL
    AND row_id IN (SELECT row_id FROM found WHERE table_name = 'channels_app_identity')
) who (person)
WHERE NOT EXISTS (
    SELECT FROM channels_app_identity other
    WHERE other.person_id = who.person
    AND other.id NOT IN (SELECT row_id FROM found WHERE table_name = 'channels_app_identity')
)

-- pointers memories_bufferedturn: in their scopes, or with one of the messages
SELECT t.id FROM memories_bufferedturn t JOIN memories_extractionbatch b ON b.id = t.batch_id
WHERE t.workspace_id = %(workspace)s AND (
    t.user_scope_id IN (SELECT row_id FROM found WHERE table_name = 'memories_scope')
    OR t.chat_scope_id IN (SELECT row_id FROM found WHERE table_name = 'memories_scope')
    OR EXISTS (
        SELECT FROM jsonb_array_elements(t.messages) m
        WHERE substring(m ->> 'id' from '/event-([0-9]{1,18})$')::bigint IN (
            SELECT row_id FROM found WHERE table_name = 'sessions_app_sessionevent'
        )
    )
)

-- pointers memories_batchchange: plans that rest on one of the messages
SELECT c.id FROM memories_batchchange c
WHERE c.workspace_id = %(workspace)s AND c.draft <> '{}' AND EXISTS (
    SELECT FROM regexp_matches(c.draft::text, '/event-([0-9]{1,18})"', 'g') named
    WHERE named[1]::bigint IN (SELECT row_id FROM found WHERE table_name = 'sessions_app_sessionevent')
)

-- pointers memories_recalltrace: that asked their scopes, or served one of the entries
SELECT id FROM memories_recalltrace
WHERE workspace_id = %(workspace)s AND (
    scope_keys && %(keys)s::varchar[]
    OR scopes && ARRAY(SELECT row_id FROM found WHERE table_name = 'memories_scope')::bigint[]
    OR served && ARRAY(SELECT row_id FROM found WHERE table_name = 'memories_entry')::bigint[]
)

-- pointers memories_pinnedtest: that ask their scopes; of those that ask others and name what goes, the rest says so
SELECT id FROM memories_pinnedtest WHERE workspace_id = %(workspace)s AND scope_keys && %(keys)s::varchar[]

-- pointers memories_refusedfact: said to rest on one of the messages
SELECT f.id FROM memories_refusedfact f
WHERE f.workspace_id = %(workspace)s AND EXISTS (
    SELECT FROM unnest(f.origins) origin WHERE substring(origin from '/event-([0-9]{1,18})$')::bigint IN (
        SELECT row_id FROM found WHERE table_name = 'sessions_app_sessionevent'
    )
)

-- pointers memories_webhookdelivery: that tell of one of the entries
SELECT id FROM memories_webhookdelivery
WHERE workspace_id = %(workspace)s AND event ~ '^(memory|review)'
AND row_id IN (SELECT row_id FROM found WHERE table_name = 'memories_entry')

-- pointers sessions_app_flush: of a conversation one of the messages stood in
SELECT f.id FROM sessions_app_flush f
WHERE f.workspace_id = %(workspace)s AND EXISTS (
    SELECT FROM sessions_app_sessionevent e
    WHERE e.session_id = f.session_id AND e.conversation = f.conversation
    AND e.id IN (SELECT row_id FROM found WHERE table_name = 'sessions_app_sessionevent')
)
