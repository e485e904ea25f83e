"""Secrets that were stored before anybody looked for them."""

from typing import Any

import pytest

from memories import batches
from memories.lifecycle import old_secrets
from memories.models import Batch, Entry, Scope, Workspace
from tests.conftest import GROUP, NOW, TELEGRAM, Api

pytestmark = pytest.mark.django_db


@pytest.fixture
def stored_before(api: Api, workspace: Workspace, settings: Any) -> None:
    """Turns of a time when they were stored as they were said."""
    settings.MEMORY_SECRETS = "off"
    for text in ("My card PIN is 4711.", "The movers come on Tuesday.", "我的银行卡密码是 998877"):
        answer = api.post("turns", {"address": TELEGRAM, "user": text, "assistant": "Noted."})
        assert answer.status_code == 201
    Scope.objects.update(secrets_version=0)
    settings.MEMORY_SECRETS = "keep"


def find() -> dict[str, int]:
    return old_secrets.find_old_secrets(now=NOW, seconds=60)


def recall(api: Api, message: str, address: dict[str, Any] = TELEGRAM) -> str:
    return str(api.post("recall", {"address": address, "message": message}).json())


@pytest.mark.usefixtures("stored_before")
def test_what_was_stored_before_is_found_once_in_a_batch_that_can_be_undone(api: Api) -> None:
    assert "4711" in recall(api, "what did I tell you about my card?")
    assert find() == {"scopes": 1, "secrets": 2}
    assert Entry.objects.filter(category="credential", subtype="secret:code").count() == 1
    assert "4711" not in recall(api, "what did I tell you about my card?")
    assert "4711" in recall(api, "what is my card PIN?")
    assert find() == {"scopes": 0, "secrets": 0}
    batch = Batch.objects.get(name="find-secrets")
    undo = batches.plan_undo(batch, actor="user:a", now=NOW)
    batches.apply_batch(undo, now=NOW)
    assert not Entry.objects.filter(category="credential").exists()


@pytest.mark.usefixtures("stored_before")
def test_a_run_that_was_killed_goes_on_with_its_plan(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    apply = batches.apply_batch
    monkeypatch.setattr(batches, "apply_batch", lambda batch, now: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        find()
    monkeypatch.setattr(batches, "apply_batch", apply)
    assert find() == {"scopes": 1, "secrets": 2}
    assert Entry.objects.filter(category="credential").count() == 2 and Batch.objects.count() == 1


@pytest.mark.usefixtures("stored_before")
def test_a_frozen_scope_waits(api: Api) -> None:
    Scope.objects.update(frozen=True)
    assert find() == {"scopes": 0, "secrets": 0} and old_secrets.count_waiting() == {"scopes": 0, "entries": 0}
    Scope.objects.update(frozen=False)
    assert old_secrets.count_waiting() == {"scopes": 1, "entries": 3}
    assert find()["secrets"] == 2


@pytest.mark.usefixtures("stored_before")
def test_where_secrets_are_stored_as_they_are_said_nothing_is_looked_for(settings: Any) -> None:
    settings.MEMORY_SECRETS = "off"
    assert find() == {"scopes": 0, "secrets": 0}


def test_a_scope_that_begins_now_is_looked_at_when_it_is_written(api: Api) -> None:
    api.post("turns", {"address": GROUP, "user": "hello everybody", "assistant": "hi"})
    assert old_secrets.count_waiting() == {"scopes": 0, "entries": 0}
