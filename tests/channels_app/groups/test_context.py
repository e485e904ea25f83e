"""The whole context of every member in every place holds nothing that is not theirs to hear (A3, B5, C9, D1)."""

from datetime import timedelta

import pytest

from memories.models import Entry, Workspace
from memories.recall import eligibility
from sessions_app.models import Session
from tests.channels_app.groups.members import GROUPS, World, everyone
from tests.channels_app.groups.test_recall import leaks
from tests.conftest import NOW

pytestmark = pytest.mark.django_db


def with_profiles(world: World) -> None:
    """Every second fact is one of the profile."""
    for fact in Entry.objects.filter(type="fact").order_by("pk")[::2]:
        Entry.objects.filter(pk=fact.pk).update(tier=1)


@pytest.mark.thorough
def test_nobody_reads_what_is_not_theirs(world: World, workspace: Workspace) -> None:
    with_profiles(world)
    for rule in ("none", "same_chat", "all"):
        workspace.channels.update(group_user_recall=rule)
        found, allowed = leaks(world, rule, call="context", token_budget=50_000, limit=50)
        assert found == [] and len(allowed) > 100


@pytest.mark.thorough
def test_not_at_the_first_turn_either(world: World, workspace: Workspace) -> None:
    with_profiles(world)
    Session.objects.update(last_at=NOW - timedelta(days=30))  # idle for long: notes in place of history
    workspace.channels.update(group_sessions="per_member")
    for rule in ("same_chat", "all"):
        workspace.channels.update(group_user_recall=rule)
        found, allowed = leaks(world, rule, call="context", token_budget=50_000)
        assert found == [] and allowed


@pytest.mark.thorough
def test_the_questions_find_a_broken_rule(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    with_profiles(world)
    monkeypatch.setattr(eligibility, "audience_filter", lambda query: ([], {}))
    found, _allowed = leaks(world, "same_chat", call="context", token_budget=50_000)
    assert found and all(place in GROUPS for _word, _peer, place in found)
    assert {peer for peer, _place in everyone()} >= {peer for _word, peer, _place in found}
