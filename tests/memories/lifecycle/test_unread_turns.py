"""A turn that no model has drawn facts from: what it says stands nowhere else, and is not lost by the clock (A9)."""

from datetime import timedelta

import pytest

from memories import entries
from memories.choices import FRESH_DAYS, EntryType, PolicyKind, ScopeKind, Source, unread_decay
from memories.conf import conf
from memories.models import Entry, Policy, Scope, Workspace
from memories.recall import Query, SearchScope, recall
from memories.tenancy.resolver import ScopeRef
from tests.conftest import NOW, make_draft
from tests.memories.lifecycle.conftest import expire, live

pytestmark = pytest.mark.django_db
TOLD = "I have type 1 diabetes"


def unread_turn(scope: Scope, content: str = TOLD, *, days_ago: float) -> Entry:
    at = NOW - timedelta(days=days_ago)
    draft = make_draft(
        scope,
        content,
        type=EntryType.CHAT_TURN,
        source=Source.CONVERSATION_CAPTURE,
        at=at,
        slots={"sender_id": "u42"},
        origins=(f"message/{content}",),
    )
    return entries.remember(draft, now=at, actor="test").entry


def served(scope: Scope, message: str = "which diabetes do I have?") -> list[str]:
    scope.refresh_from_db()
    places = [SearchScope(scope, ScopeRef(key=scope.key, kind=scope.kind))]
    query = Query(workspace_id=scope.workspace_id, places=places, message=message, limit=8)
    return [item.entry.content for item in recall(query, now=NOW).served]


@pytest.mark.parametrize(("days_ago", "is_there"), [(40, True), (100, True), (364, True), (366, False)])
def test_it_lives_for_a_year(workspace: Workspace, scope: Scope, days_ago: int, is_there: bool) -> None:
    unread_turn(scope, days_ago=days_ago)
    assert served(scope) == [TOLD] * is_there
    expire(workspace)
    assert live(scope) == {TOLD} if is_there else not live(scope)


def test_its_own_term_runs_from_the_reading(workspace: Workspace, scope: Scope) -> None:
    entry = unread_turn(scope, days_ago=100)
    assert entries.mark_read(workspace.pk, {entry.origins[0]: entry.created_at}, now=NOW - timedelta(days=29)) == 1
    assert served(scope) == [TOLD]
    Entry.objects.filter(pk=entry.pk).update(read_at=NOW - timedelta(days=31))
    assert served(scope) == []
    expire(workspace)
    assert not live(scope)


def test_it_is_read_once_and_only_what_rests_on_these_messages(workspace: Workspace, scope: Scope) -> None:
    first, other = unread_turn(scope, days_ago=2), unread_turn(scope, "my cat is called Mochi", days_ago=1)
    messages = {first.origins[0]: first.created_at}
    assert entries.mark_read(workspace.pk, messages, now=NOW) == 1
    assert entries.mark_read(workspace.pk, messages, now=NOW + timedelta(days=1)) == 0
    first.refresh_from_db()
    other.refresh_from_db()
    assert (first.read_at, other.read_at) == (NOW, None)
    assert first.version == 1, "to be read changes nothing people see"


def test_a_workspace_that_says_how_long_turns_live_means_all_of_them(workspace: Workspace, scope: Scope) -> None:
    unread_turn(scope, days_ago=8)
    Policy.objects.create(
        workspace=workspace, kind=PolicyKind.TTL, entry_type=EntryType.CHAT_TURN, scope_kind=ScopeKind.USER, value=7
    )
    assert served(scope) == []
    Policy.objects.create(workspace=workspace, kind=PolicyKind.WEIGHT, name="unread_turn_days", value=60)
    assert served(scope) == [TOLD], "unless it says this as well"


def test_a_term_of_no_day_ends_at_once(workspace: Workspace, scope: Scope) -> None:
    unread_turn(scope, days_ago=0.01)
    Policy.objects.create(
        workspace=workspace, kind=PolicyKind.TTL, entry_type=EntryType.CHAT_TURN, scope_kind=ScopeKind.USER, value=0
    )
    assert served(scope) == []
    Entry.objects.update(read_at=NOW - timedelta(hours=1))
    assert served(scope) == []


def test_it_sinks_meanwhile() -> None:
    assert unread_decay(FRESH_DAYS) == 1
    assert 1 > unread_decay(100) > unread_decay(300) > 0.3
    assert timedelta(days=365) == conf.UNREAD_TURN_TTL
