"""An erased person is gone from the archive as well, nobody else is, and without the archive nobody is erased."""

import gzip
import json

import pytest
from django.db.models import F, Value
from django.db.models.functions import Concat
from django.test import override_settings

from memories.models import ArchivedRows, Change, Entry, RecallTrace
from memplatform import archive
from memplatform.archive import HISTORY, TRACES, ArchiveError
from memplatform.erasure import run
from tests.memplatform.archive.conftest import contents, move
from tests.memplatform.erasure.conftest import ANN, CANARY, LATER, PEER, Town, town, word
from tests.memplatform.erasure.test_walk import erase, tables_with

pytestmark = pytest.mark.django_db
__all__ = ["town"]


def archived(store: archive.Store, words: str) -> list[str]:
    """The archived rows in which some words stand."""
    objects = [body for key, body in contents(store).items() if key.endswith(".gz")]
    return [line for body in objects for line in gzip.decompress(body).decode().split("\n") if words in line]


def test_all_of_an_erased_person_goes_from_the_archive(town: Town, bucket: archive.Store) -> None:
    assert RecallTrace.objects.filter(message__contains=CANARY).exists()
    for entry in Entry.objects.filter(scope__key__contains=PEER):  # also in words too few for a phrase, and in slots
        entry.slots.create(workspace=town.workspace, name="mood", value=f"{CANARY} merry").delete()
        entry.slots.create(workspace=town.workspace, name="place", value=f"{CANARY} shed")
        entry.slots.filter(name="place").update(value=f"{CANARY} house")
        for content in (f"{CANARY} short", word("anew")):
            Entry.objects.filter(pk=entry.pk).update(content=content)
    for entry in Entry.objects.filter(scope=town.ben):
        Entry.objects.filter(pk=entry.pk).update(importance=0.7)
    move(town.workspace)
    hers = len(archived(bucket, CANARY))
    assert hers > 15
    before = town.of_ben()
    certificate = erase(town)
    assert archived(bucket, CANARY) == [] and archived(bucket, PEER) == []
    assert tables_with(CANARY) == []
    assert certificate["removed"]["archive"] >= hers
    bens = Entry.objects.filter(scope=town.ben).values_list("pk", flat=True)
    for pk in bens:
        assert any(json.loads(line)["old"].get("importance") for line in archived(bucket, f'"row_id": {pk}'))
    assert town.of_ben() == before
    assert archive.verify(town.workspace)[1] == []


def test_what_others_said_first_is_put_back_from_archived_history(town: Town, bucket: archive.Store) -> None:
    """Only the archive knows what the memory said before the person repeated it, and then forgets what they said."""
    entry = Entry.objects.filter(scope=town.group, content__contains="bicycle", origins__len__gt=0).first()
    assert entry
    theirs = list(entry.origins)
    hers = list(Entry.objects.filter(scope=town.group, sender_id=PEER).exclude(origins=[]).first().origins)  # type: ignore[union-attr]
    Entry.objects.filter(pk=entry.pk).update(content="short said", origins=[*theirs, *hers])
    Entry.objects.filter(pk=entry.pk).update(content="so said", importance=0.4)
    move(town.workspace)
    assert not Change.objects.filter(row_id=entry.pk, table_name="memories_entry").exists()
    assert archived(bucket, "short said")
    erase(town)
    entry.refresh_from_db()
    assert "bicycle" in entry.content and entry.origins == theirs
    assert archived(bucket, "short said") == []


def test_without_the_archive_nobody_is_erased_and_it_goes_on_when_it_is_back(
    town: Town, bucket: archive.Store, server: dict[str, str]
) -> None:
    move(town.workspace)
    order = run.order(town.workspace, [ANN], reason="request 17", actor="user:op", now=LATER)
    with override_settings(ARCHIVE=server | {"ENDPOINT": "http://127.0.0.1:1"}):
        assert run.erase_waiting(now=LATER) == {"erased": 0, "failed": 1}
    with override_settings(ARCHIVE=dict.fromkeys(server, "")):
        assert run.erase_waiting(now=LATER) == {"erased": 0, "failed": 1}
    order.refresh_from_db()
    assert "MEMPLATFORM_ARCHIVE_ENDPOINT" in order.error and order.state != "done" and archived(bucket, CANARY)
    assert run.erase_waiting(now=LATER) == {"erased": 1, "failed": 0}
    assert archived(bucket, CANARY) == []


def test_what_a_killed_process_left_in_the_bucket_goes_too(town: Town, bucket: archive.Store) -> None:
    move(town.workspace)
    left = f"mem/{town.workspace.uid}/{TRACES}/2026-01/1-2-abc.jsonl.gz"
    bucket.put(left, gzip.compress(word("left").encode()))
    erase(town)
    assert left not in contents(bucket)
    assert {row.key for row in ArchivedRows.objects.filter(table_name=HISTORY)} <= set(contents(bucket))


@pytest.mark.parametrize("prefix", ["/mem/", "/备份/"])
def test_a_prefix_that_begins_with_a_slash_keeps_the_archive_of_everybody_else(
    town: Town, bucket: archive.Store, server: dict[str, str], prefix: str
) -> None:
    with override_settings(ARCHIVE=server | {"PREFIX": prefix}):
        moved = move(town.workspace)
        assert archive.verify(town.workspace) == (moved, [])
        erase(town)
        kept, wrong = archive.verify(town.workspace)
    assert archived(bucket, CANARY) == [] and wrong == []
    assert 0 < kept[HISTORY] <= moved[HISTORY]


def test_objects_that_were_noted_with_a_slash_are_known_by_the_names_they_have(
    town: Town, bucket: archive.Store
) -> None:
    moved = move(town.workspace)
    ArchivedRows.objects.update(key=Concat(Value("/"), F("key")))
    assert archive.verify(town.workspace) == (moved, [])
    erase(town)
    assert archived(bucket, CANARY) == []
    counts, wrong = archive.verify(town.workspace)
    assert counts[HISTORY] and wrong == []
    for table in (TRACES, HISTORY):
        archive.restore(town.workspace, table, now=LATER)
    assert contents(bucket) == {}


def test_nothing_is_removed_where_the_bucket_does_not_list_what_is_noted(town: Town, bucket: archive.Store) -> None:
    move(town.workspace)
    left = f"mem/{town.workspace.uid}/{TRACES}/2026-01/1-2-abc.jsonl.gz"
    bucket.put(left, b"of a process that was killed")
    record = ArchivedRows.objects.filter(table_name=HISTORY).earliest("pk")
    bucket.remove(record.key)
    before = contents(bucket)
    with pytest.raises(ArchiveError, match="nothing was removed"):
        archive.forget(town.workspace, lambda _table, _row, _text: False)
    assert contents(bucket) == before and left in before
