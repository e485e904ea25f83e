"""Rows are moved to the archive by a process that is killed: nothing is lost, and nothing stands twice."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from django.db import connection
from django.test import override_settings

from memories.models import ArchivedRows, Change, RecallTrace, Workspace
from memplatform import archive
from tests.conftest import NOW
from tests.memplatform.archive.conftest import contents, server
from tests.support.house import until
from tests.system.test_partitions import database, fill

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.thorough]
ROOT = Path(__file__).resolve().parents[2]
__all__ = ["database", "server"]


@pytest.fixture
def workspace(database: str) -> Iterator[Workspace]:
    (made,) = fill(["one"], 5)
    RecallTrace.objects.bulk_create(
        RecallTrace(workspace=made, scopes=[], message=f"question {n}", served=[], query={"limit": 5}, created_at=NOW)
        for n in range(20)
    )
    yield made


def move(url: str, server: dict[str, str]) -> "subprocess.Popen[bytes]":
    environment = {f"MEMPLATFORM_ARCHIVE_{name}": value for name, value in server.items()}
    return subprocess.Popen(
        [sys.executable, "manage.py", "archive", "--before", "2100-01-01"],
        cwd=ROOT,
        env={**os.environ, **environment, "DATABASE_URL": url},
        stdout=subprocess.DEVNULL,
    )


def test_a_kill_between_writing_and_leaving_loses_nothing(
    workspace: Workspace, database: str, server: dict[str, str]
) -> None:
    with override_settings(ARCHIVE=server):
        store = archive.Store()
        changes = Change.objects.filter(table_name__in=archive.RECORDED).count()
        row = RecallTrace.objects.latest("pk").pk
        with psycopg.connect(database) as holder:
            holder.execute("SELECT 1 FROM memories_recalltrace WHERE id = %s FOR UPDATE", [row])
            began = move(database, server)
            until(lambda: len(store.names("mem/")) == 2, seconds=120)  # object and manifest are there
            with connection.cursor() as cursor:
                waits = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE 'DELETE%%'"
                until(lambda: cursor.execute(waits) or cursor.fetchone(), seconds=60)
            assert began.poll() is None
            second = move(database, server)  # refused: another process is at it
            assert second.wait(120) == 1
            began.kill()
            began.wait()
        assert RecallTrace.objects.count() == 20 and not ArchivedRows.objects.exists()
        left = contents(store)
        until(lambda: move(database, server).wait(120) == 0, seconds=60)
        assert not RecallTrace.objects.exists()
        assert ArchivedRows.objects.filter(table_name=archive.TRACES).get().rows == 20
        assert left.items() <= contents(store).items()  # written twice, and the same
        assert archive.verify(workspace) == ({archive.TRACES: 20, archive.HISTORY: changes}, [])
        store.remove(*store.names(""))
