"""`manage.py schema`: write docs/reference/schema.md from the models and a migrated database."""

import inspect
import re
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand
from django.db import connection
from django.db.models import Model

from memories.models import Recorded
from memories.models.table import Chapter, tables

HEAD = """# Schema

Every table of ours, every named constraint, and what it keeps true. A rule about data is a constraint first and code second: code can be wrong, be skipped, or run twice.

Conventions:

- Inside, rows are known by a bigint `id`. Outside, by a `uid`: a UUIDv7 made in Python.
- Lists are paged by `(created_at, id)`.
- Every table of a tenant has a `workspace_id`. What hangs on a bot, a scope, an entry, a batch or a session is tied to it by `(id, workspace_id)`, so that **a row of one workspace cannot point into another**. Those constraints end in `_in_its_workspace`.
- Tables marked *recorded* have a `version` and four triggers. Every change of a row is written to `memories_change`, whoever makes it: the API, the admin, a job, SQL by hand.
- Tables marked *derived* can be emptied and rebuilt with the same answers.

`manage.py schema` writes this page; what it says of a table is the docstring of its model. A test compares the two.
"""  # noqa: E501 (a line is a paragraph)
#: What holds for all tables of a chapter.
INTRODUCTIONS = {Chapter.HOME: "Counts without a word anybody said: an erasure leaves them.\n"}
#: Of a table the names of its constraints, but for those PostgreSQL and Django name by themselves; a rule that holds
#: for some rows only is an index.
_CONSTRAINTS = """
    SELECT conname FROM pg_constraint WHERE conrelid = %(table)s::regclass AND contype IN ('c', 'u', 'f')
        AND conname !~ '^(memories|sessions_app|channels_app)_'
    UNION SELECT indexrelid::regclass::text FROM pg_index
    WHERE indrelid = %(table)s::regclass AND indisunique AND indpred IS NOT NULL
"""


def page() -> str:
    """The page as the models and the database have it."""
    parts = [HEAD]
    for chapter in Chapter:
        parts += [f"## {chapter.value}\n", *([INTRODUCTIONS[chapter]] if chapter in INTRODUCTIONS else [])]
        models = [model for model, table in tables() if table.chapter is chapter]
        parts += [_section(model) for model in sorted(models, key=lambda model: model._meta.db_table)]
    return "\n".join(parts)


def _section(model: type[Model]) -> str:
    """A table: what its docstring says, then every constraint, those it says nothing of in one line."""
    text, *notes = (inspect.getdoc(model) or "").split("\n- ")
    text = text.rstrip("\n")
    notes = [" ".join(note.split()) for note in notes]
    with connection.cursor() as cursor:
        cursor.execute(_CONSTRAINTS, {"table": model._meta.db_table})
        names = sorted(name for (name,) in cursor.fetchall())
    described = {name for note in notes for name in re.findall(r"`(\w+)`", note.partition(":")[0])}
    if unknown := described.difference(names):
        raise ValueError(f"{model.__name__} describes constraints it has not: {', '.join(sorted(unknown))}")
    if others := [f"`{name}`" for name in names if name not in described]:
        notes.append(", ".join(others))
    recorded = " *Recorded.*" if issubclass(model, Recorded) else ""
    lines = [f"### {model._meta.db_table}", " ".join(text.split()) + recorded, "", *(f"- {note}" for note in notes), ""]
    return "\n".join(lines if notes else lines[:3])


class Command(BaseCommand):
    help = "Writes docs/reference/schema.md from the models."

    def handle(self, *args: Any, **options: Any) -> None:
        (settings.BASE_DIR / "docs" / "reference" / "schema.md").write_text(page())
