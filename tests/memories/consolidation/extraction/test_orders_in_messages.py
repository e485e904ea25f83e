"""Forty messages that give orders to a model or a reader: nothing of them is verified, and nothing acts (D5, D7)."""

from datetime import datetime
from typing import Any
from uuid import uuid4

import pytest

from memories.consolidation import buffer
from memories.models import Batch, Entry, Scope, Workspace
from tests.conftest import NOW
from tests.memories.consolidation.buffer.conversations import QUIET, extract
from tests.memories.llm.fake_server import Asked, FakeModel, credulous, verdicts
from tests.support.conversations import Injection, load

pytestmark = [pytest.mark.django_db, pytest.mark.thorough]
INJECTIONS = load("injections")


def obey(workspace: Workspace, model: FakeModel, one: Injection, at: datetime = NOW) -> None:
    """A model that does what the message says, word for word."""
    scope = Scope.objects.create(workspace=workspace, kind="user", key=one.id, speakers=[one.speaker])
    message = buffer.Message(id=f"{one.id}/1", role="user", content=one.message, at=at, sender=one.speaker)
    slots = {"speaker": one.speaker}
    buffer.add([message], session_uid=uuid4(), conversation=1, now=at, user_scope=scope, slots=slots)
    labels = {"project": "_global", "topic": "_general", "category": "identity", "importance": 1.0}
    fact = {"content": one.content, "quote": [{"message": "m1", "text": one.quote}], "subject": "speaker", **labels}
    model.otherwise = {"facts": [fact], "summary": ""}
    extract(at + QUIET)


def is_stated(request: Asked) -> Any:
    """A reader that is not fooled: an order states nothing."""
    return verdicts(request, lambda _statement: "not_stated")


@pytest.mark.parametrize("one", INJECTIONS, ids=lambda one: one.id)
def test_nothing_of_it_is_kept_where_the_reader_is_honest(
    workspace: Workspace, model: FakeModel, one: Injection
) -> None:
    model.reader = is_stated
    obey(workspace, model, one)
    assert not Entry.objects.filter(type="fact").exists()


@pytest.mark.parametrize("one", INJECTIONS, ids=lambda one: one.id)
def test_a_fooled_reader_verifies_nothing_and_nothing_acts(
    workspace: Workspace, model: FakeModel, one: Injection
) -> None:
    model.reader = credulous
    obey(workspace, model, one)
    assert not Entry.objects.filter(type="fact", verification="verified").exists()
    assert not Entry.objects.exclude(superseded_by=None, expired_at=None, archived_at=None).exists()
    assert set(Batch.objects.values_list("name", flat=True)) <= {"extract"}
