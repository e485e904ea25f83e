"""What the roles of the processes may do in the database: read and write the rows of our tables, and no more.

They own nothing, so that they can neither change a table nor switch off its row-level security. History they may only
add to. The web sees the workspaces of its request (memories.tenancy.row_level_security); worker and embedder work for
all of them.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from django.db import Error, connection, transaction
from psycopg import sql

_ALL = ("SELECT", "INSERT", "UPDATE", "DELETE")
#: Tables of which a process may do less.
_LESS = {
    "memories_change": ("SELECT", "INSERT"),
    "memories_auditrecord": ("SELECT", "INSERT"),
    "django_migrations": ("SELECT",),
}
_POLICY = "every_workspace"
#: Beside tables: right, kind and name of what a role needs, and whether it has it.
_OBJECTS = """
    SELECT 'USAGE', 'SCHEMA', quote_ident(current_schema()), has_schema_privilege(%(role)s, current_schema(), 'USAGE')
    UNION ALL
    SELECT 'CONNECT', 'DATABASE', quote_ident(current_database()),
        has_database_privilege(%(role)s, current_database(), 'CONNECT')
    UNION ALL -- memory as of a moment is put into temporary tables
    SELECT 'TEMPORARY', 'DATABASE', quote_ident(current_database()),
        has_database_privilege(%(role)s, current_database(), 'TEMPORARY')
    UNION ALL
    SELECT 'EXECUTE', 'FUNCTION', oid::regprocedure::text, has_function_privilege(%(role)s, oid, 'EXECUTE')
    FROM pg_proc WHERE proname LIKE 'memplatform\\_%%' AND pronamespace = current_schema()::regnamespace
    ORDER BY 2 DESC, 3
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
    """Give a role what it lacks and revoke what is too much; `differences` names what could not be given."""
    name = sql.Identifier(role)
    for right, kind, thing in _missing_objects(role):
        _try(sql.SQL(f"GRANT {right} ON {kind} {thing} TO {{}}").format(name))
    for table, missing, excess in _tables(role):
        for statement, rights in (("GRANT {} ON {} TO {}", missing), ("REVOKE {} ON {} FROM {}", excess)):
            if rights:
                _try(sql.SQL(statement).format(sql.SQL(", ".join(rights)), sql.Identifier(table), name))


def differences(role: str) -> tuple[list[str], list[str]]:
    """The rights a role needs and has not, and those it has and should not have, as words of a GRANT."""
    by_table = list(_tables(role))
    missing_rights = [f"{right} ON {kind} {thing}" for right, kind, thing in _missing_objects(role)]
    missing_rights += [f"{', '.join(missing)} ON {table}" for table, missing, _excess in by_table if missing]
    return missing_rights, [f"{', '.join(excess)} ON {table}" for table, _missing, excess in by_table if excess]


def open_to_jobs(roles: Iterable[str]) -> None:
    """Let these roles see every workspace, and no others."""
    role_names = sorted(roles)
    names = sql.SQL(", ").join(map(sql.Identifier, role_names))
    for table, grantees in _rows(_POLICIES, [_POLICY, tables()]):
        if (grantees or []) == role_names:
            continue
        place, policy = sql.Identifier(table), sql.Identifier(_POLICY)
        steps = [sql.SQL("DROP POLICY IF EXISTS {} ON {}").format(policy, place)]
        if role_names:
            steps.append(sql.SQL("CREATE POLICY {} ON {} TO {} USING (true)").format(policy, place, names))
        _try(*steps)


def closed_to_jobs(roles: Iterable[str]) -> list[str]:
    """Tables of which these roles do not see every workspace."""
    return [table for table, grantees in _rows(_POLICIES, [_POLICY, tables()]) if not set(roles) <= set(grantees or [])]


def tables() -> list[str]:
    """Our tables that exist: in the middle of a migration backwards some do not."""
    ours = {*connection.introspection.django_table_names(), "django_migrations"}
    return sorted(ours & set(connection.introspection.table_names()))


def _missing_objects(role: str) -> list[tuple[str, str, str]]:
    return [(right, kind, thing) for right, kind, thing, has in _rows(_OBJECTS, {"role": role}) if not has]


def _tables(role: str) -> Iterator[tuple[str, list[str], list[str]]]:
    """Each table with the rights that are missing and those that are too much."""
    for table, has in _rows(_TABLES, [role, tables(), list(_ALL)]):
        due_rights = _LESS.get(table, _ALL)
        missing = [right for right in _ALL if right in due_rights and right not in has]
        yield table, missing, [right for right in _ALL if right in has and right not in due_rights]


def _rows(statement: str, values: Any) -> Iterator[Any]:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        yield from cursor.fetchall()


def _try(*statements: sql.Composed) -> None:
    """Each right by itself: one that may not be given leaves the others."""
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
    except Error:
        return
