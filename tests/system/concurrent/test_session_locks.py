"""Messages of one session are taken one after another; sessions never wait for each other (B7)."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connection, transaction

from memories.exceptions import SessionBusy
from memories.models import Workspace
from sessions_app import conversations
from sessions_app.models import Session, SessionEvent
from tests.conftest import TELEGRAM, make_key
from tests.sessions_app.conftest import Talk
from tests.support.threads import at_once

pytestmark = pytest.mark.django_db(transaction=True)
GROUP = {**TELEGRAM, "chat": "g1", "is_group": True}


@contextmanager
def held(session: Session) -> Iterator[None]:
    """Somebody writes to this session, and takes their time."""
    begun, over = threading.Event(), threading.Event()

    def write() -> None:
        with transaction.atomic():
            conversations.lock_session(session)
            begun.set()
            over.wait(30)
        connection.close()

    with ThreadPoolExecutor(1) as pool:
        writer = pool.submit(write)
        begun.wait(30)
        try:
            yield
        finally:
            over.set()
            writer.result()


@pytest.fixture
def session(talk: Talk) -> Session:
    talk.say("hello")
    return Session.objects.get()


def test_a_message_that_waits_too_long_is_told_to_come_again(talk: Talk, session: Session, settings: Any) -> None:
    settings.MEMORY_SESSION_WAIT = "0.1"
    with held(session):
        for answer in (
            talk.post("turns", {"address": TELEGRAM, "user": "and?"}),
            talk.post(f"sessions/{session.uid}/events", {"events": [{"kind": "user", "content": "and?"}]}),
            talk.post(f"sessions/{session.uid}/reset"),
            talk.post(f"sessions/{session.uid}/flush", {"version": 1}),
        ):
            assert (answer.status_code, answer.headers["Retry-After"]) == (409, "1")
            assert answer.json()["errors"][0]["code"] == "session_busy"
    assert SessionEvent.objects.count() == 2 and Session.objects.get().conversation == 1


def test_at_most_two_threads_of_a_process_wait(talk: Talk, session: Session) -> None:
    def come(_n: int) -> str:
        try:
            with transaction.atomic():
                conversations.lock_session(Session.objects.get(pk=session.pk))
        except SessionBusy:
            return "busy"
        finally:
            connection.close()
        return "had it"

    with ThreadPoolExecutor(2) as pool, held(session):
        waiting = [pool.submit(come, n) for n in range(2)]
        _until_waiting(2)
        began = time.monotonic()
        assert come(3) == "busy"
        assert time.monotonic() - began < 2  # at once, not after the bounded wait
        assert not any(waiter.done() for waiter in waiting)
    assert [waiter.result() for waiter in waiting] == ["had it", "had it"]


def _until_waiting(count: int) -> None:
    end = time.monotonic() + 20
    while time.monotonic() < end:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
                " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
            )
            if cursor.fetchone()[0] == count:
                return
        time.sleep(0.02)
    raise AssertionError("nobody waits")


def test_other_sessions_and_recall_do_not_wait(talk: Talk, session: Session, settings: Any) -> None:
    settings.MEMORY_SESSION_WAITERS = 0
    with held(session):
        talk.say("hello", address={**TELEGRAM, "peer": "u9", "chat": "c9"})
        response = talk.post("recall", {"address": TELEGRAM, "message": "what did I say?"})
        assert response.status_code == 200
        assert talk.history(session) == [("user", "hello"), ("assistant", "ok")]


def test_twenty_people_of_a_group_at_once_are_each_heard_once_and_in_order(workspace: Workspace, settings: Any) -> None:
    settings.MEMORY_CALLS_PER_MINUTE = 1_000_000
    token = make_key(workspace)

    def speak(n: int) -> int:
        refused = 0
        for turn in range(2):
            body = {"address": {**GROUP, "peer": f"p{n}"}, "user": f"{n} says {turn}", "assistant": f"to {n}: {turn}"}
            while (answer := Talk(token).post("turns", body)).status_code == 409:
                refused += 1
                time.sleep(float(answer.headers["Retry-After"]))
            assert answer.status_code == 201
        return refused

    at_once(speak, 20)
    events = list(SessionEvent.objects.order_by("position"))
    assert [event.position for event in events] == list(range(1, 81))
    pairs = [
        (one.content.split()[0], other.content.split()[1][:-1]) for one, other in zip(*[iter(events)] * 2, strict=True)
    ]
    assert all(asked == answered for asked, answered in pairs)  # no turn is torn by another
    for n in range(20):
        own = [event.content for event in events if event.sender_id == f"p{n}"]
        assert own == [f"{n} says 0", f"{n} says 1"]
    session = Session.objects.get()
    assert session.tokens == sum(event.tokens for event in events) and session.next_position == 81


def test_a_failed_message_leaves_the_line(talk: Talk, session: Session) -> None:
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        conversations.lock_session(session)
        raise ZeroDivisionError
    assert talk.say("hello again")["session"]["conversation"] == 1
