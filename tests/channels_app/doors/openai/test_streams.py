"""Streams: as they come, cut off, many at once, and without a connection to the database meanwhile."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection
from openai import OpenAI

from channels_app.doors.openai.calls import PLACES
from tests.channels_app.doors.openai.conftest import END, QUESTION, Upstream, event, eventually, reply, spoken

pytestmark = pytest.mark.django_db(transaction=True)


def connections() -> int:
    """How many there are to the database of the test, besides its own."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        return int(cursor.fetchone()[0])


class Halting:
    """A stream that says one word, and the rest when it is let."""

    def __init__(self) -> None:
        self.go_on = threading.Event()
        self.is_closed = threading.Event()

    def __call__(self, _asked: dict[str, Any]) -> Iterator[bytes]:
        return self._say()

    def _say(self) -> Iterator[bytes]:
        try:
            yield event({"role": "assistant", "content": "One"})
            self.go_on.wait(10)
            for word in range(200):
                yield event({"content": f" {word}"})
            yield from END
        finally:
            self.is_closed.set()


def test_the_first_words_are_there_before_the_last_are_said_and_nobody_holds_a_connection(
    bot: OpenAI, upstream: Upstream
) -> None:
    halting = Halting()
    upstream.say(halting)
    with bot.chat.completions.create(model="m", messages=QUESTION, stream=True) as stream:
        assert next(stream).choices[0].delta.content == "One"
        assert connections() == 0 and PLACES.taken == 1 and spoken() == []
        halting.go_on.set()
        rest = [part.choices[0].delta.content for part in stream]
    assert eventually(spoken)[1] == "One" + "".join(text or "" for text in rest)
    assert eventually(lambda: PLACES.taken == 0)


def test_of_a_stream_the_bot_leaves_what_was_said_is_kept_and_the_model_is_hung_up_on(
    bot: OpenAI, upstream: Upstream
) -> None:
    halting = Halting()
    upstream.say(halting)
    with bot.chat.completions.create(model="m", messages=QUESTION, stream=True) as stream:
        next(stream)
    halting.go_on.set()
    question, answer = eventually(spoken)
    assert question == "hi there" and answer.startswith("One") and not answer.endswith(" 199")
    assert halting.is_closed.wait(5) and eventually(lambda: PLACES.taken == 0)


@pytest.mark.thorough
def test_answers_of_one_conversation_that_come_at_once_are_all_kept(bot: OpenAI, upstream: Upstream) -> None:
    def chat(number: int) -> str:
        messages: Any = [{"role": "user", "content": f"message {number}"}]
        answer = bot.chat.completions.with_raw_response.create(model="m", messages=messages)
        return str(answer.headers.get("X-Memplatform-Degraded"))

    upstream.say(reply("Noted."))
    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(chat, range(8))) == {"None"}
    assert sorted(spoken()[::2]) == [f"message {number}" for number in range(8)]
