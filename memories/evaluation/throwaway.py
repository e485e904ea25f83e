"""A workspace made for an evaluation: thrown away after it, or kept by name for the next one."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, transaction

from memories.models import RecallTrace, Workspace

#: Children first; what hangs on an entry goes with it.
_TABLES = (
    "memories_recalltrace",
    "memories_indexqueueitem",
    "memories_batchchange",
    "memories_batch",
    "memories_entry",
    "memories_scopeterm",
    "memories_scope",
    "memories_policy",
    "memories_change",
)


@contextmanager
def workspace_for(keep: str | None) -> Iterator[Workspace]:
    """The workspace kept under this name, made when there is none; without a name one that is thrown away."""
    if not keep:
        with throwaway_workspace() as workspace:
            yield workspace
        return
    workspace, _made = Workspace.objects.get_or_create(name=_kept_name(keep))
    try:
        yield workspace
    finally:
        RecallTrace.objects.filter(workspace_id=workspace.pk).delete()  # of questions nobody asked


def forget(keep: str) -> None:
    """Remove the workspace kept under this name."""
    for workspace in Workspace.objects.filter(name=_kept_name(keep)):
        remove(workspace)


def _kept_name(keep: str) -> str:
    return f"evaluation: {keep}"[:100]


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
    """Remove every row of a workspace of ours."""
    with transaction.atomic(), connection.cursor() as cursor:
        for table in _TABLES:
            cursor.execute(f"DELETE FROM {table} WHERE workspace_id = %s", [workspace.pk])  # noqa: S608 (constants)
