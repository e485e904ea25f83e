"""The nightly expiry: softly, in batches, at the same moment as recall stops to serve (A9)."""

from datetime import timedelta
from typing import Any

import pytest

from memories import entries
from memories.batches import apply
from memories.choices import EntryType, ScopeKind, Source
from memories.lifecycle import expiry
from memories.models import Batch, BatchChange, Change, Entry, IndexQueueItem, Policy, Scope, Suppression, Workspace
from tests.conftest import NOW, TELEGRAM, Api, make_draft, make_scope

pytestmark = pytest.mark.django_db


def remember(scope: Scope, content: str, *, days_ago: float, **kwargs: Any) -> Entry:
    """A chat turn that was stated so many days before NOW."""
    stated = NOW - timedelta(days=days_ago)
    kwargs = {"type": EntryType.CHAT_TURN, "source": Source.CONVERSATION_CAPTURE} | kwargs
    kwargs["slots"] = {"sender_id": "u42"} | kwargs.get("slots", {})
    entry = entries.remember(make_draft(scope, content, at=stated, **kwargs), now=stated, actor="test").entry
    Entry.objects.filter(pk=entry.pk).update(read_at=stated)  # a model has
    return entry


def expire(workspace: Workspace, run: str = "expire:1:2026-03-01") -> dict[str, int]:
    return expiry.expire_due(workspace.pk, now=NOW, run=run)


def expired() -> set[str]:
    return set(Entry.objects.expired().values_list("content", flat=True))


@pytest.mark.parametrize(
    ("kind", "entry_type", "days"),
    [
        (ScopeKind.USER, EntryType.CHAT_TURN, 30),
        (ScopeKind.CHAT, EntryType.CHAT_TURN, 14),
        (ScopeKind.USER, EntryType.AUTO_CAPTURE, 90),
        (ScopeKind.USER, EntryType.WORKFLOW_TRACE, 180),
    ],
)
def test_entries_expire_when_their_kind_has_lived_its_days(
    workspace: Workspace, kind: str, entry_type: str, days: int
) -> None:
    scope = make_scope(workspace, kind=kind)
    remember(scope, "the extraction batch came on Tuesday", days_ago=days, type=entry_type)
    remember(scope, "a bicycle stands in the hall", days_ago=days - 0.01, type=entry_type)
    assert expire(workspace) == {"scopes": 1, "entries": 1}
    assert expired() == {"the extraction batch came on Tuesday"}


@pytest.mark.parametrize("entry_type", [EntryType.USER_EXPLICIT, EntryType.NOTE])
def test_what_was_saved_on_purpose_never_expires_by_itself(workspace: Workspace, scope: Scope, entry_type: str) -> None:
    remember(scope, "the key is under the mat", days_ago=5_000, type=entry_type, source=Source.TOOL)
    assert expire(workspace) == {"scopes": 0, "entries": 0}


def test_a_term_of_its_own_wins_over_the_policy(workspace: Workspace, scope: Scope) -> None:
    remember(scope, "kept for a year", days_ago=100, expires_at=NOW + timedelta(days=265))
    remember(scope, "gone within the hour", days_ago=1, expires_at=NOW - timedelta(hours=1))
    expire(workspace)
    assert expired() == {"gone within the hour"}


def test_the_workspace_s_own_policy_decides(workspace: Workspace, stranger: Workspace, scope: Scope) -> None:
    theirs = make_scope(stranger)
    for owner, place in ((workspace, scope), (stranger, theirs)):
        remember(place, f"{owner.name} had tea", days_ago=3)
    policy = {"kind": "ttl", "entry_type": EntryType.CHAT_TURN, "scope_kind": ScopeKind.USER}
    Policy.objects.create(workspace=workspace, value=2, **policy)
    expire(workspace)
    expire(stranger, "another run")
    assert expired() == {"Alice's had tea"}


def test_pinned_entries_and_frozen_scopes_are_left_alone(workspace: Workspace, scope: Scope) -> None:
    remember(scope, "pinned", days_ago=100, pinned=True)
    frozen = make_scope(workspace, "telegram:direct_u43")
    remember(frozen, "frozen", days_ago=100)
    Scope.objects.filter(pk=frozen.pk).update(frozen=True)
    assert expire(workspace) == {"scopes": 0, "entries": 0}


def test_it_is_soft_recorded_and_bundled_by_scope(workspace: Workspace, scope: Scope) -> None:
    first = remember(scope, "the extraction batch came on Tuesday", days_ago=40)
    other = make_scope(workspace, "telegram:direct_u43")
    remember(other, "a bicycle stands in the hall", days_ago=40)
    expire(workspace)
    batch = Batch.objects.get(scope=scope)
    assert (batch.state, batch.counts, batch.actor, batch.run) == (
        "applied",
        {"expire": 1},
        "job:expire",
        "expire:1:2026-03-01",
    )
    change = BatchChange.objects.get(batch=batch)
    assert (change.verb, change.entry_id, change.expected_version, change.state) == ("expire", first.pk, 1, "applied")
    recorded = Change.objects.get(row_id=first.pk, table_name="memories_entry", op="U")
    assert (recorded.actor, recorded.batch_id, recorded.run) == ("job:expire", batch.pk, "expire:1:2026-03-01")
    assert recorded.old["expired_at"] is None
    first.refresh_from_db()
    assert (first.expired_at, first.version, first.content) == (NOW, 2, "the extraction batch came on Tuesday")


def test_large_scopes_are_done_in_small_transactions(
    workspace: Workspace, scope: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(apply, "CHUNK", 3)
    for animal in ("ants", "bears", "cats", "dogs", "eels", "foxes", "goats"):
        remember(scope, f"we talked of {animal}", days_ago=40)
    assert expire(workspace) == {"scopes": 1, "entries": 7}
    batch = Batch.objects.get()
    assert batch.counts == {"expire": 7}
    positions = BatchChange.objects.filter(batch=batch).order_by("position").values_list("position", flat=True)
    assert list(positions) == [1, 2, 3, 4, 5, 6, 7]


def test_a_run_that_was_killed_half_way_is_finished_in_the_same_batch(
    workspace: Workspace, scope: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(apply, "CHUNK", 1)
    for animal in ("ants", "bears"):
        remember(scope, f"we talked of {animal}", days_ago=40)
    with monkeypatch.context() as crash, pytest.raises(ConnectionAbortedError):
        calls = iter([entries.expire_many])

        def once(*args: Any, **kwargs: Any) -> entries.BulkOutcome:
            for call in calls:
                return call(*args, **kwargs)
            raise ConnectionAbortedError

        crash.setattr(entries, "expire_many", once)
        expire(workspace)
    assert len(expired()) == 1
    assert expire(workspace)["entries"] == 2
    assert len(expired()) == 2
    assert Batch.objects.get().counts == {"expire": 2}


def test_the_neighbours_are_blended_anew_and_nothing_is_suppressed(workspace: Workspace, scope: Scope) -> None:
    slots = {"session_id": "s", "chat_id": "c"}
    remember(scope, "the extraction batch came on Tuesday", days_ago=30.5, slots=slots)
    neighbour = remember(scope, "a bicycle stands in the hall", days_ago=29.5, slots=slots)
    IndexQueueItem.objects.all().delete()
    expire(workspace)
    assert IndexQueueItem.objects.filter(entry=neighbour).exists()
    assert not Suppression.objects.exists()
    again = entries.remember(make_draft(scope, "the extraction batch came on Tuesday"), now=NOW, actor="test")
    assert again.outcome == "created"


def test_recall_had_stopped_serving_it_already(workspace: Workspace, api: Api) -> None:
    api.post("turns", {"address": TELEGRAM, "user": "I moved to Hangzhou", "assistant": "Noted."})
    Entry.objects.update(stated_at=NOW - timedelta(days=365))
    before = api.post("recall", {"address": TELEGRAM, "message": "did I move to Hangzhou?"}).json()["memories"]
    assert before == [] and expired() == set()
    assert expire(workspace)["entries"] == 1
