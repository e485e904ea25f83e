"""Composite foreign keys of the new tables; counters of calls need not survive a crash."""

from django.db import migrations

WALLS = [
    ("memories_suppression", "scope_id", "memories_scope"),
    ("memories_suppression", "entry_id", "memories_entry"),
    ("memories_idempotencykey", "bot_id", "memories_bot"),
]


def wall(table: str, column: str, target: str) -> migrations.RunSQL:
    name = f"{table.split('_', 1)[1]}_{column.removesuffix('_id')}_in_its_workspace"
    return migrations.RunSQL(
        f"ALTER TABLE {table} ADD CONSTRAINT {name} FOREIGN KEY ({column}, workspace_id)"
        f" REFERENCES {target} (id, workspace_id) ON DELETE CASCADE",
        f"ALTER TABLE {table} DROP CONSTRAINT {name}",
    )


class Migration(migrations.Migration):
    dependencies = [("memories", "0004_what_keeps_our_word")]
    operations = [
        *(wall(*row) for row in WALLS),
        migrations.RunSQL("ALTER TABLE memories_keyusage SET UNLOGGED", "ALTER TABLE memories_keyusage SET LOGGED"),
    ]
