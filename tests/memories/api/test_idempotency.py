"""A write that is sent again is done once: same key, same answer."""

import threading
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, connections
from django.utils import timezone

from memories.api.idempotency import repeatable
from memories.models import Bot, BotKey, Entry, IdempotencyKey, Workspace
from sessions_app.models import SessionEvent
from tests.conftest import TELEGRAM, Api, make_key, make_scope
from tests.memories.api.conftest import send

database = pytest.mark.django_db
TURN = {"address": TELEGRAM, "user": "I moved to Hangzhou", "assistant": "Noted."}
SAVED = {"scope": "main", "content": "My cat is called Rice"}
KEY = {"Idempotency-Key": "a1"}


@pytest.fixture
def entry(api: Api) -> str:
    return str(api.post("entries", SAVED).json()["id"])


WRITES = {
    "a turn": ("POST", "turns", TURN),
    "an entry": ("POST", "entries", {"scope": "main", "content": "tea"}),
    "a change": ("PATCH", "entries/{entry}", {"topic": "cats"}),
    "a deletion": ("DELETE", "entries/{entry}", None),
    "a restoring": ("POST", "entries/{entry}/restore", {"term_days": 3}),
    "a revert": ("POST", "entries/{entry}/revert", {"version": 1}),
    "a feedback": ("POST", "recalls/{recall}/feedback", {"used": []}),
}


@pytest.mark.thorough
@database
@pytest.mark.parametrize("write", WRITES)
def test_the_same_call_again_gets_the_same_answer(api: Api, entry: str, write: str) -> None:
    method, path, body = WRITES[write]
    recall = api.post("recall", {"scope": "main", "message": "what is my cat called?"}).json()["recall_id"]
    path = path.format(entry=entry, recall=recall)
    first = send(api, method, path, body, **KEY)
    second = send(api, method, path, body, **KEY)
    assert first.status_code in (200, 201), first.json()
    assert "Idempotent-Replayed" not in first.headers
    assert second.headers["Idempotent-Replayed"] == "true"
    assert (second.status_code, second.content) == (first.status_code, first.content)
    assert second.headers.get("ETag") == first.headers.get("ETag")


@database
def test_a_turn_sent_twice_is_heard_once(api: Api) -> None:
    for _time in range(3):
        api.post("turns", TURN, **KEY)
    assert SessionEvent.objects.count() == 2
    assert Entry.objects.count() == 1


@database
def test_without_a_key_a_turn_sent_twice_is_heard_twice(api: Api) -> None:
    for _time in range(2):
        api.post("turns", TURN)
    assert SessionEvent.objects.count() == 4


@database
def test_another_body_under_the_same_key_is_refused(api: Api) -> None:
    api.post("turns", TURN, **KEY)
    answer = api.post("turns", TURN | {"user": "I moved to Beijing"}, **KEY)
    assert (answer.status_code, answer.json()["errors"][0]["code"]) == (409, "idempotency_key_taken")
    assert SessionEvent.objects.count() == 2


@database
def test_another_call_under_the_same_key_is_refused(api: Api, entry: str) -> None:
    send(api, "DELETE", f"entries/{entry}", {}, **KEY)
    assert api.post(f"entries/{entry}/restore", {}, **KEY).status_code == 409
    assert send(api, "PATCH", f"entries/{entry}", {}, **KEY).status_code == 409


@database
def test_the_order_of_fields_does_not_make_another_body(api: Api) -> None:
    api.post("turns", TURN, **KEY)
    assert api.post("turns", dict(reversed(TURN.items())), **KEY).headers["Idempotent-Replayed"] == "true"


@database
def test_an_error_is_not_kept(api: Api, workspace: Workspace) -> None:
    assert api.post("entries", {"scope": "main", "content": ""}, **KEY).status_code == 400
    assert api.post("entries", SAVED, **KEY).status_code == 201
    assert IdempotencyKey.objects.count() == 1


@database
def test_each_bot_has_keys_of_its_own(api: Api, workspace: Workspace) -> None:
    api.post("turns", TURN, **KEY)
    other = Api(make_key(workspace, name="other bot")).post("turns", TURN, **KEY)
    assert (other.status_code, other.headers.get("Idempotent-Replayed")) == (201, None)


@database
def test_a_narrower_key_of_the_bot_does_not_read_the_answer(api: Api, workspace: Workspace) -> None:
    api.post("turns", TURN, **KEY)
    assert Api(make_key(workspace, scope_patterns=["lark:*"])).post("turns", TURN, **KEY).status_code == 409


@database
def test_a_key_is_free_again_after_a_day(api: Api) -> None:
    api.post("turns", TURN, **KEY)
    IdempotencyKey.objects.update(created_at=timezone.now() - timedelta(hours=24))
    again = api.post("turns", TURN | {"user": "I moved to Beijing"}, **KEY)
    assert (again.status_code, again.headers.get("Idempotent-Replayed")) == (201, None)
    assert IdempotencyKey.objects.count() == 1


@database
@pytest.mark.parametrize("name", ["a", "x" * 200, "019a0000-0000-7000", "with spaces, and: signs"])
def test_a_printable_key_is_taken(api: Api, name: str) -> None:
    assert api.post("entries", SAVED, **{"Idempotency-Key": name}).status_code == 201
    assert IdempotencyKey.objects.get().key == name


@database
@pytest.mark.parametrize("name", ["", "x" * 201, "é", "a\tb", "a\x7fb", " "])
def test_a_key_that_is_none_is_refused(api: Api, name: str) -> None:
    answer = api.post("entries", SAVED, **{"Idempotency-Key": name})
    assert (answer.status_code, answer.json()["errors"][0]["attr"]) == (400, "Idempotency-Key")


@database
def test_reading_ignores_the_key(api: Api, entry: str) -> None:
    for _time in range(2):
        answer = api.post("recall", {"scope": "main", "message": "my cat?"}, **KEY)
        assert "Idempotent-Replayed" not in answer.headers
    assert not IdempotencyKey.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_of_two_equal_calls_at_once_one_is_done() -> None:
    """Both are on their way before either is answered; the second waits for the first."""
    workspace = Workspace.objects.create(name="Alice's")
    make_scope(workspace, "telegram:direct_u42")
    token = make_key(workspace)
    started = threading.Barrier(4)
    answers: list[Any] = []

    def call() -> None:
        started.wait()
        answers.append(Api(token).post("turns", TURN, **KEY))
        connections.close_all()

    callers = [threading.Thread(target=call) for _caller in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert {answer.status_code for answer in answers} == {201}
    assert len({answer.content for answer in answers}) == 1
    assert sorted(answer.headers.get("Idempotent-Replayed", "") for answer in answers) == ["", "true", "true", "true"]
    assert SessionEvent.objects.count() == 2


@pytest.mark.thorough
@pytest.mark.django_db(transaction=True)
def test_a_call_whose_twin_failed_is_done() -> None:
    """The first holds the key and fails; the second, which waited for it, is the first then."""
    workspace = Workspace.objects.create(name="Alice's")
    bot = Bot.objects.create(workspace=workspace, name="bot")
    _key, token = BotKey.issue(bot, permissions=["read", "write"])
    result, let_go = threading.Event(), threading.Event()

    def fail() -> None:
        try:
            with connections["default"].cursor() as cursor:
                cursor.execute("BEGIN")
                cursor.execute(
                    "INSERT INTO memories_idempotencykey (workspace_id, bot_id, key, request_hash, created_at)"
                    " VALUES (%s, %s, 'a1', 'x', now())",
                    [workspace.pk, bot.pk],
                )
                result.set()
                let_go.wait(10)
                cursor.execute("ROLLBACK")
        finally:
            connections.close_all()

    first = threading.Thread(target=fail)
    first.start()
    result.wait(10)
    threading.Timer(0.3, let_go.set).start()
    answer = Api(token).post("turns", TURN, **KEY)
    first.join()
    assert (answer.status_code, answer.headers.get("Idempotent-Replayed")) == (201, None)


@database
def test_the_key_is_claimed_in_the_transaction_of_the_write(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    depths = []

    def handler(view: Any, request: Any) -> Any:
        depths.append(connection.in_atomic_block)
        raise ValueError("broken in the middle")

    monkeypatch.setattr("channels_app.api.entries.EntriesView.post", repeatable(handler))
    assert api.post("entries", SAVED, **KEY).status_code == 500
    assert depths == [True]
    assert not IdempotencyKey.objects.exists()
