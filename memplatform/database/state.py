"""The state of the database: whether it answers, and whether migrations are pending."""

from django.db import Error, OperationalError, connection
from django.db.migrations.executor import MigrationExecutor
from django.utils.translation import gettext as _


def explanation(problem: Error) -> str | None:
    """One sentence for a database that does not answer or whose tables are missing or old; None if it is neither."""
    if isinstance(problem, OperationalError) and not _answers():
        return _("The database does not answer: %s") % " ".join(str(problem).split())
    if _answers() and has_pending_migrations():
        return _("The tables are missing or of an older version: run `make run`, or `manage.py migrate`, first.")
    return None


def has_pending_migrations() -> bool:
    """Whether this version of the code wants tables that are not there yet. Raises django.db.Error."""
    executor = MigrationExecutor(connection)
    return bool(executor.migration_plan(executor.loader.graph.leaf_nodes()))


def _answers() -> bool:
    connection.close()  # it may be in a transaction that failed
    try:
        connection.ensure_connection()
    except Error:
        return False
    return True
