"""The door to memory: what it lets in, all of it or nothing."""

import logging
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from memories import entries
from memories.entries.draft import Draft
from memories.exceptions import InvalidDraft, ScopeFrozen
from memories.models import Change, Entry, EntryIndex, IndexQueueItem, Scope, ScopeTerm, Workspace
from memories.models.change import acting
from tests.conftest import NOW, make_draft, make_scope

pytestmark = pytest.mark.django_db
BROKEN: list[tuple[dict[str, Any], str]] = [
    ({"type": "gossip"}, "type"),
    ({"source": "heaven"}, "source"),
    ({"category": "gossip"}, "category"),
    ({"tier": 1}, "tier"),
    ({"type": "fact"}, "tier"),
    ({"type": "fact", "tier": 3}, "tier"),
    ({"importance": 1.1}, "importance"),
    ({"importance": float("nan")}, "importance"),
    ({"content": ""}, "content"),
    ({"content": " \n\t"}, "content"),
    ({"content": "x" * 8_001}, "content"),
    ({"content": "a\0b"}, "content"),
    ({"content": "a\ud83d"}, "content"),
    ({"project": "a\0b"}, "project"),
    ({"slots": {f"n{n}": "v" for n in range(31)}}, "slots"),
    ({"slots": {"env": "x" * 501}}, "slots.env"),
    ({"slots": {"channel": "x" * 41}}, "slots.channel"),
    ({"slots": {"type": "fact"}}, "slots.type"),
    ({"type": "chat_turn"}, "slots.sender_id"),
]


@pytest.mark.parametrize(("broken", "field"), BROKEN)
def test_one_draft_that_cannot_be_stored_keeps_all_of_them_out(
    scope: Scope, broken: dict[str, Any], field: str
) -> None:
    good = make_draft(scope, "a good memory")
    with pytest.raises(InvalidDraft) as refused:
        entries.remember_many([good, replace(good, **broken)], now=NOW, actor="bot:test")
    assert refused.value.field == field
    for table in (Entry, EntryIndex, ScopeTerm, IndexQueueItem):
        assert not table.objects.exists()


def test_a_failure_half_way_leaves_nothing_behind(scope: Scope, monkeypatch: pytest.MonkeyPatch) -> None:
    def stumble(*args: Any, **kwargs: Any) -> None:
        raise RuntimeError("the last step fails")

    monkeypatch.setattr("memories.index.search_rows.write_and_enqueue", stumble)
    with pytest.raises(RuntimeError):
        entries.remember(make_draft(scope, "a good memory"), now=NOW, actor="bot:test")
    scope.refresh_from_db()
    assert scope.version == scope.entry_count == 0
    for table in (Entry, EntryIndex, ScopeTerm, IndexQueueItem):
        assert not table.objects.exists()
    assert not Change.objects.filter(table_name="memories_entry").exists()


def test_nothing_to_remember_is_nothing_done() -> None:
    assert entries.remember_many([], now=NOW, actor="bot:test") == []


def test_one_frozen_scope_keeps_all_scopes_from_being_written(scope: Scope, workspace: Workspace) -> None:
    frozen = make_scope(workspace, "main")
    Scope.objects.filter(pk=frozen.pk).update(frozen=True)
    with pytest.raises(ScopeFrozen):
        entries.remember_many(
            [make_draft(scope, "one thing"), make_draft(frozen, "another thing")], now=NOW, actor="bot:test"
        )
    assert not Entry.objects.exists()


def test_a_scope_frozen_since_it_was_read_is_frozen(scope: Scope) -> None:
    draft = make_draft(scope, "one thing")
    Scope.objects.filter(pk=scope.pk).update(frozen=True)
    with pytest.raises(ScopeFrozen):
        entries.remember(draft, now=NOW, actor="bot:test")


def test_what_came_in_can_be_found_before_it_is_embedded(scope: Scope) -> None:
    entry = entries.remember(make_draft(scope, "my cat is called Mochi"), now=NOW, actor="bot:test").entry
    row = EntryIndex.objects.get(entry=entry)
    assert row.keywords is not None and row.embedding is None
    assert IndexQueueItem.objects.get().entry == entry


def test_the_embedder_hears_of_it_when_the_transaction_commits(scope: Scope) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_notify('memplatform_stale', '')")  # is allowed, and costs nothing
    entries.remember(make_draft(scope, "my cat is called Mochi"), now=NOW, actor="bot:test")
    assert IndexQueueItem.objects.filter(failures=0, retry_at=None).count() == 1


def test_drafts_keep_their_own_times(scope: Scope) -> None:
    draft: Draft = make_draft(scope, "long ago", at=NOW - timedelta(days=900), expires_at=NOW + timedelta(days=1))
    entry = entries.remember(draft, now=NOW, actor="bot:test").entry
    entry.refresh_from_db()
    assert (entry.created_at, entry.stated_at, entry.updated_at) == (draft.at, draft.at, NOW)
    assert entry.expires_at == NOW + timedelta(days=1)


def test_each_draft_is_logged_without_its_words(scope: Scope, caplog: Any) -> None:
    with caplog.at_level(logging.INFO):
        entries.remember(make_draft(scope, "my cat is called Mochi"), now=NOW, actor="bot:test")
    lines = [record.getMessage() for record in caplog.records if "memory_capture" in record.getMessage()]
    assert len(lines) == 1 and "Mochi" not in lines[0]


def test_history_names_who_wrote_and_in_which_run(scope: Scope) -> None:
    with acting("job:nightly", run="run-7"):
        Entry.objects.filter(pk=0).update(pinned=True)
        with acting("bot:inner"):
            entries.remember(make_draft(scope, "one thing"), now=NOW, actor="bot:test")
        Entry.objects.update(pinned=True)
    made, pinned = Change.objects.filter(table_name="memories_entry").order_by("id")
    assert (made.op, made.actor, made.run) == ("I", "bot:test", "")
    assert (pinned.op, pinned.actor, pinned.run) == ("U", "job:nightly", "run-7")


def test_a_write_takes_the_same_statements_for_one_and_for_many(
    scope: Scope, django_assert_max_num_queries: Any
) -> None:
    drafts = [make_draft(scope, f"thing {n} {'x' * n}", slots={"env": "prod"}) for n in range(100)]
    with django_assert_max_num_queries(22):
        entries.remember_many(drafts, now=NOW, actor="bot:test")
