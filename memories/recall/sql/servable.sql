-- What may be served, and what was heard once: the conditions and statements of `eligibility`, in whose braces stand names
-- and conditions of ours. `i` is a search row, `e` its entry.

-- part: of_project
-- Inside the subquery `i` and `e` are other rows than outside, so that it is run once.
(
    e.type <> '{fact}' OR NOT i.scope_id = ANY(%(project_scopes)s::bigint[])
    OR e.project = ANY(%(own_projects)s::text[])
    OR (e.terms && %(other_words)s::int[] AND (SELECT count(*) FROM (
        SELECT 1 FROM memories_entryindex i JOIN memories_entry e ON e.id = i.entry_id
        WHERE {where} AND e.type = '{fact}' AND i.scope_id = ANY(%(project_scopes)s::bigint[])
        AND e.project = ANY(%(own_projects)s::text[]) AND e.terms && %(own_words)s::int[] LIMIT {enough}
    ) own) < {enough})
)

-- part: no_credential
-- Asked once for all entries of these scopes, so that each is read of a narrow index alone.
NOT (e.id = ANY (ARRAY(
    SELECT c.id FROM memories_entry c WHERE c.workspace_id = %(workspace)s AND c.category IN ({secret})
        AND c.scope_id = ANY(%(scopes)s::bigint[])
)))

-- part: no_suspect
-- The same of what speaks to a model.
NOT (e.id = ANY (ARRAY(
    SELECT c.id FROM memories_entry c WHERE c.workspace_id = %(workspace)s AND c.suspect <> ''
        AND c.scope_id = ANY(%(scopes)s::bigint[])
)))

-- part: not_asked_for
-- The same of secrets that were recognised, and that a question does not ask for.
NOT (e.id = ANY (ARRAY(
    SELECT c.id FROM memories_entry c WHERE c.workspace_id = %(workspace)s AND c.category IN ({secret})
        AND c.scope_id = ANY(%(scopes)s::bigint[]) AND starts_with(c.subtype, '{subtype}')
        AND NOT string_to_array(substr(c.subtype, {after}), ',') && %(asked_secrets)s::text[]
)))

-- part: recognised
-- Secrets that were recognised, whatever else there is.
e.id = ANY (ARRAY(
    SELECT c.id FROM memories_entry c WHERE c.workspace_id = %(workspace)s AND c.category IN ({secret})
        AND c.scope_id = ANY(%(scopes)s::bigint[]) AND starts_with(c.subtype, '{subtype}')
))

-- part: ineligible
-- Reads entries alone, by the index of their scope; mostly it finds none.
SELECT e.id FROM unnest(%(scopes)s::bigint[]) AS i (scope_id) CROSS JOIN LATERAL (
    SELECT * FROM memories_entry n WHERE n.scope_id = i.scope_id AND n.workspace_id = %(workspace)s
    ORDER BY n.created_at DESC, n.id DESC LIMIT %(newest)s
) e WHERE NOT ({eligible})

-- part: servable
SELECT e.id FROM memories_entry e JOIN memories_entryindex i ON i.entry_id = e.id
WHERE e.uid = %(uid)s AND {conditions}

-- part: reworded
SELECT e.id, coalesce(c.past ->> 'fingerprint', e.fingerprint), coalesce(c.past ->> 'content', e.content),
    CASE WHEN c.past ? 'echo' THEN c.past ->> 'echo' ELSE e.echo END,
    coalesce(c.past ->> 'path', e.path), coalesce(c.past ->> 'heading', e.heading)
FROM memories_entry e CROSS JOIN LATERAL (
    SELECT jsonb_object_agg(k.key, k.value ORDER BY h.version DESC, h.id DESC) AS past, bool_or(h.op = 'I') AS is_new
    FROM memories_change h LEFT JOIN LATERAL jsonb_each(h.old) k ON true
    WHERE h.table_name = 'memories_entry' AND h.row_id = e.id AND h.at > %(moment)s AND k.key IS NOT NULL
) c
WHERE e.workspace_id = %(workspace)s AND e.scope_id = ANY(%(scopes)s::bigint[]) AND c.past ?| '{{content,path,heading}}'
ORDER BY e.created_at DESC, e.id DESC LIMIT %(most)s

-- part: unheard
SELECT entry_id FROM memories_suppression WHERE scope_id = ANY(%(scopes)s::bigint[]) AND entry_id IS NOT NULL
UNION SELECT id FROM memories_entry WHERE scope_id = ANY(%(scopes)s::bigint[])
    AND (suppressed_at IS NOT NULL OR quarantined_at IS NOT NULL)

-- part: not_heard_here
UNION SELECT e.id FROM memories_entry e JOIN memories_entryindex i ON i.entry_id = e.id
WHERE e.scope_id = ANY(%(scopes)s::bigint[]) AND NOT ({heard})

-- part: erased
-- Rows that nobody can bring back: purged ones of these scopes, and those that went with a person.
SELECT (SELECT count(*) FROM memories_batchchange c JOIN memories_batch b ON b.id = c.batch_id
        WHERE b.workspace_id = %(workspace)s AND b.scope_id = ANY(%(scopes)s::bigint[]) AND b.applied_at > %(moment)s
            AND c.verb = 'purge' AND c.state = 'applied')
    + (SELECT coalesce(sum((x.counts ->> 'memories_entry')::int), 0) FROM memories_erasure x
        WHERE x.workspace_id = %(workspace)s AND (x.finished_at IS NULL OR x.finished_at > %(moment)s))
