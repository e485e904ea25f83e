"""What every table of a database holds, in two figures: its rows, and a sum over them in which order does not count."""

import json
from pathlib import Path

import psycopg
from psycopg import sql

#: By table: rows and checksum.
Fingerprints = dict[str, list[str]]

_TABLES = """
SELECT n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = 'r' AND n.nspname <> 'information_schema' AND n.nspname !~ '^pg_' ORDER BY 1, 2
"""
#: A row as text is the same on every server as long as these are.
_FORMS = "SET LOCAL timezone = 'UTC'; SET LOCAL datestyle = 'ISO'; SET LOCAL extra_float_digits = 1"
_SUM = """
SELECT count(*)::text, coalesce(sum(('x' || left(md5(t::text), 15))::bit(60)::bigint), 0)::text FROM {} t
"""


def read(connection: "psycopg.Connection[tuple[str, ...]]") -> Fingerprints:
    """The fingerprints of all tables, as the transaction of this connection sees them."""
    connection.execute(_FORMS)
    found = {}
    for schema, table in connection.execute(_TABLES).fetchall():
        row = connection.execute(sql.SQL(_SUM).format(sql.Identifier(schema, table))).fetchone()
        found[f"{schema}.{table}"] = list(row or ())
    return found


def write(file: Path, fingerprints: Fingerprints) -> None:
    file.touch(mode=0o600, exist_ok=False)
    file.write_text(json.dumps(fingerprints, indent=1))


def differing(file: Path, url: str) -> list[str]:
    """The tables of a database that hold something else than is written down; where nothing is written, none."""
    if not file.exists():
        return []
    kept: Fingerprints = json.loads(file.read_text())
    with psycopg.connect(url) as connection:
        found = read(connection)
    return sorted(table for table in kept.keys() | found.keys() if kept.get(table) != found.get(table))
