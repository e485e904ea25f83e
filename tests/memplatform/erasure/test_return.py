"""What was erased does not come back: not by an import, and not with a backup of before (F7)."""

from pathlib import Path

import pytest

from memories.imports.left_out import LeftOutReason
from memories.models import Erasure, Secret, Tombstone
from memplatform.erasure import certificate, run
from memplatform.transfer.export import export
from memplatform.transfer.importing import import_export
from tests.conftest import NOW
from tests.memplatform.erasure.conftest import ANN, CANARY, LATER, PEER, Town, direct, drain_journal, word
from tests.memplatform.erasure.test_walk import erase, tables_with

pytestmark = [pytest.mark.django_db, pytest.mark.thorough]


def test_an_export_of_before_brings_back_nothing_and_says_what_it_left_out(town: Town, tmp_path: Path) -> None:
    export(town.workspace, None, tmp_path / "export", now=NOW)
    erase(town)
    done = import_export(town.workspace, None, tmp_path / "export" / "memory.jsonl", now=LATER, actor="user:op")
    assert sum(one.reason == LeftOutReason.ERASED for one in done.left_out) > 5
    assert not {"memories_entry", "memories_dailyevent"} & set(tables_with(CANARY))


def test_a_restored_backup_of_before_is_erased_again(town: Town) -> None:
    issued = erase(town)
    Tombstone.objects.all().delete()  # as the database of before: it knows of no erasure, and knows the person
    Erasure.objects.all().delete()
    Secret.objects.filter(name="erasure").delete()
    drain_journal()
    said = town.api.post("turns", {"address": direct(PEER), "user": word("turn"), "assistant": "Noted."})
    assert said.status_code == 201, said.content
    assert "memories_entry" in tables_with(CANARY)
    assert run.order_missing(now=LATER) == 1
    assert run.erase_waiting(now=LATER) == {"erased": 1, "failed": 0}
    assert tables_with(CANARY) == []
    assert certificate.verify(issued) == "own"
    assert run.order_missing(now=LATER) == 0


def test_a_certificate_that_was_altered_is_recognised(town: Town) -> None:
    issued = erase(town)
    assert certificate.verify(issued | {"reason": "another"}) == ""
    assert set(run.person.hashes(town.workspace.pk, [ANN])) < set(issued["person"])  # and those she is linked to
