#!/bin/sh
# Once, in an empty PostgreSQL: the platform's user, its database and pgvector. The platform makes its roles itself.
# As Patroni's post_bootstrap it gets the address as its argument; as a script of the image it finds psql's variables.
set -eu
psql -v ON_ERROR_STOP=1 -v word="$DATABASE_PASSWORD" -v pooler="${POOLER_PASSWORD:-}" "${1:-dbname=postgres}" <<'SQL'
CREATE USER memplatform PASSWORD :'word' CREATEROLE;
CREATE DATABASE memplatform OWNER memplatform ENCODING 'UTF8' TEMPLATE template0;
SELECT :'pooler' <> '' AS has_pooler \gset
\if :has_pooler
CREATE USER pooler PASSWORD :'pooler';
\endif
\c memplatform
CREATE EXTENSION vector;
\if :has_pooler
CREATE SCHEMA pooler AUTHORIZATION pooler;
CREATE FUNCTION pooler.login(name text) RETURNS TABLE (usename name, passwd text)
    LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog
    AS $$ SELECT usename, passwd FROM pg_shadow WHERE usename = name AND usename LIKE 'memplatform%' $$;
REVOKE ALL ON FUNCTION pooler.login(text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pooler.login(text) TO pooler;
\endif
SQL
