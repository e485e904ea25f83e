"""A bucket of the owner, emptied after each test."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from django.db import connection
from django.test import override_settings

from memories.models import Change, RecallTrace, Workspace
from memplatform import archive
from tests.support.object_storage import object_storage

#: After everything a test writes, whichever clock it is written by.
EVERYTHING = {archive.TRACES: datetime(2100, 1, 1, tzinfo=UTC), archive.HISTORY: datetime(2100, 1, 1, tzinfo=UTC)}
LATER = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


@pytest.fixture(scope="session")
def server() -> Iterator[dict[str, str]]:
    with object_storage() as settings:
        yield settings


@pytest.fixture
def bucket(server: dict[str, str]) -> Iterator[archive.Store]:
    with override_settings(ARCHIVE=server):
        store = archive.Store()
        yield store
        store.remove(*store.names(""))


def contents(store: archive.Store) -> dict[str, bytes]:
    return {key: store.get(key) for key in store.names("")}


def rows(workspace: Workspace) -> dict[str, list[Any]]:
    """What could be moved, as the database has it."""
    found = {}
    for table in (Change, RecallTrace):
        with connection.cursor() as cursor:
            cursor.execute(
                f"SELECT to_jsonb(t)::text FROM {table._meta.db_table} t WHERE workspace_id = %s ORDER BY id",
                [workspace.pk],
            )
            found[table._meta.db_table] = cursor.fetchall()
    return found


def move(workspace: Workspace) -> dict[str, int]:
    return archive.move(workspace, EVERYTHING, now=LATER)
