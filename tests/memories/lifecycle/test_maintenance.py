"""Search rows, word counts and passing records are kept in order, however they came out of it."""

from collections import Counter
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from memories import embeddings
from memories import entries as store
from memories.embeddings import cached
from memories.index import worker
from memories.lifecycle import maintenance
from memories.models import (
    BotKey,
    EmbeddingCache,
    Entry,
    EntryIndex,
    EntryVector,
    IdempotencyKey,
    IndexQueueItem,
    KeyUsage,
    RecallTrace,
    RefusedFact,
    Scope,
    ScopeTerm,
    Workspace,
)
from tests.conftest import NOW, make_draft, make_key
from tests.memories.quoting import refuse

pytestmark = pytest.mark.django_db


@pytest.fixture
def entries(scope: Scope) -> list[Entry]:
    texts = ["the extraction batch came on Tuesday", "a bicycle stands in the hall", "我的猫叫年糕"]
    made = [store.remember(make_draft(scope, text), now=NOW, actor="test").entry for text in texts]
    worker.drain(now=NOW)
    assert not IndexQueueItem.objects.exists()
    return made


def find() -> int:
    return maintenance.find_unindexed(now=NOW)["entries"]


def test_where_all_is_indexed_nothing_is_found(entries: list[Entry]) -> None:
    assert find() == 0


@pytest.mark.parametrize(
    "lose",
    [
        lambda entry: EntryIndex.objects.filter(entry=entry).delete(),
        lambda entry: EntryVector.objects.filter(entry=entry).delete(),
        lambda entry: EntryVector.objects.filter(entry=entry).update(fingerprint="of other words"),
        lambda entry: EntryIndex.objects.filter(entry=entry).update(model=None, embedding=None),
    ],
)
def test_a_straggler_is_found_and_healed(entries: list[Entry], lose: Any) -> None:
    lose(entries[1])
    assert find() == 1
    assert IndexQueueItem.objects.get().entry_id == entries[1].pk
    worker.drain(now=NOW)
    assert find() == 0
    assert EntryIndex.objects.get(entry=entries[1]).embedding is not None


def test_what_waits_already_keeps_its_place(entries: list[Entry]) -> None:
    EntryIndex.objects.all().delete()
    early = NOW - timedelta(hours=1)
    IndexQueueItem.objects.create(entry=entries[0], workspace_id=entries[0].workspace_id, since=early, failures=4)
    assert find() == 2
    item = IndexQueueItem.objects.get(entry=entries[0])
    assert (item.since, item.failures) == (early, 4)


def test_what_is_out_of_use_is_not_embedded(entries: list[Entry]) -> None:
    EntryVector.objects.all().delete()
    Entry.objects.update(expired_at=NOW)
    assert find() == 0


def test_without_an_embedder_only_the_search_row_is_missed(entries: list[Entry], settings: Any) -> None:
    settings.MEMORY_EMBEDDERS = []
    embeddings.forget()
    EntryVector.objects.all().delete()
    assert find() == 0
    EntryIndex.objects.filter(entry=entries[2]).delete()
    assert find() == 1


def test_word_counts_are_what_the_live_entries_say(entries: list[Entry], scope: Scope, workspace: Workspace) -> None:
    store.expire(entries[0], now=NOW, actor="test")
    first = next(iter(entries[1].terms))
    with connection.cursor() as cursor:
        cursor.execute("UPDATE memories_scopeterm SET entries = 99 WHERE term = %s", [first])
        cursor.execute("DELETE FROM memories_scopeterm WHERE term = %s", [entries[2].terms[0]])
    version = Scope.objects.get().version
    assert maintenance.count_terms_anew(workspace.pk) == {"scopes": 1, "frozen": 0}
    expected = Counter(entries[1].terms) + Counter(entries[2].terms)
    assert dict(ScopeTerm.objects.values_list("term", "entries")) == dict(expected)
    counted = Scope.objects.get()
    assert counted.entry_count == 2
    assert counted.average_length == (entries[1].length + entries[2].length) / 2
    assert counted.version == version + 1


def test_right_counts_are_left_as_they_are(entries: list[Entry], workspace: Workspace) -> None:
    maintenance.count_terms_anew(workspace.pk)  # settles the length that search rows are weighed with
    before = Scope.objects.get().version
    assert maintenance.count_terms_anew(workspace.pk) == {"scopes": 0, "frozen": 0}
    assert Scope.objects.get().version == before


def test_a_frozen_scope_and_another_workspace_s_are_not_counted(
    entries: list[Entry], workspace: Workspace, stranger: Workspace
) -> None:
    ScopeTerm.objects.all().delete()
    assert maintenance.count_terms_anew(stranger.pk) == {"scopes": 0, "frozen": 0}
    Scope.objects.update(frozen=True)
    assert maintenance.count_terms_anew(workspace.pk) == {"scopes": 0, "frozen": 1}
    assert not ScopeTerm.objects.exists()


def test_records_go_when_their_time_is_over(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(maintenance, "CHUNK", 2)
    make_key(workspace)
    key = BotKey.objects.get()
    for days in (0, 29, 31, 32, 33):
        at = NOW - timedelta(days=days)
        RecallTrace.objects.create(workspace=workspace, scopes=[], message="", served=[], created_at=at)
    for hours in (1, 23, 25):
        at = NOW - timedelta(hours=hours)
        IdempotencyKey.objects.create(workspace=workspace, bot=key.bot, key=str(hours), created_at=at)
        KeyUsage.objects.create(key=key, minute=at)
    assert maintenance.clean_up(now=NOW) == {
        "traces": 3,
        "idempotency_keys": 1,
        "key_usage": 1,
        "cached_embeddings": 0,
        "refused_facts": 0,
        "deliveries": 0,
        "job_runs": 0,
        "audit": 0,
    }
    assert RecallTrace.objects.count() == 2


def test_a_refused_fact_can_be_looked_at_for_a_month(workspace: Workspace, settings: Any) -> None:
    for days in (0, 29, 31):
        refuse(workspace, f"day {days}", at=NOW - timedelta(days=days))
    assert maintenance.count_outdated(now=NOW)["refused_facts"] == 1
    assert maintenance.clean_up(now=NOW)["refused_facts"] == 1
    settings.MEMORY_REFUSED_TTL = "1d"
    assert maintenance.clean_up(now=NOW)["refused_facts"] == 1
    assert [fact.content for fact in RefusedFact.objects.all()] == ["day 0"]


def test_a_cached_embedding_that_is_of_use_stays(settings: Any) -> None:
    provider = embeddings.main_provider()
    assert provider
    embeddings.embed_passages(["of use", "of none"], seconds=5)
    EmbeddingCache.objects.update(used_at=NOW - timedelta(days=200))
    assert list(cached(provider, ["of use"])) == ["of use"]
    assert maintenance.clean_up(now=NOW)["cached_embeddings"] == 1
    assert list(cached(provider, ["of use", "of none"])) == ["of use"]


def test_how_long_records_are_kept_is_a_setting(workspace: Workspace, settings: Any) -> None:
    RecallTrace.objects.create(
        workspace=workspace, scopes=[], message="", served=[], created_at=NOW - timedelta(hours=2)
    )
    settings.MEMORY_TRACE_TTL = "1h"
    assert maintenance.clean_up(now=NOW)["traces"] == 1
