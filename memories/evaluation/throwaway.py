"""A workspace that exists for one evaluation and leaves nothing behind."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, transaction

from memories.models import Workspace

#: Children first; what hangs on an entry goes with it.
_TABLES = (
    "memories_receipt",
    "memories_staleentry",
    "memories_batchchange",
    "memories_batch",
    "memories_entry",
    "memories_scopeterm",
    "memories_scope",
    "memories_policy",
    "memories_change",
)


@contextmanager
def throwaway_workspace(language: str = "en") -> Iterator[Workspace]:
    """A new workspace, removed with all it holds when the block ends, however it ends."""
    workspace = Workspace.objects.create(name=f"evaluation-{uuid.uuid4().hex[:12]}", language=language)
    try:
        yield workspace
    finally:
        remove(workspace)


def remove(workspace: Workspace) -> None:
    """Remove a throwaway workspace and every row of it."""
    with transaction.atomic(), connection.cursor() as cursor:
        for table in _TABLES:
            cursor.execute(f"DELETE FROM {table} WHERE workspace_id = %s", [workspace.pk])  # noqa: S608 (constants)
        workspace.delete()
