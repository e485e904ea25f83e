"""Who may pass where: every route and method, with every kind of key."""

import json
import re
from collections.abc import Iterator
from copy import deepcopy
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.test import Client
from django.utils import timezone

from memories.choices import BatchState, Permission
from memories.models import Batch, Bot, BotKey, Entry, RecallTrace, Scope, Workspace
from tests.conftest import NOW, make_key
from tests.memories.api.routes import (
    ACCESS,
    ASKING,
    CONTENT,
    EITHER,
    LOCAL,
    NOBODY,
    OPEN,
    calls,
    described,
    routes,
    undescribed,
)
from tests.memories.api.rows import fill
from tests.support.shared_rows import kept_for_many

pytestmark = [pytest.mark.django_db, pytest.mark.thorough]
every_call = pytest.mark.parametrize(("route", "method"), sorted(ACCESS), ids=" ".join)
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE")


@pytest.fixture(scope="module")
def alices(django_db_setup: None, django_db_blocker: Any) -> Iterator[tuple[Workspace, dict[str, Any]]]:
    """Alice's workspace and what it holds, written once for all tests."""

    def write() -> tuple[Workspace, dict[str, Any]]:
        workspace = Workspace.objects.create(name="Alice's")
        return workspace, fill(workspace)

    with kept_for_many(write, django_db_blocker, TEST_CLOCK=False) as written:
        yield written


@pytest.fixture
def workspace(alices: tuple[Workspace, dict[str, Any]], db: None) -> Workspace:
    return deepcopy(alices[0])


@pytest.fixture
def rows(alices: tuple[Workspace, dict[str, Any]], db: None) -> dict[str, Any]:
    return {**alices[1], "messages": NOBODY}  # which waits for nobody


def call(token: str | None, route: str, method: str, rows: dict[str, Any], body: Any = None) -> Any:
    collection = route.removeprefix("api/v1/").partition("/")[0]
    numbered = route.replace("<int:event>", str(rows.get("event")))
    numbered = numbered.replace("<uuid:delivery>", str(rows.get("delivery")))
    return Client(raise_request_exception=False).generic(
        method,
        "/" + re.sub("<.+?>", str(rows.get(collection)), re.sub("<int:.+?>", "1", numbered)),
        "" if body is None else json.dumps(body),
        content_type="application/json",
        headers={"Authorization": f"Bearer {token}"} if token else {},
    )


def code_of(answer: Any) -> str:
    return str(answer.json()["errors"][0]["code"])


def test_every_route_stands_in_the_table() -> None:
    assert calls() == set(ACCESS)
    assert {route for route, _view in routes()} == {route for route, _method in ACCESS} | OPEN | LOCAL


def test_every_call_names_the_permission_of_each_of_its_methods() -> None:
    named = {
        (route, method)
        for route, view in routes()
        if hasattr(view, "view_class")
        for method in getattr(view.view_class, "methods", {})
    }
    assert named == set(ACCESS)


def test_every_write_may_be_sent_again() -> None:
    repeatable = {
        (route, method)
        for route, view in routes()
        if route not in OPEN | LOCAL
        for method in view.view_class.methods
        if getattr(getattr(view.view_class, method.lower()), "is_repeatable", False)
    }
    assert repeatable == {(route, method) for route, method in ACCESS if method != "GET" and route not in ASKING}


@every_call
def test_alices_bot_may(workspace: Workspace, rows: dict[str, Any], route: str, method: str) -> None:
    access = ACCESS[route, method]
    answer = call(make_key(workspace), route, method, rows, access.body)
    assert answer.status_code == access.answer, answer.content
    assert answer.headers["Cache-Control"] == "no-store"


@every_call
def test_an_answer_is_as_described(workspace: Workspace, rows: dict[str, Any], route: str, method: str) -> None:
    access = ACCESS[route, method]
    answer = call(make_key(workspace), route, method, rows, access.body)
    path = "/" + re.sub(r"<\w+:(\w+)>", r"{\1}", route)
    response = described()["paths"][path][method.lower()]["responses"][str(answer.status_code)]
    assert list(undescribed(answer.json(), response["content"]["application/json"]["schema"])) == []


def unknown(workspace: Workspace) -> str:
    return "mp_" + "x" * 43


def expired(workspace: Workspace) -> str:
    return make_key(workspace, expires_at=timezone.now() - timedelta(seconds=1))


def revoked(workspace: Workspace) -> str:
    token = make_key(workspace)
    BotKey.objects.filter(digest=BotKey.digest_of(token)).update(revoked_at=timezone.now())
    return token


def of_a_disabled_bot(workspace: Workspace) -> str:
    token = make_key(workspace)
    Bot.objects.update(disabled_at=timezone.now())
    return token


def none(workspace: Workspace) -> None:
    return None


@every_call
@pytest.mark.parametrize("key", [none, unknown, expired, revoked, of_a_disabled_bot])
def test_without_a_valid_key_nobody_may(
    workspace: Workspace, rows: dict[str, Any], route: str, method: str, key: Any
) -> None:
    before = list(Entry.objects.values())
    answer = call(key(workspace), route, method, rows, ACCESS[route, method].body)
    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"] == "Bearer"
    assert answer.headers["Cache-Control"] == "no-store"
    assert code_of(answer) == ("authentication_failed" if key is not none else "not_authenticated")
    assert list(Entry.objects.values()) == before


@every_call
def test_a_reading_key_reads_only(workspace: Workspace, rows: dict[str, Any], route: str, method: str) -> None:
    access = ACCESS[route, method]
    answer = call(make_key(workspace, permissions=["read"]), route, method, rows, access.body)
    if (method == "GET" and not access.decides) or route in ASKING | EITHER:
        assert answer.status_code == access.answer
    else:
        assert (answer.status_code, code_of(answer)) == (403, "permission_denied")


@every_call
def test_a_writing_key_writes_only(workspace: Workspace, rows: dict[str, Any], route: str, method: str) -> None:
    access = ACCESS[route, method]
    answer = call(make_key(workspace, permissions=["write"]), route, method, rows, access.body)
    if method == "GET" or route in ASKING | EITHER or access.decides:
        assert (answer.status_code, code_of(answer)) == (403, "permission_denied")
    else:
        assert answer.status_code == access.answer


def test_what_is_no_call_is_not_kept_either(db: None) -> None:
    assert Client().get("/api/v1/nothing").headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize(("route", "method"), [asked for asked, access in ACCESS.items() if access.decides])
def test_who_has_the_right_decides(workspace: Workspace, rows: dict[str, Any], route: str, method: str) -> None:
    access = ACCESS[route, method]
    answer = call(make_key(workspace, permissions=[access.right]), route, method, rows, access.body)
    assert answer.status_code == access.answer
    others = [permission for permission in Permission.values if permission != access.right]
    refused = call(make_key(workspace, permissions=others), route, method, rows, access.body)
    assert (refused.status_code, code_of(refused)) == (403, "permission_denied")
    assert f"“{access.right}”" in refused.json()["errors"][0]["detail"]


def assert_kept_from(answer: Any, expected: int, before: list[dict[str, Any]], workspace: Workspace) -> None:
    assert answer.status_code == expected, answer.content
    assert CONTENT not in answer.content.decode()
    assert list(Entry.objects.filter(workspace=workspace).values()) == before
    if expected == 404:
        assert code_of(answer) == "not_found"
    if answer.status_code == 200 and "results" in answer.json():
        assert answer.json()["results"] == []


@every_call
def test_a_stranger_meets_nothing_of_hers(
    workspace: Workspace, stranger: Workspace, rows: dict[str, Any], route: str, method: str
) -> None:
    access, before = ACCESS[route, method], list(Entry.objects.values())
    answer = call(make_key(stranger), route, method, rows, access.body)
    assert_kept_from(answer, access.stranger, before, workspace)


@every_call
def test_a_key_that_does_not_reach_the_scope_meets_nothing(
    workspace: Workspace, rows: dict[str, Any], route: str, method: str
) -> None:
    access, before = ACCESS[route, method], list(Entry.objects.values())
    answer = call(make_key(workspace, scope_patterns=["lark:*"]), route, method, rows, access.body)
    assert_kept_from(answer, access.narrow, before, workspace)


@pytest.mark.parametrize(
    ("route", "method"),
    sorted(key for key, access in ACCESS.items() if "<" in key[0] and not access.begins),
    ids=" ".join,
)
def test_a_row_that_never_was_is_the_same_as_one_of_another(
    workspace: Workspace, stranger: Workspace, rows: dict[str, Any], route: str, method: str
) -> None:
    nothing = dict.fromkeys(rows, "019a0000-0000-7000-8000-000000000000") | {"event": 1}
    body = ACCESS[route, method].body
    of_another = call(make_key(stranger), route, method, rows, body)
    assert call(make_key(workspace), route, method, nothing, body).json() == of_another.json()


@pytest.mark.parametrize("route", sorted({route for route, _method in ACCESS}))
def test_a_wrong_method_is_named_as_such(workspace: Workspace, rows: dict[str, Any], route: str) -> None:
    allowed = {method for other, method in ACCESS if other == route}
    allowed |= {"OPTIONS"} | ({"HEAD"} if "GET" in allowed else set())
    token = make_key(workspace, permissions=["read"])
    for method in set(METHODS) - allowed:
        answer = call(token, route, method, rows)
        assert answer.status_code == 405, method
        assert set(answer.headers["Allow"].split(", ")) == allowed
        assert method == "HEAD" or code_of(answer) == "method_not_allowed"
        assert call(None, route, method, rows).status_code == 401
    options = call(token, route, "OPTIONS", rows)
    assert (options.status_code, options.content) == (204, b"")
    assert set(options.headers["Allow"].split(", ")) == allowed


@pytest.mark.parametrize(
    "route", sorted(route for (route, method), access in ACCESS.items() if method == "GET" and not access.decides)
)
def test_head_says_what_get_would(workspace: Workspace, rows: dict[str, Any], route: str) -> None:
    token = make_key(workspace, permissions=["read"])
    head, get = (call(token, route, method, rows) for method in ("HEAD", "GET"))
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers.get("ETag") == get.headers.get("ETag")


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer mp_nobody"}, {"Accept": "application/json"}])
def test_the_description_is_open_for_generators_ask_for_its_address(db: None, headers: dict[str, str]) -> None:
    answer = Client().get("/api/schema", headers=headers)
    assert answer.status_code == 200 and b"/api/v1/turns" in answer.content
    plain = Client().get("/api/schema", headers={**headers, "Accept": "application/json"})
    assert plain.json()["paths"]["/api/v1/turns"]


@pytest.mark.parametrize("path", ["/api/docs"])
def test_the_pages_to_try_it_are_for_keys_and_for_staff_wherever_they_call_from(
    workspace: Workspace, path: str
) -> None:
    bearer = {"Authorization": f"Bearer {make_key(workspace, permissions=['read'])}"}
    client = Client(raise_request_exception=False)
    assert client.get(path).status_code == 401
    assert client.get(path, headers=bearer).status_code == 200
    users = get_user_model().objects
    client.force_login(users.create_user("visitor"))
    assert client.get(path).status_code in (401, 403)
    client.force_login(users.create_user("alice", is_staff=True))
    assert client.get(path).status_code == 200


def test_a_browser_without_a_login_is_sent_to_it_and_back_to_the_description(db: None) -> None:
    answer = Client().get("/api/docs", headers={"Accept": "text/html"})
    assert (answer.status_code, answer.headers["Location"]) == (302, "/admin/login/?next=/api/docs")


def test_a_batch_of_no_scope_is_seen_by_keys_that_reach_all(stranger: Workspace) -> None:
    Batch.objects.create(
        workspace=stranger, name="purge", run="r", actor="job", created_at=NOW, state=BatchState.APPLIED
    )
    route = ("api/v1/batches", "GET")
    assert len(call(make_key(stranger), *route, {}).json()["results"]) == 1
    narrow = make_key(stranger, scope_patterns=["*"])
    assert call(narrow, *route, {}).json()["results"] == []


def test_a_recall_over_several_scopes_is_out_of_reach_when_one_of_them_is(
    workspace: Workspace, rows: dict[str, Any]
) -> None:
    chat = Scope.objects.create(workspace=workspace, key="telegram:mybot:group_g1", kind="chat")
    trace = RecallTrace.objects.get(uid=rows["recalls"])
    RecallTrace.objects.update(scopes=[*trace.scopes, chat.pk])
    route = ("api/v1/recalls/<uuid:uid>/feedback", "POST")
    narrow = make_key(workspace, scope_patterns=["telegram:direct_*"])
    assert call(narrow, *route, rows, {"used": []}).status_code == 404
    assert call(make_key(workspace, scope_patterns=["telegram:*"]), *route, rows, {"used": []}).status_code == 200
