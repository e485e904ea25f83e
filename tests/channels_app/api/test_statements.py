"""How many statements a call takes (the key's included): a figure for each, so that no change adds one unseen."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memories.index.worker import drain
from tests.conftest import NOW, TELEGRAM, Api

pytestmark = pytest.mark.django_db
#: Of a chat that goes on, asked for the second time by this process.
STATEMENTS = {"recall": 6, "context": 11}


@pytest.mark.parametrize("call", STATEMENTS)
def test_a_call_takes_so_many_statements(api: Api, call: str) -> None:
    turn = {"address": TELEGRAM, "user": "my cat is called Mochi", "assistant": "A fine name."}
    assert api.post("turns", turn).status_code == 201
    drain(now=NOW)
    data: dict[str, Any] = {"address": TELEGRAM, "message": "what is my cat called?"}
    assert api.post(call, data).status_code == 200
    with CaptureQueriesContext(
        connection,
    ) as captured:
        answer = api.post(call, data | {"message": "what is the name of my cat?"})
    assert answer.json()["memories"] or answer.json()["history"]
    assert len(captured) == STATEMENTS[call], [query["sql"][:80] for query in captured]
