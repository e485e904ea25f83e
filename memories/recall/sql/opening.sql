-- What a recall has to know before it searches: a row a scope, and one where there is none yet.

-- part: opening
-- What waits is found by the index of entries by their time: a handful of rows.
SELECT
    (SELECT jsonb_agg(jsonb_build_array({policy_columns})) FROM memories_policy p WHERE p.workspace_id = w.id),
    (SELECT jsonb_object_agg(t.term, t.entries) FROM memories_scopeterm t
        WHERE t.scope_id = s.id AND t.term = ANY(%(terms)s::int[])),
    EXISTS (
        SELECT 1 FROM memories_entry e JOIN memories_entryindex i ON i.entry_id = e.id
        WHERE e.workspace_id = %(workspace)s AND i.workspace_id = %(workspace)s AND e.scope_id = s.id
            AND e.created_at > %(since)s AND e.created_at <= %(now)s
            AND (i.model_id IS NULL OR i.model_id <> w.index_model_id)),
    {model_columns}, {scope_columns}
FROM memories_workspace w
LEFT JOIN memories_embeddingmodel m ON m.id = w.index_model_id
LEFT JOIN memories_scope s ON s.workspace_id = w.id AND s.key = ANY(%(keys)s::varchar[])
WHERE w.id = %(workspace)s
