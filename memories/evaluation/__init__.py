"""Measuring recall on published conversations: the same door, the same ranking, a workspace that is thrown away."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, transaction

from memories.models import Change, Workspace
from memories.models.table import Fate, children_first, tables


@contextmanager
def throwaway_workspace(language: str = "en") -> Iterator[Workspace]:
    """A new workspace, removed with all it holds when the block ends, however it ends."""
    workspace = Workspace.objects.create(name=f"evaluation-{uuid.uuid4().hex[:12]}", language=language)
    try:
        yield workspace
    finally:
        remove(workspace)


def remove(workspace: Workspace) -> None:
    """Remove a workspace of ours and every row of it."""
    with transaction.atomic():
        empty(workspace)
        workspace.delete()


def empty(workspace: Workspace) -> None:
    """Remove every row of a workspace of ours; the history last, which the removal of the others is written to."""
    models = [
        model
        for model, table in tables()
        if table.fate is not Fate.KEPT and "workspace_id" in {column.attname for column in model._meta.concrete_fields}
    ]
    with transaction.atomic(), connection.cursor() as cursor:
        for model in sorted(children_first(models), key=lambda model: model is Change):
            table = model._meta.db_table
            cursor.execute(f"DELETE FROM {table} WHERE workspace_id = %s", [workspace.pk])  # noqa: S608 (a constant)
