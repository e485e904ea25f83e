"""Who is let in, how far, and that nobody sees another workspace."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from memories.models import Bot, BotKey, Entry, RecallTrace, Workspace
from tests.conftest import GROUP, TELEGRAM, Api, make_draft, make_key, make_scope
from tests.memories.api.requests import ROUTES, every_route

pytestmark = pytest.mark.django_db


@every_route
@pytest.mark.parametrize("token", [None, "", "mp_guess", "mp_" + "x" * 5_000, "cl\xe9", "a b"])
def test_without_a_known_key_nobody_is_let_in(workspace: Workspace, route: str, token: str | None) -> None:
    response = Api(token).post(route, ROUTES[route])
    assert response.status_code == 401
    assert response.headers["WWW-Authenticate"] == "Bearer"
    assert not Entry.objects.exists()


@pytest.mark.parametrize("header", ["Basic abc", "Bearer", "Token {}", "{}", "Bearer Bearer {}"])
def test_a_key_is_shown_as_bearer_only(workspace: Workspace, header: str) -> None:
    response = Api(None).post("recall", ROUTES["recall"], Authorization=header.format(make_key(workspace)))
    assert response.status_code == 401


def test_unknown_expired_and_revoked_keys_are_turned_away_in_the_same_words(workspace: Workspace) -> None:
    now = timezone.now()
    expired = make_key(workspace, expires_at=now - timedelta(seconds=1))
    revoked = make_key(workspace)
    BotKey.objects.filter(digest=BotKey.digest_of(revoked)).update(revoked_at=now)
    disabled = make_key(workspace, name="old bot")
    Bot.objects.filter(name="old bot").update(disabled_at=now)
    answers = [Api(token).post("recall", ROUTES["recall"]) for token in ("mp_x", expired, revoked, disabled)]
    assert {answer.status_code for answer in answers} == {401}
    assert len({answer.content for answer in answers}) == 1


def test_a_key_that_will_expire_is_still_good(workspace: Workspace) -> None:
    token = make_key(workspace, expires_at=timezone.now() + timedelta(hours=1))
    assert Api(token).post("recall", ROUTES["recall"]).status_code == 200


def test_a_key_runs_out_by_the_real_clock_also_in_tests_of_time(workspace: Workspace, settings: Any) -> None:
    settings.TEST_CLOCK = True
    token = make_key(workspace, expires_at=timezone.now() - timedelta(seconds=1))
    answer = Api(token).post("recall", ROUTES["recall"], **{"X-Memplatform-Now": "2000-01-01T00:00:00Z"})
    assert answer.status_code == 401


def test_a_reading_key_reads_and_does_not_write(workspace: Workspace) -> None:
    reader = Api(make_key(workspace, permissions=["read"]))
    assert reader.post("recall", ROUTES["recall"]).status_code == 200
    assert reader.get("entries").status_code == 200
    assert reader.post("scopes/resolve", ROUTES["scopes/resolve"]).status_code == 200
    for route in ("turns", "entries"):
        assert reader.post(route, ROUTES[route]).status_code == 403
    assert not Entry.objects.exists()


def test_a_writing_key_writes_and_does_not_read(workspace: Workspace) -> None:
    writer = Api(make_key(workspace, permissions=["write"]))
    assert writer.post("turns", ROUTES["turns"]).status_code == 201
    assert writer.post("entries", ROUTES["entries"]).status_code == 201
    assert writer.post("recall", ROUTES["recall"]).status_code == 403
    assert writer.get("entries").status_code == 403


def test_the_use_of_a_key_is_remembered(workspace: Workspace) -> None:
    token = make_key(workspace)
    Api(token).post("recall", ROUTES["recall"])
    first = BotKey.objects.get().last_used_at
    Api(token).post("recall", ROUTES["recall"])
    assert first is not None and BotKey.objects.get().last_used_at == first


def test_an_unknown_and_a_forbidden_scope_are_the_same_404(workspace: Workspace) -> None:
    make_scope(workspace, "lark:direct_boss")
    limited = Api(make_key(workspace, scope_patterns=["telegram:*"]))
    asked = ("lark:direct_boss", "lark:direct_nobody", "telegram:direct_nobody", "no such key")
    answers = [limited.post("recall", {"scope": key, "message": "who is it?"}) for key in asked]
    answers += [limited.get("entries", scope=key) for key in asked]
    assert {answer.status_code for answer in answers} == {404}
    assert len({answer.content for answer in answers}) == 1


def test_a_limited_key_neither_writes_nor_lists_beyond_its_patterns(workspace: Workspace, now: Any) -> None:
    api = Api(make_key(workspace))
    for scope in ("telegram:direct_u42", "lark:direct_boss"):
        api.post("entries", {"scope": scope, "content": f"kept in {scope}"})
    limited = Api(make_key(workspace, scope_patterns=["telegram:*"]))
    assert limited.post("entries", {"scope": "lark:direct_boss", "content": "x y"}).status_code == 404
    assert limited.post("entries", {"scope": "lark:direct_new", "content": "x y"}).status_code == 404
    assert limited.post("turns", {"address": {"platform": "lark", "peer": "b"}, "user": "hi"}).status_code == 404
    assert [row["scope"] for row in limited.get("entries").json()["results"]] == ["telegram:direct_u42"]


def test_a_turn_beyond_the_patterns_leaves_no_trace(workspace: Workspace) -> None:
    limited = Api(make_key(workspace, scope_patterns=["telegram:direct_*"]))
    assert limited.post("turns", {"address": GROUP, "user": "a", "assistant": "b"}).status_code == 404
    assert not Entry.objects.exists() and not workspace.scopes.exists() and not workspace.sessions.exists()


def test_a_recall_in_a_group_is_limited_to_what_the_key_reaches(workspace: Workspace) -> None:
    Api(make_key(workspace)).post("turns", {"address": GROUP, "user": "I like green tea", "assistant": "ok"})
    limited = Api(make_key(workspace, scope_patterns=["telegram:mybot:*"]))
    answer = limited.post("recall", {"address": GROUP, "message": "do I like green tea?"}).json()
    assert [memory["scope"] for memory in answer["memories"]] == ["telegram:mybot:group_g1"]


@pytest.mark.thorough
def test_the_same_scope_key_in_two_workspaces_is_two_memories(workspace: Workspace, stranger: Workspace) -> None:
    ours, theirs = Api(make_key(workspace)), Api(make_key(stranger))
    ours.post("turns", {"address": TELEGRAM, "user": "my door code is 4711", "assistant": "ok"})
    theirs.post("turns", {"address": TELEGRAM, "user": "my door code is 9000", "assistant": "ok"})
    for bot, code in ((ours, "4711"), (theirs, "9000")):
        for where in ({"address": TELEGRAM}, {"scope": "telegram:direct_u42"}):
            answer = bot.post("recall", {**where, "message": "what is my door code?", "explain": True})
            contents = [memory["content"] for memory in answer.json()["memories"]]
            assert {text.rpartition(" ")[2] for text in contents if "[secret]" not in text} == {code}
            assert answer.json()["left_out"] == []
        listed = bot.get("entries", q="door").json()["results"]
        assert len(listed) == 2  # what was said without the code, and the code for its owner
        assert [code in row["content"] for row in listed if "[secret]" not in row["content"]] == [True]
    assert RecallTrace.objects.filter(workspace=workspace).count() == 2


def test_entries_of_another_workspace_are_not_listed(api: Api, stranger: Workspace, now: Any) -> None:
    from memories import entries

    secret = make_scope(stranger, "telegram:direct_u99")
    entries.remember(make_draft(secret, "a secret of others"), now=now, actor="bot:x")
    assert api.get("entries").json()["results"] == []
    assert api.get("entries", scope="telegram:direct_u99").status_code == 404
    assert api.post("recall", {"scope": "telegram:direct_u99", "message": "what secret?"}).status_code == 404
