"""GET /entries, /events and /sessions with a key for one scope list nothing of another (A3, E2)."""

from typing import Any

import pytest

from memories.models import Workspace
from tests.channels_app.groups.members import GROUPS, MEMBERS, World, chat, user, words_in
from tests.conftest import make_key
from tests.sessions_app.conftest import Talk

pytestmark = [pytest.mark.django_db, pytest.mark.thorough]


def listed(talk: Talk, path: str, **asked: Any) -> set[str]:
    """Every statement in any page of a list."""
    words: set[str] = set()
    cursor = ""
    while cursor is not None:
        answer = talk.get(path, limit=200, **asked, **({"cursor": cursor} if cursor else {}))
        assert answer.status_code == 200, answer.json()
        words |= words_in(answer.json()["results"])
        cursor = answer.json()["cursor"]
    return words


def keys(workspace: Workspace) -> dict[str, Talk]:
    """By scope, a bot whose key reaches it alone."""
    scopes = [*map(user, MEMBERS), *map(chat, GROUPS)]
    return {scope: Talk(make_key(workspace, name=scope, scope_patterns=[scope])) for scope in scopes}


def is_of(world: World, word: str, scope: str) -> bool:
    secret = world.secrets[word]
    return scope == user(secret.owner) or scope in map(chat, secret.copies)


@pytest.mark.parametrize("path", ["entries", "events"])
def test_a_key_for_one_scope_lists_it_alone(world: World, workspace: Workspace, path: str) -> None:
    for scope, talk in keys(workspace).items():
        words = listed(talk, path)
        assert words and not [word for word in words if not is_of(world, word, scope)]
        assert listed(talk, path, scope=scope) == words
        for other in {*map(user, MEMBERS), *map(chat, GROUPS)} - {scope}:
            assert talk.get(path, scope=other).status_code == 404


def test_its_sessions_are_those_of_its_scope(world: World, workspace: Workspace) -> None:
    everything = world.talk.get("sessions", limit=200).json()["results"]
    assert len(everything) == len(MEMBERS) + len(GROUPS)
    for scope, talk in keys(workspace).items():
        (session,) = talk.get("sessions").json()["results"]
        result = words_in(talk.get(f"sessions/{session['id']}/events", limit=200).json())
        assert result and not [word for word in result if not is_of(world, word, scope)]
        for other in everything:
            expected = 200 if other["id"] == session["id"] else 404
            assert talk.get(f"sessions/{other['id']}/events").status_code == expected
