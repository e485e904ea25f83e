"""How many statements a turn takes: a figure for each of its shapes, so that none comes back unseen."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

from tests.conftest import GROUP, TELEGRAM, Api

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.thorough]


class Statements:
    """The statements that were sent; BEGIN and COMMIT of a transaction are none, the NOTIFY behind it is one."""

    def __init__(self) -> None:
        self.sent: list[str] = []

    def __call__(self, execute: Callable[..., Any], sql: Any, *arguments: Any) -> Any:
        self.sent.append(" ".join(str(sql).split())[:90])
        return execute(sql, *arguments)


def sent_by(api: Api, statement: str, address: dict[str, Any] = TELEGRAM, **headers: str) -> tuple[list[str], str]:
    """The statements of a turn, and what became of it."""
    statements = Statements()
    with connection.execute_wrapper(statements):
        answer = api.post("turns", {"address": address, "user": statement, "assistant": "Noted."}, **headers)
    assert answer.status_code == 201, answer.json()
    return statements.sent, answer.json()["entries"][0]["outcome"]


@pytest.fixture
def met(api: Api) -> Api:
    """A bot in the middle of a chat and of a group."""
    for address in (TELEGRAM, GROUP):
        for text in ("I moved to Hangzhou last spring", "My sister Lena has a cat called Mochi"):
            sent_by(api, text, address)
    return api


def test_the_first_turn_of_a_chat_makes_its_channel_its_scope_and_its_session(api: Api) -> None:
    sent_by(api, "This process sees the workspace for the first time", {**TELEGRAM, "account": "another", "peer": "u1"})
    statements, outcome = sent_by(api, "I moved to Hangzhou last spring")
    assert (len(statements), outcome) == (20, "created"), "\n".join(statements)


def test_a_turn_of_a_running_chat(met: Api) -> None:
    statements, outcome = sent_by(met, "We will fly to Lisbon with the blue suitcase")
    assert (len(statements), outcome) == (11, "created"), "\n".join(statements)


def test_a_turn_of_a_group_is_remembered_for_speaker_and_chat(met: Api) -> None:
    statements, outcome = sent_by(met, "The printer on the second floor is broken", GROUP)
    assert (len(statements), outcome) == (12, "created"), "\n".join(statements)


def test_a_turn_that_repeats_a_memory(met: Api) -> None:
    statements, outcome = sent_by(met, "My sister Lena has a cat called Mochi")
    assert (len(statements), outcome) == (12, "skipped"), "\n".join(statements)


def test_the_same_turn_again_under_its_key(met: Api) -> None:
    key = {"Idempotency-Key": "k1"}
    statements, outcome = sent_by(met, "My brother plays the violin", **key)
    assert (len(statements), outcome) == (15, "created"), "\n".join(statements)
    statements, outcome = sent_by(met, "My brother plays the violin", **key)
    assert (len(statements), outcome) == (4, "created"), "\n".join(statements)
