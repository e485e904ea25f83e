-- Functions that stand in policies and indexes: they are there before the tables.

-- The workspaces of the request; none where nothing is set.
CREATE FUNCTION memplatform_workspaces() RETURNS bigint[] LANGUAGE sql STABLE PARALLEL SAFE AS
$$ SELECT coalesce(nullif(current_setting('memplatform.workspaces', true), '')::bigint[], '{}') $$;

-- Terms are less than 2^30: a scope and a term are one number.
CREATE FUNCTION memplatform_scoped_terms(scope bigint, terms integer[]) RETURNS bigint[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT coalesce(array_agg((scope << 32) | term::bigint), '{}') FROM unnest(terms) term
$$;
