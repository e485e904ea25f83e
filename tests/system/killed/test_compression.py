"""Killed at any moment, a run leaves each scope as it was or with its batch, and is gone on with (F3, D6)."""

import random
import time
from typing import Any

import pytest
from django.db import connection, transaction

from memories import batches
from memories.choices import BatchState, LinkKind
from memories.models import Batch, Entry, Link, Scope, Workspace
from tests.conftest import make_scope
from tests.memories.consolidation.compression.conftest import FACTS, LATER, compress, facts, judging, live
from tests.memories.llm.fake_server import FakeModel
from tests.support.nursery import Process, start

pytestmark = pytest.mark.django_db(transaction=True)
#: Two sentences in another order: nothing the door makes one.
ONE = "Atlas runs the backup. The tape is in the safe."
OTHER = "The tape is in the safe. Atlas runs the backup."


def test_between_scopes_and_within_them(workspace: Workspace, model: FakeModel, settings: Any) -> None:
    scopes = [make_scope(workspace, f"telegram:direct_u{n}") for n in range(6)]
    for scope in scopes:
        facts(scope, *FACTS, ONE, OTHER)
    model.seconds = 0.05
    model.otherwise = judging(lambda ids: {"merge": [{"ids": [ids[ONE], ids[OTHER]], "content": ONE}]})
    pick = random.Random(11)
    for _kill in range(3):
        with begin(workspace, settings) as process:
            time.sleep(pick.uniform(0.4, 2.5))
            process.kill()
        for scope in scopes:
            assert_before_or_after(scope)
    counts = compress(scopes[0])
    assert counts["scopes"] == 6
    assert all(live(scope) == {*FACTS, ONE} for scope in scopes)
    assert Batch.objects.filter(name="compress").count() == 6
    for scope in scopes:
        done = Batch.objects.get(name="compress", scope=scope)
        batches.apply_batch(batches.plan_undo(done, actor="user:ann", now=LATER), now=LATER)
        assert live(scope) == {*FACTS, ONE, OTHER}


def assert_before_or_after(scope: Scope) -> None:
    """As of one moment: the database may still be busy with the last COMMIT of the killed process."""
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        done = Batch.objects.filter(scope=scope, name="compress", state=BatchState.APPLIED).exists()
        assert live(scope) == ({*FACTS, ONE} if done else {*FACTS, ONE, OTHER})
        assert Link.objects.filter(from_entry__scope=scope, kind=LinkKind.MERGED_FROM).exists() == done
        assert Entry.objects.in_scope(scope).archived().exists() == done


def begin(workspace: Workspace, settings: Any) -> Process:
    """The same database and model, another process."""
    process = start(
        "tests.system.killed.compression_worker",
        str(workspace.pk),
        LATER.isoformat(),
        MEMORY_LLM_BASE_URL=settings.MEMORY_LLM_BASE_URL,
        MEMORY_LLM_MODEL=settings.MEMORY_LLM_MODEL,
        MEMORY_LLM_API_KEY=settings.MEMORY_LLM_API_KEY,
    )
    assert process.stdout is not None and process.stdout.readline()
    return process
