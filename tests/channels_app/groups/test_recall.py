"""Every question asked by every member in every place: recall tells nobody what is not theirs to hear (A3, A5)."""

from typing import Any

import pytest

from memories.models import Workspace
from memories.recall import eligibility
from sessions_app.search import retriever
from tests.channels_app.groups.members import GROUPS, World, asked, everyone, questions, words_in

pytestmark = pytest.mark.django_db


def leaks(world: World, rule: str, *, call: str = "recall", **more: Any) -> tuple[list[tuple[str, ...]], set[str]]:
    """What was told to somebody who may not hear it, and all that was told."""
    results, result = [], set()
    for peer, place in everyone():
        for question in questions():
            words = words_in(asked(world, call, peer, place, question, **more))
            result |= words
            results += [(word, peer, place) for word in words if not world.may_hear(word, peer, place, rule)]
    return results, result


@pytest.mark.thorough
def test_nobody_hears_what_is_not_theirs(world: World, workspace: Workspace) -> None:
    data: dict[str, set[str]] = {}
    for rule in ("none", "same_chat", "all"):
        workspace.channels.update(group_user_recall=rule)
        found, data[rule] = leaks(world, rule, limit=50, quotas=False, token_budget=20_000)
        assert found == []
    assert len(data["all"]) > len(world.secrets) / 3  # and they do hear much of what is
    own = {word for word, it in world.secrets.items() if it.places == {"g1"} and not it.copies}
    assert own & data["same_chat"]


@pytest.mark.thorough
def test_by_default_nothing_told_in_private_is_told_in_a_group(world: World) -> None:
    private = {word for word, secret in world.secrets.items() if secret.places != {"g1"} and "g1" not in secret.copies}
    for peer, _place in everyone():
        for question in questions():
            assert not private & words_in(asked(world, "recall", peer, "g1", question, limit=50, quotas=False))


@pytest.mark.thorough
def test_who_explains_tells_no_words_either(world: World) -> None:
    found, _allowed = leaks(world, "same_chat", explain=True, limit=50)
    assert found == []


@pytest.mark.thorough
def test_the_questions_find_a_broken_rule(world: World, workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(eligibility, "audience_filter", lambda query: ([], {}))
    assert leaks(world, "same_chat", limit=50, quotas=False)[0]


@pytest.mark.thorough
def test_they_find_private_messages_that_were_told_as_events(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retriever, "_is_private_here", lambda place: False)
    found, _allowed = leaks(world, "same_chat")
    assert found and all(place in GROUPS for _word, _peer, place in found)
