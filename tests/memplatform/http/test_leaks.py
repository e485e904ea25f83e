"""Canaries: planted by a switch, shown to nobody, and caught in whatever leaves for somebody else."""

import json
from typing import Any

import pytest
from django.http import HttpResponse, StreamingHttpResponse
from django.test import RequestFactory
from django.urls import reverse

from memories.api.errors import answer_held_back
from memories.audit.models import AuditEvent, AuditRecord
from memories.entries.exported import plant_canaries
from memories.models import Entry, WebhookDelivery, Workspace
from memories.staff.roles import Role
from memories.tenancy.access import LONGEST, SUBTYPE, planted_in, token_of
from memplatform.http.leaks import LeakGuard, LeakHeldBack
from tests.conftest import NOW, TELEGRAM, Api, make_key
from tests.memories.admin.conftest import enter, make_user
from tests.memories.webhooks.conftest import make_webhook

pytestmark = pytest.mark.django_db


@pytest.fixture
def workspace_with_canary(workspace: Workspace) -> Workspace:
    plant_canaries(workspace.pk, now=NOW, actor="user:alice")
    return workspace


def leak(monkeypatch: pytest.MonkeyPatch) -> None:
    """A call that forgot where it begins: it lists what anybody ever said."""
    everything = lambda caller, scope=None: Entry.objects.all()  # noqa: E731
    monkeypatch.setattr("memories.api.entries.visible_entries", everything)


def test_a_call_that_forgets_the_wall_of_scopes_is_held_back_and_told_of(
    workspace_with_canary: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_webhook(workspace_with_canary, "https://example.test/hook", events=["degraded"])
    bound = Api(make_key(workspace_with_canary, name="bound", scope_patterns=["telegram:*"]))
    leak(monkeypatch)
    answer = bound.get("entries")
    assert (answer.status_code, answer.json()["errors"][0]["code"]) == (500, "answer_held_back")
    assert "mpcanary" not in answer.content.decode()
    noted = AuditRecord.objects.get(event=AuditEvent.LEAKED)
    assert (noted.workspace_id, noted.details, "entries" in noted.about) == (
        workspace_with_canary.pk, {"same_workspace": True}, True,
    )  # fmt: skip
    assert WebhookDelivery.objects.get().details == {"degraded": True, "parts": ["canary"]}


def test_no_caller_is_shown_them_and_their_own_workspace_may_hold_them(
    workspace_with_canary: Workspace, stranger: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    api = Api(make_key(workspace_with_canary))
    api.post("turns", {"address": TELEGRAM, "user": "my name is Alice", "assistant": "hello"})
    data = {"address": TELEGRAM, "message": "name, address, password?", "need": "off"}
    for answer in (
        api.get("entries"), api.post("recall", data), api.post("context", data), api.get("entries", scope="canary"),
        api.get(f"entries/{Entry.objects.filter(subtype=SUBTYPE).first().uid}"), api.get("export"),
    ):  # fmt: skip
        body = b"".join(answer.streaming_content) if answer.streaming else answer.content
        assert b"canary-" not in body and answer.status_code in (200, 404)
    leak(monkeypatch)
    assert token_of(workspace_with_canary.pk) in api.get("entries").content.decode()
    assert not AuditRecord.objects.filter(event=AuditEvent.LEAKED).exists()


def passed(response: HttpResponse | StreamingHttpResponse, user: Any) -> Any:
    request = RequestFactory().get("/api/v1/x")
    request.user, request.resolver_match = user, None
    return LeakGuard(lambda request: response)(request)


def test_another_workspaces_token_leaves_neither_at_once_nor_in_pieces(
    workspace_with_canary: Workspace, stranger: Workspace
) -> None:
    token, thief = token_of(workspace_with_canary.pk), stranger.caller("bot:thief")
    assert passed(HttpResponse(json.dumps({"text": f"so {token}!"})), thief).status_code == 500
    assert passed(HttpResponse(token), workspace_with_canary.caller("bot:own")).status_code == 200
    made_up = f"mpcanary-{workspace_with_canary.pk}-{'0' * 32}"
    assert passed(HttpResponse(made_up), thief).status_code == 200
    for cut in (3, len(token) // 2, len(token) - 1):
        stream = passed(StreamingHttpResponse(iter([b"x" * 200, token[:cut].encode(), token[cut:].encode()])), thief)
        sent: list[bytes] = []
        with pytest.raises(LeakHeldBack):
            sent.extend(stream.streaming_content)
        assert not planted_in(b"".join(sent)) and len(token) <= LONGEST
    assert AuditRecord.objects.filter(event=AuditEvent.LEAKED, workspace_id=workspace_with_canary.pk).count() == 4


def test_the_switch_of_a_workspace_plants_them_once_and_takes_them_out(workspace: Workspace) -> None:
    operator = enter(make_user("alice", workspace=workspace, is_staff=True, role=Role.OPERATOR))
    page = reverse("admin:memories_workspace_change", args=[workspace.pk])
    members = {f"members-{name}": "0" for name in ("TOTAL_FORMS", "INITIAL_FORMS", "MIN_NUM_FORMS", "MAX_NUM_FORMS")}
    form = {"language": "en", "time_zone": "UTC", "is_enabled": "on", **members}
    for has, count in (("on", 2), ("on", 2), ("", 0), ("on", 2)):
        answer = operator.post(page, {**form, "has_canaries": has} if has else form)
        assert answer.status_code == 302, answer.context["errors"]
        assert Entry.objects.live().filter(subtype=SUBTYPE, workspace=workspace, pinned=True).count() == count


def test_the_home_page_says_what_was_held_back(workspace_with_canary: Workspace, stranger: Workspace) -> None:
    passed(HttpResponse(token_of(workspace_with_canary.pk)), stranger.caller("bot:thief"))
    data = {}
    for workspace in (workspace_with_canary, stranger):
        person = enter(make_user(f"of {workspace.pk}", workspace=workspace, is_staff=True))
        data[workspace] = "1 answer was held back" in person.get(reverse("admin:index")).content.decode()
    assert data == {workspace_with_canary: True, stranger: False}


def test_what_is_held_back_is_said_in_the_form_of_its_door() -> None:
    calls = [answer_held_back(RequestFactory().get(path)) for path in ("/v1/models", "/api/v1/entries")]
    openai, ours = (json.loads(answer.content) for answer in calls)
    assert (openai["error"]["code"], openai["error"]["type"]) == ("answer_held_back", "server_error")
    assert ours["errors"][0]["code"] == "answer_held_back" and {answer.status_code for answer in calls} == {500}
