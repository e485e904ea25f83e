"""What was erased does not come back: not by an import, and not with a backup of before (F7)."""

import base64
import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.conf import settings
from django.core.management import call_command
from django.core.management.base import CommandError
from django.utils import timezone, translation

from channels_app import cards, tasks
from channels_app.models import ReplayedRecord
from memories.entries import suppression
from memories.imports.batch import LeftOutReason
from memories.models import Entry, Erasure, Secret, Tombstone
from memories.models.ids import uuid7
from memories.offline import journal
from memories.offline.journal import Record, Stream
from memplatform.erasure import certificate, run
from memplatform.erasure.person import Identity
from memplatform.operations.models import Host
from memplatform.transfer.export import export
from memplatform.transfer.importing import import_export
from sessions_app.models import Session, SessionEvent
from tests.conftest import NOW
from tests.memplatform.erasure.conftest import ANN, BEN, CANARY, LATER, PEER, Town, direct, drain_journal, group, word
from tests.memplatform.erasure.test_walk import erase, tables_with
from tests.support.outage import database_away

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


@pytest.fixture
def journal_apart(town: Town, django_capture_on_commit_callbacks: Any) -> Callable[[], AbstractContextManager[None]]:
    """While it lasts, calls go into the journal of another host, and the worker does not see them afterwards."""
    drain_journal()
    cards.forget_channels(town.workspace.pk)
    cards.keep_channels(town.workspace.pk, now=timezone.now())
    with django_capture_on_commit_callbacks(execute=True):  # sessions of each are known without the database
        for address in (direct(PEER), direct(BEN), group(BEN)):
            assert town.api.post("turns", {"address": address, "user": "hello", "assistant": "hi"}).status_code == 201

    @contextmanager
    def apart() -> Iterator[None]:
        with database_away():
            yield
        root = Path(settings.MEMORY_OFFLINE_ROOT) / "journal"
        root.rename(root.with_name("journal-of-web2"))

    return apart


def replay_of_another_host() -> dict[str, int]:
    root = Path(settings.MEMORY_OFFLINE_ROOT) / "journal"
    root.with_name("journal-of-web2").rename(root)
    return tasks.replay_journal()


def test_what_waits_in_the_journal_of_another_host_does_not_come_back(
    town: Town, journal_apart: Callable[[], AbstractContextManager[None]]
) -> None:
    with journal_apart():
        for address, words in ((direct(PEER), word("other host")), (direct(BEN), "我的自行车是绿色的 and fast")):
            answer = town.api.post("turns", {"address": address, "user": words, "assistant": "Noted."})
            assert answer.status_code == 201, answer.content
    order = run.order(town.workspace, [ANN], reason="request 17", actor="user:op", now=timezone.now())
    assert run.erase_waiting(now=timezone.now()) == {"erased": 1, "failed": 0}
    assert tables_with(CANARY) == []
    assert replay_of_another_host() == {"calls": 2, "parked": 0}
    assert tables_with(CANARY) == [] and "memories_scope" not in tables_with(PEER)
    assert Entry.objects.filter(content__contains="我的自行车是绿色的").exists()
    outcomes = ReplayedRecord.objects.filter(accepted_at__gte=order.created_at - timedelta(minutes=5))
    assert sorted(outcomes.values_list("outcome", flat=True)) == ["applied", "discarded"]
    drain_journal()
    answer = town.api.post("turns", {"address": direct(PEER), "user": word("anew, back again"), "assistant": "Hello."})
    assert answer.status_code == 201 and tables_with(CANARY)  # they came back, and said something anew


def test_of_messages_of_a_group_that_wait_there_those_of_others_come(
    town: Town, journal_apart: Callable[[], AbstractContextManager[None]]
) -> None:
    session = Session.objects.get(is_group=True)
    hers = Session.objects.filter(is_group=False, peer=PEER).first()
    assert hers
    with journal_apart():
        events = [
            {"kind": "user" if sender else "assistant", "sender": sender, "content": content}
            for sender, content in (
                *((BEN, "Ben buys a 红色 bell"), (PEER, word("in the group"))),
                *(("", f"I see {CANARY}"), (BEN, "Ben rides on")),
            )
        ]
        assert town.api.post(f"sessions/{session.uid}/events", {"events": events}).status_code == 201
        events = [{"kind": "user", "content": word("in her own chat")}]
        assert town.api.post(f"sessions/{hers.uid}/events", {"events": events}).status_code == 201
    run.order(town.workspace, [ANN], reason="request 17", actor="user:op", now=timezone.now())
    assert run.erase_waiting(now=timezone.now()) == {"erased": 1, "failed": 0}
    assert replay_of_another_host() == {"calls": 2, "parked": 0}
    assert tables_with(CANARY) == []
    messages = SessionEvent.objects.filter(session=session, content__startswith="Ben ").order_by("pk")
    assert list(messages.values_list("content", flat=True))[-2:] == ["Ben buys a 红色 bell", "Ben rides on"]


def test_a_pending_call_of_somebody_with_a_short_id_goes_too(town: Town) -> None:
    drain_journal()
    stream = Stream(town.workspace.pk, "telegram", "mybot")
    for peer in ("阿", "u9"):
        request = {"address": direct(peer), "user": "hi", "assistant": "hello"}
        record = Record(uid=uuid7(), kind="turn", accepted_at=NOW.isoformat(), body={"request": request})
        journal.append(stream, record)
    run.order(town.workspace, [Identity("telegram", "阿")], reason="request 18", actor="user:op", now=LATER)
    run.erase_waiting(now=LATER)
    (line,) = journal.read(stream)
    assert line.record and line.record.body["request"]["address"]["peer"] == "u9"


def test_the_certificate_names_the_journals_of_other_hosts(town: Town) -> None:
    assert "journals" not in erase(town)["not_reached"]
    place = {"uid": uuid7(), "version": "1", "pid": 1, "signing_keys": [], "sealing_keys": []}
    for name, parts in (("web2", ["web"]), ("worker2", ["worker"]), (settings.HOST_NAME, ["web"])):
        Host.objects.create(name=name, parts=parts, started_at=NOW, seen_at=NOW, stopped_at=NOW, **place)
    Host.objects.filter(name="web2").delete()
    assert "journals" not in erase(town)["not_reached"]
    Host.objects.create(name="web2", parts=["web"], started_at=NOW, seen_at=NOW, stopped_at=NOW, **place)
    assert "journals" in erase(town)["not_reached"]
    assert certificate.table_name("journals") != "journals"
    with translation.override("zh-hans"):
        assert "主机" in certificate.table_name("journals")


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
