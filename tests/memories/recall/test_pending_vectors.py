"""A question asked seconds after a turn waits a moment for its vector, and says so when it was not enough (A13)."""

import time
from collections.abc import Iterator
from datetime import timedelta
from threading import Thread
from typing import Any

import pytest
from django.db import connection

from memories import embeddings
from memories.index.worker import drain
from memories.models import Workspace
from memories.recall import vector
from memories.recall.vector import pending_wait
from tests.conftest import NOW, TELEGRAM, make_key
from tests.sessions_app.conftest import Talk, clock

pytestmark = pytest.mark.django_db(transaction=True)
ASKED = "which town is my home?"


@pytest.fixture(autouse=True)
def patient(settings: Any) -> Iterator[None]:
    settings.TEST_CLOCK = True
    settings.MEMORY_EMBED_PENDING_SECONDS = 0.3
    pending_wait.forget()
    yield
    pending_wait.forget()


@pytest.fixture
def talk(workspace: Workspace) -> Talk:
    return Talk(make_key(workspace))


def ask(talk: Talk, *, later: float = 1.0) -> tuple[list[str], float]:
    """What is degraded, and the milliseconds the answer waited."""
    now = NOW + timedelta(seconds=later)
    answer = talk.post("recall", {"address": TELEGRAM, "message": ASKED, "cache": False}, **clock(now)).json()
    trace = talk.get(f"recalls/{answer['recall_id']}").json()
    return answer["degraded"], trace["timings"].get("pending", 0.0)


@pytest.mark.thorough
def test_it_waits_until_the_vector_is_there(talk: Talk, settings: Any) -> None:
    settings.MEMORY_EMBED_PENDING_SECONDS = 20.0  # of which it takes what it needs
    talk.say("I moved to Hangzhou")

    def embed() -> None:
        time.sleep(0.2)
        drain(now=NOW)
        connection.close()

    worker = Thread(target=embed)
    worker.start()
    degraded, waited = ask(talk)
    worker.join()
    assert degraded == [] and 100 < waited < 15_000


@pytest.mark.thorough
def test_it_says_so_when_there_is_none_and_does_not_wait_again(talk: Talk) -> None:
    talk.say("I moved to Hangzhou")
    degraded, waited = ask(talk)
    assert degraded == ["embedding_pending"] and waited > 200
    degraded, waited = ask(talk)
    assert degraded == ["embedding_pending"] and waited < 150
    drain(now=NOW)
    assert ask(talk)[0] == []


def test_nobody_waits_for_what_was_said_long_ago_or_has_its_vector(talk: Talk) -> None:
    talk.say("I moved to Hangzhou")
    assert ask(talk, later=60)[0] == []
    drain(now=NOW)
    assert ask(talk)[0] == []


def test_nobody_waits_for_an_embedder_that_is_dead(talk: Talk, settings: Any, monkeypatch: Any) -> None:
    talk.say("I moved to Hangzhou")
    monkeypatch.setattr(embeddings, "embed_query", lambda *_args, **_kwargs: None)
    assert ask(talk) == (["embedding"], 0.0)


def test_it_can_be_switched_off(talk: Talk, settings: Any) -> None:
    settings.MEMORY_EMBED_PENDING_SECONDS = 0.0
    talk.say("I moved to Hangzhou")
    degraded, waited = ask(talk)
    assert degraded == [] and waited < 150


@pytest.mark.thorough
def test_what_waits_in_another_memory_holds_nobody_up(talk: Talk) -> None:
    talk.say("I moved to Hangzhou", address={**TELEGRAM, "peer": "u7", "chat": "c8"})
    talk.say("hello")
    drain(now=NOW)
    talk.say("I moved to Rome", address={**TELEGRAM, "peer": "u7", "chat": "c8"})
    assert ask(talk)[0] == []


def test_a_conversation_does_not_wait_for_its_own_turn_once_there_is_more_to_look_in(
    talk: Talk, monkeypatch: Any
) -> None:
    monkeypatch.setattr(vector, "FEW_TO_WAIT_FOR", 1)
    talk.say("My bike is red")
    talk.say("My boat is blue")
    drain(now=NOW)
    talk.say("I moved to Hangzhou")
    degraded, waited = ask(talk)
    assert degraded == [] and waited < 150
    elsewhere = {"address": {**TELEGRAM, "chat": "another"}, "message": ASKED, "cache": False}
    answer = talk.post("recall", elsewhere, **clock(NOW + timedelta(seconds=1))).json()
    assert answer["degraded"] == ["embedding_pending"]
