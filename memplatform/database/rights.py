"""What the roles of the processes may do in the database: read and write the rows of our tables, and no more.

They own nothing, so that they can neither change a table nor switch off its row-level security. History they may only
add to. The web sees the workspaces of its request (memories.tenancy.row_level_security); worker and embedder work for
all of them.
"""

from collections.abc import Iterable, Sequence

from django.db import Error, connection, transaction
from psycopg import sql

_ALL = ("SELECT", "INSERT", "UPDATE", "DELETE")
#: Tables of which a process may do less.
_LESS = {"memories_change": ("SELECT", "INSERT"), "django_migrations": ("SELECT",)}
_POLICY = "every_workspace"
#: Of what we look for on the server, by (kind of thing, what is needed, the question whether a role has it).
_AROUND = (
    ("SCHEMA", "USAGE", "SELECT current_schema(), has_schema_privilege(%s, current_schema(), 'USAGE')"),
    ("DATABASE", "CONNECT", "SELECT current_database(), has_database_privilege(%s, current_database(), 'CONNECT')"),
)
_FUNCTIONS = """
    SELECT oid::regprocedure::text, has_function_privilege(%s, oid, 'EXECUTE') FROM pg_proc
    WHERE proname LIKE 'memplatform\\_%%' AND pronamespace = current_schema()::regnamespace ORDER BY 1
"""
_TABLES = """
    SELECT name, coalesce(array_agg(may) FILTER (WHERE has_table_privilege(%s, quote_ident(name)::regclass, may)), '{}')
    FROM unnest(%s::text[]) name CROSS JOIN unnest(%s::text[]) may GROUP BY name ORDER BY name
"""
_POLICIES = """
    SELECT c.relname, (SELECT array_agg(r.rolname::text ORDER BY r.rolname) FROM pg_policy p
        JOIN pg_roles r ON r.oid = ANY (p.polroles) WHERE p.polrelid = c.oid AND p.polname = %s)
    FROM pg_class c WHERE c.oid = ANY (SELECT quote_ident(name)::regclass FROM unnest(%s::text[]) name)
        AND c.relrowsecurity ORDER BY 1
"""


def grant(role: str) -> None:
    """Give a role what it lacks and take what is too much; what cannot be given is told by `lacking`."""
    name = sql.Identifier(role)
    for kind, right, thing in _around(role):
        _try(sql.SQL("GRANT {} ON {} {} TO {}").format(sql.SQL(right), sql.SQL(kind), sql.Identifier(thing), name))
    for function in _functions(role):
        _try(sql.SQL("GRANT EXECUTE ON FUNCTION {} TO {}").format(sql.SQL(function), name))
    for table, missing, excess in _tables(role):
        place = sql.Identifier(table)
        if missing:
            _try(sql.SQL("GRANT {} ON {} TO {}").format(_listed(missing), place, name))
        if excess:
            _try(sql.SQL("REVOKE {} ON {} FROM {}").format(_listed(excess), place, name))


def missing_rights(role: str) -> list[str]:
    """The rights a role needs and has not, as words of a GRANT."""
    found = [f"{right} ON {kind} {thing}" for kind, right, thing in _around(role)]
    found += [f"EXECUTE ON FUNCTION {function}" for function in _functions(role)]
    return found + [f"{', '.join(missing)} ON {table}" for table, missing, _more in _tables(role) if missing]


def excess_rights(role: str) -> list[str]:
    """The rights a role has and should not have."""
    return [f"{', '.join(excess)} ON {table}" for table, _missing, excess in _tables(role) if excess]


def open_to_jobs(roles: Iterable[str]) -> None:
    """Let these roles see every workspace, and no others."""
    wanted = sorted(roles)
    with connection.cursor() as cursor:
        cursor.execute(_POLICIES, [_POLICY, tables()])
        found = cursor.fetchall()
    for table, named in found:
        if (named or []) == wanted:
            continue
        place, policy = sql.Identifier(table), sql.Identifier(_POLICY)
        steps = [sql.SQL("DROP POLICY IF EXISTS {} ON {}").format(policy, place)]
        if wanted:
            names = sql.SQL(", ").join(map(sql.Identifier, wanted))
            steps.append(sql.SQL("CREATE POLICY {} ON {} TO {} USING (true)").format(policy, place, names))
        _try(*steps)


def closed_to_jobs(roles: Iterable[str]) -> list[str]:
    """Tables of which these roles do not see every workspace."""
    with connection.cursor() as cursor:
        cursor.execute(_POLICIES, [_POLICY, tables()])
        return [table for table, named in cursor.fetchall() if not set(roles) <= set(named or [])]


def tables() -> list[str]:
    """Those that are there: in the middle of a migration backwards some are not."""
    ours = {*connection.introspection.django_table_names(), "django_migrations"}
    return sorted(ours & set(connection.introspection.table_names()))


def _around(role: str) -> list[tuple[str, str, str]]:
    missing = []
    with connection.cursor() as cursor:
        for kind, right, question in _AROUND:
            cursor.execute(question, [role])
            thing, has = cursor.fetchone()
            if not has:
                missing.append((kind, right, thing))
    return missing


def _functions(role: str) -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute(_FUNCTIONS, [role])
        return [function for function, has in cursor.fetchall() if not has]


def _tables(role: str) -> list[tuple[str, list[str], list[str]]]:
    """Each table with what is missing and what is too much."""
    with connection.cursor() as cursor:
        cursor.execute(_TABLES, [role, tables(), list(_ALL)])
        found = cursor.fetchall()
    return [(table, _without(_wanted(table), has), _without(has, _wanted(table))) for table, has in found]


def _wanted(table: str) -> Sequence[str]:
    return _LESS.get(table, _ALL)


def _without(rights: Sequence[str], others: Sequence[str]) -> list[str]:
    return [right for right in _ALL if right in rights and right not in others]


def _listed(rights: Iterable[str]) -> sql.Composed:
    return sql.SQL(", ").join(map(sql.SQL, rights))


def _try(*statements: sql.Composed) -> None:
    """Each right by itself: one that may not be given leaves the others."""
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
    except Error:
        return
