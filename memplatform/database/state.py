"""The state of the database: whether it answers, and whether its tables are those of this version of the code."""

from functools import cache
from importlib.util import find_spec
from pathlib import Path

from django.apps import apps
from django.db import Error, OperationalError, connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.utils.translation import gettext as _

from memplatform.environment import PACKAGES

#: Databases whose tables were made by the migrations of before have one of these; there is none of their names any
#: more. To be forgotten with the first release.
_OF_BEFORE = {"memories.0001_vector_extension", "memories.0002_names_and_reading"}
#: A column that an `0001_initial` of before did not make.
_NEWER_COLUMN = ("memories_modelhealth", "check_result")
_PAGE = "docs/howto/upgrade.md"


def explanation(problem: Error) -> str | None:
    """One sentence for a database that does not answer or whose tables are missing or old; None if it is neither."""
    if isinstance(problem, OperationalError) and not _answers():
        return _("The database does not answer: %s") % " ".join(str(problem).split())
    if _answers() and (refusal := refused()):
        return refusal
    if _answers() and has_pending_migrations():
        return _("The tables are missing or of an older version: run `make run`, or `manage.py migrate`, first.")
    return None


def has_pending_migrations() -> bool:
    """Whether this version of the code wants tables that are not there yet. Raises django.db.Error.

    Where every file's name is among those applied nothing is pending, and no migration has to be imported to know it.
    """
    if _migration_files() <= _applied_migrations():
        return False
    executor = MigrationExecutor(connection)
    return bool(executor.migration_plan(executor.loader.graph.leaf_nodes()))


def is_of_an_older_version() -> bool:
    """Whether there are tables of ours that this version of the code would change. Raises django.db.Error."""
    return ("memories", "0001_initial") in _applied_migrations() and has_pending_migrations()


def unknown_migrations() -> list[str]:
    """The migrations of ours that were applied and that this version does not have. Raises django.db.Error."""
    packages = {*PACKAGES, "evals"}
    ours = {app.label for app in apps.get_app_configs() if app.name.partition(".")[0] in packages}
    unknown = _applied_migrations() - _migration_files()
    return sorted(f"{label}.{name}" for label, name in unknown if label in ours)


def refused() -> str | None:
    """What to tell whoever starts this version on tables of another one; None where it may. Raises django.db.Error."""
    unknown = unknown_migrations()
    is_of_before = bool(_OF_BEFORE & set(unknown))
    if not is_of_before and ("memories", "0001_initial") in _applied_migrations():
        # Whether they were made by an `0001_initial` of before, and nothing followed it
        exists = "SELECT 1 FROM pg_attribute WHERE attrelid = to_regclass(%s) AND attname = %s AND NOT attisdropped"
        with connection.cursor() as cursor:
            is_of_before = cursor.execute(exists, _NEWER_COLUMN).fetchone() is None
    if is_of_before:
        sentence = _(
            "The tables are of an older version, which this one cannot bring up to date: export with the version that"
            " made them, and import into a new database, as %(page)s tells. Nothing was changed."
        )
        return sentence % {"page": _PAGE}
    if unknown:
        sentence = _(
            "The tables are of a newer version: the migration %(name)s was applied, and this version does not have it."
            " Start the newer version again, or restore the backup of before the upgrade. Nothing was changed."
        )
        return sentence % {"name": unknown[-1]}
    return None


@cache
def _migration_files() -> set[tuple[str, str]]:
    """Every migration there is: its app and the name of its file."""
    migrations: set[tuple[str, str]] = set()
    for app in apps.get_app_configs():
        module, _explicit = MigrationLoader.migrations_module(app.label)
        spec = find_spec(module) if module else None
        folders = map(Path, spec.submodule_search_locations or ()) if spec else ()
        migrations |= {(app.label, file.stem) for folder in folders for file in folder.glob("[!_]*.py")}
    return migrations


def _applied_migrations() -> set[tuple[str, str]]:
    return set(MigrationRecorder(connection).applied_migrations())


def _answers() -> bool:
    connection.close()  # it may be in a transaction that failed
    try:
        connection.ensure_connection()
    except Error:
        return False
    return True
