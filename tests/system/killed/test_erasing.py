"""An erasure whose process is killed: the next one goes on, and issues the certificate it would have issued."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import transaction

from memories.models import Erasure, ErasureState
from memplatform.erasure import certificate, run
from tests.memplatform.erasure.conftest import ANN, CANARY, LATER, PEER, Town, files_with
from tests.memplatform.erasure.conftest import town as town
from tests.memplatform.erasure.test_walk import tables_with
from tests.support.nursery import Process, start

pytestmark = pytest.mark.django_db(transaction=True)
PLACES = ("MEMORY_FILES_ROOT", "MEMORY_OFFLINE_ROOT", "ERASURES_ROOT")


def process(erasure: Erasure) -> Process:
    environment = {
        "SECRET_KEY": settings.SECRET_KEY,
        "MEMORY_FILES_ROOT": str(settings.MEMORY_FILES_ROOT),
        "MEMORY_OFFLINE_ROOT": str(settings.MEMORY_OFFLINE_ROOT),
        "MEMPLATFORM_ERASURES": str(settings.ERASURES_ROOT),
    }
    return start("tests.system.killed.erasing_worker", str(erasure.pk), LATER.isoformat(), **environment)


def undisturbed(erasure: Erasure, keep: Path) -> dict[str, Any]:
    """The certificate of an erasure that nobody kills; afterwards nothing of it has happened."""
    roots = [Path(getattr(settings, name)) for name in PLACES]
    for n, root in enumerate(roots):
        shutil.copytree(root, keep / str(n))
    with transaction.atomic():
        run.work_off(erasure.pk, now=LATER)
        erasure.refresh_from_db()
        issued: dict[str, Any] = erasure.certificate
        transaction.set_rollback(True)
    for n, root in enumerate(roots):
        shutil.rmtree(root)
        shutil.copytree(keep / str(n), root)
    return issued


def told_by(issued: dict[str, Any]) -> dict[str, Any]:
    """What a certificate says, but for its signature, and announcements of the erasure's own changes."""
    removed = {table: count for table, count in issued["removed"].items() if table != "memories_webhookdelivery"}
    return {name: value for name, value in issued.items() if name != "signature"} | {"removed": removed}


@pytest.mark.thorough
def test_killed_while_it_searches_and_while_it_removes_it_ends_with_the_same_certificate(
    town: Town, tmp_path: Path
) -> None:
    order = run.order(town.workspace, [ANN], reason="request 17", actor="user:op", now=LATER)
    wanted = undisturbed(order, tmp_path)
    order.refresh_from_db()
    assert order.state == ErasureState.WAITING and tables_with(CANARY)
    for step in ("search", "remove"):
        with process(order) as killed:
            assert killed.stdout is not None
            while (line := killed.stdout.readline().strip()) != step:
                assert line, "it ended before"
            killed.kill()
        order.refresh_from_db()
        assert order.state == ErasureState.RUNNING
    with process(order) as last:
        assert last.wait(120) == 0
    order.refresh_from_db()
    assert order.state == ErasureState.DONE
    assert certificate.verify(order.certificate) == "own"
    assert told_by(order.certificate) == told_by(wanted)
    for words in (CANARY, PEER):
        assert tables_with(words) == files_with(words) == []
