-- The best entries of some scopes for one question, with every part of their scores, best first: `candidates`, in whose
-- braces stand the parts below that a search asks for. A part that it does not ask for is not sent: parsing and planning
-- all of them each time takes half a millisecond of a recall.

-- part: candidates
-- What there is to be known of the best is read in the same statement, for it cannot change between two. The
-- workspace is told of every table that may be in partitions: without it a look-up by id looks into each of them.
SELECT {columns}, keyword, vector, named, fused, date, {cosine} AS cosine, a.last_accessed,
    {own_vector}, {vector_rank}, {previous}, {embedding},
    ARRAY(SELECT ARRAY[s.name, s.value] FROM memories_slot s WHERE s.entry_id = e.id ORDER BY s.id),
    {passed_over}
FROM ({fused} ORDER BY fused DESC, entry_id DESC LIMIT %(limit)s) best
JOIN memories_entryindex i ON i.entry_id = best.entry_id AND i.workspace_id = %(workspace)s
JOIN memories_entry e ON e.id = best.entry_id AND e.workspace_id = %(workspace)s
LEFT JOIN memories_entryaccess a ON a.entry_id = best.entry_id
ORDER BY fused DESC, e.created_at DESC, e.path, e.line_from, best.entry_id DESC

-- part: fused
-- The boosts are told to be doubles: as decimals, which literals are, they take a fifth of the whole statement's time.
SELECT *, (1 - %(alpha)s) * keyword + %(alpha)s * coalesce(vector, %(centroid_similarity)s)
    + %(boost)s::float8 * named::int + %(date_boost)s::float8 * date AS fused
FROM ({ranked}) scored WHERE %(alpha)s > 0 OR %(every)s OR keyword > 0 OR named OR date > 0

-- part: fused_by_ranks
SELECT *,
    (CASE WHEN keyword > 0 THEN (1 - %(alpha)s::float8) / (%(k)s + keyword_rank) ELSE 0 END
     + CASE WHEN vector > %(centroid_similarity)s THEN %(alpha)s::float8 / (%(k)s + vector_rank) ELSE 0 END)
    * (%(k)s + 1) + %(boost)s::float8 * named::int + %(date_boost)s::float8 * date AS fused
FROM (
    SELECT *, rank() OVER (ORDER BY keyword DESC) AS keyword_rank,
        rank() OVER (ORDER BY vector DESC NULLS LAST) AS vector_rank
    FROM ({scored}) scored WHERE %(every)s OR keyword > 0 OR vector > %(centroid_similarity)s OR named OR date > 0
) ranked

-- part: scored
-- With OFFSET, so that what is sorted are numbers and not the vectors they were computed from. Of entries the narrow
-- index is read alone: it holds the workspace, which names the partition.
SELECT i.entry_id, i.scope_id, {keyword} AS keyword, {vector} AS vector, {named} AS named, {date} AS date
FROM {rows}
JOIN memories_entry e ON e.id = i.entry_id
WHERE {conditions}
OFFSET 0

-- part: scored_with_ranks
SELECT *, rank() OVER (ORDER BY vector DESC NULLS LAST) AS vector_rank FROM ({scored}) rows

-- part: leading_rows
-- The rows that lead by words and meaning before anything is read of their entries. Of the conditions it asks those on
-- rows alone; the others are asked of the entries of the leading.
(
    SELECT i.entry_id,
        (1 - %(alpha)s) * {keyword} + %(alpha)s * coalesce({vector}, %(centroid_similarity)s) AS fused
    FROM {among} i
    WHERE i.workspace_id = %(workspace)s AND i.scope_id = ANY(%(scopes)s::bigint[]) AND {echoes}
    ORDER BY fused DESC, i.entry_id DESC LIMIT %(leading)s
) front
JOIN memories_entryindex i ON i.entry_id = front.entry_id AND i.workspace_id = %(workspace)s

-- part: keyword
greatest(-(i.keywords <#> %(keywords)s::sparsevec), 0)

-- part: keyword_and_characters
-- Folded once a row (OFFSET keeps the planner from doing it once a word). To normalise the width of every text takes
-- three times as long: Latin words are looked for in both widths instead.
greatest(-(i.keywords <#> %(keywords)s::sparsevec), 0) + (
    SELECT count(*)
    FROM (SELECT lower(e.content) AS content OFFSET 0) folded,
        unnest(%(substrings)s::text[], %(wide)s::text[]) AS w (word, wide)
    WHERE strpos(content, word) > 0 OR (wide <> word AND strpos(content, wide) > 0)
)::float8 / %(needed)s

-- part: keyword_as_typed
-- Words as somebody typed them: first what most of them stand in, then where more of them are no parts of others.
(
    SELECT coalesce(sum(
        CASE WHEN strpos(content, word) > 0 THEN 1 + %(extra)s::float8 * (content ~ whole)::int
        WHEN wide <> word AND strpos(content, wide) > 0 THEN 1 + %(extra)s::float8 ELSE 0 END
    ), 0)
    FROM (SELECT lower({content}) AS content OFFSET 0) folded,
        unnest(%(substrings)s::text[], %(wide)s::text[], %(whole)s::text[]) AS w (word, wide, whole)
)::float8 / %(needed)s

-- part: content_without_labels
-- The labels of a turn are no words of it.
regexp_replace(e.content, '^(User|Assistant): ', '', 'ng')

-- part: vector
-- Inner products, for the question is moved and no longer of length 1. Rows of one model are of one dimension: to cast
-- them to it would take as long as to compare them.
CASE WHEN i.model_id = %(model)s THEN (-(i.embedding <#> %(centred)s::halfvec) - %(offset)s) / %(span)s END

-- part: cosine
CASE WHEN i.model_id = %(model)s THEN -(i.embedding <#> %(vector)s::halfvec) END

-- part: named
(i.scope_id, e.speaker) IN (SELECT * FROM unnest(%(named_in)s::bigint[], %(named)s::text[]))

-- part: newness
-- How new an entry is, in the place of its days: never 0, and below what a day counts for that is named.
1 / (2 + greatest(extract(epoch FROM %(newest_to)s - e.stated_at)::float8, 0) / 86400)

-- part: own_vector
(
    SELECT (-(v.embedding <#> %(centred)s::halfvec) - %(offset)s) / %(span)s FROM memories_entryvector v
    WHERE v.entry_id = e.id AND v.workspace_id = %(workspace)s AND v.model_id = %(model)s AND v.fingerprint = e.fingerprint
)

-- part: embedding
-- As bytes: a number written out takes seven times as long to read.
(
    SELECT halfvec_send(v.embedding) FROM memories_entryvector v
    WHERE v.entry_id = e.id AND v.workspace_id = %(workspace)s AND v.model_id = %(model)s AND v.fingerprint = e.fingerprint
)

-- part: previous
(
    SELECT p.content FROM memories_entry p
    WHERE p.workspace_id = %(workspace)s AND p.scope_id = e.scope_id AND p.session_id = e.session_id
        AND p.chat_id = e.chat_id AND {is_live}
        AND p.session_id <> '' AND e.session_id <> '' AND (p.created_at, p.id) < (e.created_at, e.id)
    ORDER BY p.created_at DESC, p.id DESC LIMIT 1
)
