"""Composite foreign keys: a row of one workspace cannot point into another.

Django cannot declare them, so its own constraints are off (db_constraint=False) and these stand instead. Rows derived
from an entry go with it; whatever else would be left dangling keeps the entry from being removed.
"""

from django.db import migrations

# (table, column, referenced table, whether the row goes with what it points to)
WALLS = [
    ("memories_botkey", "bot_id", "memories_bot", True),
    ("memories_entry", "scope_id", "memories_scope", False),
    ("memories_entry", "superseded_by_id", "memories_entry", False),
    ("memories_entryaccess", "entry_id", "memories_entry", True),
    ("memories_slot", "entry_id", "memories_entry", True),
    ("memories_link", "from_entry_id", "memories_entry", True),
    ("memories_link", "to_entry_id", "memories_entry", True),
    ("memories_entryvector", "entry_id", "memories_entry", True),
    ("memories_entryindex", "entry_id", "memories_entry", True),
    ("memories_entryindex", "scope_id", "memories_scope", True),
    ("memories_staleentry", "entry_id", "memories_entry", True),
    ("memories_scopeterm", "scope_id", "memories_scope", True),
    ("memories_batch", "scope_id", "memories_scope", False),
    ("memories_batchchange", "batch_id", "memories_batch", True),
    ("memories_batchchange", "entry_id", "memories_entry", False),
    ("memories_receipt", "bot_id", "memories_bot", False),
]


def wall(table: str, column: str, target: str, goes_along: bool) -> migrations.RunSQL:
    name = f"{table.split('_', 1)[1]}_{column.removesuffix('_id')}_in_its_workspace"
    return migrations.RunSQL(
        f"ALTER TABLE {table} ADD CONSTRAINT {name} FOREIGN KEY ({column}, workspace_id)"
        f" REFERENCES {target} (id, workspace_id){' ON DELETE CASCADE' if goes_along else ''}",
        f"ALTER TABLE {table} DROP CONSTRAINT {name}",
    )


class Migration(migrations.Migration):
    dependencies = [("memories", "0002_tables")]
    operations = [
        *(wall(*row) for row in WALLS),
        # Search rows are read by the thousand: their vectors stay in the row, not in a table beside it.
        migrations.RunSQL(
            "ALTER TABLE memories_entryindex ALTER embedding SET STORAGE MAIN, ALTER keywords SET STORAGE MAIN",
            "ALTER TABLE memories_entryindex ALTER embedding SET STORAGE EXTERNAL,"
            " ALTER keywords SET STORAGE EXTERNAL",
        ),
    ]
