"""Log lines: events with fields, the request's id in each, and nothing that is nobody's business (A14)."""

import io
import json
import logging
import logging.config
from collections.abc import Iterator
from contextvars import copy_context
from typing import Any

import pytest
import structlog
from django.conf import settings as django_settings
from django.db import IntegrityError, connection, transaction
from django.test import Client

from memories import entries, secrets
from memories.management import command_line
from memories.models import Entry, Scope
from memplatform import logs
from tests.conftest import NOW, TELEGRAM, Api, make_draft, make_key

WORDS = "swordfish under the bridge"


@pytest.fixture
def log_text(request: pytest.FixtureRequest) -> Iterator[io.StringIO]:
    """What the platform writes, as JSON unless the test asks for plain lines."""
    stream = io.StringIO()
    result = logs.configuration(getattr(request, "param", "json"), "DEBUG")
    result["handlers"]["stderr"]["stream"] = stream
    logging.config.dictConfig(result)
    yield stream
    logging.config.dictConfig(django_settings.LOGGING)
    logs.configuration(django_settings.LOG_FORMAT, django_settings.LOG_LEVEL)


def lines(log_text: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log_text.getvalue().splitlines()]


def line(log_text: io.StringIO, event: str) -> dict[str, Any]:
    (item,) = [line for line in lines(log_text) if line["event"] == event]
    return item


@pytest.mark.django_db
def test_a_capture_is_a_line_with_its_fields(log_text: io.StringIO, api: Api) -> None:
    answer = api.post("turns", {"address": TELEGRAM, "user": WORDS, "assistant": "Noted."}).json()
    result = line(log_text, "memory_capture")
    assert (result["user_id"], result["scope"]) == ("u42", "telegram:direct_u42")
    assert result["entry_key"] == answer["entries"][0]["id"]
    assert result["content_len"] == len(f"User: {WORDS}\nAssistant: Noted.")
    assert result["dedup_skipped"] is False


@pytest.mark.django_db
def test_a_recall_is_a_line_with_its_fields(log_text: io.StringIO, api: Api) -> None:
    api.post("turns", {"address": TELEGRAM, "user": WORDS, "assistant": "Noted."})
    api.post("recall", {"address": TELEGRAM, "message": "what is under the bridge?"})
    result = line(log_text, "memory_recall")
    assert (result["user_id"], result["scope"]) == ("u42", "telegram:direct_u42")
    assert result["results_count"] == 1 and result["keywords"] == 1
    assert result["latency_ms"] > 0 and result["store_type"] == "hybrid" and result["degraded"] == []


@pytest.mark.django_db
def test_the_id_of_a_request_is_in_its_lines_and_its_answer(log_text: io.StringIO, api: Api) -> None:
    answer = api.post("recall", {"address": TELEGRAM, "message": "tea?"}, **{"X-Request-ID": "from-the-bot-7"})
    assert answer["X-Request-ID"] == "from-the-bot-7"
    assert line(log_text, "memory_recall")["request_id"] == "from-the-bot-7"
    result = line(log_text, "request")
    assert (result["request_id"], result["route"], result["status"]) == ("from-the-bot-7", "api/v1/recall", 200)


@pytest.mark.django_db
@pytest.mark.parametrize("text", ["", "two\nlines", "x" * 129, "späť", '"}{"'])
def test_an_id_that_would_spoil_the_log_is_replaced(log_text: io.StringIO, text: str) -> None:
    first = Client().get("/livez", headers={"X-Request-ID": text} if text else {})["X-Request-ID"]
    second = Client().get("/livez")["X-Request-ID"]
    assert len(first) == len(second) == 32 and first != second


@pytest.mark.django_db
def test_ids_do_not_leak_into_the_next_request(log_text: io.StringIO, api: Api) -> None:
    api.get("entries")
    assert structlog.contextvars.get_contextvars() == {}


@pytest.mark.django_db
@pytest.mark.parametrize("log_text", ["json", "plain"], indirect=True)
def test_no_key_and_no_word_of_a_user_is_ever_written(
    log_text: io.StringIO, api: Api, workspace: Any, scope: Scope
) -> None:
    token = make_key(workspace, name="another")
    other = Api(token)
    other.post("turns", {"address": TELEGRAM, "user": WORDS, "assistant": WORDS})
    other.post("recall", {"address": TELEGRAM, "message": WORDS})
    other.post("entries", {"scope": scope.key, "content": WORDS, "unknown": WORDS})
    other.post("entries", {"scope": scope.key, "content": WORDS, "slots": {"secret": WORDS}})
    other.get("entries", q=WORDS, scope=WORDS)
    Api(token[:-1]).get("entries")
    secrets.keep("llm", WORDS)
    secrets.read("llm")
    logging.getLogger("any").warning("calling with Authorization: Bearer %s", token)
    structlog.get_logger("any").warning("headers", headers={"Authorization": f"Bearer {token}"}, keys=[token])
    output = log_text.getvalue()
    assert "memory_capture" in output and "memory_recall" in output and "any" in output
    for private in ("swordfish", token, token[10:30]):
        assert private not in output


@pytest.mark.django_db
def test_a_row_the_database_refuses_is_not_quoted(log_text: io.StringIO, scope: Scope) -> None:
    entry = Entry.objects.create(
        **{"workspace": scope.workspace, "scope": scope, "type": "note", "source": "tool", "content": WORDS},
        **dict.fromkeys(("created_at", "stated_at", "updated_at"), "2026-03-01T00:00:00Z"),
    )
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("UPDATE memories_entry SET importance = 7 WHERE id = %s", [entry.pk])
    except IntegrityError:
        logging.getLogger("any").exception("it was refused")
        structlog.get_logger("any").exception("it was refused again")
    output = log_text.getvalue()
    assert output.count("entry_importance_between_0_and_1") >= 2
    assert "swordfish" not in output


@pytest.mark.django_db
def test_words_are_logged_when_the_owner_wants_them(log_text: io.StringIO, api: Api, settings: Any) -> None:
    settings.MEMORY_LOG_CONTENT = True
    api.post("recall", {"address": TELEGRAM, "message": WORDS})
    assert line(log_text, "memory_recall")["keywords"] == WORDS


@pytest.mark.django_db
@pytest.mark.parametrize("log_text", ["plain"], indirect=True)
def test_plain_lines_hold_the_same_fields(log_text: io.StringIO, api: Api) -> None:
    api.post("turns", {"address": TELEGRAM, "user": "tea", "assistant": ""}, **{"X-Request-ID": "r1"})
    (item,) = [line for line in log_text.getvalue().splitlines() if " memory_capture " in line]
    assert " INFO memories.entries.write memory_capture user_id=u42 " in item
    assert "dedup_skipped=False" in item and item.endswith("request_id=r1")


def test_lines_of_libraries_have_the_same_shape(log_text: io.StringIO) -> None:
    logging.getLogger("somebody.else").warning("%d of %d done", 2, 3)
    result = line(log_text, "2 of 3 done")
    assert (result["logger"], result["level"]) == ("somebody.else", "warning")
    assert result["timestamp"].endswith("Z")


@pytest.mark.django_db
def test_what_is_remembered_outside_a_request_is_logged_too(log_text: io.StringIO, scope: Scope) -> None:
    from tests.conftest import NOW, make_draft

    entries.remember(make_draft(scope, "tea"), now=NOW, actor="job:test")
    assert "request_id" not in line(log_text, "memory_capture")


@pytest.mark.django_db
def test_a_call_that_fails_is_logged_by_its_route_and_never_by_whom_its_path_names(
    log_text: io.StringIO, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_args: Any) -> None:
        raise ValueError("broken")

    assert api.get("sessions/ann-1985").status_code == 404
    assert api.get("nowhere/ann-1985").status_code == 404
    assert Api(None).get("sessions/ann-1985").status_code == 401
    monkeypatch.setattr("memories.api.calls.database.is_away", fails)
    assert api.get("sessions/ann-1985").status_code == 500
    events = [line["event"] for line in lines(log_text) if line["logger"] == "django.request"]
    routes = ["api/v1/sessions/<str:key>", "unknown", "api/v1/sessions/<str:key>", "api/v1/sessions/<str:key>"]
    assert [event.rpartition(": ")[2] for event in events] == routes
    assert "ann-1985" not in log_text.getvalue()


@pytest.mark.django_db
def test_an_import_logs_no_line_for_each_memory_and_others_still_do(log_text: io.StringIO, scope: Scope) -> None:
    with command_line.no_line_for_each_memory():
        entries.remember_many([make_draft(scope, WORDS)], now=NOW, actor="command:ann")
    assert "memory_capture" not in log_text.getvalue()
    entries.remember_many([make_draft(scope, "The boat leaves at six")], now=NOW, actor="bot:ann")
    assert line(log_text, "memory_capture")["outcome"] == "created"


@pytest.mark.django_db
def test_two_imports_that_end_in_another_order_leave_nobody_without_lines(log_text: io.StringIO, scope: Scope) -> None:
    first, second = command_line.no_line_for_each_memory(), command_line.no_line_for_each_memory()
    contexts = copy_context(), copy_context()  # as two threads have them
    for context, one in zip(contexts, (first, second), strict=True):
        context.run(one.__enter__)
    for context, one in zip(contexts, (first, second), strict=True):
        context.run(one.__exit__, None, None, None)
    entries.remember_many([make_draft(scope, WORDS)], now=NOW, actor="bot:ann")
    assert line(log_text, "memory_capture")["outcome"] == "created"
