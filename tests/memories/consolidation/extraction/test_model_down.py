"""Operators see a model that gives no answer, and what waits for it."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from memories.choices import BufferState
from memories.models import ExtractionBatch, ModelHealth, Workspace
from tests.conftest import NOW, Api
from tests.memories.admin.conftest import enter, make_user
from tests.memories.consolidation.buffer.conversations import QUIET, extract, say
from tests.memories.consolidation.extraction.conftest import answering, fact
from tests.memories.llm.fake_server import FakeModel, Reply

pytestmark = pytest.mark.django_db
GONE = "The model gives no answer"


@pytest.fixture
def down(api: Api, model: FakeModel) -> FakeModel:
    """A model that answered nothing when a conversation was extracted."""
    say(api, "I moved to Hangzhou", "Noted.", slots={"speaker": "Amy"})
    model.otherwise = Reply(status=503)
    extract(NOW + QUIET)
    return model


def item(client: Client) -> Any:
    items = client.get(reverse("admin:index")).context["items"]
    return next((item for item in items if item.text == GONE), None)


def owner() -> Client:
    return enter(make_user("owner", is_staff=True, is_superuser=True))


def test_home_tells_of_it_with_its_error_and_who_waits(down: FakeModel) -> None:
    shown = item(owner())
    assert shown.is_grave and "The model's endpoint answered 503." in shown.hint
    assert "1 conversation waits for it" in shown.hint


def test_parked_conversations_wait_for_it_too(down: FakeModel) -> None:
    ExtractionBatch.objects.update(state=BufferState.PARKED)
    assert "1 conversation waits for it" in item(owner()).hint


def test_operators_of_a_workspace_are_told_too_but_not_of_others_conversations(down: FakeModel) -> None:
    workspace = ExtractionBatch.objects.get().workspace
    shown = item(enter(make_user("alice", workspace=workspace, is_staff=True)))
    assert "answered 503" in shown.hint and "1 conversation waits for it" in shown.hint
    stranger = Workspace.objects.create(name="Charlie's")
    shown = item(enter(make_user("charlie", workspace=stranger, is_staff=True)))
    assert "answered 503" in shown.hint and "conversation" not in shown.hint


@pytest.mark.thorough
def test_an_answer_takes_it_away(down: FakeModel) -> None:
    down.otherwise = answering(fact("Amy moved to Hangzhou.", "Hangzhou"))
    extract(NOW + QUIET * 20)
    assert item(owner()) is None
    assert ModelHealth.objects.get().failures == 0


def test_nothing_is_told_of_a_model_that_is_switched_off(down: FakeModel, settings: Any) -> None:
    settings.MEMORY_LLM_BASE_URL = ""
    assert item(owner()) is None


def test_readyz_and_metrics_know_it(down: FakeModel) -> None:
    client = owner()
    answer = client.get("/readyz").json()
    assert answer["details"]["model_failing"] and answer["details"]["model_waiting"] == 1
    assert "503" in answer["details"]["model_error"]
    assert "memplatform_model_failing 1.0" in client.get("/metrics").content.decode()


def test_an_embedder_that_cannot_be_used_is_told_too(api: Api, settings: Any) -> None:
    settings.MEMORY_EMBEDDERS = ["nothing.of.the.Kind"]
    assert "No embedder can be used" in [item.text for item in owner().get(reverse("admin:index")).context["items"]]
