"""While a model thinks, the conversation goes on: nothing is held, and what no longer fits is made again (B3, B7)."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection, connections

from memories.models import Entry, Workspace
from sessions_app import compaction
from sessions_app.conversations import SESSION_LOCK
from sessions_app.models import Flush, Session, SessionEvent
from tests import ROOT
from tests.conftest import NOW
from tests.memories.llm.fake_server import Asked, FakeModel
from tests.sessions_app.conftest import Talk
from tests.sessions_app.stretches import asked_for_flush, candidate, compact, drawing, grown, summary_of, writing
from tests.support.processes import database_url

TOLD = "Mia moves to Hangzhou in May with her cat Mochi."
MOCHI = candidate("The cat of Mia is called Mochi.", 1)
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def alone(settings: Any) -> None:
    settings.MEMORY_HISTORY_SUMMARY_MAX_TOKENS = 100


def meanwhile(model: FakeModel, happens: Callable[[], Any], *, at: int = 1) -> None:
    """Something happens while the model thinks about its question number `at`."""

    def answer(asked: Asked) -> Any:
        if model.calls == at:
            try:
                happens()
            finally:
                connections.close_all()  # those of the server's thread
        first = asked.data["messages"][0].get("position")
        result = drawing(candidate(str(MOCHI["content"]), first), goes_on_with=TOLD)
        return result if asked_for_flush(asked) else writing(TOLD)

    model.otherwise = answer


def held() -> list[str]:
    """Transactions that are open anywhere but here, and advisory locks of conversations."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT 'lock' FROM pg_locks WHERE locktype = 'advisory' AND classid::bigint >> 24 = %s"
            " AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) UNION ALL"
            " SELECT state FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
            " AND state LIKE 'idle in transaction%%'",
            [SESSION_LOCK >> 56],
        )
        return [row[0] for row in cursor.fetchall()]


def test_nothing_is_held_while_a_model_is_asked(talk: Talk, model: FakeModel) -> None:
    session, seen = grown(talk, 6), []
    talk.do(session, "flush", {"version": 1, "reply": "NO_REPLY"})
    talk.say("Mochi again")
    for n in (1, 2):
        meanwhile(model, lambda: seen.append(held()), at=n)
        assert compact(session)
        talk.say("Mochi and Hangzhou")
    assert seen == [[], []] and model.calls == 3  # once it is told that a quote stands in no message


def test_messages_that_arrive_meanwhile_stay_as_they_were_said(talk: Talk, model: FakeModel) -> None:
    session = grown(talk, 6)
    meanwhile(model, lambda: talk.say("one more thing", "说吧"))
    assert compact(session)
    assert talk.history(session) == [
        ("summary", TOLD),
        *[(event.kind, event.content) for event in session.events.filter(position__in=(11, 12)).order_by("position")],
        ("user", "one more thing"),
        ("assistant", "说吧"),
    ]
    assert Flush.objects.get().up_to == 12  # the new ones are flushed another time
    assert session.flushed_to == 12


def test_what_the_bot_says_meanwhile_is_believed_and_the_models_plan_discarded(talk: Talk, model: FakeModel) -> None:
    session = grown(talk, 6)
    body = {"version": 1, "continue": "The bot says: Mochi.", "candidates": [{"content": "Mia has a cat."}]}
    meanwhile(model, lambda: talk.do(session, "flush", body))
    assert compact(session)
    assert talk.history(session)[0] == ("summary", "The bot says: Mochi.")
    assert summary_of(session).data == {"covers_to": 10, "cycle": 1, "by": "bot:bot", "model": ""}
    assert list(Entry.objects.filter(type="fact").values_list("content", flat=True)) == ["Mia has a cat."]
    assert Flush.objects.get().actor == "bot:bot" and model.calls == 1


def test_a_summary_is_made_again_when_a_flush_came_in_between(talk: Talk, model: FakeModel) -> None:
    session = grown(talk, 6)
    talk.do(session, "flush", {"version": 1, "reply": "NO_REPLY"})
    body = {"version": 1, "continue": "The bot says: Mochi."}
    meanwhile(model, lambda: talk.do(session, "flush", body))
    assert compact(session)
    assert talk.history(session)[0] == ("summary", "The bot says: Mochi.") and model.calls == 1


def test_a_bot_that_flushes_without_end_does_not_keep_it_from_being_compacted(talk: Talk, model: FakeModel) -> None:
    session = grown(talk, 6)
    talk.do(session, "flush", {"version": 1, "continue": "Mochi 0."})

    def again(asked: Asked) -> Any:
        talk.say(f"Mochi {model.calls}")
        talk.do(session, "flush", {"version": 1, "continue": f"Mochi {model.calls}."})
        connections.close_all()
        return writing(TOLD)

    talk.say("Mochi is asleep")
    talk.say("and Mia")
    model.otherwise = again
    assert compact(session)
    assert session.events.filter(kind="summary").count() == 1


@pytest.mark.parametrize("what", ["reset", "compaction"])
def test_a_conversation_that_has_moved_on_is_left_alone(what: str, talk: Talk, model: FakeModel) -> None:
    session = grown(talk, 6)

    def other_worker() -> None:
        meanwhile(model, lambda: None, at=99)
        assert compaction.compact(session.pk, 1, 1, session.max_tokens(), now=NOW, is_asked=True)

    meanwhile(model, (lambda: talk.do(session, "reset")) if what == "reset" else other_worker)
    assert not compact(session)
    assert session.events.filter(kind="summary").count() == (what == "compaction")
    assert Flush.objects.count() == Entry.objects.filter(type="fact").count() == (what == "compaction")


def worker(session: Session, model: FakeModel) -> subprocess.Popen[str]:
    """A process that does what the worker does."""
    environment = os.environ | {
        "DATABASE_URL": database_url(),
        "DJANGO_SETTINGS_MODULE": "memplatform.settings",
        "MEMPLATFORM_DATA": "/nonexistent",
        "MEMORY_LLM_BASE_URL": model.url,
        "MEMORY_LLM_MODEL": "small",
        "MEMORY_EMBEDDERS": "memories.embeddings.deterministic.Deterministic",
        "MEMORY_SESSION_STALE_AFTER": "0",
    }
    work = (
        "import django; django.setup(); from sessions_app import tasks;"
        f" print(tasks.compact({session.pk}, 1, 1, 32000, True), flush=True)"
    )
    return subprocess.Popen([sys.executable, "-c", work], cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)


@pytest.mark.parametrize("at", [1, 2])
def test_killed_while_the_model_thinks_it_is_done_once_by_the_next(
    at: int, talk: Talk, model: FakeModel, workspace: Workspace
) -> None:
    """First while the flush is asked for; then between the flush and the summary."""
    session = grown(talk, 6)
    running: list[subprocess.Popen[str]] = []

    def answer(asked: Asked) -> Any:
        if model.calls == at:
            running[0].send_signal(signal.SIGKILL)
            running[0].wait(20)
        nothing = {"version": 1, "reply": "NO_REPLY", "continue": "", "candidates": []}
        reply = nothing if at == 2 else drawing(MOCHI, goes_on_with=TOLD)
        return reply if asked_for_flush(asked) else writing(TOLD)

    model.otherwise = answer
    with worker(session, model) as first:
        running.append(first)
        assert first.wait(60) == -signal.SIGKILL
    assert not SessionEvent.objects.filter(kind="summary").exists()
    assert Flush.objects.count() == at - 1  # what was flushed is not flushed again
    with worker(session, model) as second:
        output, _nothing = second.communicate(timeout=60)
    assert output.splitlines()[-1] == "True"
    assert [summary.content for summary in session.events.filter(kind="summary")] == [TOLD]
    assert Flush.objects.count() == 1 and model.calls == at + 1
    assert Entry.objects.filter(type="fact").count() == (at == 1)
