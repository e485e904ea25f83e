"""What Django's operations cannot say, in files of SQL beside the migrations."""

import re
from pathlib import Path
from typing import Any

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations
from django.db.migrations.state import ProjectState


def run(file: Path) -> migrations.RunSQL:
    """Run a file; undone, the functions it makes are dropped. What it says of tables goes with them."""
    text = file.read_text()
    functions = re.findall(r"^CREATE FUNCTION (\w+)", text, re.MULTILINE)
    return migrations.RunSQL(text, f"DROP FUNCTION {', '.join(functions)}" if functions else migrations.RunSQL.noop)


class BuildIndex(AddIndexConcurrently):
    """Build an index beside the writers. A start that was killed meanwhile leaves it invalid, or whole and not noted;
    either is taken away first, so that the next start comes through.
    """

    def database_forwards(
        self, app_label: str, schema_editor: Any, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        name = schema_editor.quote_name(self.index.name)
        schema_editor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")
        super().database_forwards(app_label, schema_editor, from_state, to_state)
