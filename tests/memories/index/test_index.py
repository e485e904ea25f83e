"""The index: filled in the background, blended with its neighbours, rebuilt with the same answers (A13)."""

import threading
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection, transaction

from memories import entries
from memories.index import search_rows, worker
from memories.language import text
from memories.models import EmbeddingCache, EmbeddingModel, Entry, EntryIndex, EntryVector, IndexQueueItem, Scope
from tests.conftest import NOW, make_draft

pytestmark = pytest.mark.django_db
WORDS = "the office coffee machine needs fresh filters and clean water every single morning"


def say(scope: Scope, content: str, minute: int = 0, **slots: str) -> Entry:
    slots = {"session_id": "s1", "chat_id": "c7"} | slots
    draft = make_draft(scope, content, at=NOW + timedelta(minutes=minute), slots=slots)
    return entries.remember(draft, now=NOW, actor="bot:test").entry


def later(seconds: float = 1) -> datetime:
    return NOW + timedelta(seconds=seconds)


def embedding(entry: Entry) -> list[float] | None:
    return EntryIndex.objects.get(entry=entry).embedding


@pytest.mark.thorough
def test_what_waits_is_embedded_and_then_waits_no_more(scope: Scope) -> None:
    entries = [say(scope, f"thing {n} {'x' * n}", n) for n in range(40)]
    assert worker.drain(now=later()) == 40
    assert not IndexQueueItem.objects.exists()
    assert EntryVector.objects.count() == EmbeddingCache.objects.count() == len(entries)
    model = EmbeddingModel.objects.get()
    assert (model.name, model.dimension) == ("deterministic-64", 64)
    assert EntryIndex.objects.filter(model=model, embedding__isnull=False).count() == 40
    assert worker.drain(now=later()) == 0


def test_the_oldest_are_embedded_first(scope: Scope) -> None:
    first, second, third = (say(scope, f"thing {n} {'x' * n}", session_id="") for n in range(3))
    assert worker.index_queued(now=later(), limit=2) == 2
    assert embedding(first) and embedding(second) and embedding(third) is None


def test_an_entry_without_neighbours_is_its_own_direction(scope: Scope) -> None:
    entry = say(scope, "my cat is called Mochi", session_id="")
    worker.drain(now=later())
    assert embedding(entry) == pytest.approx(EntryVector.objects.get().embedding, abs=2e-3)


def test_neighbours_are_blended_anew_when_the_next_turn_comes(scope: Scope) -> None:
    first = say(scope, "which is the fastest train to Lisbon", 1)
    worker.drain(now=later())
    alone = embedding(first)
    near = [say(scope, f"{place} is far away {'x' * n}", 2 + n) for n, place in enumerate(("Porto", "Faro"))]
    assert {row.entry_id for row in IndexQueueItem.objects.all()} == {first.pk, *(entry.pk for entry in near)}
    worker.drain(now=later())
    blended = embedding(first)
    assert blended != alone
    say(scope, "three places on nobody is a neighbour any more", 9)
    worker.drain(now=later())
    assert embedding(first) == blended


@pytest.mark.parametrize("elsewhere", [{"session_id": "s2"}, {"chat_id": "c8"}])
def test_only_one_conversation_is_blended_together(scope: Scope, elsewhere: dict[str, str]) -> None:
    first = say(scope, "which is the fastest train to Lisbon", 1)
    worker.drain(now=later())
    alone = embedding(first)
    say(scope, "Porto is far away", 2, **elsewhere)
    assert not IndexQueueItem.objects.filter(entry=first).exists()
    worker.drain(now=later())
    assert embedding(first) == alone


def test_the_vector_of_an_older_wording_is_not_used(scope: Scope) -> None:
    entry = say(scope, WORDS)
    worker.drain(now=later())
    old = embedding(entry)
    say(scope, WORDS + " please")
    assert embedding(entry) is None
    worker.drain(now=later())
    entry.refresh_from_db()
    assert EntryVector.objects.get().fingerprint == entry.fingerprint
    assert embedding(entry) and embedding(entry) != old


def test_a_neighbour_is_not_blended_by_its_older_wording(scope: Scope) -> None:
    first, second = say(scope, WORDS, 1), say(scope, "and the tea kettle too", 2)
    worker.drain(now=later())
    before = embedding(second)
    say(scope, WORDS + " please", 1)
    search_rows.blend([second.pk], model_id=EmbeddingModel.objects.get().pk)
    assert embedding(second) == pytest.approx(EntryVector.objects.get(entry=second).embedding, abs=2e-3)
    worker.drain(now=later())
    assert embedding(second) not in (before, None)
    assert embedding(first) is not None


def test_what_changes_while_it_is_embedded_is_embedded_again(scope: Scope, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = say(scope, WORDS)
    plain = worker.embeddings.embed_passages

    def meanwhile(*args: Any, **kwargs: Any) -> Any:
        monkeypatch.setattr(worker.embeddings, "embed_passages", plain)
        say(scope, WORDS + " please")
        return plain(*args, **kwargs)

    monkeypatch.setattr(worker.embeddings, "embed_passages", meanwhile)
    worker.index_queued(now=later())
    assert IndexQueueItem.objects.filter(entry=entry).exists() and embedding(entry) is None
    worker.drain(now=later())
    entry.refresh_from_db()
    assert EntryVector.objects.get().fingerprint == entry.fingerprint and embedding(entry)


@pytest.mark.thorough
def test_a_rebuilt_index_is_the_stored_one(scope: Scope) -> None:
    for n in range(30):
        say(scope, f"{WORDS[n:]} 我的猫叫年糕 number {n}", n, session_id=f"s{n // 9}")
    worker.drain(now=later())
    stored = {row.entry_id: row for row in EntryIndex.objects.all()}
    EntryIndex.objects.all().delete()
    model = EmbeddingModel.objects.get()
    assert search_rows.rebuild(scope.pk, model_id=model.pk) == len(stored) == 30
    for row in EntryIndex.objects.all():
        was = stored[row.entry_id]
        assert row.model_id == model.pk and row.scope_id == scope.pk and row.workspace_id == scope.workspace_id
        assert row.embedding == pytest.approx(was.embedding, abs=1e-3)
        assert row.keywords.indices() == was.keywords.indices()
        assert row.keywords.values() == pytest.approx(was.keywords.values(), abs=1e-3)


def test_a_killed_embedders_work_is_done_when_its_lease_is_over(scope: Scope, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = say(scope, "my cat is called Mochi")

    class Killed(BaseException):
        """Nothing after this line ever ran."""

    def die(*args: Any, **kwargs: Any) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(worker.embeddings, "embed_passages", die)
        with pytest.raises(Killed):
            worker.index_queued(now=NOW)
    lease = worker.LEASE.total_seconds()
    assert worker.drain(now=later(lease - 1)) == 0 and embedding(entry) is None
    assert worker.drain(now=later(lease + 1)) == 1 and embedding(entry)


@pytest.mark.thorough
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("is_committed_before", [True, False])
def test_words_that_change_while_their_row_is_made_are_found_by_at_once(
    scope: Scope, monkeypatch: pytest.MonkeyPatch, is_committed_before: bool
) -> None:
    """On a slow disk somebody edited a memory between two steps of the worker, and was not shown their own words."""
    entry = say(scope, "the parcel is green")
    worker.drain(now=later())
    IndexQueueItem.objects.create(entry=entry, workspace_id=scope.workspace_id, since=NOW)
    has_edited, may_commit, ends = threading.Event(), threading.Event(), []
    write = search_rows._write

    def edit() -> None:
        with transaction.atomic():
            entries.update(entry, entries.Edit(columns={"content": "the envelope is violet"}), now=later(), actor="a")
            has_edited.set()
            may_commit.wait(10)
        connection.close()

    def write_late(*rows: Any) -> None:
        if not ends:  # once the old words were read
            ends.append(threading.Thread(target=edit))
            ends[0].start()
            assert has_edited.wait(10)
            if is_committed_before:
                may_commit.set()
                ends[0].join(10)
            else:
                threading.Timer(0.5, may_commit.set).start()
        write(*rows)

    monkeypatch.setattr(search_rows, "_write", write_late)
    worker.index_queued(now=later())
    ends[0].join(10)
    found = {index + 1 for index in EntryIndex.objects.get(entry=entry).keywords.indices()}
    assert set(text.terms("envelope violet")) <= found and not set(text.terms("parcel green")) & found


@pytest.mark.django_db(transaction=True)
def test_two_embedders_at_once_share_the_work(scope: Scope) -> None:
    for n in range(60):
        say(scope, f"thing {n} {'x' * n}", n, session_id=f"s{n % 7}")
    done: list[int] = []

    def work() -> None:
        done.append(worker.drain(now=later()))
        connection.close()

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(done) == 2 and sum(done) >= 60
    assert not IndexQueueItem.objects.exists()
    assert EntryVector.objects.count() == 60
    stored = {row.entry_id: row.embedding for row in EntryIndex.objects.all()}
    search_rows.rebuild(scope.pk, model_id=EmbeddingModel.objects.get().pk)
    for row in EntryIndex.objects.all():
        assert row.embedding == pytest.approx(stored[row.entry_id], abs=1e-3)


def test_an_entry_that_is_erased_meanwhile_does_not_hold_up_the_others(
    scope: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone, stays = say(scope, "soon gone", 1), say(scope, "stays where it is", 2)
    plain = search_rows.raw_vectors

    def meanwhile(*args: Any, **kwargs: Any) -> Any:
        Entry.objects.filter(pk=gone.pk)._raw_delete("default")
        return plain(*args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(search_rows, "raw_vectors", meanwhile)
        worker.index_queued(now=NOW)
    worker.drain(now=later(121))
    assert embedding(stays) and not IndexQueueItem.objects.exists()
