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

#: Every database whose tables were made by the migrations of before has this one; there is none of its name any more.
_FIRST_OF_BEFORE = "memories.0001_vector_extension"
_PAGE = "docs/howto/upgrade.md"

#: Each `0001_initial` holds what these did. A database to which all of them were applied has the same tables. To be
#: forgotten with the first release.
_FOLDED = {
    ("channels_app", "0002_connections"),
    ("channels_app", "0003_chat_lease"),
    ("channels_app", "0004_held_messages"),
    ("channels_app", "0005_what_a_channel_serves"),
    ("memories", "0002_names_and_reading"),
    ("memories", "0003_oauth"),
    ("memories", "0004_own_memory"),
    ("memories", "0005_webhooks_by_keys"),
    ("memories", "0006_line_of_a_scope"),
    ("memories", "0007_suspect"),
    ("memories", "0008_held_batches"),
    ("memories", "0009_whose_words"),
    ("memories", "0010_leak_drill"),
    ("memories", "0011_last_check_of_a_model"),
    ("operations", "0002_hosts"),
}
#: By a column that the last one of each app made: whether they were all applied.
_LAST_FOLDED = {
    "channels_app": ("channels_app_channel", "serve"),
    "memories": ("memories_modelhealth", "check_result"),
    "operations": ("operations_host", "uid"),
}
_LAST_BEFORE_FOLDING = "5f9c9200"


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
    unknown = _applied_migrations() - _migration_files() - _FOLDED
    return sorted(f"{label}.{name}" for label, name in unknown if label in ours)


def refused() -> str | None:
    """What to tell whoever starts this version on tables of another one; None where it may. Raises django.db.Error."""
    unknown = unknown_migrations()
    if _FIRST_OF_BEFORE in unknown:
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
    if _lacks_what_was_folded():
        sentence = _(
            "The tables are of a version of 26 or 27 November 2026: start the version %(version)s once, which brings"
            " them up to date, then this one, as %(page)s tells. Nothing was changed."
        )
        return sentence % {"version": _LAST_BEFORE_FOLDING, "page": _PAGE}
    return None


@cache
def _migration_files() -> set[tuple[str, str]]:
    """Every migration there is: its app and the name of its file."""
    labels = (app.label for app in apps.get_app_configs())
    return {(label, file.stem) for label in labels for folder in _folders(label) for file in folder.glob("[!_]*.py")}


def _folders(label: str) -> list[Path]:
    module, _explicit = MigrationLoader.migrations_module(label)
    spec = find_spec(module) if module else None
    return list(map(Path, spec.submodule_search_locations or ())) if spec else []


def _applied_migrations() -> set[tuple[str, str]]:
    return set(MigrationRecorder(connection).applied_migrations())


def _lacks_what_was_folded() -> bool:
    """Whether tables were made by a `0001_initial` of before, which some of the folded ones never followed."""
    applied = _applied_migrations()
    columns = [column for label, column in _LAST_FOLDED.items() if (label, "0001_initial") in applied]
    exists = "SELECT 1 FROM pg_attribute WHERE attrelid = to_regclass(%s) AND attname = %s AND NOT attisdropped"
    with connection.cursor() as cursor:
        return not all(cursor.execute(exists, column).fetchone() for column in columns)


def _answers() -> bool:
    connection.close()  # it may be in a transaction that failed
    try:
        connection.ensure_connection()
    except Error:
        return False
    return True
