"""What was erased does not come back: not by an import, and not with a backup of before (F7)."""

import base64
import json
from io import StringIO
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.core.management import call_command
from django.core.management.base import CommandError

from memories.entries import suppression
from memories.imports.batch import LeftOutReason
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
    assert sum(item.reason == LeftOutReason.ERASED for item in done.left_out) > 5
    assert not {"memories_entry", "memories_dailyevent"} & set(tables_with(CANARY))


def test_a_restored_backup_of_before_is_erased_again(town: Town) -> None:
    issued = erase(town)
    Tombstone.objects.all().delete()  # as the database of before: it knows of no erasure, and knows the person
    Erasure.objects.all().delete()
    Secret.objects.filter(name="erasure").delete()
    drain_journal()
    result = town.api.post("turns", {"address": direct(PEER), "user": word("turn"), "assistant": "Noted."})
    assert result.status_code == 201, result.content
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


def verified(file: Path, *more: str) -> tuple[int, str]:
    """What `erase --verify` says of a file, with its exit."""
    output = StringIO()
    try:
        call_command("erase", "--verify", str(file), *more, stdout=output)
    except CommandError as refusal:
        return refusal.returncode, str(refusal)
    return 0, output.getvalue().strip()


def test_a_certificate_of_another_installation_is_verified_with_its_public_key(town: Town, tmp_path: Path) -> None:
    issued, file = erase(town), tmp_path / "certificate.json"
    file.write_text(json.dumps(issued))
    key = issued["signature"]["public_key"]
    assert verified(file) == (0, "Genuine: this installation signed it.")
    Secret.objects.all().delete()  # somebody else's installation
    suppression.begin()
    assert verified(file)[0] == 3 and "--public-key" in verified(file)[1]
    assert verified(file, "--public-key", key) == (0, "Genuine: signed with the key you gave.")
    other = base64.b64encode(Ed25519PrivateKey.generate().public_key().public_bytes_raw()).decode()
    assert verified(file, "--public-key", other) == (1, "Unaltered, but not signed with the key you gave.")
    assert verified(file, "--public-key", "钥匙")[0] == 1
    file.write_text(json.dumps(issued | {"reason": "another"}))
    assert verified(file, "--public-key", key) == (1, "The certificate was altered, or is none.")


@pytest.mark.parametrize("content", [b"[" * 200_000, b'{"a":' * 100_000, b"\xff\xfe", b"[]", b" " * 2_000_000])
def test_a_file_that_is_no_certificate_is_an_error_in_a_sentence(content: bytes, db: None, tmp_path: Path) -> None:
    file = tmp_path / "certificate.json"
    file.write_bytes(content)
    code, words = verified(file)
    assert code == 1 and words.startswith("This is no certificate")
