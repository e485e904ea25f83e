"""A message made to keep the search busy is cut, and what takes the database too long is given up."""

import time

import pytest
from django.db import connection

from memories.conf import conf
from memories.recall import query
from tests.conftest import TELEGRAM, Api
from tests.memories.api.requests import errors

pytestmark = pytest.mark.django_db

LONG = {
    "ten thousand words": " ".join(f"w{n}" for n in range(10_000)),
    "five thousand characters": "".join(chr(0x4E00 + n) for n in range(5_000)),
    "symbols": "<at>" * 16_000,
    "one word": "a" * 65_000,
    "spaces": " " * 65_000 + "?",
    "dates": "昨天" * 10_000,
}


@pytest.mark.thorough
@pytest.mark.parametrize("kind", LONG)
@pytest.mark.parametrize("mode", ["hybrid", "keyword", "fts"])
def test_a_long_message_is_answered_in_bounded_time(api: Api, kind: str, mode: str) -> None:
    api.post("turns", {"address": TELEGRAM, "user": "w7 is my favourite number, and I met 丂七 yesterday"})
    begun = time.thread_time()
    response = api.post("recall", {"address": TELEGRAM, "message": LONG[kind], "mode": mode, "need": "off"})
    assert response.status_code == 200, response.content
    assert time.thread_time() - begun < 2.0


def test_the_end_of_a_long_message_is_searched(api: Api) -> None:
    api.post("turns", {"address": TELEGRAM, "user": "The staging database listens on port 6543"})
    message = "filler words " * 4_000 + "Which port does the staging database listen on?"
    answer = api.post("recall", {"address": TELEGRAM, "message": message}).json()
    assert "6543" in str(answer["memories"])


def test_no_more_of_a_message_is_searched_than_set(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    lengths: list[int] = []
    terms = query.text.terms

    def counted(words: str) -> object:
        lengths.append(len(words))
        return terms(words)

    monkeypatch.setattr(query.text, "terms", counted)
    api.post("recall", {"address": TELEGRAM, "message": LONG["ten thousand words"], "need": "off"})
    assert lengths
    assert max(lengths) <= conf.RECALL_MESSAGE_CHARS + 1


def test_a_statement_that_takes_too_long_is_told_of(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    def sleep(*_args: object, **_kwargs: object) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL statement_timeout = 50")
            cursor.execute("SELECT pg_sleep(5)")

    monkeypatch.setattr("channels_app.api.recall.recall", sleep)
    response = api.post("recall", {"address": TELEGRAM, "message": "What did I say?"})
    assert response.status_code == 503
    assert errors(response) == [("too_slow", None)]
    assert response["Retry-After"] == "5"
