"""The database has no room to write: it is read all the same, and a write is told why it is refused."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import OperationalError, connection
from psycopg.errors import DiskFull

from memplatform.operations.models import Heartbeat
from memplatform.processes import supervisor
from tests.conftest import TELEGRAM, Api

pytestmark = pytest.mark.django_db(transaction=True)


def without_room(execute: Callable[..., Any], sql: Any, params: Any, many: bool, context: Any) -> Any:
    """Whatever adds rows fails, as on a full disk."""
    if "INSERT INTO" in str(sql) or "memplatform_open_session" in str(sql):
        problem = OperationalError("could not extend file: No space left on device")
        raise problem from DiskFull("could not extend file: No space left on device")
    return execute(sql, params, many, context)


def test_a_recall_goes_on_and_leaves_no_trace(api: Api) -> None:
    assert api.post("turns", {"address": TELEGRAM, "user": "我家的猫叫年糕", "assistant": "ok"}).status_code == 201
    data = {"address": TELEGRAM, "message": "我家的猫叫什么？"}
    with connection.execute_wrapper(without_room):
        for _ in range(3):
            answer = api.post("recall", data).json()
            assert answer["degraded"] == ["disk_full"] and "年糕" in answer["memories"][0]["content"]
            result = api.post("tools/memory_search", {"address": TELEGRAM, "query": "年糕"}).json()
            assert result["degraded"] == ["disk_full"] and result["results"] and result["recall_id"] is None
    assert api.post("recall", data).json()["degraded"] == []


def test_a_write_is_refused_with_its_reason(api: Api) -> None:
    with connection.execute_wrapper(without_room):
        answer = api.post("turns", {"address": TELEGRAM, "user": "I moved to Bremen", "assistant": "ok"})
    assert answer.status_code == 503 and int(answer["Retry-After"]) > 0
    assert [error["code"] for error in answer.json()["errors"]] == ["disk_full"]
    assert api.post("turns", {"address": TELEGRAM, "user": "I moved to Bremen", "assistant": "ok"}).status_code == 201


def test_a_sign_of_life_that_cannot_be_written_is_no_silence() -> None:
    with connection.execute_wrapper(without_room):
        assert not supervisor.takes_writes()
    assert supervisor.takes_writes() and not Heartbeat.objects.exists()
