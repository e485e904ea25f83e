"""What is committed is done, whether or not those who wait for it could be woken."""

from typing import Any

import pytest
from django.db import OperationalError, connection

from memories.models import Entry
from tests.conftest import TELEGRAM, Api


@pytest.mark.django_db(transaction=True)
def test_a_call_is_acknowledged_though_the_connection_breaks_just_after_its_commit(api: Api) -> None:
    broken: list[str] = []

    def breaks_at_the_notice(execute: Any, sql: Any, params: Any, many: bool, context: Any) -> Any:
        if "pg_notify" in str(sql):
            broken.append(sql)
            raise OperationalError("server closed the connection unexpectedly")
        return execute(sql, params, many, context)

    with connection.execute_wrapper(breaks_at_the_notice):
        answer = api.post("entries", {"address": TELEGRAM, "content": "The staging server listens on port 8080."})
    assert broken and answer.status_code == 201, answer.json()
    assert Entry.objects.filter(content__contains="8080").count() == 1
