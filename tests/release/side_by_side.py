"""Whether a migration may run while the version before it goes on: judged by squawk, statement by statement.

Two versions work on one database during a rolling upgrade (docs/howto/upgrade.md). What the older one still reads or
leaves out when it writes has to stay until nothing of it runs, and no statement may lock a large table for longer than
a call waits. Migrations of a version that is released are as they are: `released_migrations.txt` lists them.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from django.db import connection
from django.db.migrations import Migration
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.state import ProjectState

from memplatform.database.partitions import TABLES
from tests import ROOT

RELEASED = ROOT / "tests" / "frozen" / "released_migrations.txt"
APPS = ("memories", "sessions_app", "channels_app", "operations")
#: The least there is in production.
POSTGRESQL = "16"
#: Rules of squawk about what breaks the version before, whatever the table.
BREAKS = {
    *("adding-required-field", "ban-drop-column", "ban-drop-table", "renaming-column", "renaming-table"),
    *("changing-column-type", "ban-drop-default", "ban-concurrent-index-creation-in-transaction"),
}
#: And about what rewrites or locks a table, which matters where it is large.
LOCKS = {
    *("require-concurrent-index-creation", "require-concurrent-index-deletion", "disallowed-unique-constraint"),
    *("constraint-missing-not-valid", "adding-foreign-key-constraint", "adding-not-nullable-field"),
    *("adding-field-with-default", "adding-primary-key-constraint", "adding-serial-primary-key-field"),
    *("constraint-validation-in-same-transaction", "ban-alter-table-set-not-null"),
}
#: Tables that grow with every turn.
LARGE = {
    *TABLES,
    *("memories_slot", "memories_link", "memories_evidence", "memories_scopeterm", "memories_dailyevent"),
    *("sessions_app_session", "channels_app_incomingmessage"),
}
_TABLE = re.compile(r"\b(?:TABLE|ON)\s+(?:ONLY\s+)?(?:IF\s+EXISTS\s+)?\"?(\w+)\"?", re.IGNORECASE)
_INDEX = re.compile(r"\bDROP\s+INDEX\b", re.IGNORECASE)


@dataclass(frozen=True)
class Finding:
    """A statement the version before, or whoever waits, would not get over."""

    migration: str
    rule: str
    statement: str

    def __str__(self) -> str:
        return f"{self.migration}: {self.rule}: {self.statement}"


def unreleased() -> Iterator[tuple[Migration, ProjectState]]:
    """The migrations of ours that no released version has, each with the tables it finds; the first makes them."""
    loader = MigrationLoader(connection)
    released = {tuple(line.split()) for line in RELEASED.read_text().splitlines() if not line.startswith("#")}
    for key in sorted(loader.graph.nodes):
        migration = loader.disk_migrations[key]
        if key[0] in APPS and key not in released and not migration.initial:
            yield migration, loader.project_state(key, at_end=False)


def statements_of(migration: Migration, state: ProjectState) -> str:
    """What a migration would run, as text; Python in it shows no statement."""
    with connection.schema_editor(collect_sql=True, atomic=migration.atomic) as editor:
        migration.apply(state, editor, collect_sql=True)
    return "\n".join(editor.collected_sql)


def findings_in(migration: Migration, state: ProjectState) -> list[Finding]:
    """What is wrong with a migration; `side_by_side`, by rule, is what it says of itself is right, with a reason."""
    excused = getattr(migration, "side_by_side", {})
    text = statements_of(migration, state)
    lines = text.splitlines()
    found = []
    for row in _squawk(text, in_transaction=migration.atomic):
        rule, line = row["rule_name"], lines[row["line"]] if row["line"] < len(lines) else ""
        named = _TABLE.search(line)
        is_large = _INDEX.search(line) is not None or (named is not None and named[1] in LARGE)
        if rule not in excused and (rule in BREAKS or (rule in LOCKS and is_large)):
            found.append(Finding(str(migration), rule, line.strip()))
    return found


def _squawk(text: str, *, in_transaction: bool) -> list[dict[str, Any]]:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "migration.sql"
        path.write_text(text)
        options = ["--assume-in-transaction"] if in_transaction else ["--no-assume-in-transaction"]
        squawk = Path(sys.executable).with_name("squawk")
        done = subprocess.run(
            [squawk, "--reporter", "json", "--pg-version", POSTGRESQL, *options, path],
            capture_output=True,
            text=True,
            check=False,
        )
    rows: list[dict[str, Any]] = json.loads(done.stdout or "[]")
    return rows
