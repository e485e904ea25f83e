"""Old history and recall traces leave for object storage, are checked there, and come back."""

import gzip
import hashlib
import json
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import override_settings
from django.utils import timezone

from memories import batches, entries
from memories.choices import BatchVerb
from memories.exceptions import HistoryArchived
from memories.models import ArchivedRows, Change, Entry, RecallTrace, Workspace
from memories.recall.eligibility import check_moment
from memplatform import archive
from memplatform.archive import HISTORY, TRACES, ArchiveError
from tests.conftest import NOW, TELEGRAM, Api
from tests.memories.batches.conftest import applied, step, undone
from tests.memplatform.archive.conftest import EVERYTHING, LATER, contents, move, rows

pytestmark = pytest.mark.django_db


@pytest.fixture
def house(workspace: Workspace, api: Api) -> Workspace:
    """A workspace with two memories, one of them reworded, and two recalls."""
    for words in ("I moved to Hangzhou", "I have a dog called Bello"):
        api.post("turns", {"address": TELEGRAM, "user": words, "assistant": "Noted."})
    entry = Entry.objects.filter(content__contains="Bello").get()
    entries.update(entry, entries.Edit(columns={"content": "The dog is called Bella"}), now=NOW, actor="user:op")
    for asked in ("where did I move to?", "what is my dog called?"):
        assert api.post("recall", {"address": TELEGRAM, "message": asked}).status_code == 200
    return workspace


def command(*words: str) -> str:
    out = StringIO()
    call_command("archive", *words, stdout=out)
    return out.getvalue()


def test_rows_leave_verified_and_come_back_as_they_were(house: Workspace, bucket: archive.Store) -> None:
    RecallTrace.objects.update(note="first line\u2028second\x85third\nfourth")
    had = rows(house)
    moved = move(house)
    assert moved[TRACES] == len(had[TRACES]) == 2 and not RecallTrace.objects.exists()
    assert moved[HISTORY] > 2
    left = Change.objects.filter(workspace_id=house.pk).values_list("table_name", flat=True)
    assert set(left).isdisjoint(archive.RECORDED)
    noted = {row.key: row for row in ArchivedRows.objects.all()}
    stored = contents(bucket)
    assert set(stored) == {name for key in noted for name in (key, key + archive.MANIFEST)}
    for key, row in noted.items():
        manifest = json.loads(stored[key + archive.MANIFEST])
        assert manifest["sha256"] == row.sha256 == hashlib.sha256(stored[key]).hexdigest()
        lines = gzip.decompress(stored[key]).decode().split("\n")[:-1]
        ids = [json.loads(line)["id"] for line in lines]
        assert (manifest["rows"], manifest["first_id"], manifest["last_id"]) == (len(lines), min(ids), max(ids))
        assert key.startswith(f"mem/{house.uid}/{row.table_name}/{row.until:%Y-%m}/")
    assert move(house) == {TRACES: 0, HISTORY: 0}  # nothing is left to do
    assert archive.verify(house) == (moved, [])
    assert len(list(archive.read(house, TRACES))) == 2
    archive.restore(house, TRACES, now=LATER)
    archive.restore(house, HISTORY, now=LATER)
    assert rows(house) == had
    assert contents(bucket) == {} and not ArchivedRows.objects.exists()


def test_the_same_rows_make_the_same_objects(house: Workspace, bucket: archive.Store) -> None:
    move(house)
    first = contents(bucket)
    for table in (TRACES, HISTORY):
        archive.restore(house, table, now=LATER)
    move(house)
    assert contents(bucket) == first


def test_settings_say_how_old(house: Workspace, bucket: archive.Store) -> None:
    now = timezone.now() + timedelta(days=21)
    assert archive.count(house, archive.due(now=now)) == {TRACES: 2, HISTORY: 0}
    with override_settings(MEMORY_ARCHIVE_TRACES_AFTER="22d"):
        assert archive.count(house, archive.due(now=now))[TRACES] == 0


def test_a_night_moves_the_traces_its_preview_counts(house: Workspace, bucket: archive.Store) -> None:
    night = timezone.now() + timedelta(days=400)
    counted = archive.count_due(house.pk, now=night)["traces"]
    assert archive.move_due(house.pk, now=night)["traces"] == counted == 2
    assert archive.count_due(house.pk, now=night) == {"traces": 0, "changes": 0}


def test_a_dry_run_counts_the_history_that_leaves_behind_its_traces(house: Workspace, bucket: archive.Store) -> None:
    RecallTrace.objects.update(created_at=NOW)
    counted = archive.count(house, EVERYTHING)
    assert archive.move(house, EVERYTHING, now=LATER) == counted
    assert counted[HISTORY] > 0


def test_history_that_traces_here_are_shown_by_stays(house: Workspace, bucket: archive.Store) -> None:
    """A trace of then names versions, and what these said is told by what was changed since."""
    RecallTrace.objects.update(created_at=NOW)
    assert archive.move(house, {HISTORY: EVERYTHING[HISTORY]}, now=LATER) == {HISTORY: 0}


def test_a_row_that_changes_meanwhile_stays(
    house: Workspace, bucket: archive.Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = archive._write

    def write(*given: Any) -> None:
        written(*given)
        RecallTrace.objects.update(note="it helped")

    monkeypatch.setattr(archive, "_write", write)
    assert archive.move(house, {TRACES: EVERYTHING[TRACES]}, now=LATER) == {TRACES: 0}
    assert RecallTrace.objects.filter(note="it helped").count() == 2 and not ArchivedRows.objects.exists()
    monkeypatch.undo()
    assert move(house)[TRACES] == 2
    assert all('"note": "it helped"' in line for line in archive.read(house, TRACES))


def test_undo_and_a_look_back_refuse_what_is_archived(house: Workspace, bucket: archive.Store) -> None:
    entry = Entry.objects.filter(content__contains="Bella").get()
    batch = applied(entry.scope, [step(BatchVerb.EXPIRE, entry)])
    move(house)
    with pytest.raises(HistoryArchived, match="archive"):
        batches.plan_undo(batch, actor="user:op", now=LATER)
    until = max(row.until for row in ArchivedRows.objects.filter(table_name=HISTORY))
    with pytest.raises(HistoryArchived):
        check_moment(house.pk, until - timedelta(microseconds=1), now=until + timedelta(days=1))
    check_moment(house.pk, until + timedelta(seconds=1), now=until + timedelta(days=1))
    archive.restore(house, HISTORY, now=LATER)
    undone(batch)
    entry.refresh_from_db()
    assert entry.is_live()


def test_what_is_purged_goes_from_the_archive_with_the_next_run(house: Workspace, bucket: archive.Store) -> None:
    entry = Entry.objects.filter(content__contains="Bella").get()
    move(house)
    before = [line for table in (TRACES, HISTORY) for line in archive.read(house, table)]
    assert any("Bello" in line for line in before)
    Entry.objects.filter(pk=entry.pk).update(expired_at=NOW)
    assert entries.purge(entry.scope, {entry.pk: None}, now=LATER).applied
    assert ArchivedRows.objects.filter(is_stale=True).exists()
    archive.move(house, {}, now=LATER)
    assert not ArchivedRows.objects.filter(is_stale=True).exists()
    for table in (TRACES, HISTORY):
        for line in archive.read(house, table):
            row = json.loads(line)
            assert entry.pk not in row.get("served", [])
            assert (row.get("table_name"), row.get("row_id")) != ("memories_entry", entry.pk)
    assert archive.verify(house)[1] == []
    assert any("Hangzhou" in line or "move to" in line for line in archive.read(house, TRACES))


def test_what_is_purged_does_not_come_back_from_the_archive(house: Workspace, bucket: archive.Store) -> None:
    entry = Entry.objects.filter(content__contains="Bella").get()
    Entry.objects.filter(pk=entry.pk).update(content="小狗叫贝拉, no longer Bella")
    move(house)
    Entry.objects.filter(pk=entry.pk).update(expired_at=NOW)
    assert entries.purge(entry.scope, {entry.pk: None}, now=LATER).applied
    for table in (HISTORY, TRACES):
        assert archive.restore(house, table, now=LATER) > 0
    had = [line for lines in rows(house).values() for (line,) in lines]
    assert had and not any(word in line for line in had for word in ("Bella", "贝拉"))
    assert not RecallTrace.objects.filter(served__contains=[entry.pk]).exists()
    assert not Change.objects.filter(table_name="memories_entry", row_id=entry.pk).exists()
    assert contents(bucket) == {}


def test_what_is_purged_while_the_archive_comes_back_stays_away(
    house: Workspace, bucket: archive.Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = Entry.objects.filter(content__contains="Bella").get()
    Entry.objects.filter(content__contains="Hangzhou").update(content="I moved to 杭州")
    move(house)
    Entry.objects.filter(pk=entry.pk).update(expired_at=NOW)
    read = archive._lines

    def lines(*given: Any) -> list[str]:
        found = read(*given)
        if Entry.objects.filter(pk=entry.pk).exists():
            assert entries.purge(entry.scope, {entry.pk: None}, now=LATER).applied
        return found

    monkeypatch.setattr(archive, "_lines", lines)
    archive.restore(house, HISTORY, now=LATER)
    assert Change.objects.filter(table_name="memories_entry", old__content__icontains="Hangzhou").exists()
    assert not Change.objects.filter(table_name="memories_entry", row_id=entry.pk).exists()


def test_rows_that_were_removed_plainly_keep_their_history(house: Workspace, bucket: archive.Store) -> None:
    entry = Entry.objects.filter(content__contains="Bella").get()
    slot = entry.slots.create(workspace=house, name="mood", value="merry")
    entry.slots.update(value="glad")
    slot.delete()
    move(house)
    archive.forget(house, lambda _table, _row, _text: False)
    assert any("merry" in line for line in archive.read(house, HISTORY))
    assert Change.objects.filter(
        table_name="memories_slot", op="D", old__value="glad"
    ).exists()  # by it, purges find it


def test_a_damaged_object_is_told(house: Workspace, bucket: archive.Store) -> None:
    move(house)
    row = ArchivedRows.objects.filter(table_name=TRACES).get()
    bucket.put(row.key, b"something else")
    bucket.put(f"mem/{house.uid}/left", b"of a process that was killed")
    found, wrong = archive.verify(house)
    assert found[TRACES] == 0 and len(wrong) == 2
    with pytest.raises(CommandError, match="not what was written"):
        command("verify")
    with pytest.raises(ArchiveError):
        archive.restore(house, TRACES, now=LATER)
    assert not RecallTrace.objects.exists() and ArchivedRows.objects.filter(pk=row.pk).exists()


def test_the_command_moves_shows_and_restores(house: Workspace, bucket: archive.Store) -> None:
    assert "traces 2" in command("--before", "2100-01-01", "--only", "traces", "--dry-run")
    assert "traces 2" in command("--before", "2100-01-01", "--workspace", house.name)
    assert "traces 2" in command("verify")
    assert json.loads(command("read", "--only", "traces").splitlines()[0])["message"]
    with override_settings(MEMORY_TRACE_TTL="0s"), pytest.raises(CommandError, match="MEMORY_TRACE_TTL"):
        command("restore", "--only", "traces")
    assert "traces 2" in command("restore", "--only", "traces")
    assert RecallTrace.objects.count() == 2


def test_a_bucket_that_keeps_former_versions_is_refused(house: Workspace, server: dict[str, str]) -> None:
    with override_settings(ARCHIVE=server | {"BUCKET": "versions"}), pytest.raises(ArchiveError, match="former"):
        move(house)
    assert RecallTrace.objects.count() == 2


def test_nobody_is_asked_without_settings_and_no_secret_is_told(house: Workspace, server: dict[str, str]) -> None:
    with pytest.raises(ArchiveError, match="MEMPLATFORM_ARCHIVE_ENDPOINT"):
        move(house)
    with override_settings(ARCHIVE=server | {"KEY": "made-up-777777"}), pytest.raises(ArchiveError) as refusal:
        move(house)
    for secret in (server["SECRET"], "made-up-777777"):
        assert secret not in str(refusal.value) + repr(refusal.value.__cause__)
    assert RecallTrace.objects.count() == 2
